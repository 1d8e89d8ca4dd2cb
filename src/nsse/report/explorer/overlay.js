// What lies over the points: frame and axes, names of the classes, rings, the visitor's own sample.

import { allOf, brushOf, clipped, cssColor, grouped, readable } from "./basics.js";

const MOST_COVERED = 0.25; // share of the stage: names that take more hide the points
const LOOKED_AT = 2000; // points that are counted, about
const TURNS = 16; // directions in which a place is looked for
const FAR = 26; // pixels from a name to its points beyond which a line joins them

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

// A line in ink, with paper beside it.
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
  if (view.mode === "all" && !view.isFlat) {
    path(context, points.data.polygon.corners.map((corner) => at([...corner, 0])));
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
    if (!view.isFlat) context.fillText(names[1], 32, 20);
  }
}

function drawNames(context, stage, at) {
  Object.assign(context, { font: "600 12px system-ui, sans-serif", textBaseline: "middle" });
  if (stage.isStale || stage.inMotion)
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

// Names stand beside their points, not on them, nor on each other: { code, name, anchor, box }.
function placeNames(stage, at, widthOf) {
  const { points, view, width, height } = stage, { polygon } = points.data;
  const isPolygon = view.mode === "all" && !view.isFlat;
  const anchors = !isPolygon ? middlePlaces(points, view)
    : polygon.corners.map(([x, y], k) => [polygon.classes[k], [1.27 * x, 1.27 * y, 0]]);
  const shown = anchors.filter(([code]) => !stage.filter.hiddenClasses.has(code));
  const seen = shown.map(([code, place]) => {
    const name = clipped(points.className(code), width < 520 ? 11 : 18);
    return { code, name, anchor: at(place).slice(0, 2), size: [Math.max(20, widthOf(name) + 13), 20] };
  });
  if (seen.reduce((sum, { size }) => sum + size[0] * size[1], 0) > MOST_COVERED * width * height) return [];
  // While the view moves, names keep their distance to the points: they do not jump.
  const crowd = stage.inMotion ? null : crowdOf(stage);
  const middle = [0, 1].map((k) => seen.reduce((sum, { anchor }) => sum + anchor[k], 0) / (seen.length || 1));
  const placed = [];
  for (const { code, name, anchor, size } of seen) {
    if (crowd) stage.nameOffsets.set(code, freeOffset(stage, crowd, placed, anchor, size, middle));
    const box = boxAt(stage, anchor, stage.nameOffsets.get(code) || [0, 0], size);
    placed.push({ code, name, anchor, box });
  }
  return placed;
}

// The mean place of the training points of every class.
const middlePlaces = (points, { positions }) => [...grouped(0, points.nTrain, (i) => points.shown[i])]
  .map(([code, rows]) => [code, [0, 1, 2].map((k) =>
    rows.reduce((sum, i) => sum + positions[3 * i + k], 0) / rows.length)]);

// Points that a name may hide: x, y, and how much that matters.
function crowdOf({ points, screen, marks }) {
  const every = Math.ceil(points.n / LOOKED_AT);
  return allOf(points.n).filter((i) => marks[4 * i + 3] && i % every === 0)
    .map((i) => [screen[3 * i], screen[3 * i + 1], points.isTest(i) ? 1 : 3]);
}

// The offset of a name from its anchor that hides least.
function freeOffset(stage, crowd, placed, anchor, size, middle) {
  const outward = Math.atan2(anchor[1] - middle[1], anchor[0] - middle[0] || 1e-9);
  let best = [0, 0], least = Infinity;
  const consider = (offset, price) => {
    const box = boxAt(stage, anchor, offset, size);
    const moved = Math.hypot(box[0] + size[0] / 2 - anchor[0], box[1] + size[1] / 2 - anchor[1]);
    let cost = price + 0.12 * moved + placed.reduce((sum, other) => sum + 300 * shared(box, other.box), 0);
    if (cost >= least) return;
    const [left, top] = [box[0] - 4, box[1] - 4], [right, bottom] = [left + box[2] + 8, top + box[3] + 8];
    for (const [x, y, weight] of crowd) if (x > left && x < right && y > top && y < bottom) cost += weight;
    if (cost < least) [least, best] = [cost, offset];
  };
  consider([0, 0], 0);
  for (const step of [0.5, 0.75, 1.2, 1.8, 2.6, 3.6, 5, 7])
    for (const k of allOf(TURNS)) {
      const angle = outward + (2 * Math.PI * k) / TURNS, way = [Math.cos(angle), Math.sin(angle)];
      consider(way.map((share, j) => share * (size[j] / 2 + 22 * step)), 1 - Math.cos(angle - outward));
    }
  return best;
}

// A box about a place, moved into the stage.
function boxAt({ width, height }, [x, y], [dx, dy], [wide, high]) {
  const inside = (v, room) => Math.max(4, Math.min(v, room - 4));
  return [inside(x + dx - wide / 2, width - wide), inside(y + dy - high / 2, height - high), wide, high];
}

// The share of the first box that the second one covers, with some room between them.
function shared(a, b) {
  const over = (k) => Math.min(a[k] + a[k + 2], b[k] + b[k + 2]) - Math.max(a[k], b[k]) + 3;
  const wide = over(0), high = over(1);
  return wide > 0 && high > 0 ? 0.2 + (wide * high) / (a[2] * a[3]) : 0;
}
