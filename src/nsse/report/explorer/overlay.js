// What lies over the points: frame and axes, names of the classes, rings, the visitor's own sample.

import { cssColor, readable } from "./colors.js";
import { brushOf } from "./elements.js";
import { isFar, placeNames } from "./names.js";

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
  const [x, y] = at(view.ofClass(live.place, live.code));
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
  if (stage.view.mode === "all" && !stage.view.isFlat) drawPolygon(context, stage, at);
  else if (stage.view.mode === "3d") drawAxes(context, stage.view, at, names);
  else {
    context.textAlign = "right";
    context.fillText(names[0], stage.width - 12, stage.height - 10);
    context.textAlign = "left";
    if (!stage.view.isFlat) context.fillText(names[1], 12, 20);
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

// Names of the classes: at the corners, or beside their training points.
/** @type {(context: Context, stage: Stage, at: (place: number[]) => number[]) => void} */
function drawNames(context, stage, at) {
  context.font = "600 12px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  stage.names = placeNames(stage, at, (name) => context.measureText(name).width);
  context.lineWidth = 1;
  for (const name of stage.names.filter(isFar)) {
    const [left, top, wide, high] = name.box;
    context.strokeStyle = stage.hueOf(name.code);
    stroke(context, name.anchor, [left + wide / 2, top + high / 2]);
  }
  for (const { name, box, code } of stage.names) badge(context, stage, name, box, stage.channelsOf(code));
  context.textBaseline = "alphabetic";
}

/** @type {(context: Context, stage: Stage, name: string, box: number[], color: Color) => void} */
function badge(context, stage, name, [left, top, wide, high], color) {
  context.beginPath();
  context.roundRect(left, top, wide, high, high / 2);
  context.fillStyle = cssColor(color);
  context.fill();
  context.lineWidth = 1.5;
  context.strokeStyle = cssColor(stage.paper);
  context.stroke();
  context.fillStyle = readable(color);
  context.fillText(name, left + wide / 2, top + high / 2 + 0.5);
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
