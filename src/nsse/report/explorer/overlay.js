// Draw the layer above the points: frame and axes, names of the classes, rings, and the reader's own sample.

import { allOf, brushOf, clipped, cssColor, greatest, grouped, readable } from "./basics.js";

const FAR = 26; // a line joins a name and its place if they are farther apart than this, in pixels

export function drawOverlay(stage, at) {
  const context = brushOf(stage.overlay), { ratio, width, height, neighbors, selected, hovered } = stage;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  drawFrame(context, stage, at);
  drawNames(context, stage, at);
  const rings = [...neighbors.map(({ i }) => [i, 9, 1.2]), [selected, 12, 2.2], [hovered, 10, 1.5]];
  for (const [i, radius, thickness] of rings.filter(([point]) => point >= 0)) {
    context.beginPath();
    context.arc(stage.screen[3 * i], stage.screen[3 * i + 1], radius, 0, 7);
    outlined(context, stage, thickness);
  }
  drawLive(context, stage, at);
}

// Draw a line in the color of text, with a light edge.
function outlined(context, stage, thickness) {
  for (const [color, width] of [[stage.paper, thickness + 2], [stage.ink, thickness]]) {
    context.lineWidth = width;
    context.strokeStyle = cssColor(color);
    context.stroke();
  }
}

function path(context, places) {
  context.beginPath();
  for (const [x, y] of places) context.lineTo(x, y);
}

function drawLive(context, stage, at) {
  const { live, view } = stage;
  if (!live) return;
  const [x, y] = at(view.ofLive(live));
  context.strokeStyle = cssColor(stage.ink);
  context.lineWidth = 1;
  context.globalAlpha = 0.45;
  for (const { i } of live.neighbors) {
    path(context, [[x, y], stage.screenOf(i)]);
    context.stroke();
  }
  context.globalAlpha = 1;
  path(context, allOf(10).map((k) => {
    const r = k % 2 ? 6 : 13, turn = (Math.PI * k) / 5;
    return [x + r * Math.sin(turn), y - r * Math.cos(turn)];
  }));
  context.closePath();
  context.lineJoin = "round";
  outlined(context, stage, 2.5);
  context.fillStyle = stage.hueOf(live.code);
  context.fill();
}

// The polygon of the classes, or the axes through the middle.
function drawFrame(context, stage, at) {
  const { view, width, height, points } = stage, names = view.axes.map((axis) => `axis ${axis + 1}`);
  Object.assign(context, { strokeStyle: stage.faint, fillStyle: stage.muted, lineWidth: 1,
    textAlign: "center", font: "12px system-ui, sans-serif" });
  if (view.mode === "all") {
    path(context, points.data.polygon.bands ? [] : points.data.polygon.corners.map((c) => at([...c, 0])));
    context.closePath();
    context.stroke();
  } else if (view.mode === "3d")
    names.forEach((name, k) => {
      const end = (sign) => at(view.middle.map((m, j) => m + (j === k ? 0.5 * sign * view.extent[j] : 0)));
      path(context, [end(-1), end(1)]);
      context.stroke();
      context.fillText(name, end(1)[0], end(1)[1] - 6);
    });
  else {
    context.fillText(names[0], width - 32, height - 10);
    context.fillText(names[1], 32, 20);
  }
}

function drawNames(context, stage, at) {
  Object.assign(context, { font: "600 12px system-ui, sans-serif", textBaseline: "middle" });
  stage.names = placeNames(stage, at, (name) => context.measureText(name).width);
  for (const { name, code, anchor: [x, y], box: [left, top, wide, high] } of stage.names) {
    const middle = [left + wide / 2, top + high / 2], color = stage.channelsOf(code);
    const away = Math.hypot(Math.max(left - x, 0, x - left - wide), Math.max(top - y, 0, y - top - high));
    context.lineWidth = 1;
    context.strokeStyle = cssColor(color);
    path(context, away > FAR ? [[x, y], middle] : []);
    context.stroke();
    context.beginPath();
    context.roundRect(left, top, wide, high, high / 2);
    context.fillStyle = cssColor(color);
    context.fill();
    context.strokeStyle = cssColor(stage.paper);
    context.stroke();
    context.fillStyle = readable(color);
    context.fillText(name, middle[0], middle[1] + 0.5);
  }
  context.textBaseline = "alphabetic";
}

// The names of the classes: { code, name, anchor, box }. Names that would cover others are omitted.
function placeNames(stage, at, widthOf) {
  const { points, view, width, height, filter } = stage, placed = [];
  if (points.data.classes.length > points.data.most_labels) return placed;
  for (const [code, [x, y], toward] of view.mode === "all" ? corners(points, at) : groups(stage)) {
    if (filter.hiddenClasses.has(code)) continue;
    const name = clipped(points.className(code), width < 520 ? 9 : 18);
    const wide = Math.max(20, widthOf(name) + 13), left = x + (toward * wide - wide) / 2;
    const box = [inside(left, width - wide), inside(y - 9, height - 19), wide, 19];
    if (!placed.some((other) => covers(box, other.box))) placed.push({ code, name, anchor: [x, y], box });
  }
  return placed;
}

// Names extend outward from their places in the class map (class_maps.py).
const corners = ({ data: { polygon } }, at) => polygon.labels.map(([x, y, toward], k) =>
  [polygon.classes[k], at([x, y, 0]), toward]);

// Names are outside of the training points of their class, away from the middle of all points.
function groups({ points, screen, width, height }) {
  return [...grouped(0, points.nTrain, (i) => points.shown[i])].map(([code, rows]) => {
    const mean = [0, 1].map((k) => rows.reduce((sum, i) => sum + screen[3 * i + k], 0) / rows.length);
    const away = [mean[0] - width / 2, mean[1] - height / 2], length = Math.hypot(...away) || 1;
    const [ux, uy] = away.map((v) => v / length), side = Math.abs(ux) > 0.4 ? Math.sign(ux) : 0;
    const along = (i) => ux * (screen[3 * i] - mean[0]) + uy * (screen[3 * i + 1] - mean[1]);
    const far = greatest(rows.map(along));
    return [code, [mean[0] + ux * (far + 14), mean[1] + uy * (far + 18)], side];
  });
}

const inside = (v, room) => Math.max(4, Math.min(v, room - 4));
const covers = (a, b) => [0, 1].every((k) => a[k] < b[k] + b[k + 2] && b[k] < a[k] + a[k + 2]);
