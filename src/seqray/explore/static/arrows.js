// What a graph has to draw: arrows, how much weight a threshold hides, shapes.

const STEPS = 60; // positions of the slider of thresholds
const DECADES = 3; // how far down it goes from the largest weight
// When a graph is first shown, as in opening.py:
const WANTED = 0.9; // of the use of all arrows
const LEAST = 0.5; // of it: where the readable arrows have less, as many as have it are drawn
const READABLE = 70; // arrows, and of small graphs fewer
const MANY = 150; // arrows: more are drawn only if somebody asks for them
const NEGLIGIBLE = 0.01; // of the largest weight: lighter arrows are drawn where they are used
const NOISE = 1e-9; // of the largest weight

/**
 * What a rank has to draw. All symbols between two states share an arrow. With many states there
 * are hundreds of thousands of weights, so that lists of symbols are made for drawn arrows only.
 */
class Arrows {
  constructor(automaton, mass) {
    this.automaton = automaton;
    const { states, symbols } = automaton;
    const heaviest = new Float64Array(states * states); // with its sign
    let least = 0;
    for (let symbol = 0; symbol < symbols; symbol += 1) {
      for (let from = 0, pair = 0; from < states; from += 1) {
        for (let to = 0; to < states; to += 1, pair += 1) {
          const weight = automaton.at(symbol, from, to);
          if (Math.abs(weight) > Math.abs(heaviest[pair])) heaviest[pair] = weight;
          if (weight < least) least = weight;
        }
      }
    }
    const pairs = [];
    heaviest.forEach((weight, pair) => {
      if (weight !== 0) pairs.push(pair);
    });
    this.pairs = Float64Array.from(pairs).sort(
      (a, b) => Math.abs(heaviest[b]) - Math.abs(heaviest[a]),
    );
    this.heaviest = heaviest;
    this.count = pairs.length;
    this.largest = this.count ? Math.abs(heaviest[this.pairs[0]]) : 1;
    this.hasNegative = least < -NOISE * this.largest;
    // Probabilities: weights that sum to one along every path through, none of them negative.
    this.areProbabilities = automaton.prefixFinal !== null && least > -1e-9 && this.largest < 1 + 1e-6;
    this.#use(mass);
  }

  /**
   * How much is used below each position of the slider: how often a transition is expected, where
   * that is known, else the size of its weight.
   */
  #use(mass) {
    const { states, symbols, prefixFinal } = this.automaton;
    this.isBySteps =
      this.areProbabilities && mass?.length === states && mass.every((share) => share !== null);
    this.weighFrom = Float64Array.from({ length: states }, (_, state) =>
      this.isBySteps ? (prefixFinal[state] > 0 ? mass[state] / prefixFinal[state] : 0) : 1,
    );
    this.weighTo = this.isBySteps ? prefixFinal : new Float64Array(states).fill(1);
    this.thresholds = Array.from({ length: STEPS + 1 }, (_, position) => this.threshold(position));
    const below = new Float64Array(STEPS + 2);
    for (let symbol = 0; symbol < symbols; symbol += 1)
      for (let from = 0; from < states; from += 1)
        for (let to = 0; to < states; to += 1) {
          const size = Math.abs(this.automaton.at(symbol, from, to));
          if (size === 0) continue;
          const position = first(STEPS + 1, (at) => this.thresholds[at] > size);
          below[position] += size * this.weighFrom[from] * this.weighTo[to];
        }
    this.total = below.reduce((sum, use) => sum + use, 0);
    this.hiddenAt = [];
    let sum = 0;
    for (let position = 0; position <= STEPS; position += 1) {
      sum += below[position];
      this.hiddenAt.push(this.total ? sum / this.total : 0);
    }
  }

  /** Position 0 of the slider hides nothing; the others are spread by logarithm. */
  threshold(position) {
    if (position === 0) return 0;
    const exact = this.largest * 10 ** (-DECADES * (1 - position / STEPS));
    return Math.min(this.largest, Number(exact.toPrecision(2)));
  }

  /** How many arrows a threshold leaves. */
  many(threshold) {
    return first(this.count, (at) => Math.abs(this.heaviest[this.pairs[at]]) < threshold);
  }

  /** The heaviest arrows that a threshold leaves, at most so many. */
  shown(threshold, most = Infinity) {
    const { states } = this.automaton;
    const shown = Math.min(most, this.many(threshold));
    return Array.from(this.pairs.subarray(0, shown), (pair) =>
      this.arrow(Math.floor(pair / states), pair % states, threshold),
    );
  }

  /** All arrows of one state, the heaviest first. */
  from(state) {
    const { states } = this.automaton;
    return Array.from({ length: states }, (_, to) => this.arrow(state, to, 0))
      .filter(({ weights }) => weights.length)
      .sort((a, b) => Math.abs(b.heaviest) - Math.abs(a.heaviest));
  }

  arrow(from, to, threshold) {
    const weights = [];
    for (let symbol = 0; symbol < this.automaton.symbols; symbol += 1) {
      const weight = this.automaton.at(symbol, from, to);
      if (weight !== 0 && Math.abs(weight) >= threshold) weights.push({ symbol, weight });
    }
    weights.sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight));
    return { from, to, weights, heaviest: weights.length ? weights[0].weight : 0 };
  }

  /** How much of all use a threshold of the slider hides, from 0 to 1. */
  hidden(threshold) {
    return this.hiddenAt[Math.max(0, this.thresholds.indexOf(threshold))];
  }

  /** Say how much of it is drawn, at most so many arrows. */
  drawn(threshold, most) {
    if (!this.count) return "There are no arrows.";
    const many = Math.min(most, this.many(threshold));
    const hidden = many < this.many(threshold) ? this.#beyond(threshold, most) : this.hidden(threshold);
    const share = `${percent(hidden)} of all ${this.isBySteps ? "steps" : "weight"}`;
    if (many < this.count)
      return `${count(many)} of ${count(this.count)} arrows drawn, ${share} hidden.`;
    const all = many === 1 ? "The only arrow is drawn" : `All ${count(many)} arrows are drawn`;
    if (hidden === 0) return `${all}.`;
    const whose = many === 1 ? "its" : "their";
    return `${all}, without ${whose} lightest symbols: ${share}.`;
  }

  /** How much weight is hidden where only the heaviest arrows are drawn. */
  #beyond(threshold, most) {
    let sum = 0;
    for (const { from, to, weights } of this.shown(threshold, most))
      for (const { weight } of weights) sum += Math.abs(weight) * this.weighFrom[from] * this.weighTo[to];
    return Math.max(0, 1 - sum / this.total);
  }

  /** The position at which the graph is first shown: most of the use, as far as it can be read. */
  opening() {
    const { states } = this.automaton;
    const most = readable(states);
    const few = Math.min(most, Math.max(16, Math.round(2.2 * states)));
    const lightest = this.count ? Math.abs(this.heaviest[this.pairs[this.count - 1]]) : Infinity;
    if (this.count <= few && lightest >= NOISE * this.largest) return 0;
    const keeps = (position, share) => this.hiddenAt[position] <= 1 - share + 1e-12;
    let wanted = STEPS;
    while (wanted > 1 && !keeps(wanted, WANTED)) wanted -= 1;
    const canFall = () =>
      this.thresholds[wanted - 1] >= NEGLIGIBLE * this.largest &&
      this.many(this.thresholds[wanted - 1]) <= few;
    while (wanted > 1 && canFall()) wanted -= 1;
    let position = 1;
    while (position < STEPS && this.many(this.thresholds[position]) > most) position += 1;
    // Where weights are so alike that it leaves hardly any, the position before.
    const isBare = position > 1 && this.many(this.thresholds[position]) < most / 4;
    if (isBare && this.many(this.thresholds[position - 1]) <= MOST_ARROWS) position -= 1;
    position = Math.max(wanted, position);
    let more = position;
    while (more > 1 && !keeps(more, LEAST)) more -= 1;
    return keeps(more, LEAST) && this.many(this.thresholds[more]) <= MANY ? more : position;
  }

  write(weight) {
    return this.areProbabilities ? percent(weight) : show(weight, 2);
  }
}

