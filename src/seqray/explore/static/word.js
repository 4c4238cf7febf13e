// Try a word: its weight, the path through the states, and what each symbol does.

const MOST_CHIPS = 300; // symbols to choose from; all can be typed
const LONGEST = 2000; // symbols that the page reads
const SHAPLEY_WORK = 6e9; // multiplications that are worth waiting for

class WordView {
  constructor(content, { onstep }) {
    Object.assign(this, { content, onstep, latest: new Latest(), querying: new Latest() });
    this.known = new Map(
      (content.recorded?.words ?? []).map((word, at) => [word.join(" "), content.recorded.weights[at]]),
    );
    this.knownNext = new Map(
      (content.recorded?.prefixes ?? []).map((word, at) => [word.join(" "), content.recorded.next?.[at]]),
    );
    this.field = $("word-field");
    this.#controls();
  }

  // Entering ----------------------------------------------------------------------------------

  #controls() {
    const { content, field } = this;
    const how = content.alphabet.characters
      ? "Type symbols one after the other"
      : `Type symbols with ${content.alphabet.separator === " " ? "spaces" : `bars${content.alphabet.separator.trimEnd()}`} between them`;
    $("word-help").textContent = `${how}, or choose them below. Leave the field empty for the empty word λ.`;
    field.addEventListener("input", () => this.#typed());
    $("word-back").addEventListener("click", () => this.set(this.word.slice(0, -1)));
    $("word-draw").addEventListener("click", () => this.set(this.draw()));
    const names = content.alphabet.names.slice(0, MOST_CHIPS);
    $("chips").append(
      ...names.map((name, code) =>
        element(
          "button",
          { type: "button", className: "chip mono", onclick: () => this.set([...this.word, code]) },
          name,
        ),
      ),
    );
    if (content.symbols > names.length)
      $("chips").append(
        element("span", { className: "caption" }, `and ${count(content.symbols - names.length)} more`),
      );
  }

