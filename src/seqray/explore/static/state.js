// What stands beside the graph: all states, or the chosen one; how to read the picture.

/** Bars with a label and a number each; `other` is a second number to compare with. */
function bars(rows, { write = percent, compared = false } = {}) {
  const largest = Math.max(
    1e-300,
    ...rows.flatMap(({ value, other }) => [Math.abs(value), Math.abs(other ?? 0)]),
  );
  const list = element("ul", { className: `bars${compared ? " compared" : ""}` });
  for (const { label, title, value, other, onclick } of rows) {
    const bar = (size, name) =>
      styled(element("span", { className: `${name}${size < 0 ? " negative" : ""}` }), {
        "--size": (Math.abs(size) / largest).toFixed(4),
      });
    const name = onclick
      ? element("button", { type: "button", className: "bar-label quiet", title, onclick }, label)
      : element("span", { className: "bar-label", title: title ?? label }, label);
    const lane = element("span", { className: "lane", "aria-hidden": "true" }, bar(value, "bar"));
    if (compared) lane.append(bar(other ?? 0, "bar other"));
    const numbers =
      compared && other !== undefined ? `${write(value)} · ${write(other)}` : write(value);
    list.append(element("li", {}, name, lane, element("span", { className: "number" }, numbers)));
  }
  return list;
}

const LABEL = 28; // letters that have room in a list of states, in two lines

class StatePanel {
  constructor(content, graph) {
    Object.assign(this, { content, graph, panel: $("state-panel") });
  }

  show(rank, state) {
    if (state === null) this.#all(rank);
    else this.#one(rank, state);
  }

  #all(rank) {
    const entry = this.content.byRank.get(rank);
    const states = Array.from({ length: this.graph.arrows(rank).automaton.states }, (_, at) => at);
    const mass = entry.mass && entry.mass.every((value) => value !== null) ? entry.mass : null;
    if (mass) states.sort((a, b) => mass[b] - mass[a]);
    const most = 14;
    const labels = this.content.stateLabels(rank, LABEL);
    const rows = states.slice(0, most).map((state) => ({
      label: labels[state],
      title: this.content.stateText(rank, state),
      value: mass ? mass[state] : 0,
      onclick: () => this.graph.choose(state),
    }));
    this.panel.replaceChildren(
      element("h3", {}, mass ? "Where it spends its time" : "The states"),
      mass
        ? bars(rows)
        : element(
            "p",
            { className: "plain-list" },
            ...rows.map(({ label, title, onclick }) =>
              element("button", { type: "button", className: "quiet", title, onclick }, label),
            ),
          ),
      element(
        "p",
        { className: "caption" },
        states.length > most ? `And ${count(states.length - most)} more. ` : "",
        element("span", { className: "for-screens" }, "Choose a state to see what happens there."),
      ),
    );
  }

  #one(rank, state) {
    const { content, graph } = this;
    const arrows = graph.arrows(rank);
    const { automaton } = arrows;
    const mass = content.byRank.get(rank).mass?.[state];
    const { how, what } = content.stateName(rank, state);
    const facts = [];
    if (mass) facts.push(["of the time here", percent(mass)]);
    facts.push([
      "words begin here",
      arrows.areProbabilities ? percent(automaton.initial[state]) : show(automaton.initial[state]),
    ]);
    facts.push([
      "words end here",
      arrows.areProbabilities ? percent(automaton.final[state]) : show(automaton.final[state]),
    ]);
    const only = new Float64Array(automaton.states);
    only[state] = 1;
    const next = automaton.next(only);
    const following = next
      ? next
          .map((value, code) => ({ label: content.symbol(code), value }))
          .sort((a, b) => b.value - a.value)
          .slice(0, 8)
      : [];
    const out = arrows.from(state).slice(0, 8);
    this.panel.replaceChildren(
      element(
        "h3",
        {},
        `${how} `,
        element(
          "span",
          { className: "mono" },
          content.byRank.get(rank).names ? what : `state ${what}`,
        ),
      ),
      element(
        "dl",
        { className: "little" },
        ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]),
      ),
      ...(following.length ? [element("h4", {}, "What comes next"), bars(following)] : []),
      ...this.#goesOn(rank, state),
      element("h4", {}, "Its arrows"),
      bars(
        out.map((arrow) => ({
          label: `→ ${content.stateLabels(rank, LABEL)[arrow.to]} · ${this.#symbols(arrow)}`,
          title: `→ ${content.stateText(rank, arrow.to)}`,
          value: arrow.weights.reduce((sum, { weight }) => sum + weight, 0),
        })),
        { write: (value) => arrows.write(value) },
      ),
      element(
        "button",
        { type: "button", className: "quiet", onclick: () => graph.choose(state) },
        "All states",
      ),
    );
  }

  /** The symbols of an arrow, without those that hardly count. */
  #symbols({ weights, heaviest }) {
    const heavy = weights.filter(({ weight }) => Math.abs(weight) >= 0.02 * Math.abs(heaviest));
    const names = heavy.slice(0, 3).map(({ symbol }) => this.content.symbol(symbol));
    return names.join(" ") + (heavy.length > 3 ? " …" : "");
  }

  /** How words end that have come here, where the page knows it. */
  #goesOn(rank, state) {
    const { content } = this;
    const words = rank === content.chosen ? (content.facts.continuations?.[state] ?? []) : [];
    if (!words.length) return [];
    const write = this.graph.arrows(rank).areProbabilities ? percent : (value) => show(value, 3);
    return [
      element("h4", {}, "How words end from here"),
      bars(
        words.map(({ word, weight }) => ({
          label: word.length ? content.spell(word) : "at once",
          value: weight,
        })),
        { write },
      ),
    ];
  }
}

/** What the circles and arrows mean, for the kind of automaton that is shown. */
function readingHelp(content, rank, arrows) {
  const entry = content.byRank.get(rank);
  const named = Terms.nodes(
    entry.names ? "graph.named" : entry.kept === null ? "graph.many" : "graph.coordinates",
  );
  if (arrows.areProbabilities) return spaced(Terms.nodes("graph.probabilities"), named);
  const minus = arrows.hasNegative ? [Terms.nodes("graph.negative")] : [];
  return spaced(Terms.nodes("graph.weights"), named, ...minus);
}

/** How to read the picture: what it has none of is not explained. */
function showLegend(content, rank, arrows) {
  $("legend-negative").hidden = !arrows.hasNegative;
  $("legend-end").hidden = !arrows.areProbabilities;
  $("legend-time").hidden = !content.byRank.get(rank).mass?.some((value) => value !== null);
}
