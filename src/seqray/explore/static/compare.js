// Box against automaton: every word a dot, the worst disagreements, what comes next.

const HEAT_ROWS = 16;
const HEAT_COLUMNS = 24;
const MOST_LETTERS = 14; // of a symbol in a table
const ROUNDING = 5e-5; // the answers of the box that a page has are rounded to five digits
const VIEWS = { automaton: "Automaton", box: "Box", difference: "Difference" };

class Comparison {
  constructor(content, onword) {
    Object.assign(this, { content, onword, recorded: content.recorded, latest: new Latest() });
    this.view = "automaton";
    if (!this.recorded) {
      $("agreement-body").remove();
      $("agreement-intro").replaceChildren(
        "This page has no answers of the box. To see where both agree, make it again with ",
        element("code", {}, "seqray explore RUN -o page.html --against BOX"),
        ".",
      );
      return;
    }
    $("agreement-intro").textContent =
      `Both were queried on the same words: ${this.recorded.source}. The automaton answers ` +
      `with the number of states that the slider shows.`;
    if (!this.recorded.next) $("heat-figure").remove();
    else this.#switch();
  }

  async show(rank) {
    if (!this.recorded) return;
    const alive = this.latest.begin();
    this.rank = rank;
    const automaton = this.content.automaton(rank);
    this.#worst(automaton);
    if (this.recorded.next) this.#heat(automaton);
    const give = pause();
    const weights = [];
    for (const word of this.recorded.words) {
      weights.push(automaton.weight(word).value);
      await give();
      if (!alive()) return;
    }
    this.weights = weights;
    this.redraw();
  }

  // Every word a dot --------------------------------------------------------------------------

  redraw() {
    if (!this.recorded || !this.weights) return;
    if (this.recorded.next) this.#heat(this.content.automaton(this.rank));
    const { recorded, weights } = this;
    this.plot?.destroy();
    const isPositive = recorded.weights.every((value) => value > 0);
    const order = recorded.weights
      .map((_, at) => at)
      .sort((a, b) => recorded.weights[a] - recorded.weights[b]);
    const above = isPositive
      ? recorded.weights.concat(weights.filter((value) => value > 0))
      : recorded.weights.concat(weights);
    let [low, high] = [Infinity, -Infinity];
    for (const value of above) [low, high] = [Math.min(low, value), Math.max(high, value)];
    if (isPositive) [low, high] = [low / 3, high * 3];
    else [low, high] = [low - 0.05 * (high - low || 1), high + 0.05 * (high - low || 1)];
    const good = order.map((at) => (isPositive && weights[at] <= 0 ? null : weights[at]));
    const lost = order.map((at) => (isPositive && weights[at] <= 0 ? low : null));
    const scale = { distr: isPositive ? 3 : 1, range: [low, high] };
    const ticks = isPositive ? LOGARITHMIC : {};
    const dots = (name, size) => ({
      stroke: "transparent",
      width: 0,
      paths: () => null,
      points: { show: true, size, fill: colour(name), stroke: "transparent", width: 0 },
    });
    const place = $("scatter");
    const options = chartOptions(Math.max(240, place.clientWidth), 400, {
      x: { label: "box", scale, axis: ticks },
      y: { label: "automaton", scale, axis: ticks },
      series: [dots("--dot", 5), dots("--negative", 6)],
      hooks: { drawClear: [(plot) => diagonal(plot, low, high)] },
    });
    options.cursor = { x: false, y: false, points: { show: false }, drag: { x: false, y: false } };
    this.plot = new uPlot(options, [order.map((at) => recorded.weights[at]), good, lost], place);
    const missed = lost.filter((value) => value !== null).length;
    const note =
      this.#score() +
      (missed
        ? ` ${counted(missed, "word")} to which the automaton gives no positive weight ` +
          `${missed === 1 ? "is" : "are"} at the bottom.`
        : "");
    this.plot.root.setAttribute("role", "img");
    this.plot.root.setAttribute("aria-label", note);
    $("scatter-note").textContent = `${note} Point at a dot to see its word, click to try it.`;
    this.#pointing(order, low, isPositive, note);
  }

