// Numbers: lists of them, and how they and long names are written.

/** @type {(n: number) => number[]} */
export const allOf = (n) => Array.from({ length: n }, (_, i) => i);

// By comparison, not by Math.min(...): a list may be longer than a call takes arguments.
/** @type {(values: number[]) => number} */
export const smallest = (values) => values.reduce((a, b) => (b < a ? b : a), Infinity);

/** @type {(values: number[]) => number} */
export const greatest = (values) => -smallest(values.map((v) => -v));

/** @type {(v: number, digits: number, exponentDigits: number) => string} */
function rounded(v, digits, exponentDigits) {
  const size = Math.abs(v);
  if (v === 0) return "0";
  return size >= 1e5 || size < 1e-3 ? v.toExponential(exponentDigits) : String(Number(v.toPrecision(digits)));
}

/** @type {(v: number) => string} */
export const number = (v) => (v === Infinity ? "∞" : rounded(v, 4, 2));

/** @type {(v: number) => string} */
export const short = (v) => rounded(v, 3, 1).replace("e+", "e").replace(".0e", "e");

/** @type {(v: number) => string} */
export const percent = (v) => `${(100 * v).toFixed(1)} %`;

/** @type {(text: string, most: number) => string} */
export const clipped = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
