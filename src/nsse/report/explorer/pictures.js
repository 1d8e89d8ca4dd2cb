// Show images on a canvas, convert them to features like nsse.datasets, and let the reader paint them.

import { allOf, brushOf, make, makeButton } from "./basics.js";

// The image of a sample, gray or in color, with one canvas pixel per pixel.
export function pictureCanvas(levels, width, height, name) {
  const canvas = make("canvas", { class: "picture", role: "img", "aria-label": name, width, height });
  const image = new ImageData(width, height), n = levels.length / (width * height);
  for (let k = 0; k < width * height; k++)
    for (let c = 0; c < 4; c++) image.data[4 * k + c] = c < 3 ? levels[k * n + (n === 3 ? c : 0)] : 255;
  brushOf(canvas).putImageData(image, 0, 0);
  return canvas;
}

// The features of pixels (red, green, blue, alpha). They are gray levels with the weights of ITU-R 601, or
// levels of red, green and blue, in [0, 1] and averaged to a size.
function featuresOf(pixels, height, width, { size, color }) {
  const weights = color ? [[1, 0, 0], [0, 1, 0], [0, 0, 1]] : [[0.299, 0.587, 0.114]];
  const levelsOf = (w) => Float64Array.from({ length: height * width }, (_, i) =>
    (w[0] * pixels[4 * i] + w[1] * pixels[4 * i + 1] + w[2] * pixels[4 * i + 2]) / 255);
  const averages = weights.map((of) => areaAverage(levelsOf(of), height, width, size));
  return Float64Array.from(averages[0].flatMap((_, k) => averages.map((levels) => levels[k])));
}

// Every cell is the mean of the area that it covers, with fractions of pixels.
function areaAverage(image, height, width, [toHeight, toWidth]) {
  // Cell i is [i nIn, (i + 1) nIn) and pixel j is [j nOut, (j + 1) nOut): whole numbers throughout.
  const shares = (i, nIn, nOut) => {
    const first = Math.floor((i * nIn) / nOut), last = Math.ceil(((i + 1) * nIn) / nOut);
    return allOf(last - first).map((k) => [first + k, (Math.min((i + 1) * nIn, (first + k + 1) * nOut)
      - Math.max(i * nIn, (first + k) * nOut)) / nIn]);
  };
  const columns = allOf(toWidth).map((j) => shares(j, width, toWidth));
  return allOf(toHeight).flatMap((i) => columns.map((column) => shares(i, height, toHeight).reduce(
    (sum, [a, p]) => sum + p * column.reduce((part, [b, q]) => part + q * image[a * width + b], 0), 0)));
}

export function normed(image, unitNorm) {
  if (!unitNorm) return image;
  const norm = Math.sqrt(image.reduce((sum, v) => sum + v * v, 0));
  if (norm === 0) throw new Error("A black image cannot be scaled to norm 1, because its norm is 0.");
  return image.map((v) => v / norm);
}

// A small image that the reader loads from a file or paints.
export class Pad {
  constructor(images, listeners) {
    const [height, width] = images.size, label = "Image to try. Paint on it";
    this.images = images;
    this.listeners = listeners;
    this.channels = images.color ? 3 : 1;
    this.canvas = make("canvas", { id: "pad", role: "img", "aria-label": label, width, height });
    this.brush = make("select", { "aria-label": "Brush" },
      make("option", { value: "1" }, "Paint white"), make("option", { value: "0" }, "Paint black"));
    this.show(new Float64Array(height * width * this.channels));
    let painting = false;
    this.canvas.addEventListener("pointerdown", (event) => {
      painting = true;
      this.canvas.setPointerCapture(event.pointerId);
      this.paint(event);
    });
    this.canvas.addEventListener("pointermove", (event) => painting && this.paint(event));
    for (const end of ["pointerup", "pointercancel"])
      this.canvas.addEventListener(end, () => (painting = false));
  }

  element(more) {
    const clear = () => this.listeners.clear(this.show(this.levels.map(() => 0)));
    return make("div", { class: "pad" }, this.canvas, make("div", {},
      make("span", { class: "quiet" }, "Or paint, and watch the star move."), this.brush,
      makeButton({ class: "plain", onclick: clear }, "Clear"), more));
  }

  show(levels) {
    this.levels = levels;
    const bytes = levels.map((v) => Math.round(255 * Math.min(1, v)));
    const { width, height } = this.canvas;
    brushOf(this.canvas).drawImage(pictureCanvas(bytes, width, height, ""), 0, 0);
  }

  // Returns the differences between the browser and Python.
  async take(file) {
    const head = new Uint8Array(await file.slice(0, 26).arrayBuffer());
    const isPng = [137, 80, 78, 71].every((byte, k) => head[k] === byte);
    const cautions = isPng && head[24] === 16 ? ["It has 16 bits, of which the browser keeps 8"] : [];
    const bitmap = await createImageBitmap(file, { colorSpaceConversion: "none", premultiplyAlpha: "none" });
    const { width, height } = bitmap;
    const context = brushOf(make("canvas", { width, height }), { willReadFrequently: true });
    context.drawImage(bitmap, 0, 0);
    const { data } = context.getImageData(0, 0, width, height);
    if (data.some((v, k) => k % 4 === 3 && v < 255))
      cautions.push("Parts of it are transparent. Python uses the color behind them, and this page cannot.");
    this.show(featuresOf(data, height, width, this.images));
    return cautions;
  }

  paint(event) {
    const box = this.canvas.getBoundingClientRect(), { levels, channels, canvas: { width, height } } = this;
    const x = ((event.clientX - box.left) / box.width) * width - 0.5;
    const y = ((event.clientY - box.top) / box.height) * height - 0.5;
    const level = Number(this.brush.value), reach = Math.max(0.75, 0.06 * width);
    this.show(levels.map((v, k) => {
      const pixel = Math.floor(k / channels), i = Math.floor(pixel / width), j = pixel % width;
      return v + Math.max(0, Math.min(1, reach + 0.5 - Math.hypot(i - y, j - x))) * (level - v);
    }));
    this.listeners.paint();
  }
}