  #score() {
    const { recorded, weights } = this;
    const nothing = 1e-9 * Math.max(...recorded.weights.map(Math.abs)); // rounding
    const near = recorded.weights.filter(
      (value, at) => Math.abs(weights[at] - value) <= 0.1 * Math.abs(value) + (value ? 0 : nothing),
    ).length;
    const share =
      weights.length === 1
        ? `The only word is${near ? "" : " not"}`
        : `${percent(near / weights.length)} of ${count(weights.length)} different words are`;
    return `${share} within a tenth of the box's number. On the line both are equal.`;
  }

  /** Find the dot that is nearest to the pointer. */
  #pointing(order, low, isPositive, note) {
    const { plot, recorded, weights, content } = this;
    const ring = element("span", { className: "ring" });
    ring.hidden = true;
    plot.over.append(ring);
    let places = null; // known when the chart is drawn, which is after this
    const find = () =>
      order.map((at) => {
        const y = isPositive && weights[at] <= 0 ? low : weights[at];
        return [plot.valToPos(recorded.weights[at], "x"), plot.valToPos(y, "y"), at];
      });
    let nearest = null;
    plot.over.addEventListener("pointermove", (event) => {
      const seen = plot.over.getBoundingClientRect();
      const [x, y] = [event.clientX - seen.left, event.clientY - seen.top];
      let least = 24;
      nearest = null;
      places ??= find();
      for (const place of places) {
        const far = Math.hypot(place[0] - x, place[1] - y);
        if (far < least) [least, nearest] = [far, place];
      }
      ring.hidden = !nearest;
      if (!nearest) return;
      styled(ring, { left: `${nearest[0]}px`, top: `${nearest[1]}px` });
      const at = nearest[2];
      $("scatter-note").textContent =
        `${content.spell(recorded.words[at])}: box ${show(recorded.weights[at])}, automaton ` +
        `${show(weights[at])}`;
    });
    plot.over.addEventListener("pointerleave", () => {
      ring.hidden = true;
      $("scatter-note").textContent = note;
    });
    plot.over.addEventListener("click", () => nearest && this.onword(recorded.words[nearest[2]]));
  }

  // The worst ---------------------------------------------------------------------------------

  #worst(automaton) {
    const { content, recorded } = this;
    const byNext = Boolean(recorded.worst_next);
    if (byNext && !automaton.readers) {
      $("worst").replaceChildren(
        element(
          "p",
          {},
          "At this size the weights of all words do not sum to one, so that the automaton " +
            "does not predict the next symbol.",
        ),
      );
      $("worst-note").textContent = "";
      return;
    }
    const rows = recorded.worst
      .map(({ word, source, box }, at) => {
        if (!byNext) {
          const value = automaton.weight(word).value;
          return { word, source, box, automaton: value, distance: Math.abs(value - box), most: null };
        }
        const theirs = recorded.worst_next[at];
        const path = automaton.walk(word);
        const ours = clipped(automaton.next(path[path.length - 1].state));
        const gaps = ours.map((value, code) => Math.abs(value - theirs[code]));
        const most = gaps.indexOf(Math.max(...gaps));
        return {
          word,
          source,
          most,
          box: theirs[most],
          automaton: ours[most],
          distance: gaps.reduce((a, b) => a + b, 0) / 2,
        };
      })
      .sort((a, b) => b.distance - a.distance);
    const size = Math.max(...rows.map((row) => Math.abs(row.box)), 1e-300);
    if (!rows.length || rows[0].distance <= (byNext ? ROUNDING : 1e-9 * size)) {
      $("worst").replaceChildren(
        element("p", {}, "None: on all words that were tried the two differ by rounding only."),
      );
      $("worst-note").textContent = "";
      return;
    }
    const write = byNext ? percent : (value) => show(value, 3);
    const titles = byNext ? ["after", "comes", "box", "automaton"] : ["word", "box", "automaton"];
    const groups = [
      [
        "Words drawn from the box or the automaton",
        rows.filter(({ source }) => /box|automaton/.test(source)),
      ],
      [
        "Other words: random, or by a search for disagreements",
        rows.filter(({ source }) => /random|search/.test(source)),
      ],
    ].filter(([, members]) => members.length);
    const isNamed = content.alphabet.separator.trim() !== ""; // such words have two lines
    const line = (row) =>
      element(
        "tr",
        {},
        element("td", { className: "spelt" }, this.#wordButton(row.word, isNamed ? 2 : 1)),
        ...(byNext ? [this.#symbolCell("td", row.most)] : []),
        element("td", { className: "right" }, write(row.box)),
        element("td", { className: "right" }, write(row.automaton)),
      );
    const most = groups.length > 1 ? 6 : 12;
    $("worst").replaceChildren(
      compactTable(
        titles,
        ["box", "automaton"],
        ...groups.map(([title, members]) =>
          element(
            "tbody",
            {},
            element(
              "tr",
              {},
              element(
                "th",
                { colspan: titles.length, scope: "rowgroup", className: "over" },
                title,
              ),
            ),
            ...members.slice(0, most).map(line),
          ),
        ),
      ),
    );
    const how = byNext
      ? "The probability of the next symbol on which they differ most."
      : "Their numbers for whole words.";
    $("worst-note").textContent =
      `${how} Searched for with ${counted(content.chosen, "state")}; these are the worst ` +
      `words of the search, not the average.`;
  }

  /** A cell with a symbol: long names are cut so that they still differ. */
  #symbolCell(tag, code, className = "") {
    this.names ??= distinct(this.content.alphabet.names, (text) => [...text].length <= MOST_LETTERS);
    const isEnd = code === this.content.symbols;
    const properties = {
      scope: tag === "th" ? "col" : null,
      className: `${isEnd ? "end" : "mono"} ${className}`.trim(),
      title: this.content.symbol(code),
    };
    return element(tag, properties, isEnd ? "end" : this.names[code]);
  }

  #wordButton(word, lines = 1) {
    const text = this.content.spell(word);
    const separator = this.content.alphabet.separator;
    const short = shortWord(text, separator, lines * (innerWidth < 560 ? 13 : 22));
    return element(
      "button",
      {
        type: "button",
        className: "quiet mono",
        title: `Try ${text}`,
        onclick: () => this.onword(word),
      },
      short,
    );
  }

  // What comes next ---------------------------------------------------------------------------

  #switch() {
    for (const [view, label] of Object.entries(VIEWS)) {
      const input = element("input", {
        type: "radio",
        name: "heat",
        value: view,
        id: `heat-${view}`,
        checked: view === this.view,
      });
      input.addEventListener("change", () => {
        this.view = view;
        this.#heat(this.content.automaton(this.rank));
      });
      $("heat-switch").append(
        element("span", {}, input, element("label", { for: `heat-${view}` }, label)),
      );
    }
  }

  #heat(automaton) {
    const { content, recorded } = this;
    const rows = recorded.prefixes.slice(0, HEAT_ROWS);
    const columns = this.#columns(rows.length);
    // Where there is room, all three stand side by side.
    const isWide = 3 * columns.length * 50 + 140 < $("heat").clientWidth;
    $("heat-switch").hidden = isWide;
    const views = isWide ? Object.keys(VIEWS) : [this.view];
    const tables = Object.fromEntries(
      views.map((view) => [view, this.#probabilities(automaton, rows, columns, view)]),
    );
    const largest = Math.max(
      0,
      ...(tables.difference ?? [[0]]).flat().map((value) => Math.abs(value) || 0),
    );
    const isSame = largest <= ROUNDING;
    const titles = element(
      "tr",
      {},
      element("td", { className: "over" }),
      ...views.map((view) =>
        element(
          "th",
          { scope: "colgroup", colspan: columns.length, className: "over group" },
          VIEWS[view],
        ),
      ),
    );
    const head = element(
      "tr",
      {},
      element("th", { scope: "col" }, "after"),
      ...views.flatMap(() =>
        columns.map((code, at) =>
          this.#symbolCell("th", code, isWide && at === 0 ? "group" : ""),
        ),
      ),
    );
    const body = rows.map((word, row) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, this.#wordButton(word)),
        ...views.flatMap((view) =>
          tables[view][row].map((value, at) => {
            const share = view !== "difference" ? value : isSame ? 0 : value / largest;
            const cell = heatCell(value, Math.abs(share), view);
            cell.classList.toggle("group", isWide && at === 0);
            return cell;
          }),
        ),
      ),
    );
    $("heat").replaceChildren(
      element(
        "table",
        { className: "heat" },
        element("thead", {}, ...(isWide ? [titles] : []), head),
        element("tbody", {}, ...body),
      ),
    );
    const cut =
      columns.length <= content.symbols
        ? ` The columns are the ${columns.length - 1} most expected of ` +
          `${count(content.symbols)} symbols, and the end.`
        : "";
    const strongest = !tables.difference
      ? ""
      : isSame
        ? " The two differ by rounding only."
        : ` Differences are automaton minus box; the strongest colour there stands for ` +
          `${percent(largest)}.`;
    $("heat-note").textContent =
      `Probabilities of the next symbol in percent, after each beginning.${strongest}${cut}`;
  }

  #probabilities(automaton, rows, columns, view) {
    return rows.map((word, at) => {
      const theirs = this.recorded.next[at];
      if (view === "box") return columns.map((code) => theirs[code]);
      if (!automaton.readers) return columns.map(() => NaN);
      const path = automaton.walk(word);
      const ours = clipped(automaton.next(path[path.length - 1].state));
      return columns.map((code) => (view === "automaton" ? ours[code] : ours[code] - theirs[code]));
    });
  }

  #columns(n) {
    const all = Array.from({ length: this.content.symbols }, (_, code) => code);
    const expected = (code) => this.recorded.next.slice(0, n).reduce((sum, row) => sum + row[code], 0);
    const shown =
      all.length <= HEAT_COLUMNS
        ? all
        : all.sort((a, b) => expected(b) - expected(a)).slice(0, HEAT_COLUMNS);
    return [...shown, this.content.symbols];
  }
}

