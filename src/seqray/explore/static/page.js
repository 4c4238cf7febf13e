// The whole page: what it says on top, and how its parts follow the sliders.

class Page {
  constructor(content) {
    this.content = content;
    this.ranks = content.ranks.map(({ rank }) => rank);
    this.positions = new Map(); // of the slider of thresholds, as the user left it, by rank
    if (content.first) this.positions.set(content.chosen, content.first.position);
    this.graph = new Graph(content, {
      onselect: (state) => this.panel.show(this.rank, state),
      onstatus: (text) => this.status({ text }),
    });
    this.panel = new StatePanel(content, this.graph);
    this.word = new WordView(content, { onstep: (shares, so) => this.follow(shares, so) });
    this.sizes = new Sizes(content, (rank) => this.pick(rank));
    this.comparison = new Comparison(content, (word) => this.tryWord(word));
    this.#made();
    openGroups();
    this.#controls();
  }

  begin() {
    $("sizes-numbers").open = false; // it is open for those who see no charts
    this.setRank(this.content.chosen);
    this.sizes.draw();
    document.body.dataset.ready = "yes";
  }

  // Sliders -----------------------------------------------------------------------------------

  #controls() {
    const slider = $("rank");
    slider.max = String(this.ranks.length - 1);
    $("rank-control").hidden = this.ranks.length < 2;
    slider.addEventListener("input", () => this.setRank(this.ranks[Number(slider.value)]));
    $("rank-reset").addEventListener("click", () => this.setRank(this.content.chosen));
    const threshold = $("threshold");
    threshold.addEventListener("input", () => {
      this.positions.set(this.rank, Number(threshold.value));
      this.#threshold();
      this.#drawSoon();
    });
    let width = innerWidth;
    const redraw = settled(200, () => {
      this.graph.show(this.rank, this.thresholdNow).then(() => this.#settle());
      this.#redraw();
    });
    addEventListener("resize", () => {
      if (innerWidth === width) return; // on phones the height changes when one scrolls
      width = innerWidth;
      delete document.body.dataset.settled;
      redraw();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#redraw());
    themeButton(() => this.#redraw());
    matchMedia("print").addEventListener("change", () => this.#redraw());
    Terms.listen(() => this.sizes.named());
  }

  /** Charts have their colours in pixels. */
  #redraw() {
    this.sizes.draw();
    this.comparison.redraw();
  }

  setRank(rank) {
    const { content } = this;
    this.rank = rank;
    const at = this.ranks.indexOf(rank);
    $("rank").value = String(at);
    $("rank").setAttribute("aria-valuetext", counted(rank, "state"));
    $("rank-value").textContent = String(rank);
    $("rank-reset").hidden = rank === content.chosen;
    $("rank-reset").textContent = `back to ${content.chosen}`;
    this.#headline();
    this.sizes.at(rank);
    this.#heavy();
  }

  /** The nearest size that the page has. */
  pick(rank) {
    this.setRank(
      this.ranks.reduce((best, here) =>
        Math.abs(here - rank) < Math.abs(best - rank) ? here : best,
      ),
    );
  }

  /** All that takes time, when the slider rests for a moment. */
  #heavy = settled(40, () => {
    const { rank, content } = this;
    const arrows = this.graph.arrows(rank);
    if (!this.positions.has(rank)) this.positions.set(rank, arrows.opening());
    $("threshold").value = String(this.positions.get(rank));
    this.#threshold();
    $("graph-intro").replaceChildren(...readingHelp(content, rank, arrows));
    showLegend(content, rank, arrows);
    const drawn = this.graph.show(rank, this.thresholdNow);
    this.panel.show(rank, null);
    this.word.show(rank);
    $("word-intro").replaceChildren(...wordHelp(this.word.automaton));
    drawn
      .then(() => this.comparison.show(rank))
      .then(() => this.#settle(rank));
  });

  /** Say that all parts show what they are to show. */
  #settle(rank = this.rank) {
    document.body.dataset.settled = String(rank);
  }

  #drawSoon = settled(120, () => this.graph.show(this.rank, this.thresholdNow));

  #threshold() {
    const arrows = this.graph.arrows(this.rank);
    const threshold = arrows.threshold(this.positions.get(this.rank));
    this.thresholdNow = threshold;
    const text = threshold === 0 ? "nothing" : arrows.write(threshold);
    $("threshold-value").textContent = text;
    $("threshold").setAttribute("aria-valuetext", threshold === 0 ? "nothing is hidden" : text);
    $("hidden-share").textContent = arrows.drawn(threshold, MOST_ARROWS);
  }

