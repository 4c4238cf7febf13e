// The graph: states as circles, arrows as wide as their weight, sliders that choose what is drawn.

const MOST_ARROWS = 400; // more are never drawn
const LARGEST_SCALE = 1.15; // small graphs do not fill the frame
const LEAST_SCALE = 0.6; // smaller labels cannot be read, and are left out
const FONT = "ui-sans-serif, system-ui, sans-serif";

class Graph {
  constructor(content, { onselect, onstatus }) {
    Object.assign(this, { content, onselect, onstatus });
    this.frame = $("graph-frame");
    this.layouts = new Layouts();
    this.chosen = null;
    this.followed = null;
    this.cache = new Map();
    this.pens = document.createElement("canvas").getContext("2d");
    this.symbols = distinct(content.alphabet.names, this.#fits(70, `600 12px ${FONT}`));
    this.#listen();
  }

  arrows(rank = this.rank) {
    if (!this.cache.has(rank)) this.cache.set(rank, new Arrows(this.content.drawn(rank), this.content.byRank.get(rank).mass));
    return this.cache.get(rank);
  }

  /** Show a rank with a threshold; resolves when it is drawn. */
  async show(rank, threshold) {
    if (rank !== this.rank) this.chosen = this.followed = null;
    Object.assign(this, { rank, threshold });
    const arrows = this.arrows();
    const edges = arrows.shown(threshold, MOST_ARROWS);
    const many = arrows.many(threshold);
    const plan = planOf(this, arrows, edges);
    const isWanted = () => rank === this.rank && threshold === this.threshold;
    const scale = (drawing) => this.#scale(bounds(drawing.plan, drawing.layout), drawing.plan);
    const ready = this.#shipped(plan);
    let best = ready && { plan, layout: ready };
    if (best) this.#present(plan, ready, arrows, many);
    if (best && scale(best) > 0.7) return true;
    this.frame.classList.toggle("waiting", !ready);
    try {
      const own = { plan, layout: await this.#layout(plan, isWanted) };
      if (!best || (!own.layout.why && scale(own) > scale(best))) best = own;
      if (plan.labelled && !own.layout.why && scale(best) < LEAST_SCALE) {
        const bare = planOf(this, arrows, edges, true);
        best = { plan: bare, layout: await this.#layout(bare, isWanted) };
      }
    } catch (error) {
      if (error instanceof Overtaken) return false;
      throw error;
    }
    this.frame.classList.remove("waiting");
    if (best.layout !== ready) this.#present(best.plan, best.layout, arrows, many);
    return true;
  }

  /** Where all stands before anybody has moved a slider: the page has that from Python. */
  #shipped(plan) {
    const { first, chosen } = this.content;
    if (!first || this.rank !== chosen) return null;
    return shipped(plan, first);
  }

  #present(plan, layout, arrows, many) {
    const edges = plan.planned.filter((edge) => !edge.isStart);
    if (layout.why) clearLabels(plan, layout);
    this.#draw(plan, layout, arrows);
    const cut =
      many > edges.length
        ? `Only the ${count(edges.length)} heaviest of ${count(many)} arrows are drawn. `
        : "";
    const circled = layout.why ? `States stand on a circle: for a layout ${layout.why}. ` : "";
    const isBare = edges.some((_, at) => !plan.labelled || !layout.edges[at]?.label);
    const bare = isBare ? "Choose a state to read its arrows. " : "";
    this.onstatus(cut + circled + bare);
  }

  /** Lay out from left to right and, where that gets too small, from top to bottom. */
  async #layout(plan, isWanted) {
    const first = await this.layouts.find(plan);
    const scale = this.#scale(bounds(plan, first), plan);
    if (!isWanted()) throw new Overtaken();
    if (scale > 0.75 || plan.engine !== "dot" || plan.direction !== "LR" || first.why) return first;
    const second = await this.layouts.find({ ...plan, direction: "TB" });
    return this.#scale(bounds(plan, second), plan) > scale ? second : first;
  }

