// Weighted automata, in float64 as in Python.
// A word's weight is initial · M[w1] · … · M[wn] · final.

const SMALL = 2 ** -400;
const LARGE = 2 ** 400;

class Automaton {
  /**
   * `block` holds the matrices, `stride` numbers a row; where the automaton is cut from a larger
   * one, its matrices are the leading parts of those. `prefixFinal` is the weight of all that can
   * follow each state, or null where weights do not sum to one. Where it `leaks`, that is more
   * than symbols and end together: the rest goes elsewhere, to symbols outside the alphabet.
   */
  constructor({ symbols, states, initial, final, prefixFinal, block, stride, kept = 1, leaks }) {
    Object.assign(this, { symbols, states, initial, final, prefixFinal, block, stride, kept, leaks });
    this.readers = prefixFinal ? this.#readers() : null;
  }

  /** Rows that read a state: the weight of what begins with each symbol, and of the end. */
  #readers() {
    const readers = [];
    for (let symbol = 0; symbol < this.symbols; symbol += 1) {
      readers.push(this.back(symbol, this.prefixFinal));
    }
    readers.push(this.final);
    return readers;
  }

  /** The number at (symbol, from, to). */
  at(symbol, from, to) {
    return this.kept * this.block[(symbol * this.stride + from) * this.stride + to];
  }

  /** state · M[symbol] */
  step(state, symbol) {
    const { states, stride, block, kept } = this;
    const result = new Float64Array(states);
    for (let from = 0; from < states; from += 1) {
      const share = kept * state[from];
      if (share === 0) continue;
      const row = (symbol * stride + from) * stride;
      for (let to = 0; to < states; to += 1) result[to] += share * block[row + to];
    }
    return result;
  }

  /** M[symbol] · column */
  back(symbol, column) {
    const { states, stride, block, kept } = this;
    const result = new Float64Array(states);
    for (let from = 0; from < states; from += 1) {
      const row = (symbol * stride + from) * stride;
      let sum = 0;
      for (let to = 0; to < states; to += 1) sum += block[row + to] * column[to];
      result[from] = kept * sum;
    }
    return result;
  }

  /** The states along a word, each with the power of two that it was divided by. */
  walk(word) {
    let state = Float64Array.from(this.initial);
    let exponent = 0;
    const path = [{ state, exponent }];
    for (const symbol of word) {
      state = this.step(state, symbol);
      exponent += rescale(state);
      path.push({ state, exponent });
    }
    return path;
  }

  weightAt({ state, exponent }) {
    return new Scaled(dot(state, this.final), exponent);
  }

  weight(word) {
    const path = this.walk(word);
    return this.weightAt(path[path.length - 1]);
  }

  /** What follows a state, the end last; null where that means nothing. */
  next(state) {
    if (!this.readers) return null;
    const read = this.readers.map((reader) => dot(reader, state));
    const sum = read.reduce((before, value) => before + value, 0);
    const total = this.leaks ? dot(this.prefixFinal, state) : sum;
    if (!(Math.abs(total) > 0) || !Number.isFinite(total)) return read.map(() => 1 / read.length);
    return read.map((value) => value / total);
  }

  /** The share of each state after some symbols: signed, summing to one where weights sum. */
  shares(state) {
    const weighed = Array.from(state, (value, at) => value * (this.prefixFinal ? this.prefixFinal[at] : 1));
    const total = this.prefixFinal
      ? weighed.reduce((sum, value) => sum + value, 0)
      : Math.max(...weighed.map(Math.abs));
    return weighed.map((value) => (total ? value / total : 0));
  }
}

/** A number times a power of two, for weights that float64 cannot hold. */
class Scaled {
  constructor(value, exponent) {
    this.part = value;
    this.exponent = exponent;
  }

  get value() {
    if (this.exponent === 0 || this.part === 0) return this.part;
    const half = 2 ** (this.exponent / 2); // exponents are even, see `rescale`
    return this.part * half * half;
  }

  get log10() {
    return Math.log10(Math.abs(this.part)) + this.exponent * Math.LOG10E * Math.LN2;
  }

  /** For people: also what is too small for float64. */
  show(digits = 4) {
    const value = this.value;
    if (this.part === 0 || (value !== 0 && Number.isFinite(value))) return show(value, digits);
    return `${this.part < 0 ? "−" : ""}${showPower(this.log10, digits)}`;
  }

