// The page's data: packed arrays, automata of every rank, symbols and words.

async function inflate(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Numbers come as all first bytes, then all second bytes, and so on; see packing.py. */
async function unpack({ shape, bytes, data }) {
  const planes = await inflate(data);
  const length = shape.reduce((product, size) => product * size, 1);
  const numbers = new Float64Array(length);
  const raw = new Uint8Array(numbers.buffer);
  for (let plane = 0; plane < bytes; plane += 1) {
    for (let at = 0; at < length; at += 1) raw[8 * at + 7 - plane] = planes[plane * length + at];
  }
  return numbers;
}

class Content {
  constructor(document_) {
    Object.assign(this, document_);
    this.symbols = this.alphabet.names.length;
    const spelt = this.alphabet.texts.map((text) =>
      this.alphabet.characters ? text : text.trim().split(/\s+/u).join(" "),
    );
    this.codes = new Map(spelt.map((text, code) => [text, code]));
    this.longest = Math.max(...spelt.map((text) => text.split(" ").length));
    this.byRank = new Map(this.ranks.map((entry) => [entry.rank, entry]));
    this.cache = new Map();
  }

  static async read() {
    const content = new Content(checkedContent());
    Terms.all = content.terms;
    const names = Object.keys(content.arrays);
    const arrays = await Promise.all(names.map((name) => unpack(content.arrays[name])));
    content.arrays = Object.fromEntries(names.map((name, at) => [name, arrays[at]]));
    content.#cutEnds();
    return content;
  }

  /** The ends of all ranks stand one behind the other: see PackedRanks. */
  #cutEnds() {
    let at = 0;
    const take = (length) => this.arrays.ends.subarray(at, (at += length));
    for (const entry of this.ranks) {
      entry.initial = take(entry.states);
      entry.final = take(entry.states);
      entry.prefixFinal = take(entry.states);
    }
    for (const entry of this.ranks) {
      if (!entry.drawn) continue;
      entry.drawnInitial = take(entry.names.length);
      entry.drawnFinal = take(entry.names.length);
    }
  }

  /** What a rank computes. */
  automaton(rank) {
    const entry = this.byRank.get(rank);
    const own = this.arrays[`own_${rank}`];
    return this.#cached(
      `automaton ${rank}`,
      () =>
        new Automaton({
          symbols: this.symbols,
          states: entry.states,
          initial: entry.initial,
          final: entry.final,
          prefixFinal: entry.sums ? entry.prefixFinal : null,
          block: own ?? this.arrays.block,
          stride: own
            ? entry.states
            : Math.round(Math.sqrt(this.arrays.block.length / this.symbols)),
          kept: entry.kept ?? 1,
          leaks: entry.leaks,
        }),
    );
  }

  /** What is drawn of a rank: the same function, with named states where there are names. */
  drawn(rank) {
    const entry = this.byRank.get(rank);
    if (!entry.drawn) return this.automaton(rank);
    const states = entry.names.length;
    return this.#cached(
      `drawn ${rank}`,
      () =>
        new Automaton({
          symbols: this.symbols,
          states,
          initial: entry.drawnInitial,
          final: entry.drawnFinal,
          // Named states are scaled so that all that can follow one weighs 1.
          prefixFinal: entry.sums ? new Float64Array(states).fill(1) : null,
          block: this.arrays[`drawn_${rank}`],
          stride: states,
          leaks: entry.leaks,
        }),
    );
  }

  #cached(key, make) {
    if (!this.cache.has(key)) this.cache.set(key, make());
    return this.cache.get(key);
  }

  /** A state's name in two parts: how it is meant, and what is meant. */
  stateName(rank, state) {
    const entry = this.byRank.get(rank);
    if (!entry.names) return { how: "", what: String(state + 1) };
    const share = entry.shares[state];
    const how = share >= 0.99 ? "" : share >= 0.5 ? "mostly" : "partly";
    const what = entry.names[state];
    return what === "λ" ? { how, what: "start" } : { how: `${how} after`.trim(), what };
  }

  stateText(rank, state) {
    const { how, what } = this.stateName(rank, state);
    return this.byRank.get(rank).names ? `${how} ${what}`.trim() : `state ${what}`;
  }

  /** All states with so many letters: distinct, and without how exactly each is meant. */
  stateLabels(rank, letters) {
    const { states, names } = this.byRank.get(rank);
    return this.#cached(`labels ${rank} ${letters}`, () =>
      distinct(
        Array.from({ length: names?.length ?? states }, (_, state) =>
          this.stateText(rank, state).replace(/^(mostly|partly) /, ""),
        ),
        (text) => [...text].length <= letters,
      ),
    );
  }

  symbol(code) {
    return code === this.symbols ? "end" : this.alphabet.names[code];
  }

  spell(word) {
    return word.map((code) => this.symbol(code)).join(this.alphabet.separator) || "λ";
  }

  /** Text for the field; `parse` reads it back. */
  text(word) {
    return word.map((code) => this.alphabet.texts[code]).join(this.alphabet.separator);
  }

  /** Codes of a typed word, or what is wrong with it; of names with spaces the longest that fits. */
  parse(text) {
    if (text.trim() === "λ" && !this.codes.has("λ")) return { word: [] };
    const spaced = !this.alphabet.characters;
    const isSymbol = this.alphabet.texts.some((name) => !name.trim());
    const pieces = spaced ? text.split(/\s+/u).filter(Boolean) : [...text];
    const word = [];
    for (let at = 0; at < pieces.length; ) {
      if (!spaced && !isSymbol && !pieces[at].trim()) {
        at += 1;
        continue;
      }
      let n = spaced ? Math.min(this.longest, pieces.length - at) : 1;
      while (n > 0 && !this.codes.has(pieces.slice(at, at + n).join(" "))) n -= 1;
      if (!n && spaced && pieces[at] === this.alphabet.separator.trim()) {
        at += 1; // it separates symbols
        continue;
      }
      if (!n) return { error: this.#unknown(pieces[at], word.length + 1) };
      word.push(this.codes.get(pieces.slice(at, at + n).join(" ")));
      at += n;
    }
    return { word };
  }

  #unknown(piece, position) {
    const known = this.alphabet.names.slice(0, 12).join(", ") + (this.symbols > 12 ? ", …" : "");
    return `“${piece}” at position ${position} is no symbol of this box. There are: ${known}`;
  }
}
