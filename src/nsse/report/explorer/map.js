// The map f, its classifier and its certified radius, in double precision.
// The formulas and their names are those of nsse.extensions.rbf and nsse.certificates.radii.

import { allOf, greatest, smallest } from "./numbers.js";
import { leadsOf, majorityMargins, meanChances, overTheirSum, voteOfNeighbors } from "./votes.js";
import { voteRadius, winner } from "./votes.js";

const EPS = Number.EPSILON;

class LiveMap {
  /** @param {MapEntry} entry */
  constructor({ factor, offset, size, gamma, centers, metric, coef, sigma, stretch, widest, decision }) {
    this.metric = metric;
    this.size = size.values;
    this.gamma = gamma;
    this.stretch = stretch;
    this.widest = widest;
    this.factor = factor.values;
    this.offset = offset.values;
    this.centers = centers;
    this.coef = coef.values;
    this.sigma = sigma;
    this.nCenters = centers.shape[0];
    this.nFeatures = centers.shape[1];
    this.d = coef.shape[1];
    this.decider = decision && new Decider(decision, sigma);
  }

  // |x - z_i|^2 of every centre, or |A(x - z_i)|^2 in a metric, which has centres Az.
  /** @param {Float64Array} x */
  squares(x) {
    const z = this.centers.values, n = this.nFeatures;
    const scaled = Float64Array.from(x, (v, k) => v * this.factor[k] + this.offset[k]);
    const u = this.metric ? shortened(scaled, this.metric, (a) => 1 - a) : scaled;
    const squares = new Float64Array(this.nCenters);
    for (let i = 0; i < this.nCenters; i++) {
      let squared = 0;
      for (let k = 0, at = i * n; k < n; k++) squared += (u[k] - z[at + k]) ** 2;
      squares[i] = squared;
    }
    return squares;
  }

  // f(x) = sum of c_i exp(-|x - z_i|^2 / sigma^2), Eq. (6).
  /** @param {Float64Array} squares */
  embed(squares) {
    const { coef: c, d } = this;
    const y = new Float64Array(d);
    const narrow = -1 / this.sigma ** 2;
    for (let i = 0; i < this.nCenters; i++) {
      const kernel = Math.exp(narrow * squares[i]);
      if (kernel !== 0) for (let k = 0; k < d; k++) y[k] += kernel * c[i * d + k];
    }
    return y;
  }

  // From a radius in the metric: of changes to x as it is, by the formula of nsse.certificates.steps, and
  // to what the map sees of it.
  /** @type {(x: Float64Array, inMetric: number) => [number, number]} */
  radii(x, inMetric) {
    const sizes = x.map((v, k) => (Math.abs(v * this.factor[k]) + this.size[k]) ** 2);
    const doubt = 2 * this.gamma * Math.sqrt(sizes.reduce((sum, v) => sum + v, 0));
    const left = Math.max(inMetric - doubt, 0); // weights of features, the rest of A makes nothing longer
    return [(left / this.stretch) * (1 - 8 * EPS), (inMetric / this.widest) * (1 - 8 * EPS)];
  }

  // The features of a centre, before they were scaled.
  /** @param {number} i */
  center(i) {
    const row = this.centers.values.subarray(i * this.nFeatures, (i + 1) * this.nFeatures);
    const long = this.metric ? shortened(row, this.metric, (a) => 1 - 1 / a) : row;
    return Float64Array.from(long, (v, k) => (v - this.offset[k]) / this.factor[k]);
  }
}

// u - V (w * V'u) for the weights w that the factors give: Au, or its inverse.
/** @type {(u: Float32Array | Float64Array, metric: MetricEntry, weight: (a: number) => number)
 *   => Float64Array} */
function shortened(u, { axes, factors }, weight) {
  const [n, r] = axes.shape, V = axes.values;
  const along = new Float64Array(r), out = Float64Array.from(u);
  for (let k = 0; k < n; k++) for (let j = 0; j < r; j++) along[j] += V[k * r + j] * u[k];
  for (let j = 0; j < r; j++) along[j] *= weight(factors.values[j]);
  for (let k = 0; k < n; k++) for (let j = 0; j < r; j++) out[k] -= V[k * r + j] * along[j];
  return out;
}

