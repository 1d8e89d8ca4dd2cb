// Pictures: shown on a canvas, and made into features as nsse.datasets does.

import { brushOf, make } from "./elements.js";

// A picture of a sample, grey or in colour, one canvas pixel per pixel.
/** @type {(levels: Uint8Array, width: number, height: number, name: string) => HTMLCanvasElement} */
export function pictureCanvas(levels, width, height, name) {
  const canvas = make("canvas", { class: "picture", role: "img", "aria-label": name, width, height });
  const image = new ImageData(width, height);
  const pixels = width * height, channels = levels.length / pixels;
  for (let k = 0; k < pixels; k++) {
    const pixel = levels.subarray(k * channels, (k + 1) * channels);
    image.data.set(channels === 3 ? [...pixel, 255] : [pixel[0], pixel[0], pixel[0], 255], 4 * k);
  }
  brushOf(canvas).putImageData(image, 0, 0);
  return canvas;
}

// Grey levels in [0, 1] of pixels (red, green, blue, alpha); colour is weighted as in ITU-R 601.
/** @type {(pixels: Uint8ClampedArray) => Float64Array} */
function greyLevels(pixels) {
  const grey = new Float64Array(pixels.length / 4);
  for (let i = 0, p = 0; i < grey.length; i++, p += 4)
    grey[i] = (299 * pixels[p] + 587 * pixels[p + 1] + 114 * pixels[p + 2]) / 255000;
  return grey;
}

// One of red, green and blue in [0, 1], of every pixel.
/** @type {(pixels: Uint8ClampedArray, channel: number) => Float64Array} */
function channelLevels(pixels, channel) {
  const levels = new Float64Array(pixels.length / 4);
  for (let i = 0; i < levels.length; i++) levels[i] = pixels[4 * i + channel] / 255;
  return levels;
}

// The features of pixels: grey, or red, green and blue next to each other, averaged to a size.
/** @type {(pixels: Uint8ClampedArray, height: number, width: number, images: Images) => Float64Array} */
export function featuresOf(pixels, height, width, { size, colour }) {
  if (!colour) return areaAverage(greyLevels(pixels), height, width, size);
  const channels = [0, 1, 2].map((c) => areaAverage(channelLevels(pixels, c), height, width, size));
  const out = new Float64Array(3 * channels[0].length);
  channels.forEach((levels, c) => levels.forEach((v, k) => (out[3 * k + c] = v)));
  return out;
}

// Every cell gets the mean of the area that it covers, fractions of pixels included.
/** @type {(image: Float64Array, height: number, width: number, size: [number, number]) => Float64Array} */
function areaAverage(image, height, width, [toHeight, toWidth]) {
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
