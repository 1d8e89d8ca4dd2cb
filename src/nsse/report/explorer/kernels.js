// Kernels by name: the coordinates of a member, and by how much functions of norm 1 change within a distance
// (nsse.kernels). The profile κ(t) with t = r²/σ² is a formula, or a table over log t (profiles.py).

import { times } from "./vectors.js";

const PROFILES = {
  gaussian: (t) => Math.exp(-t),
  exponential: (t) => Math.exp(-Math.sqrt(t)),
  matern32: (t) => (1 + Math.sqrt(3 * t)) * Math.exp(-Math.sqrt(3 * t)),
};
// 1 - κ(t), where it has a closed form.
const FALLS = {
  gaussian: (t) => -Math.expm1(-t),
  exponential: (t) => -Math.expm1(-Math.sqrt(t)),
};
const NODES = 6;
const FARTHEST = 1e100; // beyond, profiles are zero

// Lagrange's polynomial through the six values around log t; constant outside of the table.
function tabulated({ table: { values }, low, step }) {
  const n = values.length;
  return (t) => {
    const place = (Math.log(t) - low) / step, first = Math.min(Math.max(Math.floor(place) - 2, 0), n - NODES);
    if (!(place > 0)) return 1;
    if (place >= n - 1) return values[n - 1];
    let sum = 0;
    for (let i = 0; i < NODES; i++) {
      let weight = 1;
      for (let k = 0; k < NODES; k++) if (k !== i) weight *= (place - first - k) / (i - k);
      sum += weight * values[first + i];
    }
    return sum;
  };
}

// A member's `values` at all centers, its coordinates `at` a place { u, squares }, and `change(distance)`.
/** @type {(member: MemberEntry) => Kernel} */
export function kernelOf({ kernel, sigma, coef }) {
  if (kernel.name === "linear") return { values: () => [], at: ({ u }) => u, change: (distance) => distance };
  const profile = PROFILES[kernel.name] ?? tabulated(kernel), curvature = kernel.curvature ?? Infinity;
  const fall = FALLS[kernel.name] ?? ((t) =>
    (t > 0 ? Math.min(1 - profile(Math.min(t, FARTHEST)) + kernel.accuracy, curvature * t) : 0));
  const values = ({ squares }) => squares.map((s) => profile(s / sigma ** 2));
  return { values, at: (place) => times(values(place), coef),
    change: (distance) => Math.sqrt(2 * fall((distance / sigma) ** 2)) };
}
