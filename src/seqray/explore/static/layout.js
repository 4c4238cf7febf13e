// Where states and arrows stand. Graphviz computes it in a worker; where that fails or takes too
// long, states stand on a circle. Graphviz gets sizes only, never a name.

const PATIENCE = 5000;
const POINTS = 72; // an inch, in which Graphviz measures nodes

/** The worker's own script, put behind Graphviz. */
const WORKER = `
let ready;
onmessage = async ({ data: { id, graph, engine } }) => {
  try {
    ready ??= Viz.instance();
    const viz = await ready;
    const drawing = viz.render(graph, { format: "json0", engine, yInvert: true });
    if (drawing.status !== "success") throw new Error(drawing.errors.map((e) => e.message).join("; "));
    postMessage({ id, output: drawing.output });
  } catch (error) {
    postMessage({ id, error: String(error) });
  }
};
`;

class Layouts {
  #worker = null;
  #pending = null;
  #number = 0;
  #source = null;

  /** Begin to load Graphviz, so that it is there when it is needed. */
  async #start() {
    this.#source ??= inflate($("graphviz").textContent);
    const url = URL.createObjectURL(
      new Blob([await this.#source, "\n", WORKER], { type: "text/javascript" }),
    );
    const worker = new Worker(url);
    URL.revokeObjectURL(url);
    return worker;
  }

  /** Return a layout, and whether it is the one of Graphviz. */
  async find(plan) {
    const mine = (this.#number += 1);
    if (plan.nodes.length === 1 && !plan.edges.length) return circle(plan);
    try {
      return await this.#compute(mine, plan);
    } catch (error) {
      if (error instanceof Overtaken) throw error;
      this.#stop();
      return { ...circle(plan), why: String(error.message ?? error) };
    }
  }

  async #compute(id, plan) {
    if (this.#pending) {
      this.#pending.reject(new Overtaken());
      this.#stop(); // it is busy with what nobody waits for any more
    }
    const output = await new Promise((resolve, reject) => {
      this.#pending = { resolve, reject };
      const timer = setTimeout(() => reject(new Error("it took too long")), PATIENCE);
      this.#pending.timer = timer;
      (async () => {
        this.#worker ??= await this.#start();
        if (id !== this.#number) throw new Overtaken();
        this.#worker.onmessage = ({ data }) => {
          if (data.id !== id) return;
          if (data.error) reject(new Error(data.error));
          else resolve(data.output);
        };
        this.#worker.onerror = (event) => {
          event.preventDefault();
          reject(new Error(event.message || "no worker"));
        };
        this.#worker.postMessage({ id, graph: graphOf(plan), engine: plan.engine });
      })().catch(reject);
    }).finally(() => {
      if (id === this.#number) {
        clearTimeout(this.#pending?.timer);
        this.#pending = null;
      }
    });
    return placed(plan, JSON.parse(output));
  }

  #stop() {
    this.#worker?.terminate();
    this.#worker = null;
    clearTimeout(this.#pending?.timer);
    this.#pending = null;
  }
}

class Overtaken extends Error {}

// Graphviz ----------------------------------------------------------------------------------------

function graphOf({ nodes, edges, direction, engine }) {
  const flat = engine === "dot";
  return {
    directed: true,
    graphAttributes: flat
      ? {
          rankdir: direction,
          splines: "true",
          ...(direction === "LR"
            ? { nodesep: 0.35, ranksep: 0.45 }
            : { nodesep: 0.12, ranksep: 0.35 }),
        }
      : { overlap: "false", splines: "none", sep: "+9", start: 1 },
    nodeAttributes: { shape: "circle", fixedsize: "true", label: "" },
    // Layers begin at what is named first: where words begin.
    nodes: nodes
      .map(({ size, isStart }, at) => ({
        name: `n${at}`,
        attributes: { width: size / POINTS, height: size / POINTS },
        isStart,
      }))
      .sort((a, b) => Boolean(b.isStart) - Boolean(a.isStart)),
    edges: edges.map(({ from, to, label, weight }, at) => ({
      tail: `n${from}`,
      head: `n${to}`,
      attributes: {
        id: `e${at}`,
        arrowsize: 0.7,
        ...(flat ? { weight: Math.max(1, Math.round(10 * weight)) } : { len: 0.75 }),
        ...(label && flat ? { label: { html: box(label) } } : {}),
      },
    })),
  };
}

/** A label that takes room and shows nothing. */
function box({ width, height }) {
  const [w, h] = [Math.ceil(width), Math.ceil(height)];
  const plain = 'border="0" cellborder="0" cellspacing="0" cellpadding="0" fixedsize="true"';
  return `<table ${plain} width="${w}" height="${h}"><tr><td></td></tr></table>`;
}

function placed(plan, drawing) {
  const point = (text) => text.split(",").slice(-2).map(Number);
  const nodes = new Array(plan.nodes.length);
  for (const { name, pos } of drawing.objects ?? []) {
    const [x, y] = point(pos);
    nodes[Number(name.slice(1))] = { x, y };
  }
  if (plan.engine !== "dot") return { nodes, edges: curves(plan, nodes), byGraphviz: true };
  const edges = new Array(plan.edges.length);
  for (const { id, pos, lp } of drawing.edges ?? []) {
    const pieces = pos.split(" ");
    const tip = pieces.find((piece) => piece.startsWith("e,"));
    const points = pieces.filter((piece) => !/^[es],/.test(piece)).map(point);
    edges[Number(id.slice(1))] = {
      points,
      tip: tip ? point(tip) : points[points.length - 1],
      label: lp ? point(lp) : null,
    };
  }
  return { nodes, edges, byGraphviz: true };
}

/** The layout that the page came with, where it is one of just these states and arrows. */
function shipped(plan, first) {
  const states = plan.nodes.filter((node) => !node.isStart).length;
  if (first.states.length !== 2 * states || first.arrows.length !== plan.edges.length) return null;
  const known = new Map(first.arrows.map((arrow) => [arrow.ends.join(" "), arrow]));
  const pairs = (flat) =>
    Array.from({ length: flat.length / 2 }, (_, at) => [flat[2 * at], flat[2 * at + 1]]);
  const edges = plan.edges.map(({ from, to }) => {
    const arrow = known.get(`${from} ${to}`);
    if (!arrow) return null;
    const points = pairs(arrow.points);
    return { tip: points.pop(), points, label: arrow.label };
  });
  if (edges.includes(null)) return null;
  return { nodes: pairs(first.states).map(([x, y]) => ({ x, y })), edges, isShipped: true };
}

// On a circle -------------------------------------------------------------------------------------

function circle({ nodes, edges }) {
  const n = nodes.length;
  const size = Math.max(...nodes.map((node) => node.size));
  const radius = n === 1 ? 0 : Math.max(110, (n * (size + 18)) / (2 * Math.PI));
  const places = nodes.map((_, at) => {
    const angle = -Math.PI / 2 + (2 * Math.PI * at) / n;
    return { x: radius * Math.cos(angle), y: radius * Math.sin(angle), angle };
  });
  return { nodes: places, edges: curves({ nodes, edges }, places), byGraphviz: false };
}

/** Arrows of our own between places. */
function curves({ nodes, edges }, places) {
  return edges.map(({ from, to }) =>
    from === to
      ? loop(places[from], nodes[from].size / 2)
      : chord(places[from], places[to], nodes[from].size / 2, nodes[to].size / 2),
  );
}

function loop({ x, y, angle = -Math.PI / 2 }, rim) {
  const at = (turn, reach) => [
    x + reach * Math.cos(angle + turn),
    y + reach * Math.sin(angle + turn),
  ];
  const tip = at(0.45, rim + 1);
  return {
    points: [at(-0.45, rim), at(-0.6, 2.2 * rim + 8), at(0.6, 2.2 * rim + 8), at(0.45, rim + 8)],
    tip,
    label: at(0, 2 * rim + 8),
  };
}

/** A curve that bends to the left, so that both directions can be seen. */
function chord(a, b, rimA, rimB) {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const far = Math.hypot(dx, dy) || 1;
  const bend = Math.min(0.18 * far, 60);
  const middle = [(a.x + b.x) / 2 + (dy / far) * bend, (a.y + b.y) / 2 - (dx / far) * bend];
  const towards = (from, distance) => {
    const [x, y] = [middle[0] - from.x, middle[1] - from.y];
    const length = Math.hypot(x, y) || 1;
    return [from.x + (x / length) * distance, from.y + (y / length) * distance];
  };
  const start = towards(a, rimA);
  const end = towards(b, rimB + 9);
  const pull = (from) => [
    from[0] + (2 / 3) * (middle[0] - from[0]),
    from[1] + (2 / 3) * (middle[1] - from[1]),
  ];
  return { points: [start, pull(start), pull(end), end], tip: towards(b, rimB + 1), label: middle };
}
