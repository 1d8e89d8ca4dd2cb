// Pictures: shown on a canvas, and made into features as nsse.datasets does.

import { brushOf, make } from "./elements.js";

// A picture of a sample, one canvas pixel per pixel.
/** @type {(grey: Uint8Array, width: number, height: number, name: string) => HTMLCanvasElement} */
export function pictureCanvas(grey, width, height, name) {
  const canvas = make("canvas", { class: "picture", role: "img", "aria-label": name, width, height });
  const image = new ImageData(width, height);
  grey.forEach((v, k) => image.data.set([v, v, v, 255], 4 * k));
  brushOf(canvas).putImageData(image, 0, 0);
  return canvas;
}

// Grey levels in [0, 1] of pixels (red, green, blue, alpha); colour is weighted as in ITU-R 601.
/** @type {(pixels: Uint8ClampedArray) => Float64Array} */
export function greyLevels(pixels) {
  const grey = new Float64Array(pixels.length / 4);
  for (let i = 0, p = 0; i < grey.length; i++, p += 4)
    grey[i] = (299 * pixels[p] + 587 * pixels[p + 1] + 114 * pixels[p + 2]) / 255000;
  return grey;
}

// Every cell gets the mean of the area that it covers, fractions of pixels included.
/** @type {(image: Float64Array, height: number, width: number, size: [number, number]) => Float64Array} */
export function areaAverage(image, height, width, [toHeight, toWidth]) {
  const rows = averagedRows(image, height, width, toHeight);
  const turned = transposed(rows, toHeight, width);
  return transposed(averagedRows(turned, width, toHeight, toWidth), toWidth, toHeight);
}

// Cell i is [i nIn, (i + 1) nIn) and pixel j is [j nOut, (j + 1) nOut): whole numbers throughout.
/** @type {(image: Float64Array, nIn: number, width: number, nOut: number) => Float64Array} */
function averagedRows(image, nIn, width, nOut) {
  const out = new Float64Array(nOut * width);
  for (let i = 0; i < nOut; i++) {
    for (let j = Math.floor((i * nIn) / nOut); j * nOut < (i + 1) * nIn; j++) {
      const overlap = Math.min((i + 1) * nIn, (j + 1) * nOut) - Math.max(i * nIn, j * nOut);
      for (let k = 0; k < width; k++) out[i * width + k] += (overlap / nIn) * image[j * width + k];
    }
  }
  return out;
}

/** @type {(image: Float64Array, height: number, width: number) => Float64Array} */
function transposed(image, height, width) {
  const out = new Float64Array(image.length);
  for (let i = 0; i < height; i++) for (let j = 0; j < width; j++) out[j * height + i] = image[i * width + j];
  return out;
}

/** @type {(image: Float64Array, unitNorm: boolean) => Float64Array} */
export function normed(image, unitNorm) {
  if (!unitNorm) return image;
  const norm = Math.sqrt(image.reduce((sum, v) => sum + v * v, 0));
  if (norm === 0) throw new Error("An all-black picture has no direction: its norm is 0.");
  return image.map((v) => v / norm);
}