  /** How often something of this probability happens, in words. */
  often() {
    if (!(this.part > 0)) return "probability 0";
    if (this.value > 1 + 1e-9) return ""; // not a probability
    if (this.value >= 0.01) return `${percent(this.value)} of all words`;
    const many = 10 ** -this.log10;
    const said =
      many < 1e6
        ? count(Number(many.toPrecision(3)))
        : this.log10 > -300
          ? show(many, 3)
          : showPower(-this.log10, 3);
    return `one in ${said} words`;
  }
}

/** Write 10 to a power that float64 may not hold. */
function showPower(log10, digits) {
  const exponent = Math.floor(log10);
  const mantissa = (10 ** (log10 - exponent)).toPrecision(digits);
  return `${trimmed(mantissa)} × ${power(exponent)}`;
}

/** Bring a state into the safe range by an even power of two, which is exact; return the power. */
function rescale(state) {
  let largest = 0;
  for (const value of state) largest = Math.max(largest, Math.abs(value));
  if (largest === 0 || !Number.isFinite(largest) || (largest > SMALL && largest < LARGE)) return 0;
  const exponent = 2 * Math.floor(Math.log2(largest) / 2);
  const half = 2 ** (-exponent / 2);
  for (let at = 0; at < state.length; at += 1) state[at] = state[at] * half * half;
  return exponent;
}

function dot(a, b) {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) sum += a[at] * b[at];
  return sum;
}

// Shapley values ----------------------------------------------------------------------------------

/**
 * Exact Shapley values of a word's positions, where absent symbols are drawn at random by the given
 * frequencies: Owen's integral of L(t) · (M[w] − M̄) · R(t) over t from 0 to 1, with the factors
 * M̄ + t (M[w] − M̄) to the left and right. It is a polynomial of degree n − 1 in t, for which
 * Gauss and Legendre's rule with n/2 nodes is exact. Returns null when `alive` says it is too late.
 */
async function shapley(automaton, word, frequencies, alive = () => true) {
  const n = word.length;
  const values = new Float64Array(n);
  const mean = meanSymbol(automaton, frequencies);
  const give = pause();
  for (const { node, weight } of gaussLegendre(Math.ceil(n / 2))) {
    const columns = new Array(n + 1);
    columns[n] = automaton.final;
    for (let at = n - 1; at >= 0; at -= 1) {
      columns[at] = mixed(
        automaton.back(word[at], columns[at + 1]),
        mean.back(0, columns[at + 1]),
        node,
      );
    }
    let state = automaton.initial;
    for (let at = 0; at < n; at += 1) {
      const known = automaton.step(state, word[at]);
      const random = mean.step(state, 0);
      values[at] += weight * (dot(known, columns[at + 1]) - dot(random, columns[at + 1]));
      state = mixed(known, random, node);
      await give();
      if (!alive()) return null;
    }
  }
  return values;
}

/** The weight that a random word of the same length has on average. */
function backgroundWeight(automaton, length, frequencies) {
  const mean = meanSymbol(automaton, frequencies);
  return mean.weight(new Array(length).fill(0)).value;
}

/** An automaton of one symbol, the mean of all. */
function meanSymbol(automaton, frequencies) {
  const { states, symbols, initial, final } = automaton;
  const block = new Float64Array(states * states);
  for (let symbol = 0; symbol < symbols; symbol += 1) {
    for (let from = 0; from < states; from += 1) {
      for (let to = 0; to < states; to += 1) {
        block[from * states + to] += frequencies[symbol] * automaton.at(symbol, from, to);
      }
    }
  }
  return new Automaton({
    symbols: 1,
    states,
    initial,
    final,
    prefixFinal: null,
    block,
    stride: states,
  });
}

function mixed(known, random, share) {
  return known.map((value, at) => share * value + (1 - share) * random[at]);
}

/** Nodes and weights on [0, 1], by Newton's method on the Legendre polynomials. */
function gaussLegendre(n) {
  const nodes = [];
  for (let at = 1; at <= n; at += 1) {
    let x = Math.cos((Math.PI * (at - 0.25)) / (n + 0.5));
    let slope = 1;
    for (let round = 0; round < 100; round += 1) {
      let [before, here] = [1, x];
      for (let k = 2; k <= n; k += 1) {
        [before, here] = [here, ((2 * k - 1) * x * here - (k - 1) * before) / k];
      }
      slope = (n * (x * here - before)) / (x * x - 1);
      const change = here / slope;
      x -= change;
      if (Math.abs(change) < 1e-16) break;
    }
    nodes.push({ node: (1 + x) / 2, weight: 1 / ((1 - x * x) * slope * slope) });
  }
  return nodes;
}
