// Facts about the whole, at the number of states that is shown first.

function showFacts(content, onword) {
  const cards = [factWords(content, onword), factLength(content), factSymbols(content)];
  $("facts-body").replaceChildren(...cards.filter(Boolean));
}

function factCard(title, ...children) {
  return element("div", { className: "card" }, element("h3", {}, title), ...children);
}

function factWords(content, onword) {
  const { words, counts } = content.facts;
  if (!words.length) return null;
  const areProbabilities = Boolean(counts);
  const rows = words.map(({ word, weight }) => ({
    label: content.spell(word),
    value: weight,
    onclick: () => onword(word),
  }));
  const text = areProbabilities
    ? `${words.length === 1 ? "It makes" : "Together they make"} up ` +
      percent(words.reduce((sum, { weight }) => sum + weight, 0)) +
      " of all words."
    : "The largest in size.";
  return factCard(
    `The ${areProbabilities ? "most probable" : "heaviest"} ${words.length === 1 ? "word" : "words"}`,
    bars(rows, { write: areProbabilities ? percent : (value) => show(value, 3) }),
    element("p", { className: "caption" }, text),
  );
}

function factLength(content) {
  const { length, rhythms = [], absorbing = [], periodic = [] } = content.facts;
  const names = (states) =>
    states
      .slice(0, 6)
      .map((state) => content.stateText(content.chosen, state))
      .join(", ") + (states.length > 6 ? " …" : "");
  const lines = [];
  if (length)
    lines.push([
      "Words have ",
      element("strong", {}, `${show(length[0])} ${show(length[0]) === "1" ? "symbol" : "symbols"}`),
      " on average",
      ...(length[1] > 0 ? Terms.nodes("facts.spread", { spread: show(length[1], 2) }) : []),
      ".",
    ]);
  for (const states of absorbing)
    lines.push([`Once in ${names(states)}, a word stays there until it ends.`]);
  for (const [period, states] of periodic)
    lines.push([`It comes back to ${names(states)} only after multiples of ${period} symbols.`]);
  const swings = rhythms.map(
    ([period, strength]) =>
      `The weights of words swing with their length, once in ${show(period)} symbols; ` +
      (strength > 1 + 1e-9
        ? `with each symbol the swing grows ${show(strength, 2)} times.`
        : strength > 1 - 1e-9
          ? "the swing never dies away."
          : `with each symbol ${percent(strength)} of that swing is left.`),
  );
  for (const swing of new Set(swings)) lines.push([swing]);
  if (!lines.length) return null;
  return factCard("Length and rhythm", ...lines.map((parts) => element("p", {}, ...parts)));
}

function factSymbols(content) {
  const { counts, influence } = content.facts;
  if (!counts) return null;
  const order = counts.map((_, code) => code).sort((a, b) => counts[b] - counts[a]);
  const others = order.slice(12);
  const rows = order.slice(0, 12).map((code) =>
    element(
      "tr",
      {},
      element("th", { scope: "row", className: "mono" }, content.symbol(code)),
      element("td", { className: "right" }, show(counts[code], 3)),
      element("td", { className: "right" }, percent(influence[code])),
    ),
  );
  if (others.length) {
    const together = others.reduce((sum, code) => sum + counts[code], 0);
    rows.push(
      element(
        "tr",
        {},
        element("th", { scope: "row" }, counted(others.length, "other")),
        element("td", { className: "right" }, show(together, 3)),
        element("td", {}),
      ),
    );
  }
  return factCard(
    "The symbols",
    compactTable(
      ["symbol", "per word", "influence"],
      ["per word", "influence"],
      element("tbody", {}, ...rows),
    ),
    element(
      "p",
      { className: "caption" },
      ...Terms.nodes("facts.symbols"),
    ),
  );
}
