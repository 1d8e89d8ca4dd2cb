// Draw points as marks on a canvas. Every kind of mark is drawn once and copied.

import { brushOf, cssColor, make } from "./basics.js";

export const STATES = { hidden: 0, normal: 1, dimmed: 2, strong: 3 };
export const KINDS = { training: 0, test: 1, mislabelled: 2, unlabelled: 3 };
export const N_HUES = 10;
// Marks of the first ten classes, of the next ten, and so on, in a square of 20.
export const SHAPES = [
  "M-8 0a8 8 0 1 0 16 0a8 8 0 1 0 -16 0", "M-7-7H7V7H-7Z", "M0-8L8 7H-8Z", "M0-9L9 0L0 9L-9 0Z",
  "M0 8L8-7H-8Z", "M-3-8H3V-3H8V3H3V8H-3V3H-8V-3H-3Z",
];
// Many small images are copied faster without the graphics card.
const SOFTWARE = { willReadFrequently: true };
const SIZES = [0.5, 0.4, 0.42, 0.45];

export class Scatter {
  sprites = new Map(); look = "";

  constructor(canvas) {
    this.canvas = canvas;
    this.context = brushOf(canvas, SOFTWARE);
  }

  // Marks at `screen` (x, y, depth of every point), in an order, one point in `every`.
  draw(screen, marks, order, look) {
    const { context, canvas } = this, { ratio, reach, every, ...rest } = look;
    const keys = new Uint32Array(marks.buffer), drawn = JSON.stringify([ratio, rest]);
    if (drawn !== this.look) this.sprites.clear();
    this.look = drawn;
    context.clearRect(0, 0, canvas.width, canvas.height);
    for (let k = 0; k < order.length; k += every) {
      const i = order[k];
      if (!marks[4 * i + 3]) continue;
      let sprite = this.sprites.get(keys[i]);
      if (!sprite) this.sprites.set(keys[i], (sprite = this.sprite(marks.subarray(4 * i, 4 * i + 4), look)));
      if (reach) context.globalAlpha = 0.8 + 0.2 * Math.max(-1, Math.min(1, screen[3 * i + 2] / reach));
      context.drawImage(sprite, screen[3 * i] * ratio - sprite.width / 2,
        screen[3 * i + 1] * ratio - sprite.height / 2);
    }
    context.globalAlpha = 1;
  }

  sprite([hue, shape, kind, state], { size, ratio, hues, ink, outline, ring }) {
    const r = Math.max(1, ratio * size * SIZES[kind] * (state === STATES.strong ? 1.35 : 1));
    const side = 2 * Math.ceil(2 * r + 2 * ratio), path = new Path2D(SHAPES[shape]);
    const canvas = make("canvas", { width: side, height: side }), context = brushOf(canvas, SOFTWARE);
    const full = state === STATES.dimmed ? 0.12 : kind === KINDS.test ? 0.85 : 1;
    context.setTransform(r / 8, 0, 0, r / 8, side / 2, side / 2);
    context.globalAlpha = full;
    context.fillStyle = context.strokeStyle = cssColor(hues[hue]);
    context.lineWidth = 4;
    if (kind === KINDS.unlabelled) context.stroke(path);
    else context.fill(path);
    context.strokeStyle = cssColor(ink);
    context.lineWidth = (8 * ratio) / r;
    if (kind === KINDS.training) {
      context.globalAlpha = full * outline;
      context.stroke(path);
    } else if (kind === KINDS.mislabelled) {
      context.globalAlpha = full * ring;
      context.beginPath();
      context.arc(0, 0, 15, 0, 7);
      context.stroke();
    }
    return canvas;
  }
}
