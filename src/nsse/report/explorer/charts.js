// Draw the charts below the stage in SVG.

import { allOf, draw, get, make, paragraph, short } from "./basics.js";

const SIZE = { width: 420, height: 220, left: 52, right: 14, top: 12, bottom: 42 };
const LETTER = 7; // width of a digit
const EMPTY = { lines: [], bars: [], dots: [], marks: [], key: [], log: [false, false], whole: false };

// Return a few round numbers between two others. On a logarithmic axis they are powers of ten, or also
// 2 and 5 times such powers.
function ticks([low, high], count, log) {
  const inside = (factors) => allOf(40).flatMap((k) => factors.map((m) => Number(`${m}e${k - 20}`)))
    .filter((v) => v >= low && v <= high);
  const powers = log ? [inside([1, 2, 5]), inside([1])].find((found) => found.length < 7) ?? [] : [];
  if (powers.length > 1) return powers;
  const rough = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5].map((m) => m * power).find((s) => s >= rough * 0.999) || 10 * power;
  const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
  return allOf(last - first + 1).map((k) => (first + k) * step);
}

// Draw axes with few grid lines, and bars, lines and dots. A dot has a name and may have a label.
function chart(part) {
  const { title, x, y, labels, lines, bars, dots, marks, key, log, whole } = { ...EMPTY, ...part };
  const { width, height, left, right, top, bottom } = SIZE, middle = (top + height - bottom) / 2;
  const viewBox = `0 0 ${width} ${height}`, turned = `rotate(-90 12 ${middle})`;
  const share = (v, [low, high], isLog) => {
    const [a, b, c] = isLog ? [v, low, high].map(Math.log) : [v, low, high];
    return c > b ? (a - b) / (c - b) : 0.5;
  };
  const toX = (v) => left + share(v, x, log[0]) * (width - left - right);
  const toY = (v) => height - bottom - share(v, y, log[1]) * (height - top - bottom);
  const svg = draw("svg", { viewBox, role: "img", "aria-label": title, class: "chart" });
  for (const v of ticks(y, 4, log[1]).filter((tick) => !whole || Number.isInteger(tick)))
    svg.append(draw("line", { x1: left, x2: width - right, y1: toY(v), y2: toY(v), class: "grid" }),
      draw("text", { x: left - 8, y: toY(v) + 4, class: "tick end" }, short(v)));
  for (const v of ticks(x, 5, log[0]))
    svg.append(draw("text", { x: toX(v), y: height - bottom + 18, class: "tick middle" }, short(v)));
  svg.append(draw("text", { x: (left + width - right) / 2, y: height - 6, class: "label middle" }, labels[0]),
    draw("text", { x: 12, y: middle, transform: turned, class: "label middle" }, labels[1]));
  for (const [kind, from, to, high] of bars)
    svg.append(draw("rect", { x: toX(from) + 0.5, y: toY(high), width: toX(to) - toX(from) - 1,
      height: toY(0) - toY(high), class: kind }));
  for (const [kind, xs, ys] of lines) {
    const d = xs.map((v, k) => `${k ? "L" : "M"}${toX(v).toFixed(1)} ${toY(ys[k]).toFixed(1)}`).join("");
    svg.append(draw("path", { d, class: kind }));
  }
  for (const [kind, cx, cy, name, words] of dots) {
    const circle = draw("circle", { cx: toX(cx), cy: toY(cy), r: 3.2, class: kind });
    circle.append(draw("title", {}, name));
    const label = { x: toX(cx) - 6, y: Math.max(toY(cy) - 6, top + 16), class: "end" };
    svg.append(circle, draw("text", label, words));
  }
  // Counts are in one line above the axis, or in two lines if they would overlap.
  let end = -Infinity, isHigh = false;
  for (const [at, words] of marks) {
    const half = 0.5 * LETTER * words.length, middleX = Math.min(toX(at), width - half);
    isHigh = !isHigh && middleX - half < end;
    end = middleX + half;
    svg.append(draw("text", { x: middleX, y: height - bottom - (isHigh ? 17 : 5), class: "count middle" },
      words));
  }
  const keys = key.map(([kind, name]) => make("span", { class: kind }, name));
  return make("figure", {}, make("h3", {}, title), svg,
    ...(keys.length ? [make("div", { class: "key" }, ...keys)] : []));
}

/** @type {(part: any) => HTMLElement} */
const partOf = (part) => (typeof part === "string" ? paragraph(part)
  : Array.isArray(part) ? make("div", { class: "pair" }, ...part.map(partOf)) : chart(part));

// Show the sentences and charts that charts.py describes.
export function buildPanels({ data: { panels } }) {
  for (const [name, parts] of Object.entries(panels)) {
    get(name).hidden = !parts.length;
    get(`${name}-body`).replaceChildren(...parts.map(partOf));
  }
}