// From coordinates to a label, and how far it holds.
class Decider {
  /** @param {Decision} decision @param {number} sigma */
  constructor(decision, sigma) {
    this.decision = decision;
    this.sigma = sigma;
    this.d = decision.weights.shape[1];
    this.codes = decision.codes.values;
    // F'w of every score: their distances are the norms of differences of scores.
    this.images = multiply(decision.weights, decision.factor);
  }

  /** @param {Float64Array} y */
  scores(y) {
    return affine(this.decision.weights, this.decision.offsets, y);
  }

  // Probabilities of the classes, by the rules of nsse.certificates.chances; null where none is known.
  /** @type {(y: Float64Array, label: number, nClasses: number) => number[] | null} */
  chances(y, label, nClasses) {
    const { chances } = this.decision;
    if (!chances) return null;
    const { rule, sharpness, weights, offsets } = chances;
    if (rule === "label")
      return allOf(nClasses).map((c) => (c === label ? sharpness : 0) + (1 - sharpness) / nClasses);
    if (rule === "shares") return this.shares(y, nClasses);
    const scores = [...(weights && offsets ? affine(weights, offsets, y) : this.scores(y))];
    if (rule === "sigmoids") return overTheirSum(scores.map((s) => 1 / (1 + Math.exp(-s))));
    const top = greatest(scores);
    return overTheirSum(scores.map((s) => Math.exp(sharpness * (s - top))));
  }

  // The classes among the n_votes largest scores.
  /** @type {(y: Float64Array, nClasses: number) => number[]} */
  shares(y, nClasses) {
    const scores = this.scores(y), count = this.decision.n_votes, votes = new Array(nClasses).fill(0);
    for (const r of largest(scores, allOf(scores.length), count)) votes[this.codes[r]]++;
    return votes.map((n) => n / count);
  }

  // What the decision function of the model says of every class.
  /** @type {(y: Float64Array, nClasses: number) => number[]} */
  margins(y, nClasses) {
    const { margins, n_votes: count } = this.decision;
    if (margins.kind === "scores") return [...this.scores(y)];
    /** @type {number[][]} */
    const own = Array.from({ length: nClasses }, () => []);
    this.distances(y).forEach((distance, r) => own[this.codes[r]].push(distance));
    if (margins.kind === "distances") return own.map((lengths) => -smallest(lengths));
    return voteOfNeighbors(own, count);
  }

  // From y to whatever each score stands for, a training sample or a centroid.
  /** @param {Float64Array} y */
  distances(y) {
    const { weights } = this.decision, { d } = this;
    return Array.from(this.codes, (_, r) => {
      let squared = 0;
      for (let k = 0; k < d; k++) squared += (y[k] - weights.values[r * d + k] / 2) ** 2;
      return Math.sqrt(squared);
    });
  }

  // The class of the largest score, or of most of the n_votes largest; of as many votes the first class.
  /** @param {Float64Array} y */
  label(y) {
    const scores = this.scores(y), { codes, decision: { n_votes: count } } = this;
    const votes = new Map();
    for (const r of largest(scores, allOf(scores.length), count))
      votes.set(codes[r], (votes.get(codes[r]) || 0) + 1);
    return [...votes].reduce((best, vote) =>
      vote[1] > best[1] || (vote[1] === best[1] && vote[0] < best[0]) ? vote : best)[0];
  }

  // How far Ax may be moved, in any direction, before its label can change.
  /** @type {(y: Float64Array, label: number) => number} */
  radius(y, label) {
    const { n_votes: k, own, doubt } = this.decision;
    const needed = Math.floor(k / 2) + 1, spare = k - needed;
    const mine = allOf(this.codes.length).filter((r) => this.codes[r] === label);
    const rivals = allOf(this.codes.length).filter((r) => this.codes[r] !== label);
    if (rivals.length <= spare) return Infinity;
    if (mine.length < needed) return 0;
    const scores = this.scores(y);
    const best = largest(scores, mine, k === 1 ? own : needed);
    const leads = best.map((i) => {
      const norms = this.norms(i, rivals);
      return rivals.map((j, place) => (scores[i] - scores[j] - doubt) / norms[place]);
    });
    if (k === 1) return this.reach(Math.max(...leads.map(smallest)));
    const worst = rivals.map((_, place) => smallest(leads.map((lead) => lead[place])));
    return this.reach(worst.sort((a, b) => a - b)[spare]);
  }

