// Kernels: profiles κ(t) with t = r²/σ², how much they fall, and how far t may grow (nsse.kernels). The
// profile of a kernel without a formula is a table over log t (profiles.py).

const PROFILES = {
  gaussian: (t) => Math.exp(-t),
  exponential: (t) => Math.exp(-Math.sqrt(t)),
  matern32: (t) => (1 + Math.sqrt(3 * t)) * Math.exp(-Math.sqrt(3 * t)),
};
// 1 - κ(t), and the t at which it reaches a value, where they have a closed form.
const FALLS = {
  gaussian: (t) => -Math.expm1(-t),
  exponential: (t) => -Math.expm1(-Math.sqrt(t)),
};
const INVERSES = {
  gaussian: (fall) => -Math.log1p(-fall),
  exponential: (fall) => Math.log1p(-fall) ** 2,
};
const NODES = 6;
// Bisection of log t, from where everything is rounding to where no sample lies.
const LOWEST = -700;
const HIGHEST = 230;
const BISECTIONS = 60;
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

/** @type {(kernel: KernelEntry) => (t: number) => number} */
export const profileOf = (kernel) => PROFILES[kernel.name] ?? tabulated(/** @type {any} */ (kernel));

// 1 - κ(t), rounded up.
/** @type {(kernel: KernelEntry) => (t: number) => number} */
export function fallOf(kernel) {
  const profile = profileOf(kernel), curvature = kernel.curvature ?? Infinity;
  return FALLS[kernel.name] ?? ((t) =>
    (t > 0 ? Math.min(1 - profile(Math.min(t, FARTHEST)) + kernel.accuracy, curvature * t) : 0));
}

// The t up to which 1 - κ(t) is at most `fall`, rounded down.
/** @type {(kernel: KernelEntry, fall: number) => number} */
export function farthest(kernel, fall) {
  if (fall >= 1) return Infinity;
  if (kernel.name in INVERSES) return INVERSES[kernel.name](fall);
  const fallAt = fallOf(kernel), isSafe = (t) => fallAt(t) <= fall;
  let low = LOWEST, high = HIGHEST;
  for (let k = 0; k < BISECTIONS; k++) {
    const middle = (low + high) / 2;
    if (isSafe(Math.exp(middle))) low = middle; else high = middle;
  }
  return low > LOWEST ? Math.exp(low) * (1 - 1e-12) : 0;
}
