// Fidelity and singular values against the number of states.

/** Metrics that a chart can show, as a loss: lower is better. Their names are in terms.json. */
const LOSSES = {
  kl_per_symbol: (value) => value,
  ndcg5: (value) => 1 - value,
  disagreement: (value) => value,
  weight_agreement: (value) => 1 - value,
  relative_error: (value) => value,
  correlation: (value) => 1 - value,
  max_error: (value) => value,
  zeros: (value) => value,
};

/** Values for a logarithmic axis: what is 0 stands at the bottom. */
function positive(values) {
  const above = values.filter((value) => value > 0);
  const floor = above.length ? Math.min(...above) / 3 : 1e-16;
  return values.map((value) =>
    value === null || Number.isNaN(value) ? null : Math.max(value, floor),
  );
}

/** An axis in powers of ten, few enough to be read; without one in sight, other round numbers. */
const LOGARITHMIC = {
  splits: (plot, axis, low, high) => {
    if (!(low > 0) || !Number.isFinite(high)) return [];
    const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
    const room = axis === 0 ? Math.max(2, Math.floor(plot.width / 70)) : 7; // numbers side by side
    const step = Math.max(1, Math.ceil((last - first + 1) / room));
    const ticks = [];
    for (let exponent = first; exponent <= last; exponent += step) ticks.push(10 ** exponent);
    if (ticks.length > 1) return ticks;
    const size = 10 ** Math.floor(Math.log10(high));
    return [0.1, 0.2, 0.5, 1, 2, 5]
      .map((part) => part * size)
      .filter((value) => value >= low && value <= high);
  },
  filter: (plot, splits) => splits, // all of them get a number
  values: (plot, values) =>
    values.map((value) => {
      const exponent = Math.log10(value);
      if (Math.abs(exponent) <= 2.1) return String(Number(value.toPrecision(1)));
      const whole = Math.round(exponent);
      return Math.abs(exponent - whole) < 1e-9 ? power(whole) : show(value, 1);
    }),
};

/** The options that all charts share. */
function chartOptions(width, height, { x, y, series, hooks }) {
  const axis = (label, more) => ({
    label,
    labelFont: `12px ${FONT}`,
    labelSize: 20,
    font: `12px ${FONT}`,
    stroke: colour("--muted"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { stroke: colour("--line"), width: 1, size: 4 },
    ...more,
  });
  return {
    width,
    height,
    padding: [10, 12, 0, 0],
    legend: { show: false },
    scales: { x: { time: false, ...x.scale }, y: y.scale },
    axes: [axis(x.label, { size: 30, ...x.axis }), axis(y.label, { size: 52, ...y.axis })],
    series: [{}, ...series],
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 8 } },
    hooks,
  };
}

class SizeChart {
  /** `onpick` is called with a number of states that was clicked. */
  constructor(place, note, onpick) {
    Object.assign(this, { place, note, onpick });
  }

  /** `sentence` is the name of a term that describes it, where there is one. */
  draw({ ranks, values, marked, label, described, sentence, unit }) {
    Object.assign(this, { ranks, marked, described, values, sentence, unit });
    this.plot?.destroy();
    const shown = positive(values);
    const width = Math.max(240, this.place.clientWidth);
    const dots = { show: true, size: 5, stroke: colour("--accent"), fill: colour("--card") };
    const options = chartOptions(width, 230, {
      x: {
        label: "states",
        scale: { range: (_, low, high) => [Math.min(low, 1) - 0.5, Math.max(high, 2) + 0.5] },
        axis: { incrs: [1, 2, 5, 10, 20, 50, 100] },
      },
      y: { label, scale: { distr: 3 }, axis: LOGARITHMIC },
      series: [
        { stroke: colour("--accent"), width: 1.5, points: dots },
        {
          stroke: "transparent",
          width: 0,
          points: { show: true, size: 9, fill: colour("--accent"), stroke: colour("--accent") },
        },
      ],
      hooks: {
        drawClear: [(plot) => this.#line(plot)],
        setCursor: [(plot) => this.#describe(plot.cursor.idx)],
      },
    });
    const own = ranks.map((rank, at) => (marked.includes(rank) ? shown[at] : null));
    this.plot = new uPlot(options, [ranks, shown, own], this.place);
    this.plot.root.setAttribute("role", "img");
    this.plot.root.setAttribute("aria-label", described);
    this.plot.over.addEventListener("click", () => {
      const at = this.plot.cursor.idx;
      if (at !== null && at !== undefined) this.onpick(ranks[at]);
    });
    this.#describe(null);
  }

  at(rank) {
    this.rank = rank;
    this.plot?.redraw(false);
    this.#describe(null);
  }

  /** A line through the number of states that the page shows. */
  #line(plot) {
    if (this.rank === undefined) return;
    const x = Math.round(plot.valToPos(this.rank, "x", true));
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = colour("--mark");
    ctx.lineWidth = 2 * devicePixelRatio;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
  }

  #describe(at) {
    const index = at ?? this.ranks?.indexOf(this.rank) ?? -1;
    if (index < 0) return;
    const value = this.values[index];
    this.note.replaceChildren(
      `${counted(this.ranks[index], "state")}: ${show(value, 3)}${this.unit}. `,
      ...(this.sentence ? Terms.nodes(this.sentence) : [this.described]),
    );
  }
}

