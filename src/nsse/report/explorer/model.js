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

class Member {
  /** @param {MemberEntry} entry */
  constructor(entry, nClasses, spaces, tried) {
    this.entry = entry;
    this.nClasses = nClasses;
    this.tried = tried; // functions of a class that are tried for the radius
    this.space = spaces[entry.space];
    this.codes = [...entry.codes.values];
  }

  // f = sum of c_i exp(-|u - z_i|^2 / sigma^2), or u itself; functions, the largest of each class, label.
  at({ u, squares, error }) {
    const { sigma, coef, weights, offsets } = this.entry, { codes } = this;
    const f = sigma && coef ? times(squares.map((s) => Math.exp(-s / sigma ** 2)), coef) : u, d = f.length;
    const functions = Array.from(offsets.values, (b, j) => {
      for (let k = 0; k < d; k++) b += weights.values[j * d + k] * f[k];
      return b;
    });
    const values = new Array(this.nClasses).fill(-Infinity);
    functions.forEach((v, j) => (values[codes[j]] = Math.max(values[codes[j]], v)));
    return { f, functions, values, code: argmax(values), error };
  }

  probabilities({ values }) { return softmax(values, this.entry.temperature); }

  // The norm of the difference of two functions, never less than it is and never zero.
  norm(i, j) {
    const { values, shape: [, d] } = this.entry.images;
    let square = 0, most = 0;
    for (let k = 0; k < d; k++) {
      const a = values[i * d + k], b = values[j * d + k];
      square += (a - b) ** 2;
      most += a * a + b * b;
    }
    return Math.sqrt(square + 8 * (d + 8) * EPS * most + Number.MIN_VALUE);
  }

  // How far behind the metric no function of unit norm changes by so much.
  reach(change) {
    const safe = change * (1 - 8 * EPS), { sigma } = this.entry;
    if (!sigma) return safe;
    return safe >= Math.SQRT2 ? Infinity : sigma * Math.sqrt(-Math.log1p(-(safe ** 2) / 2)) * (1 - 8 * EPS);
  }

  // How much such a function can change when the sample moves by r.
  change(r, error) {
    const moved = this.space.stretch * r + 2 * error, { sigma } = this.entry;
    return sigma ? Math.sqrt(-2 * Math.expm1(-((moved / sigma) ** 2))) * (1 + 16 * EPS) : moved;
  }

  // How far a sample may move so that it moves by less behind the metric.
  inUnitsOfSample(reach, error) {
    return (Math.max(reach - 2 * error, 0) / this.space.stretch) * (1 - 8 * EPS);
  }

  // The least over rivals j of the most over own i of (v_i - v_j) / norm.
  radius({ functions, code, error }) {
    const [mine, rivals] = [true, false].map((isOwn) =>
      allOf(functions.length).filter((j) => (this.codes[j] === code) === isOwn));
    const best = mine.sort((a, b) => functions[b] - functions[a]).slice(0, this.tried);
    const slack = smallest(rivals.map((j) => greatest([0, ...best.map((i) =>
      (functions[i] - functions[j] - this.entry.rounding) / this.norm(i, j))])));
    return this.inUnitsOfSample(this.reach(slack), error);
  }
}

export class Model {
  /** @param {LiveEntry} entry */
  constructor(entry) {
    this.entry = entry;
    this.members = entry.members.map((member) =>
      new Member(member, entry.n_classes, entry.spaces, entry.own));
    this.weights = this.members.map((_, v) => 1 + 0.5 ** (v + 2));
  }

  // Where x lands in the map that is drawn; label, radius, probabilities, and how well classes conform.
  tell(x) {
    const { entry, members } = this, spaces = entry.spaces.map((space) => measured(space, x));
    const told = members.map((member) => member.at(spaces[member.entry.space]));
    const votes = told.map(({ code }) => code), drawn = told[entry.drawn];
    const { squares } = spaces[members[entry.drawn].entry.space];
    const place = drawn.f.slice(0, entry.n_components);
    return { place, squares, votes, ...(entry.is_mean ? this.mean(told) : this.majority(told, votes)) };
  }

  mean(told) {
    const { members, entry } = this, n = told.length;
    const values = told[0].values.map((_, c) => told.reduce((sum, { values: v }) => sum + v[c], 0) / n);
    const code = argmax(values), others = allOf(values.length).filter((c) => c !== code);
    const most = greatest(values.map(Math.abs));
    const rounding = members.reduce((sum, { entry: { rounding: r } }) => sum + r / n, 8 * n * EPS * most);
    const margins = others.map((c) => values[code] - values[c] - rounding);
    const norms = members.map((member) => others.map((c) => member.norm(code, c) / n));
    const isSafe = (r) => margins.every((margin, k) => margin > members.reduce((lost, member, v) =>
      lost + norms[v][k] * member.change(r, told[v].error), 0));
    let low = 0, high = smallest(members.map((member, v) => member.inUnitsOfSample(Math.min(
      member.reach(Math.max(0, smallest(margins.map((margin, k) => margin / norms[v][k])))),
      SATURATED * (member.entry.sigma || Infinity)), told[v].error)));
    for (let k = 0; k < HALVINGS; k++) {
      const middle = (low + high) / 2;
      if (isSafe(middle)) low = middle; else high = middle;
    }
    const probabilities = softmax(values, entry.temperature);
    return { code, radius: isSafe(Infinity) ? Infinity : low, probabilities, conformity: values };
  }

  majority(told, votes) {
    const { members, entry } = this, counted = new Array(entry.n_classes).fill(0);
    votes.forEach((code, v) => (counted[code] += this.weights[v]));
    const code = argmax(counted), each = members.map((member, v) => member.probabilities(told[v]));
    const P = each[0].map((_, c) => each.reduce((sum, p) => sum + p[c], 0) / each.length), top = argmax(P);
    const shared = (P[code] + P[top]) / 2;
    P[top] = shared;
    P[code] = shared * (1 + 1e-9);
    const probabilities = softmax(P.map((p) => Math.log(Math.max(p, 1e-300))), entry.temperature);
    const radii = members.map((member, v) => member.radius(told[v]));
    const radius = this.majorityRadius(votes, radii, counted, code);
    return { code, radius, probabilities, conformity: votes.length > 1 ? probabilities : own(told[0]) };
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
