// Small things that every part of the page uses. Text of the content reaches the document only by
// `textContent` and attributes, never as HTML.

document.documentElement.classList.add("js"); // shows what needs a script

const $ = (id) => document.getElementById(id);

/** Make an element: properties, `data-` and `aria-` attributes, then children or text. */
function element(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

/** The same for SVG, where everything is an attribute. */
function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Make a table: its titles, those of numbers on the right, and one or more bodies. */
function compactTable(titles, numbers, ...bodies) {
  const heads = titles.map((title) =>
    element("th", { scope: "col", className: numbers.includes(title) ? "right" : "" }, title),
  );
  const head = element("thead", {}, element("tr", {}, ...heads));
  return element("table", { className: "compact" }, head, ...bodies);
}

function filled(made, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (/^(data|aria)-|^(role|for|scope|tabindex|colspan|dir|lang)$/.test(name)) {
      made.setAttribute(name, value);
    } else made[name] = value;
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Set CSS custom properties, which a content policy allows where style attributes are not. */
function styled(made, properties) {
  for (const [name, value] of Object.entries(properties)) made.style.setProperty(name, value);
  return made;
}

// Numbers for people ------------------------------------------------------------------------------

const SUPERSCRIPT = {
  "-": "⁻",
  0: "⁰",
  1: "¹",
  2: "²",
  3: "³",
  4: "⁴",
  5: "⁵",
  6: "⁶",
  7: "⁷",
  8: "⁸",
  9: "⁹",
};

function power(exponent) {
  return "10" + [...String(exponent)].map((char) => SUPERSCRIPT[char]).join("");
}

/** Write a number with a few digits and a real minus, and never 1 for what is not 1. */
function show(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  let text;
  if (size < 1e-3 || size >= 1e6) {
    const [mantissa, exponent] = value.toExponential(Math.max(0, digits - 1)).split("e");
    text = `${trimmed(mantissa)} × ${power(Number(exponent))}`;
  } else {
    text = trimmed(value.toPrecision(digits));
    if (text === "1" && value !== 1) text = nearOne(value);
    if (/e/.test(text)) text = String(Math.round(value));
  }
  return text.replace(/-/g, "−");
}

/** What differs from 1 by rounding only is 1. */
function nearOne(value) {
  if (Math.abs(value - 1) <= 1e-9) return "1";
  for (let digits = 4; digits < 8; digits += 1) {
    const text = trimmed(value.toPrecision(digits));
    if (text !== "1") return text;
  }
  return value < 1 ? "0.999999" : "1";
}

function trimmed(text) {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function percent(share, digits = 2) {
  if (share === null || share === undefined || Number.isNaN(share)) return "–";
  const value = 100 * share;
  if (value !== 0 && Math.abs(value) < 0.01) return value > 0 ? "< 0.01 %" : "> −0.01 %";
  if (Math.abs(value) >= 999.5) return `${show(value, 3)} %`;
  let text = trimmed(value.toPrecision(Math.max(digits, Math.abs(value) >= 10 ? 3 : digits)));
  if (text === "100" && share < 1 - 1e-9) text = belowHundred(value);
  return `${text.replace("-", "−")} %`;
}

/** 99.9997 and not 100 for what is a little less, but 100 for what differs by rounding only. */
function belowHundred(value) {
  for (let places = 2; places < 5; places += 1) {
    const text = value.toFixed(places);
    if (Number(text) < 100) return text;
  }
  return "99.9999";
}

function count(number) {
  return number.toLocaleString("en-GB");
}

function counted(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

const NUMBERS = [
  "no",
  "one",
  "two",
  "three",
  "four",
  "five",
  "six",
  "seven",
  "eight",
  "nine",
  "ten",
  "eleven",
  "twelve",
];

function spelled(number) {
  return NUMBERS[number] ?? count(number);
}

// Terms -------------------------------------------------------------------------------------------

/** Sentences for everyone and for experts: one of both is shown, see terms.json. */
class Terms {
  static all = {};

  static get isForExperts() {
    return document.documentElement.dataset.terms === "experts";
  }

  /** Both forms, for an element. */
  static nodes(name, values = {}) {
    const [everyone, experts] = Terms.texts(name, values);
    if (everyone === experts) return [everyone];
    return [
      element("span", { className: "everyone" }, everyone),
      element("span", { className: "experts" }, experts),
    ];
  }

  /** The form that is shown now, where there is room for a text only. */
  static text(name, values = {}) {
    return Terms.texts(name, values)[Terms.isForExperts ? 1 : 0];
  }

  static texts(name, values) {
    return Terms.all[name].map((text) =>
      text.replace(/\{(\w+)\}/g, (whole, key) => values[key]?.replace(" %", "\u00a0%") ?? whole),
    );
  }

  /** The switch; what was chosen is remembered where the browser allows that. */
  static listen(onchange) {
    const choose = (which) => {
      document.documentElement.dataset.terms = which;
      $(`terms-${which}`).checked = true;
      onchange();
    };
    for (const which of ["everyone", "experts"]) {
      $(`terms-${which}`).addEventListener("change", () => {
        choose(which);
        try {
          localStorage.setItem("seqray.terms", which);
        } catch {
          // A page from the disk may be refused this; the choice then holds for this visit.
        }
      });
    }
    let remembered = null;
    try {
      remembered = localStorage.getItem("seqray.terms");
    } catch {
      // As above.
    }
    if (remembered === "experts") choose("experts");
  }
}

/** Parts of a sentence with spaces between them. */
function spaced(...parts) {
  return parts.flatMap((part, at) => (at ? [" ", ...part] : part));
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// Names -------------------------------------------------------------------------------------------

/**
 * Leave out the beginning of a word that is too long; of names with bars between them the ends of
 * long names first, as in util/formatting.py.
 */
function shortWord(text, separator, room) {
  const letters = [...text];
  if (letters.length <= room) return text;
  const names = separator.length > 1 ? text.split(separator) : [];
  for (let from = 0; from < names.length; from += 1) {
    const gap = from ? ["…"] : [];
    for (let most = room; most >= 7; most -= 1) {
      const kept = names.slice(from).map((name) => {
        const all = [...name];
        return all.length > most ? `${all.slice(0, most - 1).join("")}…` : name;
      });
      const short = [...gap, ...kept].join(separator);
      if ([...short].length <= room) return short;
    }
  }
  return `…${letters.slice(1 - room).join("")}`;
}

/**
 * Cut names that do not fit, so that those that differ still differ: at the end where that keeps
 * them distinct, else at the beginning, else in the middle; as in draw/graph.py.
 */
function distinct(names, fits) {
  const cuts = {
    end: (letters, n) => `${letters.slice(0, n).join("")}…`,
    front: (letters, n) => `…${letters.slice(letters.length - n).join("").trim()}`,
    middle: (letters, n) =>
      `${letters.slice(0, Math.ceil(n / 2)).join("")}…` +
      letters.slice(letters.length - Math.floor(n / 2)).join(""),
  };
  const cut = (name, how, tail = "") => {
    if (!tail && fits(name)) return name;
    const letters = [...name];
    let n = letters.length - 1;
    while (n > 1 && !fits(cuts[how](letters, n) + tail)) n -= 1;
    return cuts[how](letters, n) + tail;
  };
  const many = new Set(names).size;
  let best = null;
  for (const how of Object.keys(cuts)) {
    const attempt = names.map((name) => cut(name, how));
    const distinct = new Set(attempt).size;
    if (!best || distinct > best.distinct) best = { attempt, distinct };
    if (distinct >= many) return attempt;
  }
  const owners = new Map();
  best.attempt.forEach((text, at) => {
    if (!owners.has(text)) owners.set(text, new Set());
    owners.get(text).add(names[at]);
  });
  return best.attempt.map((text, at) =>
    owners.get(text).size === 1 ? text : cut(names[at], "end", String(names.indexOf(names[at]) + 1)),
  );
}

// Time --------------------------------------------------------------------------------------------

/** Call a function when nothing has called for it for a while. */
function settled(wait, work) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), wait);
  };
}

/** Yield to the browser, so that long work does not freeze the page. */
function breathe() {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** Runs of the same long work, of which only the last one matters. */
class Latest {
  #run = 0;

  begin() {
    this.#run += 1;
    const mine = this.#run;
    return () => mine === this.#run;
  }
}

/** A clock that says when it is time to yield. */
function pause(every = 12) {
  let begun = performance.now();
  return async () => {
    if (performance.now() - begun < every) return;
    await breathe();
    begun = performance.now();
  };
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
