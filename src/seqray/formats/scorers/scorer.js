/* @TITLE@

   Words are arrays of codes: symbols[i] has the code i.

     const { score } = require("./scorer.js"); // in a browser: seqray.score
@USE@

   Or symbol by symbol: step(start(), code) returns the next state, read(state) what it says. */
"use strict";
const seqray = (() => {
@TABLES@

  // The state of a word: weights = vector * 2^exponent, over the states of one group.
  const start = () => ({ group: START, exponent: 0, vector: Float64Array.from(INITIAL) });

  const scaled = (value, exponent) => {
    for (; exponent > 1000; exponent -= 1000) value *= 2 ** 1000;
    for (; exponent < -1000 && value !== 0; exponent += 1000) value *= 2 ** -1000;
    return value === 0 ? 0 : value * 2 ** exponent;
  };

  const rescaled = (group, vector, exponent) => {
    const largest = vector.reduce((most, each) => Math.max(most, Math.abs(each)), 0);
    if (largest === 0 || (largest > 1e-100 && largest < 1e100)) return { group, vector, exponent };
    const shift = Math.max(-1000, Math.min(1000, Math.floor(Math.log2(largest))));
    return { group, vector: vector.map((each) => each * 2 ** -shift), exponent: exponent + shift };
  };

  const step = ({ group, vector, exponent }, code) => {
    if (!(Number.isInteger(code) && code >= 0 && code < N_SYMBOLS)) {
      throw new RangeError(`symbol ${code}: expected a code from 0 to ${N_SYMBOLS - 1}`);
    }
    const begin = BEGINS[group * N_SYMBOLS + code];
    const target = NEXT_GROUP[group * N_SYMBOLS + code];
    const m = SIZES[target];
    const moved = new Float64Array(m);
    if (begin >= 0) {
      vector.forEach((each, i) => {
        for (let j = 0; j < m; j++) moved[j] += each * VALUES[begin + i * m + j];
      });
    } else {
      let weight = 0;
      vector.forEach((each, i) => {
        weight += each * EMISSION[(OFFSETS[group] + i) * N_SYMBOLS + code];
      });
      for (let j = 0; j < m; j++) moved[j] = weight * ENTRY[OFFSETS[target] + j];
    }
    return rescaled(target, moved, exponent);
  };

  const columns = ({ group, vector }, table, width) => {
    const sums = new Array(width).fill(0);
    vector.forEach((each, i) => {
      for (let j = 0; j < width; j++) sums[j] += each * table[(OFFSETS[group] + i) * width + j];
    });
    return sums;
  };

  // Next-symbol probabilities, the end last; null if the automaton does not predict.
  const next = (state) => {
    if (!PREDICTS) return null;
    const sums = columns(state, READERS, N_SYMBOLS + 2);
    const total = sums.pop();
    const shares = sums.map((each) => each / total);
    return shares.every(Number.isFinite) ? shares : shares.map(() => 1 / shares.length);
  };

  // The probability of each class, and the number of the class; null if there are no classes.
  const classify = (state) => {
    if (CLASSES.length === 0) return { scores: null, decision: null };
    const outputs = columns(state, OUTPUTS, CLASSES.length).map((each) =>
      Math.min(Math.max(scaled(each, state.exponent), -1e100), 1e100));
    const best = outputs.indexOf(Math.max(...outputs));
    const parts = outputs.map((each) =>
      IS_LOGIT ? Math.exp(each - outputs[best]) : Math.max(each, 0));
    const total = parts.reduce((sum, each) => sum + each, 0);
    const scores = parts.map((each, i) => (total > 0 ? each / total : Number(i === best)));
    return { scores, decision: THRESHOLD > 0 ? Number(scores[1] >= THRESHOLD) : best };
  };

  const read = (state) => {
    const [value] = columns(state, FINAL, 1);
    const weight = scaled(value, state.exponent);
    const logWeight = Math.log(Math.abs(value)) + state.exponent * Math.LN2;
    return { weight, logWeight, next: next(state), ...classify(state) };
  };

  const score = (word) => read(Array.from(word).reduce(step, start()));

  return { symbols: SYMBOLS, classes: CLASSES, start, step, read, score };
})();
if (typeof module === "object") module.exports = seqray;
