// The model: an affine map, Gaussian kernels, coefficients, affine functions with classes; all in double
// precision, by the formulas of nsse.affine, maps, scores, votes, and certificates.radii.

import { allOf, greatest, smallest } from "./basics.js";

const EPS = Number.EPSILON;
const HALVINGS = 60;
const SATURATED = 7;

const lengthOf = (v) => Math.sqrt(v.reduce((sum, x) => sum + x * x, 0));
const argmax = (values) => values.indexOf(greatest(values));

// x'M of a row and a matrix.
function times(x, { values, shape }) {
  const [n, m] = shape;
  const out = new Float64Array(m);
  for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) out[j] += x[i] * values[i * m + j];
  return out;
}

function softmax(values, temperature) {
  const top = greatest(values), powers = values.map((v) => Math.exp((v - top) / temperature));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((p) => p / sum);
}

// From a sample to u = ((x - shift) scale) T + offset, and squared distances to the centres.
function measured(space, x) {
  const { shift, scale, offset, matrix, down, up, centers } = space;
  const v = Float64Array.from(x, (value, k) => (value - shift.values[k]) * scale.values[k]);
  let u = matrix ? times(v, matrix) : v;
  if (down) {
    const less = times(times(v, down), up);
    u = v.map((value, k) => value - less[k]);
  }
  u = u.map((value, k) => value + offset.values[k]);
  const error = space.gamma * (space.size * lengthOf(v) + lengthOf(offset.values)), n = u.length;
  const squares = new Float64Array(centers ? centers.shape[0] : 0);
  for (let i = 0; i < squares.length; i++)
    for (let k = 0; k < n; k++) squares[i] += (u[k] - centers.values[i * n + k]) ** 2;
  return { u, squares, error };
}

// Scores of the classes; where the nearest sample decides, -|f - y|^2.
const own = ({ values, functions, f }) =>
  (functions.length > values.length ? values.map((v) => v - lengthOf(f) ** 2) : values);

// A member's f = sum of c_i exp(-|u - z_i|^2 / sigma^2), or u itself; its functions, their largest, label.
function evaluated({ sigma, coef, weights, offsets, codes }, nClasses, { u, squares, error }) {
  const f = sigma ? times(squares.map((s) => Math.exp(-s / sigma ** 2)), coef) : u, d = f.length;
  const functions = Array.from(offsets.values, (b, j) => {
    for (let k = 0; k < d; k++) b += weights.values[j * d + k] * f[k];
    return b;
  });
  const values = new Array(nClasses).fill(-Infinity);
  functions.forEach((v, j) => (values[codes.values[j]] = Math.max(values[codes.values[j]], v)));
  return { f, functions, values, code: argmax(values), error };
}

// The norm of the difference of two functions, never less than it is and never zero.
function normOf({ images: { values, shape } }, i, j) {
  const d = shape[1];
  let square = 0, most = 0;
  for (let k = 0; k < d; k++) {
    const a = values[i * d + k], b = values[j * d + k];
    square += (a - b) ** 2;
    most += a * a + b * b;
  }
  return Math.sqrt(square + 8 * (d + 8) * EPS * most + Number.MIN_VALUE);
}

// How far behind the metric no function of unit norm changes by so much.
function reach({ sigma }, change) {
  const safe = change * (1 - 8 * EPS);
  if (!sigma) return safe;
  return safe >= Math.SQRT2 ? Infinity : sigma * Math.sqrt(-Math.log1p(-(safe ** 2) / 2)) * (1 - 8 * EPS);
}

// How much such a function can change when the sample moves by r.
const changed = ({ sigma }, { stretch }, r, error) =>
  Math.sqrt(-2 * Math.expm1(-(((stretch * r + 2 * error) / sigma) ** 2))) * (1 + 16 * EPS);

// How far a sample may move so that it moves by less behind the metric.
const inUnits = ({ stretch }, distance, error) =>
  (Math.max(distance - 2 * error, 0) / stretch) * (1 - 8 * EPS);

export class Model {
  /** @param {LiveEntry} entry */
  constructor(entry) {
    this.entry = entry;
    this.weights = entry.members.map((_, v) => 1 + 0.5 ** (v + 2));
  }

