// The model: an affine map, kernels, coefficients, affine functions with classes; all in double precision,
// by the formulas of nsse.affine, kernels, maps, scores, votes, and certificates.radii.

import { allOf, greatest, smallest } from "./basics.js";
import { farthest, profileOf } from "./kernels.js";

const EPS = Number.EPSILON;
const HALVINGS = 50;
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

// Mx of a matrix and a column.
const applied = ({ values, shape: [n, m] }, x) =>
  Float64Array.from({ length: n }, (_, i) => x.reduce((sum, v, k) => sum + v * values[i * m + k], 0));

function softmax(values, temperature) {
  const top = greatest(values), powers = values.map((v) => Math.exp((v - top) / temperature));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((p) => p / sum);
}

// From a sample to u = ((x - shift) scale) T + offset, and squared distances to the centres.
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

// The gradient by the sample of what has the gradient g by u.
function pulled({ scale, matrix, down, up }, g) {
  const less = down && applied(down, applied(up, g));
  return (matrix ? applied(matrix, g) : g).map((value, k) => (value - (less?.[k] ?? 0)) * scale.values[k]);
}

// Scores of the classes; where the nearest sample decides, -|f - y|^2.
const own = ({ values, functions, f }) =>
  (functions.length > values.length ? values.map((v) => v - lengthOf(f) ** 2) : values);

// A member's f = sum of c_i κ(|u - z_i|^2 / sigma^2), or u itself; its functions, their largest, label.
function evaluated({ kernel: shape, sigma, coef, weights, offsets, codes }, nClasses, { u, squares, error }) {
  const profile = shape && profileOf(shape), kernel = profile && squares.map((s) => profile(s / sigma ** 2));
  const f = kernel ? times(kernel, coef) : u;
  const functions = Array.from(applied(weights, f), (v, j) => v + offsets.values[j]);
  const values = new Array(nClasses).fill(-Infinity);
  functions.forEach((v, j) => (values[codes.values[j]] = Math.max(values[codes.values[j]], v)));
  return { f, functions, values, code: argmax(values), u, kernel, error };
}

// The norm of the difference of two functions, never less than it is and never zero.
function normOf({ images: { values, shape: [, d] } }, i, j) {
  let square = 0, most = 0;
  for (let k = 0; k < d; k++) {
    const a = values[i * d + k], b = values[j * d + k];
    square += (a - b) ** 2;
    most += a * a + b * b;
  }
  return Math.sqrt(square + 8 * (d + 8) * EPS * most + Number.MIN_VALUE);
}

// How far a sample may move so that no function of unit norm changes by so much.
function reach({ kernel, sigma }, { norm, growth }, change, error) {
  const safe = change * (1 - 8 * EPS);
  const behind = kernel ? sigma * Math.sqrt(farthest(kernel, safe ** 2 / 2)) : safe;
  if (behind === Infinity) return Infinity; // however large the rounding error of a far sample
  const left = Math.max(behind * (1 - 8 * EPS) - 2 * error, 0) || 0; // NaN where the error overflows
  return (left / (norm + growth)) * (1 - 8 * EPS);
}

// Around a sample: what function i leads j by at least within a radius, from value, slope and norm; and how
// far away nothing changes any more (certificates.radii.Local).
function around(member, space, { f, u, kernel, error }) {
  const { sigma, coef, weights, offsets, rounding, gradient_error: gradientError } = member, d = f.length;
  const { norm, growth } = space, behind = Array.from(f, (v, k) => {
    const toward = times(kernel.map((value, j) => value * coef.values[j * d + k]), space.centers);
    return toward.map((value, n) => (2 / sigma ** 2) * (value - v * u[n]));
  });
  const sides = [[behind, 1], [behind.map((g) => pulled(space, g)), norm]].map(([J, stretch]) => ({ J,
    wrong: gradientError * stretch + Math.sqrt(32 * EPS * d) * lengthOf(J.map(lengthOf)) }));
  const lead = (i, j) => {
    const a = f.map((_, k) => weights.values[i * d + k] - weights.values[j * d + k]), size = lengthOf(a);
    const m = a.reduce((sum, v, k) => sum + v * f[k], 0), B2 = normOf(member, i, j) ** 2;
    const [g, s] = sides.map(({ J }) => lengthOf(J[0].map((_, n) =>
      a.reduce((sum, v, k) => sum + v * J[k][n], 0))));
    const [gWrong, sWrong] = sides.map(({ wrong }) => wrong * size);
    const known = Math.max(Math.abs(m) - rounding / 2, 0) ** 2 + (sigma * Math.max(g - gWrong, 0)) ** 2 / 2;
    const R = Math.sqrt(Math.max(B2 - known, 0) + 64 * EPS * B2);
    const b = offsets.values[i] - offsets.values[j] - rounding, slope = s * (1 + 1e-8) + sWrong;
    return (r) => {
      const off = growth * r + 2 * error, t = ((norm * r + off) / sigma) ** 2, k = Math.exp(-t);
      const q = m - slope * r - (g + gWrong) * off;
      const rest = Math.min(2 * t ** 2, -Math.expm1(-2 * t) - 2 * t * k ** 2 + 8 * EPS);
      return b + Math.min(k * q, q) - R * Math.sqrt(rest) - 16 * EPS * Math.abs(q);
    };
  };
  return { lead, furthest: Math.max(SATURATED * sigma - 2 * error, 0) / (norm + growth) };
}

