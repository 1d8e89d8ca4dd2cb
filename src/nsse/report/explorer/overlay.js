// What lies over the points: frame and axes, names of the classes, rings, the visitor's own sample.

class Overlay {
  drawOverlay(rotation) {
    const context = this.overlay.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    this.drawFrame(context, rotation);
    this.drawNames(context, rotation);
    for (const { i } of this.neighbors) this.ring(context, this.screenOf(i, rotation), 9, 1.2);
    if (this.selected >= 0) this.ring(context, this.screenOf(this.selected, rotation), 12, 2.2);
    if (this.hovered >= 0) this.ring(context, this.screenOf(this.hovered, rotation), 10, 1.5);
    if (this.live) this.drawLive(context, rotation);
  }

  ring(context, [x, y], radius, thickness) {
    context.beginPath();
    context.arc(x, y, radius, 0, 7);
    context.lineWidth = thickness + 2;
    context.strokeStyle = cssColor(this.paper);
    context.stroke();
    context.lineWidth = thickness;
    context.strokeStyle = cssColor(this.ink);
    context.stroke();
  }

  drawLive(context, rotation) {
    const seen = this.view.of(this.live.place);
    const [x, y] = this.view.toScreen(...seen, this.width, this.height, rotation);
    context.strokeStyle = cssColor(this.ink);
    context.lineWidth = 1;
    context.globalAlpha = 0.45;
    for (const { i } of this.live.neighbors) {
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(...this.screenOf(i, rotation).slice(0, 2));
      context.stroke();
    }
    context.globalAlpha = 1;
    star(context, x, y, 13, this.live.code === null ? this.muted : this.hueOf(this.live.code), cssColor(this.ink), cssColor(this.paper));
  }

  // The polygon of the classes, or the axes through the middle.
  drawFrame(context, rotation) {
    const { view, points } = this;
    const at = (place) => view.toScreen(...place, this.width, this.height, rotation);
    context.strokeStyle = this.faint;
    context.lineWidth = 1;
    if (view.mode === "all") {
      context.beginPath();
      for (const [x, y] of points.data.polygon.corners) context.lineTo(...at([x, y, 0]).slice(0, 2));
      context.closePath();
      context.stroke();
      return;
    }
    context.fillStyle = this.muted;
    context.font = "12px system-ui, sans-serif";
    const names = view.axes.map((axis) => `axis ${axis + 1}`);
    if (view.mode === "2d") {
      context.textAlign = "right";
      context.fillText(names[0], this.width - 12, this.height - 10);
      context.textAlign = "left";
      if (points.d > 1) context.fillText(names[1], 12, 20);
      return;
    }
    context.textAlign = "center";
    for (let k = 0; k < 3; k++) {
      const end = (side) => view.middle.map((m, j) => m + (j === k ? 0.5 * side * view.extent[k] : 0));
      const [from, to] = [at(end(-1)), at(end(1))];
      context.beginPath();
      context.moveTo(from[0], from[1]);
      context.lineTo(to[0], to[1]);
      context.stroke();
      context.fillText(names[k], to[0], to[1] - 6);
    }
  }

  // Names of the classes: at the corners, or amid their training points.
  drawNames(context, rotation) {
    const { points, view } = this;
    const places = view.mode === "all" ? this.cornerPlaces() : this.middlePlaces();
    if (places.length > 60) return;
    context.font = "600 12px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const [code, place] of places) {
      if (this.filter.hiddenClasses.has(code)) continue;
      const [x, y] = view.toScreen(...place, this.width, this.height, rotation);
      this.badge(context, clipped(points.className(code), 18), x, y, this.hues[code % N_HUES]);
    }
    context.textBaseline = "alphabetic";
  }

  badge(context, name, x, y, color) {
    const wide = Math.max(20, context.measureText(name).width + 13);
    context.beginPath();
    context.roundRect(x - wide / 2, y - 10, wide, 20, 10);
    context.fillStyle = cssColor(color);
    context.fill();
    context.lineWidth = 1.5;
    context.strokeStyle = cssColor(this.paper);
    context.stroke();
    context.fillStyle = readable(color);
    context.fillText(name, x, y + 0.5);
  }

  cornerPlaces() {
    const { corners, classes } = this.points.data.polygon;
    return corners.map(([x, y], k) => [classes[k], [1.27 * x, 1.27 * y, 0]]);
  }

  middlePlaces() {
    const { points, view } = this, sums = new Map();
    for (let i = 0; i < points.nTrain; i++) {
      const sum = sums.get(points.shown[i]) || sums.set(points.shown[i], [0, 0, 0, 0]).get(points.shown[i]);
      for (let k = 0; k < 3; k++) sum[k] += view.positions[3 * i + k];
      sum[3]++;
    }
    return [...sums].map(([code, [x, y, z, n]]) => [code, [x / n, y / n, z / n]]);
  }
}

function channels(hex) {
  return [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16) / 255);
}

const cssColor = (color) => `rgb(${color.map((v) => Math.round(255 * v)).join(" ")})`;
// Dark or white text, whichever has more contrast (WCAG 2).
function readable(color) {
  const linear = color.map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  const light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  return light > 0.2 ? "#16191d" : "#ffffff";
}

const lighter = (color) => color.map((v) => v + 0.22 * (1 - v));
const clipped = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

function star(context, x, y, size, fill, ink, paper) {
  context.beginPath();
  for (let k = 0; k < 10; k++) {
    const r = k % 2 ? size * 0.45 : size, turn = (Math.PI * k) / 5;
    context.lineTo(x + r * Math.sin(turn), y - r * Math.cos(turn));
  }
  context.closePath();
  context.lineJoin = "round";
  context.lineWidth = 5;
  context.strokeStyle = paper;
  context.stroke();
  context.lineWidth = 2;
  context.strokeStyle = ink;
  context.stroke();
  context.fillStyle = fill;
  context.fill();
}
