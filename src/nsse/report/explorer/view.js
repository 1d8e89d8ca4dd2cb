// Views: places of points in space for a choice of axes, and the camera that looks at them.

export class View {
  /** @param {Points} points */
  constructor(points) {
    this.points = points;
    /** @type {"all" | "2d" | "3d"} */
    this.mode = points.d > 2 ? "all" : "2d";
    this.axes = [0, Math.min(1, points.d - 1), Math.min(2, points.d - 1)];
    this.positions = new Float32Array(points.n * 3);
    /** @type {Map<number, number>} */
    this.bands = new Map();
    this.middle = this.center = this.extent = [0, 0, 0];
    this.turn = [0, 0];
    this.reach = this.zoom = 1;
    this.rebuild();
  }

  // Where a place in the embedding is seen.
  /** @type {<Out extends Place | Float32Array>(y: Floats, out: Out, at?: number) => Out} */
  of(y, out, at = 0) {
    const { polygon } = this.points.data;
    if (this.mode === "all") {
      let [a, b] = polygon.offset;
      for (let k = 0; k < this.points.d; k++) {
        a += (y[k] - polygon.center[k]) * polygon.matrix[k][0];
        b += (y[k] - polygon.center[k]) * polygon.matrix[k][1];
      }
      out[at] = a;
      out[at + 1] = b;
      out[at + 2] = 0;
      return out;
    }
    out[at] = y[this.axes[0]];
    out[at + 1] = this.isFlat ? 0 : y[this.axes[1]];
    out[at + 2] = this.mode === "3d" ? y[this.axes[2]] : 0;
    return out;
  }

  // Whether all that is seen lies on one line: of one coordinate, or between two corners.
  get isFlat() {
    const { points, mode } = this;
    return mode === "all" ? points.data.polygon.corners.length === 2 : points.d === 1;
  }

  // Where a place is seen that is said to be of a class: on a line, in the band of the class.
  /** @type {(y: Floats, code: number | null) => Place} */
  ofClass(y, code) {
    const place = this.of(y, /** @type {Place} */ ([0, 0, 0]));
    if (this.isFlat) place[1] = code === null ? 0 : this.bands.get(code) || 0;
    return place;
  }

  rebuild() {
    const { points, positions } = this;
    for (let i = 0; i < points.n; i++) this.of(points.place(i), positions, 3 * i);
    this.bands = new Map();
    if (this.isFlat) this.bands = spreadOut(positions, points.shown);
    this.home();
  }

  // Look at all points.
  home() {
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    /** @type {(x: number, k: number) => void} */
    const see = (x, k) => {
      low[k] = Math.min(low[k], x);
      high[k] = Math.max(high[k], x);
    };
    for (let i = 0; i < this.positions.length; i++) see(this.positions[i], i % 3);
    const corners = this.mode === "all" ? this.points.data.polygon.corners : [];
    for (const corner of corners) corner.forEach((x, k) => see(1.33 * x, k));
    this.middle = low.map((l, k) => (l + high[k]) / 2);
    this.center = [...this.middle];
    this.extent = [0, 1, 2].map((k) => Math.max(high[k] - low[k], 1e-12));
    this.reach = Math.hypot(...this.extent) / 2;
    this.zoom = 1;
    this.turn = this.mode === "3d" ? [-0.5, 0.45] : [0, 0];
  }

  get rotation() {
    const [yaw, pitch] = this.turn;
    const [cy, sy, cp, sp] = [Math.cos(yaw), Math.sin(yaw), Math.cos(pitch), Math.sin(pitch)];
    return [[cy, 0, -sy], [sp * sy, cp, sp * cy], [cp * sy, -sp, cp * cy]];
  }

  // Pixels per unit of the embedding on a stage of this size.
  /** @type {(width: number, height: number) => number} */
  scale(width, height) {
    if (this.mode === "3d") return (0.62 * Math.min(width, height) * this.zoom) / this.reach;
    return 0.9 * Math.min(width / this.extent[0], height / this.extent[1]) * this.zoom;
  }

  // A place in space on the screen: x, y in pixels, and depth (larger is nearer).
  /** @type {(place: number[], width: number, height: number, rotation?: number[][]) => Place} */
  toScreen([x, y, z], width, height, rotation = this.rotation) {
    const s = this.scale(width, height);
    const [a, b, c] = [x - this.center[0], y - this.center[1], z - this.center[2]];
    const turned = rotation.map((row) => row[0] * a + row[1] * b + row[2] * c);
    return [width / 2 + s * turned[0], height / 2 - s * turned[1], turned[2]];
  }

  /** @type {(dx: number, dy: number, width: number, height: number) => void} */
  pan(dx, dy, width, height) {
    const s = this.scale(width, height), R = this.rotation;
    for (let k = 0; k < 3; k++) this.center[k] += (-dx / s) * R[0][k] + (dy / s) * R[1][k];
  }

  /** @type {(dx: number, dy: number) => void} */
  rotate(dx, dy) {
    this.turn[0] -= dx * 0.008;
    this.turn[1] = Math.max(-Math.PI / 2, Math.min(Math.PI / 2, this.turn[1] + dy * 0.008));
  }

  // Zoom so that what is under the pointer stays there.
  /** @type {(factor: number, at: number[], width: number, height: number) => void} */
  zoomAt(factor, [x, y], width, height) {
    const before = this.zoom;
    this.zoom = Math.max(0.2, Math.min(400, this.zoom * factor));
    const moved = this.zoom / before - 1;
    this.pan(-(x - width / 2) * moved, -(y - height / 2) * moved, width, height);
  }
}

const BINS = 48;

// Points on a line are given heights, which mean nothing: a band for every class, and in it places that
// keep points apart, within a width that says how dense they are. The middle of every band is returned.
/** @type {(positions: Float32Array, codes: Uint16Array) => Map<number, number>} */
function spreadOut(positions, codes) {
  let low = Infinity, high = -Infinity;
  for (let i = 0; i < codes.length; i++) {
    low = Math.min(low, positions[3 * i]);
    high = Math.max(high, positions[3 * i]);
  }
  const span = high - low || 1, present = [...new Set(codes)].sort((a, b) => a - b);
  const band = (0.5 * span) / present.length, bands = new Map();
  /** @param {number} i */
  const binOf = (i) => Math.min(BINS - 1, Math.floor((BINS * (positions[3 * i] - low)) / span));
  present.forEach((code, place) => {
    const middle = ((present.length - 1) / 2 - place) * band, counts = new Float64Array(BINS);
    bands.set(code, middle);
    codes.forEach((other, i) => other === code && counts[binOf(i)]++);
    const dense = counts.map((count, k) => count / 2 + ((counts[k - 1] || 0) + (counts[k + 1] || 0)) / 4);
    const most = dense.reduce((a, b) => Math.max(a, b));
    let nth = 0;
    codes.forEach((other, i) => {
      if (other !== code) return;
      const share = Math.sqrt(dense[binOf(i)] / most);
      positions[3 * i + 1] = middle + 0.86 * band * share * (halvings(++nth) - 0.5);
    });
  });
  return bands;
}

// The sequence of van der Corput: 1/2, 1/4, 3/4, 1/8, …, which fills a line evenly at every length.
/** @type {(n: number) => number} */
function halvings(n) {
  let value = 0;
  for (let half = 0.5; n > 0; n >>= 1, half /= 2) value += (n & 1) * half;
  return value;
}
