// Where the names of the classes stand: beside their points, not on them, nor on each other.

import { allOf, clipped } from "./numbers.js";

// More names than this hide the points.
const MOST_NAMES = 60;
const CELL = 8; // pixels of a square in which points are counted
const LOOKED_AT = 4000; // points that are counted, about
const TURNS = 16; // directions in which a place is looked for
const ROUGHLY = 26; // pixels from a name to its points beyond which a line joins them

/**
 * @typedef {{ code: number, name: string, anchor: number[], box: number[] }} Name - left, top, width, height
 * @typedef {(place: number[]) => number[]} ToScreen
 */

/** @type {(stage: Stage, at: ToScreen, widthOf: (name: string) => number) => Name[]} */
export function placeNames(stage, at, widthOf) {
  const { points, view, width } = stage, isSmall = width < 520;
  const anchors = view.mode === "all" && !view.isFlat ? cornerPlaces(points) : middlePlaces(points, view);
  const shown = anchors.filter(({ code }) => !stage.filter.hiddenClasses.has(code));
  if (shown.length > MOST_NAMES) return [];
  const seen = shown.map(({ code, place }) => {
    const name = clipped(points.className(code), isSmall ? 11 : 18);
    return { code, name, anchor: at(place).slice(0, 2), size: [Math.max(20, widthOf(name) + 13), 20] };
  });
  // While the view moves, names keep their distance to the points: they do not jump.
  const crowd = stage.inMotion ? null : crowdOf(stage);
  const middle = [0, 1].map((k) => seen.reduce((sum, { anchor }) => sum + anchor[k], 0) / (seen.length || 1));
  /** @type {Name[]} */
  const placed = [];
  for (const { code, name, anchor, size } of seen) {
    if (crowd) stage.nameOffsets.set(code, freeOffset(stage, crowd, placed, anchor, size, middle));
    const [dx, dy] = stage.nameOffsets.get(code) || [0, 0];
    placed.push({ code, name, anchor, box: boxAt(stage, [anchor[0] + dx, anchor[1] + dy], size) });
  }
  return placed;
}

// Whether a name is so far from its points that a line must tell which they are.
/** @type {(name: Name) => boolean} */
export function isFar({ anchor: [x, y], box: [left, top, wide, high] }) {
  const dx = Math.max(left - x, 0, x - left - wide), dy = Math.max(top - y, 0, y - top - high);
  return Math.hypot(dx, dy) > ROUGHLY;
}

// How many points there are around every place; training points count most.
/** @param {Stage} stage */
function crowdOf(stage) {
  const { points, width, height } = stage, rotation = stage.view.rotation;
  const columns = Math.ceil(width / CELL) + 1, rows = Math.ceil(height / CELL) + 1;
  const counts = new Float32Array(columns * rows);
  /** @type {(i: number, weight: number) => void} */
  const count = (i, weight) => {
    if (!stage.isShown(i)) return;
    const [x, y] = stage.screenOf(i, rotation);
    const column = Math.floor(x / CELL), row = Math.floor(y / CELL);
    if (column >= 0 && column < columns && row >= 0 && row < rows) counts[row * columns + column] += weight;
  };
  const everyTrain = Math.ceil(points.nTrain / LOOKED_AT), everyTest = Math.ceil(points.nTest / LOOKED_AT);
  for (let i = 0; i < points.nTrain; i += everyTrain) count(i, 3);
  for (let i = points.nTrain; i < points.n; i += everyTest) count(i, 1);
  return { counts, columns, rows };
}

/** @typedef {{ counts: Float32Array, columns: number, rows: number }} Crowd */

// The offset of a name from its anchor that hides least.
/** @type {(stage: Stage, crowd: Crowd, placed: Name[], anchor: number[], size: number[], middle: number[])
 *   => number[]} */
function freeOffset(stage, crowd, placed, anchor, size, middle) {
  const outward = Math.atan2(anchor[1] - middle[1], anchor[0] - middle[0] || 1e-9);
  let best = [0, 0], least = Infinity;
  /** @type {(offset: number[], price: number) => void} */
  const consider = (offset, price) => {
    const box = boxAt(stage, [anchor[0] + offset[0], anchor[1] + offset[1]], size);
    const moved = Math.hypot(box[0] + size[0] / 2 - anchor[0], box[1] + size[1] / 2 - anchor[1]);
    const cost = price + 0.12 * moved + hidden(crowd, box) + placed.reduce((sum, other) =>
      sum + 300 * shared(box, other.box), 0);
    if (cost < least) {
      least = cost;
      best = offset;
    }
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
/** @type {(stage: Stage, place: number[], size: number[]) => number[]} */
function boxAt({ width, height }, [x, y], [wide, high]) {
  /** @type {(v: number, room: number) => number} */
  const inside = (v, room) => Math.max(4, Math.min(v, room - 4));
  return [inside(x - wide / 2, width - wide), inside(y - high / 2, height - high), wide, high];
}

/** @type {(crowd: Crowd, box: number[]) => number} */
function hidden({ counts, columns, rows }, [left, top, wide, high]) {
  /** @type {(from: number, length: number, most: number) => number[]} */
  const cells = (from, length, most) =>
    [Math.max(0, Math.floor((from - 3) / CELL)), Math.min(most - 1, Math.floor((from + length + 3) / CELL))];
  const [firstRow, lastRow] = cells(top, high, rows), [first, last] = cells(left, wide, columns);
  let sum = 0;
  for (let row = firstRow; row <= lastRow; row++)
    for (let column = first; column <= last; column++) sum += counts[row * columns + column];
  return sum;
}

// The share of the first box that the second one covers, with some room between them.
/** @type {(a: number[], b: number[]) => number} */
function shared(a, b) {
  const wide = Math.min(a[0] + a[2], b[0] + b[2]) - Math.max(a[0], b[0]) + 3;
  const high = Math.min(a[1] + a[3], b[1] + b[3]) - Math.max(a[1], b[1]) + 3;
  return wide > 0 && high > 0 ? 0.2 + (wide * high) / (a[2] * a[3]) : 0;
}

/** @type {(points: Points) => { code: number, place: number[] }[]} */
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