  // Where x lands in the map that is drawn; label, radius, probabilities, and how well classes conform.
  tell(x) {
    const { members, drawn, is_mean: isMean, ...entry } = this.entry;
    const spaces = entry.spaces.map((space) => measured(space, x));
    const told = members.map((member) => evaluated(member, entry.n_classes, spaces[member.space]));
    const { squares } = spaces[members[drawn].space], place = told[drawn].f.slice(0, entry.n_components);
    const votes = told.map(({ code }) => code);
    return { place, squares, votes, ...(isMean ? this.mean(told) : this.majority(told, votes)) };
  }

  mean(told) {
    const { members, spaces, temperature } = this.entry, n = told.length;
    const values = told[0].values.map((_, c) => told.reduce((sum, { values: v }) => sum + v[c], 0) / n);
    const code = argmax(values), others = allOf(values.length).filter((c) => c !== code);
    const rounding = members.reduce((sum, member) => sum + member.rounding / n,
      8 * n * EPS * greatest(values.map(Math.abs)));
    const margins = others.map((c) => values[code] - values[c] - rounding);
    const norms = members.map((member) => others.map((c) => normOf(member, code, c) / n));
    const isSafe = (r) => margins.every((margin, k) => margin > members.reduce((lost, member, v) =>
      lost + norms[v][k] * changed(member, spaces[member.space], r, told[v].error), 0));
    // No member alone may lose the whole margin; beyond saturation nothing is lost any more.
    let low = 0, high = smallest(members.map((member, v) => {
      const least = Math.max(0, smallest(margins.map((margin, k) => margin / norms[v][k])));
      const most = Math.min(reach(member, least), SATURATED * (member.sigma ?? Infinity));
      return inUnits(spaces[member.space], most, told[v].error);
    }));
    for (let k = 0; k < HALVINGS; k++) {
      const middle = (low + high) / 2;
      if (isSafe(middle)) low = middle; else high = middle;
    }
    const probabilities = softmax(values, temperature);
    return { code, radius: isSafe(Infinity) ? Infinity : low, probabilities, conformity: values };
  }

  majority(told, votes) {
    const { members, temperature, n_classes: n } = this.entry, counted = new Array(n).fill(0);
    votes.forEach((vote, v) => (counted[vote] += this.weights[v]));
    const code = argmax(counted), each = told.map(({ values }, v) => softmax(values, members[v].temperature));
    const P = each[0].map((_, c) => each.reduce((sum, p) => sum + p[c], 0) / each.length);
    const likely = allOf(n).filter((c) => P[c] >= P[code]);
    const shared = likely.reduce((sum, c) => sum + P[c], 0) / likely.length;
    likely.forEach((c) => (P[c] = shared * (c === code ? 1 + 1e-9 : 1)));
    const probabilities = softmax(P.map((p) => Math.log(Math.max(p, 1e-300))), temperature);
    const radii = members.map((member, v) => this.memberRadius(member, told[v]));
    const radius = this.majorityRadius(votes, radii, counted, code);
    return { code, radius, probabilities, conformity: votes.length > 1 ? probabilities : own(told[0]) };
  }

  // By the least over rivals j of the most over own i of (v_i - v_j) / norm.
  memberRadius(member, { functions, code, error }) {
    const isOwn = (j) => member.codes.values[j] === code, all = allOf(functions.length);
    const best = all.filter(isOwn).sort((a, b) => functions[b] - functions[a]).slice(0, this.entry.own);
    const slack = smallest(all.filter((j) => !isOwn(j)).map((j) => greatest([0, ...best.map((i) =>
      (functions[i] - functions[j] - member.rounding) / normOf(member, i, j))])));
    return inUnits(this.entry.spaces[member.space], reach(member, slack), error);
  }

  // Within r only members with radii up to r can change, and at worst all of these turn to one rival.
  majorityRadius(votes, radii, counted, won) {
    const order = allOf(votes.length).sort((a, b) => (radii[a] === radii[b] ? 0 : radii[a] - radii[b]));
    let certified = radii[order[0]], turned = 0;
    for (let k = 1; k < order.length; k++) {
      counted[votes[order[k - 1]]] -= this.weights[order[k - 1]];
      turned += this.weights[order[k - 1]];
      if (counted[won] <= greatest(counted.map((w, c) => (c === won ? 0 : w))) + turned) break;
      certified = radii[order[k]];
    }
    return certified;
  }
}
