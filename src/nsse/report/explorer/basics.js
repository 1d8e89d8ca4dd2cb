// Functions that all parts share: elements of the page, text of numbers, colors.

/** @type {(id: string) => any} */
export const get = (id) => document.getElementById(id);

// Text is always text, never markup.
/** @type {(tag: string, properties?: Record<string, any>, ...children: (Node | string)[]) => any} */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name in element && typeof value !== "string") Object.assign(element, { [name]: value });
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

export const paragraph = (words, kind = "quiet") => make("p", { class: kind }, words);

export const makeButton = (properties, ...children) =>
  make("button", { type: "button", ...properties }, ...children);

// Make an element of an SVG drawing.
export function draw(tag, attributes, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  if (text) element.textContent = text;
  return element;
}

export const brushOf = (canvas, options = {}) => canvas.getContext("2d", options);

export const allOf = (n) => Array.from({ length: n }, (_, i) => i);

// Group the numbers from one up to another by their keys.
export function grouped(from, to, keyOf) {
  const groups = new Map();
  for (let i = from; i < to; i++) {
    if (!groups.has(keyOf(i))) groups.set(keyOf(i), []);
    groups.get(keyOf(i)).push(i);
  }
  return groups;
}

// Math.min(...) would fail for long lists, because calls have a limited number of arguments.
export const smallest = (values) => values.reduce((a, b) => (b < a ? b : a), Infinity);
export const greatest = (values) => values.reduce((a, b) => (b > a ? b : a), -Infinity);

export const number = (v, digits = 4) => (v === Infinity ? "∞" : Number.isNaN(v) ? "missing"
  : v && (Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3) ? v.toExponential(digits - 2)
    : String(Number(v.toPrecision(digits))));
// A positive number rounded down to three digits, so that no radius is shown larger than it is.
export function atMost(v) {
  const unit = 10 ** (Math.floor(Math.log10(v)) - 2);
  return number(v > 0 && v < Infinity ? Math.floor(v / unit + 1e-9) * unit : v);
}
export const short = (v) => number(v, 3).replace("e+", "e").replace(".0e", "e");
export const percent = (v) => `${(100 * v).toFixed(1)} %`;
export const clipped = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

// Three channels in [0, 1], from and to the colors of CSS.
export const channels = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16) / 255);
export const cssColor = (color) => `rgb(${color.map((v) => Math.round(255 * v)).join(" ")})`;
export const lighter = (color) => color.map((v) => v + 0.22 * (1 - v));

// Dark or white text, whichever has more contrast (WCAG 2).
export function readable(color) {
  const linear = color.map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.2 ? "#16191d" : "#ffffff";
}