function choice({ before, after }) {
  if (before === after) return `${after} stays the first choice, with another probability`;
  return `${after} is the first choice, no longer ${before}`;
}

class Sizes {
  constructor(content, onpick) {
    this.content = content;
    this.fidelity = new SizeChart($("fidelity-chart"), $("fidelity-note"), onpick);
    this.values = new SizeChart($("values-chart"), $("values-note"), onpick);
    const select = $("metric");
    const table = content.fidelity;
    this.metrics = table ? Object.keys(LOSSES).filter((name) => name in table.values) : [];
    select.append(...this.metrics.map((name) => element("option", { value: name })));
    $("values-title").replaceChildren(...Terms.nodes("sizes.values"));
    this.named();
    select.addEventListener("change", () => this.draw());
    this.#table();
    this.#changes();
  }

  /** An option has room for one form of its name only. */
  named() {
    for (const option of $("metric").options)
      option.textContent = Terms.text(`metric.${option.value}`);
  }

  get isThere() {
    return this.content.largest > 1 && this.content.singular_values.length > 1;
  }

  draw() {
    const { content } = this;
    if (!this.isThere) return;
    const own = content.ranks.filter(({ kept }) => kept === null).map(({ rank }) => rank);
    const table = content.fidelity;
    const name = $("metric").value || this.metrics[0];
    const values = table.values[name].map((value) =>
      value === null ? null : LOSSES[name](value),
    );
    this.fidelity.draw({
      ranks: table.ranks,
      values,
      marked: own,
      label: "",
      unit: name === "kl_per_symbol" ? " bits per symbol" : "",
      described:
        `Lower is better; on ${table.source}.` +
        (own.length ? " Full dots: probabilistic automata that were fitted to the box." : ""),
    });
    this.values.draw({
      ranks: content.singular_values.map((_, at) => at + 1),
      values: content.singular_values,
      marked: [],
      label: "",
      unit: " (singular value, without a unit)",
      described: Terms.text("sizes.values.note"),
      sentence: "sizes.values.note",
    });
    this.at(this.rank ?? content.chosen);
  }

  at(rank) {
    this.rank = rank;
    this.fidelity.at(rank);
    this.values.at(rank);
    for (const row of document.querySelectorAll("#sizes-table tr[data-rank]")) {
      row.classList.toggle("current", Number(row.dataset.rank) === rank);
    }
  }

  /** What every larger size adds, in one line each. */
  #changes() {
    const { content } = this;
    const { steps, predicting } = content.changes;
    $("changes").hidden = !steps.length;
    if (!steps.length) return;
    const rows = steps.map(({ before, after, distance, changes }) => {
      const [change] = changes;
      const example = !change
        ? "nothing"
        : predicting
          ? `after ${content.spell(change.prefix)}: ${choice(change)}`
          : `${content.spell(change.prefix)}: weighs ${change.after}, no longer ${change.before}`;
      return element(
        "tr",
        {},
        element("th", { scope: "row" }, `${before} → ${after}`),
        element("td", { className: "right" }, predicting ? percent(distance) : show(distance, 2)),
        element("td", {}, example),
      );
    });
    const moved = predicting ? "distance" : "change";
    $("changes-table").replaceChildren(
      compactTable(
        ["states", moved, "where most"],
        [moved],
        element("tbody", {}, ...rows),
      ),
    );
    $("changes-note").replaceChildren(
      ...Terms.nodes(predicting ? "changes.next" : "changes.weights"),
    );
  }

  #table() {
    const table = this.content.fidelity;
    if (!table || !this.isThere) return;
    const names = Object.keys(table.values);
    const head = element(
      "tr",
      {},
      element("th", { scope: "col" }, "states"),
      ...names.map((name) => element("th", { scope: "col", title: table.meanings[name] }, name)),
    );
    const rows = table.ranks.map((rank, at) =>
      element(
        "tr",
        { "data-rank": rank },
        element("th", { scope: "row" }, String(rank)),
        ...names.map((name) => element("td", {}, show(table.values[name][at], 4))),
      ),
    );
    $("sizes-table").replaceChildren(
      element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)),
    );
  }
}
