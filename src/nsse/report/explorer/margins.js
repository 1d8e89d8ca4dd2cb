// By how much a label leads another class within a distance: the bounds of nsse.certificates.margins and
// slopes. Python's terms of rounding are left out. They are far below the digits that the page shows.

import { allOf, greatest, smallest } from "./basics.js";
import { kernelOf } from "./kernels.js";
import { applied, argmax, lengthOf, product, times } from "./vectors.js";

const EPS = Number.EPSILON;
// The local bound is below rounding from so many σ on.
const SATURATED = 7;

// The gradient by the sample of a function that has the gradient g by u.
function pulled({ scale, matrix, down, up }, g) {
  const less = down && applied(down, applied(up, g));
  return (matrix ? applied(matrix, g) : g).map((value, k) => (value - (less?.[k] ?? 0)) * scale.values[k]);
}

const row = ({ values, shape: [, d] }, i) => values.subarray(i * d, (i + 1) * d);
const difference = (matrix, i, j) => row(matrix, i).map((value, k) => value - row(matrix, j)[k]);

// The leads of functions of the label over functions of other classes, for one member around a sample.
export class Margins {
  /** @type {number[][][] | null} */
  slopes = null;

  /** @param {LiveEntry} entry */
  constructor(member, entry, result, code) {
    this.member = member;
    this.entry = entry;
    this.space = entry.spaces[member.space];
    this.kernel = kernelOf(member);
    this.result = result;
    this.own = this.of(code).sort((a, b) => result.functions[b] - result.functions[a]).slice(0, entry.own);
    this.known = new Map();
  }

  // Distances of the order at which the margins change.
  get scale() { return SATURATED * this.member.sigma / this.space.norm; }

  // The functions of a class.
  of(code) {
    const codes = this.member.codes.values;
    return allOf(codes.length).filter((j) => codes[j] === code);
  }

  // The margin over a class within a radius, at least.
  least(code, radius) {
    if (!this.known.has(code)) this.known.set(code, this.compared(code));
    const by = this.kernel.change(this.space.norm * radius), { close, rest } = this.known.get(code);
    const ahead = rest.ratio - by, ofRest = ahead > 0 ? ahead * rest.shortest : ahead * rest.longest;
    return close.reduce((least, { pairs }) => Math.min(least, greatest(pairs.map((pair) =>
      Math.max(pair.lead - pair.norm * by, this.leastBySlope(pair, radius))))), ofRest);
  }

  // The functions of a class that are looked at closely, and one bound for the others.
  compared(code) {
    const { functions } = this.result, { images } = this.member, { worst } = this.entry;
    const rivals = this.of(code).map((j) => {
      const pairs = this.own.map((i) => ({ i, j, lead: functions[i] - functions[j],
        norm: lengthOf(difference(images, i, j)) || Number.MIN_VALUE }));
      const { lead, norm } = pairs[argmax(pairs.map((pair) => pair.lead / pair.norm))];
      return { pairs, ratio: lead / norm, length: norm };
    }).sort((a, b) => a.ratio - b.ratio);
    const others = rivals.slice(worst), lengths = others.map(({ length }) => length);
    const rest = { ratio: others[0]?.ratio ?? Infinity, shortest: lengths.length ? smallest(lengths) : 1,
      longest: lengths.length ? greatest(lengths) : 1 };
    return { close: rivals.slice(0, worst), rest };
  }

  // The second bound of a pair, from value, slope and norm.
  leastBySlope(pair, radius) {
    if (!this.member.has_local_bound || radius === Infinity) return -Infinity;
    const { offset, value, slope, rest } = (pair.local ??= this.localOf(pair));
    const way = this.space.norm * radius / this.member.sigma, t = way ** 2, near = Math.exp(-t);
    const line = value - slope * way;
    const share = Math.min(2 * t ** 2, -Math.expm1(-2 * t) - 2 * t * near ** 2 + 8 * EPS);
    return offset + Math.min(near * line, line) - rest * Math.sqrt(share);
  }

  localOf({ i, j, norm }) {
    const { weights, offsets } = this.member, { f } = this.result, a = difference(weights, i, j);
    // a'JJ'a may cancel, which counts as a steeper slope and a smaller known part.
    const [[g, gWrong], [s, sWrong]] = this.grams.map((G) => {
      const trace = G.reduce((sum, values, k) => sum + values[k], 0);
      const square = product(a, a.map((_, k) => product(a, G[k])));
      return [Math.sqrt(Math.max(square, 0)), Math.sqrt(32 * EPS * f.length * trace) * lengthOf(a)];
    });
    const value = product(a, f), known = value ** 2 + Math.max(g - gWrong, 0) ** 2 / 2;
    return { offset: offsets.values[i] - offsets.values[j], value, slope: s + sWrong,
      rest: Math.sqrt(Math.max(norm ** 2 - known, 0) + 64 * EPS * norm ** 2) };
  }

  // Slopes of the map, as Gram matrices behind the metric and in front of all steps.
  get grams() { return (this.slopes ??= this.slopeGrams()); }

  slopeGrams() {
    const { sigma, coef } = this.member, { f, place } = this.result, { norm, centers } = this.space;
    const kernel = this.kernel.values(place);
    const behind = Array.from(f, (v, k) =>
      times(kernel.map((value, j) => value * coef.values[j * f.length + k]), centers)
        .map((value, n) => (2 / sigma) * (value - v * place.u[n])));
    const inFront = behind.map((g) => pulled(this.space, g).map((value) => value / norm));
    return [behind, inFront].map((J) => J.map((g) => J.map((h) => product(g, h))));
  }
}
