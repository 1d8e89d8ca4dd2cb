// Data: arrays out of text, and the points of training and test samples as one list.

import { allOf } from "./numbers.js";

const ARRAYS = { f4: Float32Array, f8: Float64Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };
const UNKNOWN = 65535;
const NOBODY = 2 ** 32 - 1;

/** @type {(block: { kind: keyof typeof ARRAYS, shape: number[], data: string }) => Promise<Block>} */
async function decodeBlock(block) {
  const packed = Uint8Array.from(atob(block.data), (sign) => sign.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = await new Response(stream).arrayBuffer();
  return { values: new ARRAYS[block.kind](bytes), shape: block.shape };
}

// Every block anywhere inside the entry becomes { values, shape }.
/** @type {(entry: any) => Promise<any>} */
export async function decoded(entry) {
  if (entry === null || typeof entry !== "object") return entry;
  if (Array.isArray(entry)) return typeof entry[0] === "object" ? Promise.all(entry.map(decoded)) : entry;
  if (typeof entry.data === "string" && entry.kind in ARRAYS) return decodeBlock(entry);
  const names = Object.keys(entry);
  const values = await Promise.all(names.map((name) => decoded(entry[name])));
  return Object.fromEntries(names.map((name, k) => [name, values[k]]));
}

export class Points {
  /** @param {PageData} data */
  constructor(data) {
    const { train, test } = data;
    this.data = data;
    this.nTrain = train.codes.values.length;
    this.nTest = test.codes.values.length;
    this.n = this.nTrain + this.nTest;
    this.d = train.embedding.shape[1];
    this.embedding = joined(new Float32Array(this.n * this.d), train.embedding, test.embedding);
    this.codes = joined(new Uint16Array(this.n), train.codes, test.codes);
    this.predicted = joined(new Uint16Array(this.n), train.predicted, test.predicted);
    /** @type {number[] | null} */
    this.starts = null;
    // What a point is coloured by: its label, or what is predicted where there is none.
    this.shown = this.codes.map((code, i) => (code === UNKNOWN ? this.predicted[i] : code));
  }

  /** @param {number} i */
  isTest(i) {
    return i >= this.nTrain;
  }

  /** @param {number} i */
  isLabelled(i) {
    return this.codes[i] !== UNKNOWN;
  }

  // How probable the label is that a training sample without one was given; null where it had one.
  /** @param {number} i */
  certainty(i) {
    const { certainty } = this.data.train;
    return (!this.isTest(i) && certainty && certainty.values[i]) || null;
  }

  /** @param {number} i */
  isWrong(i) {
    return this.isTest(i) && this.isLabelled(i) && this.codes[i] !== this.predicted[i];
  }

  // Rows count from 0, as in Python, in the training and in the test samples.
  /** @param {number} i */
  row(i) {
    return this.isTest(i) ? i - this.nTrain : i;
  }

  /** @param {number} i */
  title(i) {
    const { names } = this.isTest(i) ? this.data.test : this.data.train;
    const kind = this.isTest(i) ? "Test" : "Training";
    return names ? names[this.row(i)] : `${kind} row ${this.row(i)}`;
  }

  /** @param {number} code */
  className(code) {
    return this.data.classes[code];
  }

  /** @param {number} i */
  radius(i) {
    const radii = this.data.radii.values;
    return radii && this.isTest(i) ? radii.values[this.row(i)] : null;
  }

  // How probable what is predicted for a test sample is, and its label; null where nothing is known.
  /** @type {(i: number) => { said: number, own: number } | null} */
  chances(i) {
    const { said, own } = this.data.chances;
    return said && own && this.isTest(i)
      ? { said: said.values[this.row(i)], own: own.values[this.row(i)] } : null;
  }

  // The labels that a test sample may have; null where the page has no such sets.
  /** @type {(i: number) => number[] | null} */
  setOf(i) {
    const { sets } = this.data.chances;
    if (!sets || !this.isTest(i)) return null;
    if (!this.starts) {
      let sum = 0;
      this.starts = Array.from(sets.sizes.values, (size) => (sum += size) - size);
    }
    const row = this.row(i), start = this.starts[row];
    return [...sets.members.values.subarray(start, start + sets.sizes.values[row])];
  }

  // In words, for these labels of a test sample or of a new one.
  /** @param {number[]} codes */
  setWords(codes) {
    const { sets } = this.data.chances, names = codes.map((code) => this.className(code));
    const last = names.pop() ?? "empty, for it is unlike the test samples of every class";
    return `Set at ${sets?.sure}: ${names.length ? `${names.join(", ")} or ` : ""}${last}`;
  }

  // Of all training samples and their copies, the nearest one to a test sample; null where there are none.
  /** @type {(i: number) => { i: number, copy: string } | null} */
  nearestCopy(i) {
    const { nearest } = this.data;
    if (!nearest || !this.isTest(i)) return null;
    const row = this.row(i);
    return { i: nearest.sample.values[row], copy: nearest.names[nearest.copy.values[row]] };
  }

  // The levels of a sample, one of every pixel or three; null where it has no picture.
  /** @param {number} i */
  picture(i) {
    const { pictures } = this.data;
    if (!pictures || i < pictures.first) return null;
    const { width, height, levels } = pictures, n = levels.shape[1], start = (i - pictures.first) * n;
    return { width, height, levels: levels.values.subarray(start, start + n) };
  }

  // The numbers of a sample by column; null where the page does not carry them.
  /** @type {(i: number) => [string, number][] | null} */
  rowValues(i) {
    const { rows } = this.data;
    if (!rows || i < rows.first) return null;
    const start = (i - rows.first) * rows.columns.length;
    return rows.columns.map((name, k) => [name, rows.values.values[start + k]]);
  }

  // The training samples nearest to a place in the embedding, all dimensions counting.
  /** @type {(place: Floats, count: number, except?: number) => Neighbor[]} */
  neighbors(place, count, except = -1) {
    const { embedding, d, nTrain } = this;
    const nearest = [];
    let worst = Infinity;
    for (let i = 0; i < nTrain; i++) {
      if (i === except) continue;
      let sum = 0;
      for (let k = 0; k < d && sum < worst; k++) sum += (place[k] - embedding[i * d + k]) ** 2;
      if (sum >= worst) continue;
      nearest.push({ i, sum });
      nearest.sort((a, b) => a.sum - b.sum);
      if (nearest.length > count) nearest.pop();
      if (nearest.length === count) worst = nearest[count - 1].sum;
    }
    return nearest.map(({ i, sum }) => ({ i, distance: Math.sqrt(sum) }));
  }

  // Training samples most alike a sample among those of one class, by distances of the samples: its own
  // class for a training sample, the predicted one for another. Null where the page does not know them.
  /** @type {(i: number) => number[] | null} */
  alike(i) {
    const { alike } = this.data;
    if (!alike) return null;
    const [, count] = alike.shape;
    return [...alike.values.subarray(i * count, (i + 1) * count)].filter((j) => j !== NOBODY);
  }

  // The same for squared distances to all training samples.
  /** @type {(squares: Floats, code: number, count: number) => number[]} */
  alikeBy(squares, code, count) {
    const members = allOf(this.nTrain).filter((i) => this.shown[i] === code);
    return members.sort((a, b) => squares[a] - squares[b]).slice(0, count);
  }

  /** @param {number} i */
  place(i) {
    return this.embedding.subarray(i * this.d, (i + 1) * this.d);
  }
}

/** @type {<Kind extends Numbers>(out: Kind, first: Block<Kind>, second: Block<Kind>) => Kind} */
function joined(out, first, second) {
  out.set(first.values);
  out.set(second.values, first.values.length);
  return out;
}