  /** How large a picture can be, relative to its own measures. */
  #scale({ width, height }, plan) {
    const room = this.frame.clientWidth || 800;
    return Math.min(room / width, tallest(plan) / height, LARGEST_SCALE);
  }

  // Drawing -----------------------------------------------------------------------------------

  #draw(plan, layout, arrows) {
    const hadFocus = this.frame.contains(document.activeElement);
    this.places = layout.nodes;
    this.plan = plan;
    this.bounds = bounds(plan, layout);
    const picture = svg("svg", {
      class: "graph",
      role: "group",
      "aria-label": this.#summary(plan),
    });
    const lines = svg("g", {});
    const labels = svg("g", {});
    const states = svg("g", {});
    this.edges = [];
    // The heaviest come last, and so lie on top.
    for (let at = plan.planned.length - 1; at >= 0; at -= 1) {
      const edge = plan.planned[at];
      if (!layout.edges[at]) continue;
      const line = this.#line(edge, layout.edges[at], arrows);
      lines.append(line);
      this.edges.push({ ...edge, line });
      if (edge.label && layout.edges[at].label && plan.labelled) {
        const label = this.#text(edge, layout.edges[at].label);
        labels.append(label);
        this.edges[this.edges.length - 1].mark = label;
      }
    }
    const names = this.#names(plan);
    plan.nodes.forEach((node, at) => {
      if (!node.isStart) states.append(this.#state(plan, at, layout.nodes[at], arrows, names[at]));
    });
    for (const [cx, cy] of beginnings(plan, layout))
      states.append(svg("circle", { class: "begin", cx, cy, r: 6 }));
    picture.append(lines, states, labels);
    this.picture = picture;
    this.frame.replaceChildren(picture);
    this.frame.dataset.threshold = String(this.threshold);
    this.fit();
    this.#mark();
    if (hadFocus) this.#focus(this.chosen ?? 0);
  }

  #summary(plan) {
    const states = plan.nodes.filter((node) => !node.isStart).length;
    return (
      `Graph of ${counted(states, "state")} and ${counted(plan.edges.length, "arrow")}. ` +
      `Arrow keys go from state to state.`
    );
  }

  #line(edge, { points, tip }, arrows) {
    const isNegative = edge.heaviest < 0;
    const width = edge.isStart
      ? 1.5
      : 1 + 4 * Math.min(1, Math.abs(edge.heaviest) / arrows.largest);
    const path = curve(points);
    const group = svg("g", {
      class: `arrow${isNegative ? " negative" : ""}${edge.isStart ? " start" : ""}`,
      "data-from": edge.from,
      "data-to": edge.to,
    });
    const dash = isNegative ? `${4 + 2 * width} ${3 + width}` : null;
    group.append(
      svg("path", { class: "halo", d: path, "stroke-width": width + 4 }),
      svg("path", {
        class: "line",
        d: path,
        "stroke-width": width.toFixed(2),
        "stroke-dasharray": dash,
      }),
      svg("path", { class: "tip", d: arrowhead(points[points.length - 1], tip, width) }),
    );
    if (!edge.isStart) group.append(svg("title", {}, this.#title(edge, arrows)));
    return group;
  }

  #title({ from, to, weights }, arrows) {
    const [a, b] = [from, to].map((state) => this.content.stateText(this.rank, state));
    const listed = weights
      .slice(0, 30)
      .map(({ symbol, weight }) => `${this.content.symbol(symbol)} ${arrows.write(weight)}`);
    if (weights.length > 30) listed.push("…");
    return `${a} → ${b}\n${listed.join("\n")}`;
  }

  #text({ label }, [x, y]) {
    const { width, height } = label;
    const group = svg(
      "g",
      { class: "label" },
      svg("rect", { class: "back", x: x - width / 2 + 4, y: y - height / 2, width: width - 8, height }),
    );
    label.lines.forEach(({ symbol, text, weight }, at) => {
      const place = {
        class: weight < 0 ? "negative" : null,
        x,
        y: y - label.height / 2 + 13 + 15 * at,
      };
      group.append(svg("text", place, svg("tspan", { class: "symbol" }, symbol), ` ${text}`));
    });
    return group;
  }

  /** What stands in the states: cut to what has room, and distinct. */
  #names({ nodes, size }) {
    const names = nodes
      .filter((node) => !node.isStart)
      .map(({ state }) => this.content.stateName(this.rank, state).what);
    const fits = this.#fits(0.875 * size, `600 13px ${FONT}`);
    // Where names are long, smaller letters in all states.
    const isTiny = size < 32 || !names.every(fits);
    const cut = isTiny ? distinct(names, this.#fits(0.9 * size, `600 10px ${FONT}`)) : names;
    return cut.map((name) => ({ name, isTiny }));
  }

  #fits(room, font) {
    return (text) => {
      this.pens.font = font;
      return this.pens.measureText(text).width <= room;
    };
  }

  #state(plan, state, { x, y }, arrows, { name, isTiny }) {
    const radius = plan.size / 2;
    const { content, rank } = this;
    const { how } = content.stateName(rank, state);
    const mass = content.byRank.get(rank).mass?.[state];
    const final = arrows.automaton.final[state];
    const group = svg("g", {
      class: "state",
      role: "button",
      tabindex: "-1",
      "data-state": state,
      transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`,
      "aria-label": this.#spoken(state, mass, final, arrows),
    });
    group.append(
      svg("circle", { class: "disc", r: radius }),
      svg("circle", { class: "tint", r: radius, "fill-opacity": tint(mass) }),
      svg("circle", { class: "belief", r: radius + 5 }),
    );
    if (arrows.areProbabilities && final > 0.002) group.append(ring(radius, final));
    const said = radius > 30 ? how : how.replace(/^(mostly|partly) ?/, ""); // what has room
    if (plan.isNamed && said && radius > 20) {
      group.append(
        svg("text", { class: "how", y: -4 }, said),
        svg("text", { class: `what${isTiny ? " tiny" : ""}`, y: 12 }, name),
      );
    } else {
      group.append(svg("text", { class: `what${isTiny ? " tiny" : ""}`, y: 5 }, name));
    }
    group.append(svg("title", {}, content.stateText(rank, state)));
    return group;
  }

  #spoken(state, mass, final, arrows) {
    const parts = [capital(this.content.stateText(this.rank, state))];
    if (mass) parts.push(`${percent(mass)} of the time`);
    if (arrows.areProbabilities && final > 0) parts.push(`words end here with ${percent(final)}`);
    return parts.join(", ");
  }

  // Choosing and following --------------------------------------------------------------------

  choose(state) {
    this.chosen = state === this.chosen ? null : state;
    this.#mark();
    this.onselect(this.chosen);
  }

  /** Show how much of each state there is, for the steps of a word. */
  follow(shares) {
    this.followed = shares;
    this.#mark();
  }

  #mark() {
    if (!this.picture) return;
    const { chosen, followed } = this;
    this.picture.classList.toggle("has-choice", chosen !== null);
    for (const { from, to, line, mark } of this.edges) {
      const isNear = chosen !== null && (from === chosen || to === chosen);
      for (const part of [line, mark]) part?.classList.toggle("near", isNear);
    }
    for (const group of this.picture.querySelectorAll(".state")) {
      const state = Number(group.dataset.state);
      group.classList.toggle("chosen", state === chosen);
      group.setAttribute("aria-pressed", String(state === chosen));
      group.setAttribute("tabindex", state === (chosen ?? 0) ? "0" : "-1");
      const share = followed ? Math.min(1, Math.abs(followed[state] ?? 0)) : 0;
      group.querySelector(".belief").style.setProperty("--belief", share.toFixed(3));
    }
  }

  #focus(state) {
    const wanted = this.picture.querySelector(`.state[data-state="${state}"]`);
    if (!wanted) return;
    for (const group of this.picture.querySelectorAll('.state[tabindex="0"]'))
      group.setAttribute("tabindex", "-1");
    wanted.setAttribute("tabindex", "0");
    wanted.focus({ preventScroll: true });
  }

  // Moving about ------------------------------------------------------------------------------

  fit() {
    const { x, y, width, height } = this.bounds;
    const room = this.frame.clientWidth || 800;
    const scaled = height * this.#scale(this.bounds, this.plan);
    const tall = Math.round(Math.max(240, Math.min(tallest(this.plan), scaled)));
    this.frame.style.setProperty("--height", `${tall}px`);
    // The picture keeps its proportions: the part that is seen has those of the frame.
    const seen = Math.max(width, (height * room) / tall, room / LARGEST_SCALE);
    this.view = {
      x: x + width / 2 - seen / 2,
      y: y + height / 2 - (seen * tall) / room / 2,
      width: seen,
      height: (seen * tall) / room,
    };
    this.whole = { ...this.view };
    this.#look();
  }

  zoom(factor, [u, v] = [0.5, 0.5]) {
    if (!this.view) return;
    const { view, whole } = this;
    const width = Math.min(whole.width * 1.5, Math.max(whole.width / 20, view.width / factor));
    const ratio = width / view.width;
    view.x += view.width * u * (1 - ratio);
    view.y += view.height * v * (1 - ratio);
    view.width = width;
    view.height *= ratio;
    this.#look();
  }

  move(right, down) {
    this.view.x += right * this.view.width;
    this.view.y += down * this.view.height;
    this.#look();
  }

  #look() {
    const { x, y, width, height } = this.view;
    this.picture.setAttribute(
      "viewBox",
      [x, y, width, height].map((value) => value.toFixed(2)).join(" "),
    );
    this.frame.classList.toggle("zoomed", width < 0.99 * this.whole.width);
  }

  #listen() {
    const { frame } = this;
    $("zoom-in").addEventListener("click", () => this.zoom(1.4));
    $("zoom-out").addEventListener("click", () => this.zoom(1 / 1.4));
    $("zoom-fit").addEventListener("click", () => this.fit());
    frame.addEventListener("keydown", (event) => this.#key(event));
    frame.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
        event.preventDefault();
        const seen = frame.getBoundingClientRect();
        const at = [
          (event.clientX - seen.left) / seen.width,
          (event.clientY - seen.top) / seen.height,
        ];
        this.zoom(Math.exp(-event.deltaY / 300), at);
      },
      { passive: false },
    );
    let from = null;
    let hasMoved = false;
    frame.addEventListener("pointerdown", (event) => {
      if (
        event.button !== 0 ||
        (event.pointerType === "touch" && !frame.classList.contains("zoomed"))
      )
        return;
      from = [event.clientX, event.clientY];
      hasMoved = false;
    });
    frame.addEventListener("pointermove", (event) => {
      if (!from) return;
      const [dx, dy] = [event.clientX - from[0], event.clientY - from[1]];
      if (!hasMoved && Math.hypot(dx, dy) < 4) return;
      if (!hasMoved) frame.setPointerCapture(event.pointerId);
      hasMoved = true;
      frame.classList.add("dragged");
      from = [event.clientX, event.clientY];
      this.move(-dx / frame.clientWidth, -dy / frame.clientHeight);
    });
    for (const name of ["pointerup", "pointercancel"]) {
      frame.addEventListener(name, () => {
        from = null;
        frame.classList.remove("dragged");
      });
    }
    frame.addEventListener("click", (event) => {
      if (hasMoved) {
        hasMoved = false;
        return;
      }
      const group = event.target.closest?.(".state");
      if (group) this.choose(Number(group.dataset.state));
      else if (this.chosen !== null) this.choose(this.chosen);
    });
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const directions = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const direction = directions[event.key];
    const here = event.target.closest?.(".state");
    if (direction && event.shiftKey) this.move(0.1 * direction[0], 0.1 * direction[1]);
    else if (direction && here) this.#focus(this.#neighbour(Number(here.dataset.state), direction));
    else if ((event.key === "Enter" || event.key === " ") && here)
      this.choose(Number(here.dataset.state));
    else if (event.key === "Escape" && this.chosen !== null) this.choose(this.chosen);
    else if (event.key === "+" || event.key === "=") this.zoom(1.4);
    else if (event.key === "-" || event.key === "−") this.zoom(1 / 1.4);
    else if (event.key === "0") this.fit();
    else return;
    event.preventDefault();
  }

  /** The nearest state in a direction; what lies to the side counts as further away. */
  #neighbour(state, [right, down]) {
    const { x, y } = this.places[state];
    let best = state;
    let least = Infinity;
    this.plan.nodes.forEach((node, other) => {
      if (node.isStart || other === state) return;
      const [dx, dy] = [this.places[other].x - x, this.places[other].y - y];
      const ahead = dx * right + dy * down;
      const aside = Math.abs(dx * down) + Math.abs(dy * right);
      if (ahead > 1 && ahead + 2 * aside < least) [best, least] = [other, ahead + 2 * aside];
    });
    return best;
  }
}