function heatCell(value, share, view) {
  const number = 100 * value;
  const small = Math.abs(number) < 0.05;
  const digits =
    Math.abs(number) >= 9.95 ? 0 : view === "difference" && Math.abs(number) < 0.95 ? 2 : 1;
  const written = number.toFixed(digits).replace("-", "−");
  const text = Number.isNaN(value) ? "–" : small ? "·" : written;
  const cell = element(
    "td",
    {
      className: value < 0 ? "negative" : "",
      title: Number.isNaN(value) ? "" : percent(value, 4),
    },
    text,
  );
  return styled(cell, { "--share": Math.min(1, share || 0).toFixed(3) });
}

/** Read as a distribution: what is below 0 counts as impossible, see seqray.clipped. */
function clipped(next) {
  const above = next.map((value) => Math.max(0, value));
  const total = above.reduce((sum, value) => sum + value, 0);
  return above.map((value) => (total > 0 ? value / total : 1 / above.length));
}

function diagonal(plot, low, high) {
  const { ctx } = plot;
  const at = (value, axis) => plot.valToPos(value, axis, true);
  ctx.save();
  ctx.strokeStyle = colour("--muted");
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(at(low, "x"), at(low, "y"));
  ctx.lineTo(at(high, "x"), at(high, "y"));
  ctx.stroke();
  ctx.restore();
}
