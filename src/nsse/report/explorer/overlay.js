// What lies over the points: frame and axes, names of the classes, rings, the visitor's own sample.

import { cssColor, readable } from "./colors.js";
import { brushOf } from "./elements.js";
import { clipped } from "./numbers.js";

// More names than this hide the points.
const MOST_NAMES = 60;

/** @typedef {CanvasRenderingContext2D} Context */

/** @type {(stage: Stage, rotation: number[][]) => void} */
export function drawOverlay(stage, rotation) {
  const context = brushOf(stage.overlay), { ratio, width, height, view } = stage;
  /** @type {(place: number[]) => number[]} */
  const at = (place) => view.toScreen(place, width, height, rotation);
  /** @type {(i: number, radius: number, thickness: number) => void} */
  const mark = (i, radius, thickness) => ring(context, stage, stage.screenOf(i, rotation), radius, thickness);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  drawFrame(context, stage, at);
  drawNames(context, stage, at);
  for (const { i } of stage.neighbors) mark(i, 9, 1.2);
  if (stage.selected >= 0) mark(stage.selected, 12, 2.2);
  if (stage.hovered >= 0) mark(stage.hovered, 10, 1.5);
  drawLive(context, stage, at);
}

/** @type {(context: Context, stage: Stage, place: number[], radius: number, thickness: number) => void} */
function ring(context, stage, [x, y], radius, thickness) {
  context.beginPath();
  context.arc(x, y, radius, 0, 7);
  context.lineWidth = thickness + 2;
  context.strokeStyle = cssColor(stage.paper);
  context.stroke();
  context.lineWidth = thickness;
  context.strokeStyle = cssColor(stage.ink);
  context.stroke();
}

/** @type {(context: Context, from: number[], to: number[]) => void} */
function stroke(context, from, to) {
  context.beginPath();
  context.moveTo(from[0], from[1]);
  context.lineTo(to[0], to[1]);
  context.stroke();
}

/** @type {(context: Context, stage: Stage, at: (place: number[]) => number[]) => void} */
function drawLive(context, stage, at) {
  const { live, view } = stage;
  if (!live) return;
  const [x, y] = at(view.of(live.place, [0, 0, 0]));
  context.strokeStyle = cssColor(stage.ink);
  context.lineWidth = 1;
  context.globalAlpha = 0.45;
  for (const { i } of live.neighbors) stroke(context, [x, y], at(stage.positionOf(i)));
  context.globalAlpha = 1;
  star(context, stage, x, y, live.code === null ? stage.muted : stage.hueOf(live.code));
}

// The polygon of the classes, or the axes through the middle.
/** @type {(context: Context, stage: Stage, at: (place: number[]) => number[]) => void} */
function drawFrame(context, stage, at) {
  context.strokeStyle = stage.faint;
  context.fillStyle = stage.muted;
  context.lineWidth = 1;
  context.font = "12px system-ui, sans-serif";
  const names = stage.view.axes.map((axis) => `axis ${axis + 1}`);
  if (stage.view.mode === "all") drawPolygon(context, stage, at);
  else if (stage.view.mode === "3d") drawAxes(context, stage.view, at, names);
  else {
    context.textAlign = "right";
    context.fillText(names[0], stage.width - 12, stage.height - 10);
    context.textAlign = "left";
    if (stage.points.d > 1) context.fillText(names[1], 12, 20);
  }
}

/** @type {(context: Context, stage: Stage, at: (place: number[]) => number[]) => void} */
function drawPolygon(context, stage, at) {
  context.beginPath();
  for (const corner of stage.points.data.polygon.corners) {
    const [x, y] = at([...corner, 0]);
    context.lineTo(x, y);
  }
  context.closePath();
  context.stroke();
}

/** @type {(context: Context, view: View, at: (place: number[]) => number[], names: string[]) => void} */
function drawAxes(context, view, at, names) {
  context.textAlign = "center";
  for (let k = 0; k < 3; k++) {
    const half = view.extent.map((size, j) => (j === k ? 0.5 * size : 0));
    const to = at(view.middle.map((m, j) => m + half[j]));
    stroke(context, at(view.middle.map((m, j) => m - half[j])), to);
    context.fillText(names[k], to[0], to[1] - 6);
  }
}

// Names of the classes: at the corners, or amid their training points.
/** @type {(context: Context, stage: Stage, at: (place: number[]) => number[]) => void} */
function drawNames(context, stage, at) {
  const { points, view } = stage;
  const places = view.mode === "all" ? cornerPlaces(points) : middlePlaces(points, view);
  if (places.length > MOST_NAMES) return;
  context.font = "600 12px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const { code, place } of places) {
    if (!stage.filter.hiddenClasses.has(code))
      badge(context, stage, clipped(points.className(code), 18), at(place), stage.channelsOf(code));
  }
  context.textBaseline = "alphabetic";
}

/** @type {(context: Context, stage: Stage, name: string, place: number[], color: Color) => void} */
function badge(context, stage, name, [x, y], color) {
  const wide = Math.max(20, context.measureText(name).width + 13);
  context.beginPath();
  context.roundRect(x - wide / 2, y - 10, wide, 20, 10);
  context.fillStyle = cssColor(color);
  context.fill();
  context.lineWidth = 1.5;
  context.strokeStyle = cssColor(stage.paper);
  context.stroke();
  context.fillStyle = readable(color);
  context.fillText(name, x, y + 0.5);
}

/** @param {Points} points */
function cornerPlaces({ data: { polygon: { corners, classes } } }) {
  return corners.map(([x, y], k) => ({ code: classes[k], place: [1.27 * x, 1.27 * y, 0] }));
}

/** @type {(points: Points, view: View) => { code: number, place: number[] }[]} */
function middlePlaces(points, view) {
  /** @type {Map<number, number[]>} */
  const sums = new Map();
  for (let i = 0; i < points.nTrain; i++) {
    const sum = sums.get(points.shown[i]) || [0, 0, 0, 0];
    for (let k = 0; k < 3; k++) sum[k] += view.positions[3 * i + k];
    sum[3]++;
    sums.set(points.shown[i], sum);
  }
  return [...sums].map(([code, [x, y, z, n]]) => ({ code, place: [x / n, y / n, z / n] }));
}

/** @type {(context: Context, stage: Stage, x: number, y: number, fill: string) => void} */
function star(context, stage, x, y, fill) {
  context.beginPath();
  for (let k = 0; k < 10; k++) {
    const r = k % 2 ? 13 * 0.45 : 13, turn = (Math.PI * k) / 5;
    context.lineTo(x + r * Math.sin(turn), y - r * Math.cos(turn));
  }
  context.closePath();
  context.lineJoin = "round";
  context.lineWidth = 5;
  context.strokeStyle = cssColor(stage.paper);
  context.stroke();
  context.lineWidth = 2;
  context.strokeStyle = cssColor(stage.ink);
  context.stroke();
  context.fillStyle = fill;
  context.fill();
}
