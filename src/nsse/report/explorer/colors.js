// Colours: three channels in [0, 1], from and to what CSS writes.

/** @type {(hex: string) => Color} */
export const channels = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16) / 255);

/** @type {(color: Color) => string} */
export const cssColor = (color) => `rgb(${color.map((v) => Math.round(255 * v)).join(" ")})`;

/** @type {(color: Color) => Color} */
export const lighter = (color) => color.map((v) => v + 0.22 * (1 - v));

// Dark or white text, whichever has more contrast (WCAG 2).
/** @type {(color: Color) => string} */
export function readable(color) {
  const linear = color.map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  const light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  return light > 0.2 ? "#16191d" : "#ffffff";
}