  // Norms of (w_i - w_j)'f, never less than they are and never zero.
  /** @type {(i: number, rivals: number[]) => number[]} */
  norms(i, rivals) {
    const { d, images } = this;
    let most = 0;
    const squares = rivals.map((j) => {
      let square = 0, own = 0, other = 0;
      for (let k = 0; k < d; k++) {
        const a = images[i * d + k], b = images[j * d + k];
        square += (a - b) ** 2;
        own += a * a;
        other += b * b;
      }
      most = Math.max(most, own, other);
      return square;
    });
    const rounding = 8 * (d + 8) * EPS * most + 2.3e-308;
    return squares.map((square) => Math.sqrt(square + rounding));
  }

  // The r with sqrt(2 - 2 exp(-r^2 / sigma^2)) = slack.
  /** @param {number} slack */
  reach(slack) {
    const safe = Math.max(slack, 0) * (1 - 8 * EPS);
    if (safe >= Math.SQRT2) return Infinity;
    return this.sigma * Math.sqrt(-Math.log1p(-(safe ** 2) / 2)) * (1 - 8 * EPS);
  }
}

/** @type {(weights: Block, offsets: Block, y: Float64Array) => Float64Array} */
function affine(weights, offsets, y) {
  const d = y.length;
  return Float64Array.from(offsets.values, (b, r) => {
    for (let k = 0; k < d; k++) b += weights.values[r * d + k] * y[k];
    return b;
  });
}

// The map that is shown, and those that vote with it on labels.
export class LiveModel {
  /** @param {LiveEntry} entry */
  constructor(entry) {
    this.maps = [entry, ...entry.voters].map((voter) => new LiveMap({ ...entry, ...voter }));
    this.map = this.maps[0];
    this.deciders = this.maps.flatMap((map) => map.decider || []);
    this.nClasses = entry.n_classes;
  }

  // Where x lands in the map that is shown; the label that most maps give, how far it holds, how probable
  // each class is, and by how much the best of the others leads it.
  /** @param {Float64Array} x */
  tell(x) {
    const squares = new Map(), places = this.maps.map((map) => {
      if (!squares.has(map.centers)) squares.set(map.centers, map.squares(x));
      return map.embed(squares.get(map.centers));
    });
    const votes = this.deciders.map((decider, k) => decider.label(places[k]));
    const seen = { place: places[0], squares: squares.get(this.map.centers), votes };
    if (!votes.length)
      return { ...seen, code: null, radius: null, modelRadius: null, chances: null, strange: null };
    const radii = this.deciders.map((decider, k) =>
      this.maps[k].radii(x, decider.radius(places[k], votes[k])));
    const [radius, modelRadius] = [0, 1].map((unit) => voteRadius(votes, radii.map((pair) => pair[unit])));
    const code = winner(votes), chances = meanChances(this.deciders.map((decider, k) =>
      decider.chances(places[k], votes[k], this.nClasses)), code);
    const margins = votes.length > 1 && this.nClasses === 2 ? chances : this.margins(places);
    const strange = margins && leadsOf(margins).map((lead) => -lead);
    return { ...seen, code, radius, modelRadius, chances, strange };
  }

  // What the decision function says of every class, of a vote in units that compare.
  /** @param {Float64Array[]} places */
  margins(places) {
    const told = this.deciders.map((decider, k) => decider.margins(places[k], this.nClasses));
    if (told.length === 1) return told[0];
    return majorityMargins(told.map((row, k) =>
      leadsOf(row).map((lead) => this.deciders[k].decision.margins.unit * lead)));
  }
}

/** @type {(left: Block, right: Block) => Float64Array} */
function multiply(left, right) {
  const [rows, inner] = left.shape, columns = right.shape[1];
  const out = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++)
    for (let k = 0; k < inner; k++)
      for (let j = 0; j < columns; j++)
        out[i * columns + j] += left.values[i * inner + k] * right.values[k * columns + j];
  return out;
}

/** @type {(scores: Float64Array, among: number[], count: number) => number[]} */
const largest = (scores, among, count) => [...among].sort((a, b) => scores[b] - scores[a]).slice(0, count);
