// Views: places of points in space for a choice of axes, and the camera that looks at them.

export class View {
  /** @param {Points} points */
  constructor(points) {
    this.points = points;
    /** @type {"all" | "2d" | "3d"} */
    this.mode = points.d > 2 ? "all" : "2d";
    this.axes = [0, Math.min(1, points.d - 1), Math.min(2, points.d - 1)];
    this.positions = new Float32Array(points.n * 3);
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
    out[at + 1] = this.points.d > 1 ? y[this.axes[1]] : 0;
    out[at + 2] = this.mode === "3d" ? y[this.axes[2]] : 0;
    return out;
  }

  rebuild() {
    const { points, positions } = this;
    for (let i = 0; i < points.n; i++) this.of(points.place(i), positions, 3 * i);
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
