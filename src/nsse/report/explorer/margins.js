// By how much a label leads the other classes around a sample: the formulas of certificates.radii.

import { allOf, greatest, smallest } from "./basics.js";
import { fallOf, farthest } from "./kernels.js";
import { applied, argmax, lengthOf, product, times } from "./vectors.js";

const EPS = Number.EPSILON;
const TINY = 2.2250738585072014e-308;

// The gradient by the sample of what has the gradient g by u.
function pulled({ scale, matrix, down, up }, g) {
  const less = down && applied(down, applied(up, g));
  return (matrix ? applied(matrix, g) : g).map((value, k) => (value - (less?.[k] ?? 0)) * scale.values[k]);
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

// How far a sample may move so that no function of norm 1 changes by so much.
function reach({ kernel, sigma }, { norm, growth }, change, error) {
  const safe = change * (1 - 8 * EPS);
  const behind = kernel ? sigma * Math.sqrt(farthest(kernel, safe ** 2 / 2)) : safe;
  if (behind === Infinity) return Infinity; // however large the rounding error of a far sample
  const left = Math.max(behind * (1 - 8 * EPS) - 2 * error, 0) || 0; // NaN where the error overflows
  return (left / (norm + growth)) * (1 - 8 * EPS);
}

// By how much functions of the label lead those of other classes, for one member around a sample.
export class Margins {
  /** @param {LiveEntry} entry */
  constructor(member, entry, result, code) {
    this.member = member;
    this.entry = entry;
    this.space = entry.spaces[member.space];
    this.result = result;
    this.weight = member.weight;
    this.own = this.of(code).sort((a, b) => result.functions[b] - result.functions[a]).slice(0, entry.own);
    this.known = new Map();
  }

  // The functions of a class.
  of(code) {
    const codes = this.member.codes.values;
    return allOf(codes.length).filter((j) => codes[j] === code);
  }

  // Leads and norms of the functions of a rival class that are looked at closely, and a bound for the others.
  against(code) {
    if (!this.known.has(code)) this.known.set(code, this.compared(code));
    return this.known.get(code);
  }

  compared(code) {
    const { functions } = this.result, { wrong, steeper } = this.member, { worst } = this.entry;
    const rivals = this.of(code).map((j) => {
      const leads = this.own.map((i) => functions[i] - (functions[j] + wrong))
        .map((lead) => (Number.isFinite(lead) ? lead : -Infinity)); // values of a far sample may overflow
      const norms = this.own.map((i) => normOf(this.member, i, j) + steeper);
      const ratios = leads.map((lead, k) => lead / norms[k]), best = argmax(ratios);
      return { j, leads, norms, ratio: ratios[best], length: norms[best] };
    }).sort((a, b) => a.ratio - b.ratio);
    const others = rivals.slice(worst), lengths = others.map(({ length }) => length);
    const rest = { ratio: others[0]?.ratio ?? Infinity, shortest: lengths.length ? smallest(lengths) : 1,
      longest: lengths.length ? greatest(lengths) : 1 };
    return { close: rivals.slice(0, worst), rest };
  }

  // No function of norm 1 changes by more within a radius.
  change(radius) {
    const { kernel, sigma } = this.member, { norm, growth } = this.space;
    const safe = ((norm + growth) * radius + 2 * this.result.error) * (1 + 8 * EPS);
    return kernel ? Math.sqrt(2 * fallOf(kernel)((safe / sigma) ** 2)) * (1 + 8 * EPS) : safe;
  }

  // The margin over a class within a radius, at least: by norms, or by the larger one of both bounds.
  least(code, radius, second = (_pair, _k, _radius) => -Infinity) {
    const by = this.change(radius), { close, rest } = this.against(code), ahead = rest.ratio - by;
    return close.reduce((least, pair) => Math.min(least, greatest(pair.leads.map((lead, k) =>
      Math.max(lead - pair.norms[k] * by, second(pair, k, radius))))),
    ahead > 0 ? ahead * rest.shortest : ahead * rest.longest);
  }

  // The radius at which `least` is zero, for one member alone.
  radius(code) {
    const { close, rest } = this.against(code);
    const ratio = Math.min(close[0]?.ratio ?? Infinity, rest.ratio);
    return reach(this.member, this.space, ratio > 0 ? ratio : 0, this.result.error);
  }

  get hasSecond() { return this.member.gradient_error !== null; }

  // Where the second bound is below the first one, or for linear maps any length of the right order.
  get scale() {
    const { sigma } = this.member, { norm, growth } = this.space;
    return Math.max(this.entry.saturated * (sigma ?? 1) - 2 * this.result.error, 0) / (norm + growth);
  }

  // Slopes of the map, as Gram matrices behind the metric and in front of all steps.
  get grams() {
    if (this.found) return this.found;
    const { sigma, coef } = this.member, { f, u, kernel } = this.result, { norm } = this.space, d = f.length;
    const behind = Array.from(f, (v, k) => {
      const centers = /** @type {any} */ (this.space.centers); // kernel maps have some
      const toward = times(kernel.map((value, j) => value * coef.values[j * d + k]), centers);
      return toward.map((value, n) => (2 / sigma) * (value - v * u[n]));
    });
    const inFront = behind.map((g) => pulled(this.space, g).map((value) => value / norm));
    this.found = [behind, inFront].map((J) => J.map((g) => J.map((h) => product(g, h))));
    return this.found;
  }

  // The second bound of all leads over a class, from values, slopes and norms (certificates.radii.Local).
  second(code) {
    const { sigma, weights, offsets, wrong, error, gradient_error: rough } = this.member, { grams } = this;
    const { f, error: moved } = this.result, { norm, growth } = this.space, d = f.length;
    const traces = grams.map((G) => Math.sqrt(32 * EPS * d * G.reduce((sum, row, k) => sum + row[k], 0)));
    const pairs = new Map(this.against(code).close.map(({ j }) => [j, this.own.map((i) => {
      const a = f.map((_, k) => weights.values[i * d + k] - weights.values[j * d + k]), size = lengthOf(a);
      const m = product(a, f), B2 = normOf(this.member, i, j) ** 2;
      const [g, s] = grams.map((G) => Math.sqrt(Math.max(product(a, a.map((_, k) => product(a, G[k]))), 0)));
      const [gWrong, sWrong] = traces.map((trace) => (sigma * rough + trace) * size);
      const known = Math.max(Math.abs(m) - 2 * error, 0) ** 2 + Math.max(g - gWrong, 0) ** 2 / 2;
      const rest = Math.sqrt(Math.max(B2 - known, 0) + 64 * EPS * B2 + TINY), steep = g + gWrong;
      const slope = s * (1 + 1e-8) + sWrong + ((2 * growth) / norm) * steep;
      return { b: offsets.values[i] - offsets.values[j] - wrong, m, steep, slope, rest };
    })]));
    return ({ j }, k, radius) => {
      const { b, m, steep, slope, rest } = pairs.get(j)[k], off = (growth * radius + 2 * moved) / sigma;
      const way = (norm * radius) / sigma, line = m - slope * way - steep * off, t = (way + off) ** 2;
      const near = Math.exp(-t);
      const share = Math.min(2 * t ** 2, -Math.expm1(-2 * t) - 2 * t * near ** 2 + 8 * EPS);
      return b + Math.min(near * line, line) - rest * Math.sqrt(share) - 16 * EPS * Math.abs(line);
    };
  }
}

// The largest radius between two that is safe, by bisection.
export function halved(isSafe, start, stop, { halvings, precision }) {
  let low = isSafe(stop) ? stop : start, high = stop;
  for (let k = 0; k < halvings && high - low > precision * high; k++) {
    const middle = (low + high) / 2;
    if (isSafe(middle)) low = middle; else high = middle;
  }
  return Math.max(start, low * (1 - 8 * EPS));
}