  #typed() {
    this.hasFollowed = true;
    const { word, error } = this.content.parse(this.field.value);
    const isLong = word && word.length > LONGEST;
    $("word-error").textContent =
      error ??
      (isLong
        ? `A word of ${count(word.length)} symbols is too long for this page: ` +
          `${count(LONGEST)} are the most.`
        : "");
    this.#mark(Boolean(error || isLong));
    if (word && !isLong) this.#read(word);
  }

  /** Put a word into the field, as chips and other parts of the page do. */
  set(word) {
    this.hasFollowed = Boolean(this.word); // not by the example
    this.field.value = this.content.text(word);
    $("word-error").textContent = "";
    this.#mark(false);
    this.#read(word);
  }

  /** Say whether what is typed is no word: what stands below belongs to the last one that was. */
  #mark(isWrong) {
    this.field.setAttribute("aria-invalid", String(isWrong));
    $("word-result").classList.toggle("stale", isWrong);
  }

  /** Draw a word as the automaton would; where it has no probabilities, any short one. */
  draw() {
    const automaton = this.automaton;
    const word = [];
    let state = automaton.initial;
    while (word.length < 60) {
      const next = automaton.readers ? clipped(automaton.next(state)) : null;
      if (!next && word.length >= 6) break;
      let at = Math.random();
      const code = next
        ? next.findIndex((probability) => (at -= probability) < 0)
        : Math.floor(at * this.content.symbols);
      if (code < 0 || code === this.content.symbols) break;
      word.push(code);
      state = automaton.step(state, code);
      rescale(state);
    }
    return word;
  }

  /** The likeliest continuation from the start, for the first look. */
  example() {
    const automaton = this.automaton;
    if (!automaton.readers)
      return Array.from(
        { length: Math.min(4, this.content.symbols + 1) },
        (_, at) => at % this.content.symbols,
      );
    let word = [];
    let state = automaton.initial;
    let best = { word, weight: 0 };
    while (word.length < 9) {
      const next = automaton.next(state).slice(0, -1);
      word = [...word, next.indexOf(Math.max(...next))];
      state = automaton.step(state, word[word.length - 1]);
      const weight = dot(state, automaton.final);
      if (word.length < 4 || weight > best.weight) best = { word, weight };
    }
    return best.word;
  }

  // Reading -----------------------------------------------------------------------------------

  show(rank) {
    this.rank = rank;
    this.automaton = this.content.automaton(rank);
    this.drawn = this.content.drawn(rank);
    if (!this.word) this.set(this.example());
    else this.#read(this.word);
  }

  #read(word) {
    const hasChanged = !this.word || word.join(" ") !== this.word.join(" ");
    this.word = word;
    this.path = this.automaton.walk(word);
    this.states = this.drawn === this.automaton ? this.path : this.drawn.walk(word);
    this.step = hasChanged ? word.length : Math.min(this.step, word.length);
    this.values = null;
    if (hasChanged) this.answer = this.#knownAnswer(word);
    this.#render();
    this.#explain();
    if (hasChanged && this.content.live) this.#query(word);
  }

  #knownAnswer(word) {
    const weight = this.known.get(word.join(" "));
    return weight === undefined ? null : { weight };
  }

  async #explain() {
    const alive = this.latest.begin();
    const n = this.word.length;
    const work = 2 * n * n * this.automaton.states ** 2;
    if (!n || work > SHAPLEY_WORK) return;
    const values = await shapley(this.automaton, this.word, this.content.frequencies, alive);
    if (!values || !alive()) return;
    this.values = values;
    this.#steps();
  }

  // Querying the box ----------------------------------------------------------------------------

  #query = settled(350, async (word) => {
    const alive = this.querying.begin();
    this.answer = { isPending: true };
    this.#verdict();
    let answer;
    try {
      const response = await fetch("query", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ word }),
      });
      answer = await response.json();
    } catch (error) {
      answer = { error: "the server does not answer: is it still running?" };
    }
    if (!alive()) return;
    this.answer = answer;
    this.#verdict();
    this.#detail();
  });

  // Showing -----------------------------------------------------------------------------------

  #render() {
    $("word-result").replaceChildren(
      element("div", { className: "verdict", id: "verdict", "aria-live": "polite" }),
      element(
        "div",
        { className: "steps-frame" },
        element("div", {
          className: "steps",
          id: "steps",
          role: "listbox",
          "aria-label": "Steps of the word",
          "aria-orientation": "horizontal",
        }),
      ),
      element("p", { className: "caption", id: "steps-note" }),
      element("div", { className: "step-detail", id: "step-detail" }),
    );
    $("steps").addEventListener("keydown", (event) => {
      const move = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
      if (move === undefined) return;
      event.preventDefault();
      this.#choose(Math.max(0, Math.min(this.word.length, this.step + move)), true);
    });
    this.#verdict();
    this.#steps();
    this.#detail();
  }

  #verdict() {
    const weight = this.automaton.weightAt(this.path[this.path.length - 1]);
    const { value } = weight;
    const often = this.automaton.readers ? weight.often() : "";
    const block = (title, text, note, data) =>
      element(
        "div",
        { className: "answer" },
        element("span", { className: "answer-title" }, title),
        element("output", { className: "answer-value", "data-value": data }, text),
        element("span", { className: "answer-note" }, note),
      );
    const blocks = [
      block(`The automaton, ${counted(this.rank, "state")}`, weight.show(5), often, String(value)),
    ];
    const { answer } = this;
    if (answer?.error) blocks.push(block("The box", "no answer", answer.error));
    else if (answer?.isPending) blocks.push(block("The box", "…", "waiting for its answer"));
    else if (answer)
      blocks.push(
        block("The box", show(answer.weight, 5), compared(value, answer.weight), String(answer.weight)),
      );
    $("verdict").replaceChildren(...blocks);
  }

  #steps() {
    const { content, word, rank } = this;
    const largest = this.values ? Math.max(...this.values.map(Math.abs)) || 1 : 1;
    const symbols = distinct(word.map((code) => content.symbol(code)), (text) => [...text].length <= 13);
    const isLong = symbols.some((symbol) => [...symbol].length > 7);
    const labels = content.stateLabels(rank, isLong ? 24 : 16);
    $("steps").classList.toggle("long", isLong);
    const shown = Array.from({ length: word.length + 1 }, (_, at) => {
      const shares = this.drawn.shares(this.states[at].state);
      const main = shares.reduce(
        (best, share, state) => (Math.abs(share) > Math.abs(shares[best]) ? state : best),
        0,
      );
      const probability =
        at && this.automaton.readers
          ? this.automaton.next(this.path[at - 1].state)[word[at - 1]]
          : null;
      const value = at && this.values ? this.values[at - 1] : null;
      const cell = element(
        "button",
        {
          type: "button",
          role: "option",
          className: "step",
          tabindex: at === this.step ? "0" : "-1",
          "aria-selected": String(at === this.step),
          "data-step": at,
          "data-shapley": value === null ? null : String(value),
          onclick: () => this.#choose(at, false),
        },
        element(
          "span",
          {
            className: `step-symbol ${at ? "mono" : "muted"}`,
            title: at ? content.symbol(word[at - 1]) : "",
          },
          at ? symbols[at - 1] : "begin",
        ),
        element("span", { className: "step-probability" }, probability === null ? " " : percent(probability)),
        this.#pull(value, largest),
        element(
          "span",
          { className: "step-state", title: content.stateText(rank, main) },
          labels[main],
        ),
        element(
          "span",
          { className: "step-share" },
          this.drawn.readers ? percent(shares[main]) : show(shares[main], 2),
        ),
      );
      return cell;
    });
    $("steps").replaceChildren(...shown);
    this.#stepsNote();
  }

  #pull(value, largest) {
    const lane = element("span", {
      className: "pull",
      title: value === null ? "" : `Shapley value ${show(value, 4)}`,
    });
    if (value !== null) {
      lane.append(
        styled(element("span", { className: value < 0 ? "negative" : "" }), {
          "--size": (Math.abs(value) / largest).toFixed(4),
        }),
      );
    }
    return lane;
  }

  #stepsNote() {
    const { word, values } = this;
    const parts = [];
    parts.push(
      Terms.nodes(this.automaton.readers ? "word.steps.probabilities" : "word.steps.weights"),
    );
    if (values) {
      const usual = backgroundWeight(this.automaton, word.length, this.content.frequencies);
      const sum = values.reduce((a, b) => a + b, 0);
      const length = counted(word.length, "symbol");
      const signed = `${sum > 0 ? "+" : ""}${show(sum)}`;
      parts.push(Terms.nodes("word.shapley", { length, usual: show(usual), sum: signed }));
    } else if (2 * word.length ** 2 * this.automaton.states ** 2 > SHAPLEY_WORK)
      parts.push(["The word is too long for bars at this size."]);
    $("steps-note").replaceChildren(...spaced(...parts));
  }

  #choose(at, isKey) {
    this.step = at;
    for (const cell of $("steps").children) {
      const isHere = Number(cell.dataset.step) === at;
      cell.setAttribute("aria-selected", String(isHere));
      cell.setAttribute("tabindex", isHere ? "0" : "-1");
      if (isHere && isKey) cell.focus();
    }
    this.hasFollowed = true;
    this.#detail();
  }

  #detail() {
    const { content, word, step, rank } = this;
    const shares = this.drawn.shares(this.states[step].state);
    this.onstep(this.hasFollowed ? shares : null, content.spell(word.slice(0, step)));
    const states = shares
      .map((value, state) => ({ label: content.stateText(rank, state), value }))
      .sort((a, b) => Math.abs(b.value) - Math.abs(a.value))
      .slice(0, 6)
      .filter(({ value }, at) => at === 0 || Math.abs(value) > 5e-4);
    const so = content.spell(word.slice(0, step));
    const parts = [
      element(
        "div",
        {},
        element("h3", {}, "State after ", element("span", { className: "mono" }, so)),
        bars(states, { write: this.drawn.readers ? percent : (value) => show(value, 3) }),
      ),
    ];
    const next = this.automaton.next(this.path[step].state);
    if (next) {
      const theirs = this.answer?.next?.[step] ?? this.knownNext.get(word.slice(0, step).join(" "));
      const rows = next
        .map((value, code) => ({ label: content.symbol(code), value, other: theirs?.[code] }))
        .sort((a, b) => b.value - a.value)
        .slice(0, 10);
      parts.push(
        element(
          "div",
          {},
          element("h3", {}, "What comes next"),
          bars(rows, { compared: Boolean(theirs) }),
          theirs ? element("p", { className: "caption" }, "Automaton · box (thin bar)") : null,
        ),
      );
    } else {
      const values = this.path.slice(0, 40).map((place) => this.automaton.weightAt(place).value);
      const nothing = 1e-13 * Math.max(...values.map(Math.abs)); // rounding
      const write = (value) => (Math.abs(value) <= nothing ? "0" : show(value, 4));
      parts.push(
        element(
          "div",
          {},
          element("h3", {}, ...Terms.nodes("word.so-far")),
          bars(
            values.map((value, at) => ({ label: content.spell(word.slice(0, at)), value })),
            { write },
          ),
        ),
      );
    }
    $("step-detail").replaceChildren(...parts);
  }
}

function compared(ours, theirs) {
  if (Math.abs(ours - theirs) <= 1e-9 * Math.abs(theirs)) return "the same";
  if (theirs === 0) return `the automaton differs by ${show(Math.abs(ours), 2)}`;
  const gap = (ours - theirs) / Math.abs(theirs);
  if (!Number.isFinite(gap)) return "the automaton's is far larger";
  if (Math.abs(gap) > 10) return `the automaton's is ${show(ours / theirs, 2)} times that`;
  return `the automaton's is ${percent(Math.abs(gap))} ${gap > 0 ? "above" : "below"}`;
}