  /** Mark in the graph where a typed word has led. */
  follow(shares, so) {
    this.graph.follow(shares);
    this.status({ so: shares ? `Amber: where the word ${so} has led. ` : "" });
  }

  status(change) {
    this.said = { text: "", so: "", ...this.said, ...change };
    $("graph-status").textContent = this.said.so + this.said.text;
  }

  tryWord(word) {
    this.word.set(word);
    $("word").scrollIntoView({
      behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth",
    });
    $("word-field").focus({ preventScroll: true });
  }

  // The top -----------------------------------------------------------------------------------

  #headline() {
    const { content, rank } = this;
    const table = content.fidelity;
    const at = table ? table.ranks.indexOf(rank) : -1;
    const figure = (name) => (at >= 0 && table.values[name] ? table.values[name][at] : null);
    const interval = (name) => (at >= 0 ? (table.intervals[name]?.[at] ?? null) : null);
    const isFromBox = isExtracted(content);
    document.title = `${content.name} in ${counted(rank, "state")} · seqray`;
    $("kicker").textContent = isFromBox ? "An X-ray of a black box" : "A weighted automaton";
    $("headline").replaceChildren(
      element("span", { className: "box-name", dir: "auto" }, content.name),
      rank <= 12
        ? `, seen as ${spelled(rank)} ${rank === 1 ? "state" : "states"}`
        : `, seen as ${counted(rank, "state")}`,
    );
    const intro = isFromBox
      ? `seqray sent the box ${counted(content.queries, "query", "queries")} ` +
        `and used nothing else. From the answers it built a small machine over ` +
        `${counted(content.symbols, "symbol")} that stands for it. `
      : `A machine over ${counted(content.symbols, "symbol")} that gives every word a number. `;
    $("lede").replaceChildren(intro, ...verdictOf(figure));
    const tiles = tilesOf(figure, interval);
    $("tiles").hidden = !tiles.length;
    $("tiles").replaceChildren(...tiles);
    $("tiles-note").textContent = tiles.length ? measuredOn(table, at, tiles) : "";
    if (!table) {
      $("lede").append(
        "To see how faithful it is to a box, make this page with ",
        element("code", {}, "--against BOX"),
        ".",
      );
    }
  }

  // The bottom --------------------------------------------------------------------------------

  #made() {
    const { content } = this;
    $("made-list").replaceChildren(
      ...content.made.flatMap(([name, text]) => [
        element("dt", {}, ...(`made.${name}` in Terms.all ? Terms.nodes(`made.${name}`) : [name])),
        element("dd", { dir: "auto" }, text),
      ]),
    );
    const digits = {
      8: "exactly as in Python",
      7: "to 13 digits",
      6: "to 11 digits",
      5: "to 8 digits",
      4: "to 6 digits",
      3: "to 3 digits, for lack of room",
    };
    const missing =
      content.largest > 1 && content.ranks.length > 1 ? content.largest - content.ranks.length : 0;
    const loss = Math.max(0, ...content.ranks.map((entry) => entry.loss ?? 0));
    $("made-note").textContent = [
      `Weights are computed in this page with the numbers of the automaton, stored ` +
        `${digits[content.bytes]}.`,
      missing > 0
        ? `To stay below 3 MB the page leaves out ${counted(missing, "size")} of 1 to ` +
          `${content.largest} states.`
        : "",
      content.left_out ? `For lack of room it also leaves out ${content.left_out}.` : "",
      loss > 1e-6
        ? `States get their names in other coordinates, which changes weights by up to ` +
          `${percent(loss)} of the largest; this concerns the picture, not the weights.`
        : "",
    ]
      .filter(Boolean)
      .join(" ");
    showFacts(content, (word) => this.tryWord(word));
  }
}

/** Whether it was extracted from a box, and is not just an automaton in a file. */
function isExtracted({ queries }) {
  return queries !== null && queries !== undefined;
}

/** On which words it was measured, and how sure the figures in the tiles are (first_look.py). */
function measuredOn({ source, words, no_interval: why }, at, tiles) {
  const said = `Measured on ${source}${/\d/.test(source) ? "" : ` (${count(words)})`}`;
  if (tiles.some((tile) => tile.querySelector("small")))
    return `${said}; ± 95 % confidence interval, for words like these.`;
  return why[at] ? `${said}. ${why[at]}.` : `${said}.`;
}

