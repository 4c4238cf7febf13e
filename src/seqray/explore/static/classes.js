// The class of a typed word, prefix by prefix, and the words with one edit that have another.
(() => {
  let content;
  try {
    content = checkedContent();
  } catch (error) {
    const notice = document.createElement("p");
    notice.setAttribute("role", "alert");
    notice.textContent = `This page is not to be trusted: ${error.message}.`;
    document.body.replaceChildren(notice);
    return;
  }
  Terms.listen(() => {});
  const field = document.getElementById("word-field");
  if (field === null) {
    document.body.dataset.settled = "true";
    return;
  }
  const MAX_FLIPS = 100;
  const { symbols, classes } = content;
  const joined = (word) => word.map((code) => symbols[code]).join(content.separator);
  const shown = (word) => (word.length ? joined(word) : "empty word");

  const stepped = (state, code) =>
    state.map((_, column) =>
      state.reduce((sum, value, row) => sum + value * content.transitions[code][row][column], 0),
    );

  function scoresOf(state) {
    const outputs = classes.map((_, c) =>
      state.reduce((sum, value, row) => sum + value * content.outputs[row][c], 0),
    );
    const largest = Math.max(...outputs);
    const parts =
      content.question === "logit"
        ? outputs.map((x) => Math.exp(x - largest))
        : outputs.map((x) => Math.max(x, 0));
    const total = parts.reduce((a, b) => a + b, 0);
    if (total > 0) return parts.map((x) => x / total);
    return outputs.map((_, c) => (c === outputs.indexOf(largest) ? 1 : 0));
  }

  function decided(scores) {
    if (content.threshold !== null) return scores[1] >= content.threshold ? 1 : 0;
    return scores.indexOf(Math.max(...scores));
  }

  const stateAfter = (word) => word.reduce(stepped, content.initial);

  /** Codes of a typed word, or what is unknown in it; of names with spaces the longest that fits. */
  function parsed(text) {
    const isSpace = symbols.some((name) => !name.trim());
    const spaced = !content.characters;
    const pieces = spaced ? text.split(/\s+/u).filter(Boolean) : [...(isSpace ? text : text.trim())];
    const longest = Math.max(...symbols.map((name) => name.split(" ").length));
    const word = [];
    for (let at = 0; at < pieces.length; ) {
      let n = spaced ? Math.min(longest, pieces.length - at) : 1;
      while (n > 1 && !symbols.includes(pieces.slice(at, at + n).join(" "))) n -= 1;
      const code = symbols.indexOf(pieces.slice(at, at + n).join(" "));
      const isBar = code < 0 && spaced && pieces[at] === content.separator.trim(); // it separates symbols
      if (code < 0 && !isBar) return { unknown: pieces[at] };
      if (!isBar) word.push(code);
      at += n;
    }
    return { word };
  }

  function withOneEdit(word) {
    const edited = new Map();
    const cut = (at, n, put) => {
      const each = [...word.slice(0, at), ...put, ...word.slice(at + n)];
      const key = each.join(",");
      if (key !== word.join(",") && !edited.has(key)) edited.set(key, { each, at, n, put });
    };
    for (let at = 0; at <= word.length; at += 1) {
      for (let code = 0; code < symbols.length; code += 1) {
        if (at < word.length && code !== word[at]) cut(at, 1, [code]);
        cut(at, 0, [code]);
      }
      if (at < word.length) cut(at, 1, []);
    }
    return [...edited.values()];
  }

  /** The word with its change in brackets, as `show_edit` writes it. */
  function marked(word, { at, n, put }) {
    const before = joined(word.slice(at, at + n));
    const after = joined(put);
    const mark = document.createElement("mark");
    if (!n) mark.textContent = `[+${after}]`;
    else mark.textContent = put.length ? `[${before}→${after}]` : `[−${before}]`;
    const code = document.createElement("code");
    const left = word.slice(0, at);
    const right = word.slice(at + n);
    code.append(
      joined(left) + (left.length ? content.separator : ""),
      mark,
      (right.length ? content.separator : "") + joined(right),
    );
    return code;
  }

  function chip(number) {
    const element = document.createElement("span");
    element.className = `chip c${number % 7}`;
    element.textContent = classes[number];
    return element;
  }

  // The state of the same class whose outputs go on most alike, as in `nearest_states`.
  function nearestState(state, number) {
    const distances = content.likeness.map((row, q) =>
      content.stateClasses[q] === number
        ? row[q] - 2 * row.reduce((sum, value, at) => sum + value * state[at], 0)
        : Infinity,
    );
    const least = Math.min(...distances);
    return least === Infinity ? content.mixture : content.names[distances.indexOf(least)];
  }

  const percent = (share) => `${(100 * share).toFixed(1)} %`;

  function showPath(word) {
    const body = document.querySelector("#path tbody");
    body.replaceChildren();
    let state = content.initial;
    for (let n = 0; n <= word.length; n += 1) {
      if (n > 0) state = stepped(state, word[n - 1]);
      const scores = scoresOf(state);
      const number = decided(scores);
      const row = body.insertRow();
      row.insertCell().textContent = shown(word.slice(0, n));
      row.insertCell().textContent = nearestState(state, number);
      row.insertCell().append(chip(number));
      const last = row.insertCell();
      last.className = "number";
      last.textContent = percent(scores[number]);
    }
  }

  function showBars(scores) {
    const bars = document.getElementById("bars");
    bars.replaceChildren();
    scores.forEach((score, number) => {
      const label = document.createElement("label");
      const meter = document.createElement("meter");
      const value = document.createElement("span");
      meter.value = score;
      value.textContent = percent(score);
      label.append(classes[number], meter, value);
      bars.append(label);
    });
  }

  function showFlips(word, own) {
    const list = document.getElementById("flips");
    list.replaceChildren();
    const all = withOneEdit(word);
    const flips = all
      .map((edit) => ({ edit, number: decided(scoresOf(stateAfter(edit.each))) }))
      .filter(({ number }) => number !== own);
    document.getElementById("flip-note").textContent =
      all.length === 1
        ? `The only word with one edit has ${flips.length ? "another" : "the same"} class.`
        : flips.length
          ? `${flips.length} of ${all.length} words with one edit ` +
            `${flips.length === 1 ? "has" : "have"} another class.` +
            (flips.length > MAX_FLIPS ? ` The first ${MAX_FLIPS} are listed.` : "")
          : `None of ${all.length} words with one edit has another class.`;
    for (const { edit, number } of flips.slice(0, MAX_FLIPS)) {
      const item = document.createElement("li");
      item.append(marked(word, edit), " ", chip(number));
      list.append(item);
    }
  }

  function show() {
    const problem = document.getElementById("word-problem");
    const { word, unknown } = parsed(field.value);
    problem.hidden = unknown === undefined;
    if (unknown !== undefined) {
      problem.textContent = `${unknown} is no symbol: expected ${symbols.slice(0, 20).join(", ")}.`;
      return;
    }
    const scores = scoresOf(stateAfter(word));
    const own = decided(scores);
    const verdict = document.getElementById("verdict");
    verdict.replaceChildren(`${shown(word)}: `, chip(own), ` ${percent(scores[own])}`);
    showBars(scores);
    showPath(word);
    showFlips(word, own);
  }

  field.value = content.example.join(content.separator);
  field.addEventListener("input", show);
  show();
  document.body.dataset.settled = "true";
})();
