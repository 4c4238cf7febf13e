// What a graph shows: the states, arrows and labels that a layout has to place.

const CROWDED = 24; // arrows: labels of more have two lines at most, as in first_graph.py

/** What to lay out: states, arrows, with their labels where they can be read, and beginnings. */
function planOf(graph, arrows, edges, isBare = false) {
  const { automaton } = arrows;
  const n = automaton.states;
  const isNamed = Boolean(graph.content.byRank.get(graph.rank).names);
  const size = !isNamed ? (n > 40 ? 30 : 38) : n <= 12 ? 66 : n <= 30 ? 56 : 44;
  const isNarrow = graph.frame.clientWidth < 600;
  const labelled = !isBare && edges.length <= readable(n) && n <= 40;
  const engine = labelled ? "dot" : "neato";
  const nodes = Array.from({ length: n }, (_, state) => ({ size, state }));
  const planned = edges.map((edge) => ({
    ...edge,
    label: labelled ? labelOf(graph, arrows, edge, edges.length > CROWDED ? 2 : 4) : null,
    pull: Math.abs(edge.heaviest) / arrows.largest,
  }));
  // Where words begin: a dot, with an arrow to every state that has a share of the beginning.
  const begins = [];
  const most = Math.max(...Array.from(automaton.initial, Math.abs)) || 1;
  automaton.initial.forEach((weight, state) => {
    if (Math.abs(weight) >= Math.max(0.05 * most, (graph.threshold / arrows.largest) * most))
      begins.push({ state, weight });
  });
  if (begins.length && begins.length <= 8) {
    nodes.push({ size: 12, isStart: true });
    for (const { state, weight } of begins) {
      const only = begins.length === 1 && Math.abs(weight - 1) < 0.005;
      planned.push({
        from: n,
        to: state,
        heaviest: weight,
        weights: [],
        isStart: true,
        pull: 0.3,
        label:
          labelled && !only
            ? measured(graph, [{ symbol: "", text: arrows.write(weight), weight }])
            : null,
      });
    }
  }
  const forGraphviz = planned.map(({ from, to, label, pull }) => ({
    from,
    to,
    label,
    weight: pull,
  }));
  return {
    nodes,
    edges: forGraphviz,
    planned,
    engine,
    labelled,
    isNamed,
    size,
    isNarrow,
    direction: isNarrow ? "TB" : "LR",
  };
}

function labelOf(graph, arrows, { weights }, room) {
  const most = weights.length <= room ? room : room - 1;
  const lines = weights.slice(0, most).map(({ symbol, weight }) => ({
    symbol: graph.symbols[symbol],
    text: arrows.write(weight),
    weight,
  }));
  if (weights.length > most)
    lines.push({ symbol: "", text: `+ ${weights.length - most} more`, weight: 0 });
  return measured(graph, lines);
}

function measured(graph, lines) {
  graph.pens.font = `600 12px ${FONT}`;
  const width = Math.max(
    ...lines.map(({ symbol, text }) => graph.pens.measureText(`${symbol} ${text}`).width),
  );
  return { lines, width: width + 12, height: 15 * lines.length + 4 };
}

/** Where words begin, as dots: of Graphviz one for all, of the page's own layout one per arrow. */
function beginnings(plan, layout) {
  if (!layout.isShipped)
    return plan.nodes.flatMap(({ isStart }, at) =>
      isStart ? [[layout.nodes[at].x, layout.nodes[at].y]] : [],
    );
  return plan.planned.flatMap(({ isStart }, at) => (isStart ? [layout.edges[at].points[0]] : []));
}

/** Leave out labels that would cover states, or labels of heavier arrows. */
function clearLabels({ planned, nodes }, layout) {
  const taken = nodes.map(({ size }, at) => {
    const { x, y } = layout.nodes[at];
    return [x, y, size / 2, size / 2];
  });
  planned.forEach(({ label }, at) => {
    const edge = layout.edges[at];
    if (!label || !edge?.label) return;
    const [x, y] = edge.label;
    const mine = [x, y, label.width / 2, label.height / 2];
    const isCovering = taken.some(
      ([u, v, width, height]) =>
        Math.abs(x - u) < width + mine[2] && Math.abs(y - v) < height + mine[3],
    );
    if (isCovering) edge.label = null;
    else taken.push(mine);
  });
}

/** How tall the frame may get: graphs of many states, and those on phones, have more room. */
function tallest({ nodes, isNarrow }) {
  return nodes.length > 14 || isNarrow ? 860 : 640;
}
