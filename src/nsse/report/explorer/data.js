// Data: arrays out of text, and the points of training and test samples as one list.

const ARRAYS = { f4: Float32Array, f8: Float64Array, u1: Uint8Array, u2: Uint16Array };
const UNKNOWN = 65535;

async function decodeBlock(block) {
  const packed = Uint8Array.from(atob(block.data), (sign) => sign.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = await new Response(stream).arrayBuffer();
  return { values: new ARRAYS[block.kind](bytes), shape: block.shape };
}

// Every block anywhere inside the entry becomes { values, shape }.
async function decoded(entry) {
  if (entry === null || typeof entry !== "object") return entry;
  if (Array.isArray(entry)) return typeof entry[0] === "object" ? Promise.all(entry.map(decoded)) : entry;
  if (typeof entry.data === "string" && entry.kind in ARRAYS) return decodeBlock(entry);
  const names = Object.keys(entry);
  const values = await Promise.all(names.map((name) => decoded(entry[name])));
  return Object.fromEntries(names.map((name, k) => [name, values[k]]));
}

class Points {
  constructor(data) {
    this.data = data;
    this.nTrain = data.train.codes.values.length;
    this.nTest = data.test.codes.values.length;
    this.n = this.nTrain + this.nTest;
    this.d = data.train.embedding.shape[1];
    this.embedding = joined(Float32Array, data.train.embedding, data.test.embedding);
    this.codes = joined(Uint16Array, data.train.codes, data.test.codes);
    this.predicted = joined(Uint16Array, data.train.predicted, data.test.predicted);
    // What a point is coloured by: its label, or what is predicted where there is none.
    this.shown = this.codes.map((code, i) => (code === UNKNOWN ? this.predicted[i] : code));
  }

  isTest(i) {
    return i >= this.nTrain;
  }

  isWrong(i) {
    return this.isTest(i) && this.codes[i] !== UNKNOWN && this.codes[i] !== this.predicted[i];
  }

  // Rows count from 0, as in Python, in the training and in the test samples.
  row(i) {
    return this.isTest(i) ? i - this.nTrain : i;
  }

  title(i) {
    const names = this.isTest(i) ? this.data.test.names : this.data.train.names;
    const kind = this.isTest(i) ? "Test" : "Training";
    return names ? names[this.row(i)] : `${kind} row ${this.row(i)}`;
  }

  className(code) {
    return this.data.classes[code];
  }

  radius(i) {
    const radii = this.data.radii.values;
    return radii && this.isTest(i) ? radii.values[this.row(i)] : null;
  }

  // The grey levels of a sample; null where it has no picture.
  picture(i) {
    const pictures = this.data.pictures;
    if (!pictures || i < pictures.first) return null;
    const size = pictures.height * pictures.width;
    const start = (i - pictures.first) * size;
    return pictures.grey.values.subarray(start, start + size);
  }

  // The numbers of a sample by column; null where the page does not carry them.
  rowValues(i) {
    const rows = this.data.rows;
    if (!rows || i < rows.first) return null;
    const start = (i - rows.first) * rows.columns.length;
    return rows.columns.map((name, k) => [name, rows.values.values[start + k]]);
  }

  // The training samples nearest to a place in the embedding, all dimensions counting.
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

  place(i) {
    return this.embedding.subarray(i * this.d, (i + 1) * this.d);
  }
}

function joined(kind, first, second) {
  const out = new kind(first.values.length + second.values.length);
  out.set(first.values);
  out.set(second.values, first.values.length);
  return out;
}