/** How many arrows between so many states can be read. */
function readable(states) {
  return Math.min(READABLE, Math.max(25, 5 * states));
}

/** The first place from which on something is true, by halving. */
function first(length, isTrue) {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isTrue(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Shapes ------------------------------------------------------------------------------------------

function bounds({ nodes, planned }, { nodes: places, edges }) {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  const reach = (x, y, w, h) => {
    [left, right] = [Math.min(left, x - w), Math.max(right, x + w)];
    [top, bottom] = [Math.min(top, y - h), Math.max(bottom, y + h)];
  };
  nodes.forEach(({ size }, at) => {
    if (places[at]) reach(places[at].x, places[at].y, size / 2 + 6, size / 2 + 6);
  });
  edges.forEach((edge, at) => {
    const label = planned[at].label;
    if (label && edge?.label)
      reach(edge.label[0], edge.label[1], label.width / 2, label.height / 2);
    for (const [x, y] of edge?.points ?? []) reach(x, y, 3, 3);
  });
  const margin = 12;
  return {
    x: left - margin,
    y: top - margin,
    width: right - left + 2 * margin,
    height: bottom - top + 2 * margin,
  };
}

/** How much colour a state gets where so much time is spent. */
function tint(mass) {
  return (0.04 + 0.26 * Math.min(1, mass === null || mass === undefined ? 0.1 : 1.6 * mass)).toFixed(
    3,
  );
}

function curve(points) {
  const text = ([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  const [first, ...rest] = points;
  const parts = [`M${text(first)}`];
  for (let at = 0; at + 2 < rest.length; at += 3)
    parts.push(
      `C${rest
        .slice(at, at + 3)
        .map(text)
        .join(" ")}`,
    );
  return parts.join("");
}

function arrowhead([x, y], [tipX, tipY], width) {
  const [dx, dy] = [tipX - x, tipY - y];
  const length = Math.hypot(dx, dy) || 1;
  const half = 3 + 0.8 * width;
  const [sideX, sideY] = [(-dy / length) * half, (dx / length) * half];
  const point = (a, b) => `${a.toFixed(1)} ${b.toFixed(1)}`;
  return `M${point(tipX, tipY)}L${point(x + sideX, y + sideY)}L${point(x - sideX, y - sideY)}Z`;
}

/** An arc around a state: the probability that a word ends there, a full turn for 100 %. */
function ring(radius, share) {
  const r = radius - 3.5;
  const around = 2 * Math.PI * r;
  return svg("circle", {
    class: "ending",
    r,
    transform: "rotate(-90)",
    "stroke-dasharray": `${(around * Math.min(1, share)).toFixed(2)} ${around.toFixed(2)}`,
  });
}
