// The model: affine maps, kernels, coefficients, affine functions with classes, and weights; all in double
// precision, by the formulas of nsse.affine, kernels, maps, ensemble and scores. A single model is one member
// of weight 1. The members of an ensemble add up to its class scores.

import { allOf, greatest } from "./basics.js";
import { kernelOf } from "./kernels.js";
import { Margins } from "./margins.js";
import { applied, argmax, lengthOf, times } from "./vectors.js";

// Steps of a bisection, the precision at which it ends, and steps of the search for its upper end.
const HALVINGS = 60;
const PRECISION = 1e-13;
const EXPANSIONS = 60;

function softmax(values, temperature) {
  const top = greatest(values), powers = values.map((v) => Math.exp((v - top) / temperature));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((p) => p / sum);
}

// From a sample to u = ((x - shift) scale) T + offset, and squared distances to the centers.
function measured({ shift, scale, offset, matrix, down, up, centers }, x) {
  const v = Float64Array.from(x, (value, k) => (value - shift.values[k]) * scale.values[k]);
  const less = down && times(times(v, down), up);
  const u = (matrix ? times(v, matrix) : v).map((value, k) => value - (less?.[k] ?? 0) + offset.values[k]);
  const [nCenters, n] = centers.shape, squares = new Float64Array(nCenters);
  for (let i = 0; i < nCenters; i++)
    for (let k = 0; k < n; k++) squares[i] += (u[k] - centers.values[i * n + k]) ** 2;
  return { u, squares };
}

// A member's coordinates f, its functions, and the largest one of every class.
function evaluated(member, nClasses, place) {
  const { weights, offsets, codes } = member, f = kernelOf(member).at(place);
  const functions = Array.from(applied(weights, f), (v, j) => v + offsets.values[j]);
  const values = new Array(nClasses).fill(-Infinity);
  functions.forEach((v, j) => (values[codes.values[j]] = Math.max(values[codes.values[j]], v)));
  return { f, functions, values, place };
}

// The largest radius up to `most` that is safe.
function largest(isSafe, most, scale) {
  if (isSafe(most)) return most;
  let low = 0, high = Math.min(most, scale);
  for (let k = 0; k < EXPANSIONS && isSafe(high); k++) [low, high] = [high, Math.min(most, 16 * high)];
  for (let k = 0; k < HALVINGS && high - low > PRECISION * high; k++) {
    const middle = (low + high) / 2;
    if (isSafe(middle)) low = middle; else high = middle;
  }
  return low;
}

export class Model {
  /** @param {LiveEntry} entry */
  constructor(entry) { this.entry = entry; }

  // Where x lands in the map; label, radius, probabilities, and how well classes conform.
  tell(x) {
    const { entry } = this, { members, n_classes: n } = entry;
    const places = entry.spaces.map((space) => measured(space, x));
    const results = members.map((member) => evaluated(member, n, places[member.space]));
    const sums = allOf(n).map((c) =>
      members.reduce((sum, { weight }, k) => sum + weight * results[k].values[c], 0));
    const mean = entry.rotation ? sums.reduce((a, b) => a + b, 0) / n : 0, scores = sums.map((v) => v - mean);
    const f = entry.rotation ? times(scores, entry.rotation) : results[0].f, code = argmax(scores);
    // If the nearest sample decides, samples conform by -|f - y|^2.
    const less = entry.is_nearest ? lengthOf(f) ** 2 : 0;
    return { code, place: f.slice(0, entry.n_components), squares: places[entry.alike].squares,
      radius: this.radius(members.map((member, k) => new Margins(member, entry, results[k], code)), code),
      probabilities: softmax(scores, entry.temperature), conformity: scores.map((v) => v - less) };
  }

  // The largest radius at which the weighted margins over all other classes are positive.
  radius(margins, code) {
    const scale = greatest(margins.map((one) => one.scale));
    const rivals = allOf(this.entry.n_classes).filter((c) => c !== code);
    return rivals.reduce((radius, c) => {
      const isSafe = (r) => margins.reduce((sum, one) => sum + one.member.weight * one.least(c, r), 0) > 0;
      return largest(isSafe, radius, scale);
    }, Infinity);
  }
}