// The radius below `high` where `ahead` is positive, by bisection.
function halved(ahead, high) {
  let low = 0;
  for (let k = 0; k < HALVINGS; k++) {
    const middle = (low + high) / 2;
    if (ahead(middle) > 0) low = middle; else high = middle;
  }
  return low * (1 - 8 * EPS);
}

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
    const results = members.map((member) => evaluated(member, entry.n_classes, spaces[member.space]));
    const { squares } = spaces[members[drawn].space], place = results[drawn].f.slice(0, entry.n_components);
    const votes = results.map(({ code }) => code);
    return { place, squares, votes, ...(isMean ? this.mean(results) : this.majority(results, votes)) };
  }

  mean(results) {
    const { members, spaces, temperature } = this.entry, n = results.length;
    const values = results[0].values.map((_, c) => results.reduce((sum, { values: v }) => sum + v[c], 0) / n);
    const code = argmax(values), rounding = 8 * n * EPS * greatest(values.map(Math.abs));
    const near = members.map((member, v) => around(member, spaces[member.space], results[v]));
    const high = greatest(near.map(({ furthest }) => furthest));
    const radius = smallest(allOf(values.length).filter((c) => c !== code).map((c) => {
      const leads = near.map(({ lead }) => lead(code, c));
      return halved((r) => leads.reduce((sum, lead) => sum + lead(r), 0) / n - rounding, high);
    }));
    return { code, radius, probabilities: softmax(values, temperature), conformity: values };
  }

  majority(results, votes) {
    const { members, temperature, n_classes: n } = this.entry, tally = new Array(n).fill(0);
    votes.forEach((vote, v) => (tally[vote] += this.weights[v]));
    const code = argmax(tally), each = results.map((r, v) => softmax(r.values, members[v].temperature));
    const P = each[0].map((_, c) => each.reduce((sum, p) => sum + p[c], 0) / each.length);
    const likely = allOf(n).filter((c) => P[c] >= P[code]);
    const shared = likely.reduce((sum, c) => sum + P[c], 0) / likely.length;
    likely.forEach((c) => (P[c] = shared * (c === code ? 1 + 1e-9 : 1)));
    const probabilities = softmax(P.map((p) => Math.log(Math.max(p, 1e-300))), temperature);
    const radii = members.map((member, v) => this.memberRadius(member, results[v]));
    const radius = this.majorityRadius(votes, radii, tally, code);
    return { code, radius, probabilities, conformity: votes.length > 1 ? probabilities : own(results[0]) };
  }

  // The least over rivals j, each with the best own i: by (v_i - v_j) / norm, or by slopes if they give more.
  memberRadius(member, results) {
    const { functions, code, error } = results, space = this.entry.spaces[member.space];
    const isOwn = (j) => member.codes.values[j] === code, all = allOf(functions.length);
    const best = all.filter(isOwn).sort((a, b) => functions[b] - functions[a]).slice(0, this.entry.own);
    const rivals = all.filter((j) => !isOwn(j)).map((j) => {
      const leads = best.map((i) => (functions[i] - functions[j] - member.rounding) / normOf(member, i, j));
      const lead = greatest(leads); // not finite where the values of a far sample overflow
      return { i: best[argmax(leads)], j, lead: Number.isFinite(lead) ? Math.max(0, lead) : 0 };
    }).sort((a, b) => a.lead - b.lead);
    const byNorm = (rival) => (rival ? reach(member, space, rival.lead, error) : Infinity);
    if (member.gradient_error === null) return byNorm(rivals[0]);
    const { lead, furthest } = around(member, space, results);
    let radius = byNorm(rivals[this.entry.worst]);
    for (const rival of rivals.slice(0, this.entry.worst)) {
      if (byNorm(rival) >= radius) break;
      radius = Math.min(radius, Math.max(byNorm(rival), halved(lead(rival.i, rival.j), furthest)));
    }
    return radius;
  }

  // Within r only members with radii up to r can change, and at worst all of these turn to one rival.
  majorityRadius(votes, radii, tally, won) {
    const order = allOf(votes.length).sort((a, b) => (radii[a] === radii[b] ? 0 : radii[a] - radii[b]));
    let certified = radii[order[0]], turned = 0;
    for (let k = 1; k < order.length; k++) {
      tally[votes[order[k - 1]]] -= this.weights[order[k - 1]];
      turned += this.weights[order[k - 1]];
      if (tally[won] <= greatest(tally.map((w, c) => (c === won ? 0 : w))) + turned) break;
      certified = radii[order[k]];
    }
    return certified;
  }
}