/** How near the automaton is, in plain words. */
function verdictOf(figure) {
  const lost = figure("kl_per_symbol");
  const order = figure("ndcg5");
  const error = figure("relative_error");
  const levels = (value, bounds) =>
    ["practically the same", "very close", "close", "roughly alike", "very different"][
      bounds.findIndex((bound) => value <= bound) < 0
        ? 4
        : bounds.findIndex((bound) => value <= bound)
    ];
  if (lost !== null) {
    const said = levels(lost, [1e-3, 1e-2, 5e-2, 0.2]);
    const own = figure("entropy_per_symbol");
    const values = {
      ratio: percent(figure("ratio_per_symbol") ?? 2 ** -lost, 4),
      lost: bits(lost),
      of: own === null ? "" : ` of ${show(own, 3)}`,
    };
    return [
      "In predicting the next symbol, the two are ",
      element("strong", {}, said),
      ": ",
      ...Terms.nodes("lede.ratio", values),
      ".",
    ];
  }
  if (order !== null) {
    const said = levels(1 - order, [1e-3, 1e-2, 5e-2, 0.15]);
    return ["In predicting the next symbol, the two are ", element("strong", {}, said), "."];
  }
  if (error !== null)
    return [
      "In their numbers for words, the two are ",
      element("strong", {}, levels(error, [1e-3, 1e-2, 0.1, 0.3])),
      ".",
    ];
  return [];
}

/** A number of bits, with two digits and without a power of ten as long as that can be read. */
function bits(value) {
  return value >= 1e-6 && value < 1e3 ? String(Number(value.toPrecision(2))) : show(value, 2);
}

function tilesOf(figure, interval) {
  const word = figure("kl_per_word");
  const values = { word: word === null ? "" : `; ${bits(word)} per word` };
  const tile = (name, value) => {
    const between = interval(name);
    const measured = figure(name);
    const reaches = between ? Math.max(between[1] - measured, measured - between[0]) : 0;
    const half = measured > 0.5 && reaches < 1e-6 ? 0 : reaches; // figures near 1 have six digits
    const isShare = ["ratio_per_symbol", "disagreement", "sign_agreement"].includes(name);
    const isBits = name === "kl_per_symbol";
    const reach = isShare ? `${bits(100 * half)} %` : isBits ? bits(half) : show(half, 2);
    const sure = half ? `± ${reach}` : "";
    return element(
      "div",
      { className: "tile", "data-metric": name },
      element(
        "span",
        { className: "tile-value" },
        element("span", {}, value),
        ...(sure ? [" ", element("small", {}, sure)] : []),
      ),
      element("span", { className: "tile-text" }, ...Terms.nodes(`tile.${name}`, values)),
    );
  };
  const tiles = [];
  const add = (name, write) => {
    const value = figure(name);
    if (value !== null) tiles.push(tile(name, write(value)));
  };
  add("kl_per_symbol", (value) => `${bits(value)} bits`);
  add("ratio_per_symbol", (value) => percent(value, 4));
  add("disagreement", (value) => percent(1 - value, 4));
  add("ndcg5", (value) => show(value, 5));
  if (figure("ndcg5") === null) {
    add("weight_agreement", (value) => percent(value, 4));
    add("relative_error", (value) => show(value, 3));
    add("correlation", (value) => show(value, 5));
    add("sign_agreement", (value) => percent(value, 4));
  }
  return tiles;
}

function wordHelp(automaton) {
  return Terms.nodes(automaton.readers ? "word.probabilities" : "word.weights");
}

/** Light, dark, or as the system has it. */
function themeButton(onchange) {
  const button = $("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () =>
    (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const mark = () => {
    button.textContent = isDark() ? "☀" : "☾";
    button.setAttribute("aria-label", isDark() ? "Light colours" : "Dark colours");
    button.title = isDark() ? "Light colours" : "Dark colours";
  };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    mark();
    onchange();
  });
  system.addEventListener("change", mark);
  mark();
}

Content.read()
  .then((content) => new Page(content).begin())
  .catch((error) => {
    $("failure").hidden = false;
    $("failure").textContent =
      `This page could not be shown: ${error.message}. It needs a browser from 2023 or later.`;
    document.documentElement.classList.remove("js");
    // Of a damaged page nothing is to be believed; a browser that is too old still shows tables.
    if (error instanceof DamagedContent)
      for (const part of document.querySelectorAll("main > header, main > section")) part.remove();
    throw error;
  });
