// The model: affine maps, kernels, coefficients, affine functions with classes, and weights; all in double
// precision, by the formulas of nsse.affine, kernels, maps, ensemble and scores. A single model is one member
// of weight 1. The members of an ensemble add up to its class scores.

import { allOf, greatest } from "./basics.js";
import { profileOf } from "./kernels.js";
import { halved, Margins } from "./margins.js";
import { applied, argmax, lengthOf, times } from "./vectors.js";

function softmax(values, temperature) {
  const top = greatest(values), powers = values.map((v) => Math.exp((v - top) / temperature));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((p) => p / sum);
}

// From a sample to u = ((x - shift) scale) T + offset, and squared distances to the centers.
function measured(space, x) {
  const { shift, scale, offset, matrix, down, up, centers } = space;
  const v = Float64Array.from(x, (value, k) => (value - shift.values[k]) * scale.values[k]);
  const less = down && times(times(v, down), up);
  const u = (matrix ? times(v, matrix) : v).map((value, k) => value - (less?.[k] ?? 0) + offset.values[k]);
  const error = space.gamma * (space.size * lengthOf(v) + lengthOf(offset.values)), n = u.length;
  const squares = new Float64Array(centers ? centers.shape[0] : 0);
  for (let i = 0; i < squares.length; i++)
    for (let k = 0; k < n; k++) squares[i] += (u[k] - centers.values[i * n + k]) ** 2;
  return { u, squares, error };
}

// A member's f = sum of c_i κ(|u - z_i|^2 / sigma^2), or u itself; its functions, and the largest of a class.
function evaluated({ kernel: shape, sigma, coef, weights, offsets, codes }, nClasses, { u, squares, error }) {
  const profile = shape && profileOf(shape), kernel = profile && squares.map((s) => profile(s / sigma ** 2));
  const f = kernel ? times(kernel, coef) : u;
  const functions = Array.from(applied(weights, f), (v, j) => v + offsets.values[j]);
  const values = new Array(nClasses).fill(-Infinity);
  functions.forEach((v, j) => (values[codes.values[j]] = Math.max(values[codes.values[j]], v)));
  return { f, functions, values, u, kernel, error };
}

export class Model {
  /** @param {LiveEntry} entry */
  constructor(entry) { this.entry = entry; }

  // Where x lands in the map; label, radius, probabilities, and how well classes conform.
  tell(x) {
    const { entry } = this, { members, rotation, n_classes: n } = entry;
    const spaces = entry.spaces.map((space) => measured(space, x));
    const results = members.map((member) => evaluated(member, n, spaces[member.space]));
    const sums = allOf(n).map((c) =>
      members.reduce((sum, { weight }, k) => sum + weight * results[k].values[c], 0));
    const mean = sums.reduce((a, b) => a + b, 0) / n, scores = rotation ? sums.map((v) => v - mean) : sums;
    const f = rotation ? times(scores, rotation) : results[0].f, code = argmax(scores);
    // If the nearest sample decides, samples conform by -|f - y|^2.
    const less = entry.is_nearest ? lengthOf(f) ** 2 : 0;
    return { code, place: f.slice(0, entry.n_components), squares: spaces[entry.alike].squares,
      radius: this.radius(members.map((member, k) => new Margins(member, entry, results[k], code)), code),
      probabilities: softmax(scores, entry.temperature), conformity: scores.map((v) => v - less) };
  }

  // The largest radius at which the weighted margins over all other classes are positive.
  radius(margins, code) {
    const { entry } = this, rivals = allOf(entry.n_classes).filter((c) => c !== code)
      .map((c) => ({ c, start: this.byNorms(margins, c) })).sort((a, b) => (a.start < b.start ? -1 : 1));
    const second = margins.filter((one) => one.hasSecond);
    if (!second.length) return rivals[0].start;
    const furthest = greatest(second.map(({ scale }) => scale));
    let radius = Infinity;
    for (const { c, start } of rivals) {
      if (!(start < radius)) break;
      const seconds = margins.map((one) => (one.hasSecond ? one.second(c) : undefined));
      const isSafe = (r) =>
        margins.reduce((sum, one, k) => sum + one.weight * one.least(c, r, seconds[k]), 0) > 0;
      radius = Math.min(radius, halved(isSafe, start, Math.max(Math.min(radius, furthest), start), entry));
    }
    return radius;
  }

  byNorms(margins, code) {
    if (margins.length === 1) return margins[0].radius(code);
    const isSafe = (r) => margins.reduce((sum, one) => sum + one.weight * one.least(code, r), 0) > 0;
    if (isSafe(Infinity)) return Infinity;
    let low = 0, high = greatest(margins.map(({ scale }) => scale)) || 1;
    for (let k = 0; k < this.entry.expansions && isSafe(high); k++) [low, high] = [high, 16 * high];
    return halved(isSafe, low, high, this.entry);
  }
}
