// Charts: small, in SVG, in the colours of the page.

import { draw, make } from "./elements.js";
import { greatest, short, smallest } from "./numbers.js";

/** @typedef {(v: number) => number} ToPixels */

const CHART = { width: 420, height: 220, left: 52, right: 14, top: 12, bottom: 42 };

// Few round numbers between two others.
/** @type {(range: number[], count?: number) => number[]} */
export function ticks([low, high], count = 4) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5].map((m) => m * power).find((s) => s >= rough * 0.999) || 10 * power;
  const out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) out.push(k * step);
  return out;
}

/** @type {(range: number[]) => number[]} */
function powersOfTen([low, high]) {
  const out = [];
  for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); k++) out.push(10 ** k);
  const inside = out.filter((v) => v >= low && v <= high);
  return inside.length > 1 ? inside : ticks([low, high], 3).filter((v) => v > 0);
}

/** @type {(range: number[]) => number[]} */
function oneTwoFive([low, high]) {
  const out = [];
  for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); k++)
    out.push(...[1, 2, 5].map((m) => Number(`${m}e${k}`)));
  const inside = out.filter((v) => v >= low && v <= high);
  if (inside.length < 2) return ticks([low, high], 4);
  return inside.length > 6 ? powersOfTen([low, high]) : inside;
}

/** @type {(v: number, range: number[]) => number} */
const share = (v, [low, high]) => (high > low ? (v - low) / (high - low) : 0.5);

// Axes with few lines; `plot` receives the svg and the functions from values to pixels.
/**
 * @typedef {{ x: number[], y: number[], xLabel: string, yLabel: string }} Axes
 * @typedef {(svg: SVGElement, toX: ToPixels, toY: ToPixels) => void} Plot
 * @typedef {{ logX?: boolean, logY?: boolean, yTicks?: number[] }} Scales
 * @type {(title: string, axes: Axes & Scales, plot: Plot) => HTMLElement}
 */
export function chart(title, { x, y, xLabel, yLabel, logX = false, logY = false, yTicks }, plot) {
  const { width, height, left, right, top, bottom } = CHART;
  const box = `0 0 ${width} ${height}`, middle = (top + height - bottom) / 2;
  const svg = draw("svg", { viewBox: box, role: "img", "aria-label": title, class: "chart" });
  /** @type {ToPixels} */
  const shareX = (v) => (logX ? share(Math.log(v), x.map(Math.log)) : share(v, x));
  /** @type {ToPixels} */
  const toX = (v) => left + shareX(v) * (width - left - right);
  /** @type {ToPixels} */
  const shareY = (v) => (logY ? share(Math.log(v), y.map(Math.log)) : share(v, y));
  /** @type {ToPixels} */
  const toY = (v) => height - bottom - shareY(v) * (height - top - bottom);
  for (const v of yTicks || (logY ? powersOfTen(y) : ticks(y))) {
    svg.append(draw("line", { x1: left, x2: width - right, y1: toY(v), y2: toY(v), class: "grid" }));
    svg.append(draw("text", { x: left - 8, y: toY(v) + 4, class: "tick end" }, short(v)));
  }
  for (const v of logX ? oneTwoFive(x) : ticks(x, 5))
    svg.append(draw("text", { x: toX(v), y: height - bottom + 18, class: "tick middle" }, short(v)));
  svg.append(draw("text", { x: (left + width - right) / 2, y: height - 6, class: "label middle" }, xLabel));
  const turned = `rotate(-90 12 ${middle})`;
  svg.append(draw("text", { x: 12, y: middle, transform: turned, class: "label middle" }, yLabel));
  plot(svg, toX, toY);
  return make("figure", {}, make("h3", {}, title), svg);
}

/** @type {(svg: SVGElement, xs: number[], ys: number[], kind?: string) => void} */
export function line(svg, xs, ys, kind = "line") {
  const path = xs.map((x, k) => `${k ? "L" : "M"}${x.toFixed(1)} ${ys[k].toFixed(1)}`).join("");
  svg.append(draw("path", { d: path, class: kind }));
}

/** @type {(svg: SVGElement, x: number, y: number, name: string, kind?: string) => void} */
export function dot(svg, x, y, name, kind = "dot") {
  const circle = draw("circle", { cx: x, cy: y, r: 3.2, class: kind });
  circle.append(draw("title", {}, name));
  svg.append(circle);
}

// What an axis spans: all values, and a little room on both sides.
/** @type {(values: number[], log: boolean) => number[]} */
export function rangeOf(values, log) {
  const low = smallest(values), high = greatest(values);
  if (log) return [low / (high / low) ** 0.06 / 1.05, high * (high / low) ** 0.06 * 1.05];
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  return [low - room, high + room];
}
