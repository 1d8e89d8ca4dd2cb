// The places of points for a choice of axes, and the camera.

export class View {
  mode = "all"; axes = [0, 1, 2];
  zoom = 1; reach = 1; turn = [0, 0];
  middle = [0, 0, 0]; center = [0, 0, 0]; extent = [0, 0, 0];

  /** @param {Points} points */
  constructor(points) {
    this.points = points;
    this.positions = new Float32Array(points.n * 3);
    const last = points.d - 1;
    this.choose("all", [0, Math.min(1, last), Math.min(2, last)]);
  }

  // The place of an embedding in the view.
  of(y) {
    const { axes, mode } = this;
    return [y[axes[0]], y[axes[1]], mode === "3d" ? y[axes[2]] : 0];
  }

  // The mean of the corners, weighted by the sharpened probabilities.
  inClassMap(probabilities) {
    const { classes, corners, sharpness } = this.points.data.polygon;
    const weights = classes.map((code) => probabilities[code] ** sharpness);
    const total = weights.reduce((sum, w) => sum + w, 0);
    return [...[0, 1].map((j) => corners.reduce((sum, c, k) => sum + c[j] * weights[k], 0) / total), 0];
  }

  // The place of a new sample. With two classes, its height is the middle of the band of its class.
  ofLive({ place: y, probabilities, code }) {
    if (this.mode !== "all") return this.of(y);
    const place = this.inClassMap(probabilities), { bands } = this.points.data.polygon;
    if (bands) place[1] = bands[code];
    return place;
  }

  choose(mode, axes) {
    Object.assign(this, { mode, axes });
    const { points, positions } = this;
    if (mode === "all") positions.set(points.data.polygon.places.values);
    else for (let i = 0; i < points.n; i++) positions.set(this.of(points.place(i)), 3 * i);
    this.home();
  }

  // Look at all points.
  home() {
    const low = [Infinity, Infinity, Infinity], high = low.map((v) => -v);
    const see = (x, k) => {
      low[k] = Math.min(low[k], x);
      high[k] = Math.max(high[k], x);
    };
    this.positions.forEach((x, i) => see(x, i % 3));
    for (const [x, y] of this.mode === "all" ? this.points.data.polygon.labels : [])
      [x, 1.08 * y].forEach(see);
    this.middle = low.map((l, k) => (l + high[k]) / 2);
    this.center = [...this.middle];
    this.extent = low.map((l, k) => Math.max(high[k] - l, 1e-12));
    this.reach = Math.hypot(...this.extent) / 2;
    this.zoom = 1;
    this.turn = this.mode === "3d" ? [-0.5, 0.45] : [0, 0];
  }

  get rotation() {
    const [cy, sy, cp, sp] = this.turn.flatMap((angle) => [Math.cos(angle), Math.sin(angle)]);
    return [[cy, 0, -sy], [sp * sy, cp, sp * cy], [cp * sy, -sp, cp * cy]];
  }

  // Pixels per unit on a stage of this size.
  scale(width, height) {
    if (this.mode === "3d") return (0.62 * Math.min(width, height) * this.zoom) / this.reach;
    const names = this.mode === "all" ? Math.min(120, 0.25 * width) : 0; // room for the names of classes
    return 0.9 * Math.min((width - names) / this.extent[0], height / this.extent[1]) * this.zoom;
  }

  // The place of a point on the screen: x and y in pixels, and depth (a larger one is nearer).
  toScreen([x, y, z], width, height, rotation = this.rotation) {
    const s = this.scale(width, height), c = this.center;
    const [a, b, depth] = rotation.map((r) => r[0] * (x - c[0]) + r[1] * (y - c[1]) + r[2] * (z - c[2]));
    return [width / 2 + s * a, height / 2 - s * b, depth];
  }

  pan(dx, dy, width, height) {
    const s = this.scale(width, height), R = this.rotation;
    for (let k = 0; k < 3; k++) this.center[k] += (-dx / s) * R[0][k] + (dy / s) * R[1][k];
  }

  rotate(dx, dy) {
    this.turn[0] -= dx * 0.008;
    this.turn[1] = Math.max(-Math.PI / 2, Math.min(Math.PI / 2, this.turn[1] + dy * 0.008));
  }

  // Zoom so that the place under the pointer stays there.
  zoomAt(factor, [x, y], width, height) {
    const before = this.zoom;
    this.zoom = Math.max(0.2, Math.min(400, this.zoom * factor));
    const moved = this.zoom / before - 1;
    this.pan(-(x - width / 2) * moved, -(y - height / 2) * moved, width, height);
  }
}
