// The pad: a small picture that a visitor fills from a file or paints on.

import { brushOf, make, makeButton } from "./elements.js";
import { featuresOf, pictureCanvas } from "./pictures.js";

/** @typedef {{ paint: () => void, clear: () => void }} PadListeners */

export class Pad {
  /** @param {Images} images @param {PadListeners} listeners */
  constructor(images, listeners) {
    const [height, width] = images.size;
    this.images = images;
    this.channels = images.colour ? 3 : 1;
    this.listeners = listeners;
    /** @type {Float64Array} */
    this.levels = new Float64Array(height * width * this.channels);
    const label = "Picture to try; paint on it";
    this.canvas = make("canvas", { id: "pad", role: "img", "aria-label": label, width, height });
    this.brush = make("select", { "aria-label": "Brush" },
      make("option", { value: "1" }, "Paint white"), make("option", { value: "0" }, "Paint black"));
    this.show(this.levels);
    this.listen();
  }

  /** @param {HTMLElement} more */
  element(more) {
    return make("div", { class: "pad" }, this.canvas, make("div", {},
      make("span", { class: "quiet" }, "Or paint, and watch it move."), this.brush,
      makeButton({ class: "plain", onclick: () => this.clear() }, "Clear"), more));
  }

  /** @param {Float64Array} levels */
  show(levels) {
    this.levels = levels;
    const { width, height } = this.canvas;
    const bytes = Uint8Array.from(levels, (v) => Math.round(255 * Math.min(1, v)));
    brushOf(this.canvas).drawImage(pictureCanvas(bytes, width, height, ""), 0, 0);
  }

  clear() {
    this.show(this.levels.map(() => 0));
    this.listeners.clear();
  }

  // Returns what a browser does otherwise than Python.
  /** @type {(file: File) => Promise<string[]>} */
  async take(file) {
    const cautions = await sixteenBits(file);
    const bitmap = await createImageBitmap(file, { colorSpaceConversion: "none", premultiplyAlpha: "none" });
    const { width, height } = bitmap;
    const context = brushOf(make("canvas", { width, height }), { willReadFrequently: true });
    context.drawImage(bitmap, 0, 0);
    const { data } = context.getImageData(0, 0, width, height);
    if (data.some((v, k) => k % 4 === 3 && v < 255))
      cautions.push("Parts of it are transparent; Python sees the colour behind them, this page does not.");
    this.show(featuresOf(data, height, width, this.images));
    return cautions;
  }

  /** @param {PointerEvent} event */
  paint(event) {
    const box = this.canvas.getBoundingClientRect(), [height, width] = this.images.size;
    const { levels, channels } = this;
    const x = ((event.clientX - box.left) / box.width) * width - 0.5;
    const y = ((event.clientY - box.top) / box.height) * height - 0.5;
    const level = Number(this.brush.value), reach = Math.max(0.75, 0.06 * width);
    for (let i = 0; i < height; i++)
      for (let j = 0; j < width; j++) {
        const cover = Math.max(0, Math.min(1, reach + 0.5 - Math.hypot(i - y, j - x)));
        for (let c = 0, at = (i * width + j) * channels; c < channels; c++)
          levels[at + c] += cover * (level - levels[at + c]);
      }
    this.show(levels);
    this.listeners.paint();
  }

  listen() {
    const { canvas } = this;
    let painting = false;
    canvas.addEventListener("pointerdown", (event) => {
      painting = true;
      canvas.setPointerCapture(event.pointerId);
      this.paint(event);
    });
    canvas.addEventListener("pointermove", (event) => painting && this.paint(event));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (painting = false));
  }
}

/** @type {(file: File) => Promise<string[]>} */
async function sixteenBits(file) {
  const head = new Uint8Array(await file.slice(0, 26).arrayBuffer());
  const isPng = [137, 80, 78, 71].every((byte, k) => head[k] === byte);
  return isPng && head[24] === 16 ? ["It has 16 bits; the browser keeps 8"] : [];
}
