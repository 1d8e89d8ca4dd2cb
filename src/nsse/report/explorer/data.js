// Decode arrays, and answer questions about the training and test samples, which are one list of points.

import { allOf, clipped } from "./basics.js";

const ARRAYS = { f4: Float32Array, f8: Float64Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };
const UNKNOWN = 65535;
const NOBODY = 2 ** 32 - 1;
const SHOWN_COLUMNS = 24;

async function decodeBlock({ kind, shape, data }) {
  const packed = Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return { values: new ARRAYS[kind](await new Response(stream).arrayBuffer()), shape };
}

// Replace every block inside an entry by { values, shape }.
export async function decoded(entry) {
  if (entry === null || typeof entry !== "object") return entry;
  if (Array.isArray(entry)) return typeof entry[0] === "object" ? Promise.all(entry.map(decoded)) : entry;
  if (typeof entry.data === "string" && entry.kind in ARRAYS) return decodeBlock(entry);
  const values = await Promise.all(Object.values(entry).map(decoded));
  return Object.fromEntries(Object.keys(entry).map((name, k) => [name, values[k]]));
}

export class Points {
  /** @param {PageData} data */
  constructor(data) {
    const { train, test } = data;
    const joined = (Kind, name) => Kind.from([...train[name].values, ...test[name].values]);
    this.data = data;
    this.nTrain = train.codes.values.length;
    this.nTest = test.codes.values.length;
    this.n = this.nTrain + this.nTest;
    this.d = train.embedding.shape[1];
    this.embedding = joined(Float32Array, "embedding");
    this.codes = joined(Uint16Array, "codes");
    this.predicted = joined(Uint16Array, "predicted");
    // Points are colored by their label, or by the predicted label if they have none.
    this.shown = this.codes.map((code, i) => (code === UNKNOWN ? this.predicted[i] : code));
    let sum = 0; // the place at which the prediction set of a sample starts
    this.starts = Array.from(data.probabilities.sets?.sizes.values ?? [], (size) => (sum += size) - size);
  }

  isTest(i) { return i >= this.nTrain; }
  isLabelled(i) { return this.codes[i] !== UNKNOWN; }
  // The probability of the label that a training sample without a label got, -1 if it is unknown, else 0.
  certainty(i) { return this.isTest(i) ? 0 : this.data.train.certainty?.values[i] ?? 0; }
  isWrong(i) { return this.isTest(i) && this.isLabelled(i) && this.codes[i] !== this.predicted[i]; }

  // Rows count from 0, as in Python, in the training and in the test samples.
  row(i) { return this.isTest(i) ? i - this.nTrain : i; }

  title(i) {
    const { names } = this.isTest(i) ? this.data.test : this.data.train;
    return names ? names[this.row(i)] : `${this.isTest(i) ? "Test" : "Training"} row ${this.row(i)}`;
  }

  // The title without the folder of the class, for lists.
  shortTitle(i) {
    const { names } = this.isTest(i) ? this.data.test : this.data.train;
    return names ? clipped(names[this.row(i)].split("/").at(-1), 14) : `row ${this.row(i)}`;
  }

  className(code) { return this.data.classes[code]; }
  radius(i) { return this.isTest(i) ? this.data.radius?.values[this.row(i)] ?? null : null; }

  // The probabilities of the predicted and of the true label of a test sample, or null.
  probabilities(i) {
    const { predicted, own } = this.data.probabilities;
    return this.isTest(i) && predicted && own ? [predicted, own].map((p) => p.values[this.row(i)]) : null;
  }

  // The prediction set of a test sample, or null if the page has none.
  setOf(i) {
    const { sets } = this.data.probabilities, row = this.row(i), start = this.starts[row];
    if (!sets || !this.isTest(i)) return null;
    return [...sets.members.values.subarray(start, start + sets.sizes.values[row])];
  }

  setWords(codes) {
    const names = codes.map((code) => this.className(code));
    const last = names.pop() ?? "none of the known classes";
    return `${this.data.probabilities.sets?.sure} prediction set: `
      + `${names.length ? `${names.join(", ")} or ` : ""}${last}`;
  }

  // The nearest training sample or augmented sample of a test sample, or null.
  nearestCopy(i) {
    const { nearest } = this.data, row = this.row(i);
    if (!nearest || !this.isTest(i)) return null;
    return `Nearest: ${this.title(nearest.sample.values[row])}, ${nearest.names[nearest.copy.values[row]]}`;
  }

  // A photograph, or the levels of a sample, one or three for each pixel, or null if there is no image.
  picture(i) {
    const { pictures, photographs } = this.data;
    if (photographs?.[i]) return { src: photographs[i] };
    if (!pictures || i < pictures.first) return null;
    const { width, height, levels } = pictures, n = levels.shape[1], start = (i - pictures.first) * n;
    return { width, height, levels: levels.values.subarray(start, start + n) };
  }

  // All numbers of a sample, or null if the page does not contain them.
  numbers(i) {
    const { rows } = this.data, n = rows?.columns.length ?? 0, start = (i - (rows?.first ?? 0)) * n;
    return start >= 0 ? rows?.values?.values.subarray(start, start + n) ?? null : null;
  }

  // The first cells of a sample by column. The list is empty if the page does not contain them.
  cells(i) {
    const { rows } = this.data, cells = rows?.words?.[i - rows.first] ?? this.numbers(i) ?? [];
    return [...cells].slice(0, SHOWN_COLUMNS).map((cell, k) => [rows?.columns[k], cell]);
  }

  place(i) { return this.embedding.subarray(i * this.d, (i + 1) * this.d); }

  // The training samples nearest to a place in the embedding, with all its dimensions.
  neighbors(place, count, except = -1) {
    const all = allOf(this.nTrain);
    const squares = all.map((i) => this.place(i).reduce((sum, y, k) => sum + (place[k] - y) ** 2, 0));
    return all.filter((i) => i !== except).sort((a, b) => squares[a] - squares[b]).slice(0, count)
      .map((i) => ({ i, distance: Math.sqrt(squares[i]) }));
  }

  // The most similar training samples in the input space. They have the class of a training sample, or the
  // predicted class of a test sample.
  alike(i) {
    const { alike } = this.data, count = alike?.shape[1] ?? 0;
    return [...(alike?.values.subarray(i * count, (i + 1) * count) ?? [])].filter((j) => j !== NOBODY);
  }

  // The same for given squared distances to the centers. A training sample may have several centers.
  alikeBy(squares, perSample, code, count) {
    const members = allOf(this.data.alike ? this.nTrain : 0).filter((i) => this.shown[i] === code);
    return members.sort((a, b) => squares[a * perSample] - squares[b * perSample]).slice(0, count);
  }
}
