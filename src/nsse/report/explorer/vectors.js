// Vectors and matrices in double precision.

import { greatest } from "./basics.js";

export const lengthOf = (v) => Math.sqrt(v.reduce((sum, x) => sum + x * x, 0));
export const product = (a, b) => a.reduce((sum, x, k) => sum + x * b[k], 0);
export const argmax = (values) => values.indexOf(greatest(values));

// x'M of a row and a matrix.
export function times(x, { values, shape }) {
  const [n, m] = shape;
  const out = new Float64Array(m);
  for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) out[j] += x[i] * values[i * m + j];
  return out;
}

// Mx of a matrix and a column.
export const applied = ({ values, shape: [n, m] }, x) =>
  Float64Array.from({ length: n }, (_, i) => x.reduce((sum, v, k) => sum + v * values[i * m + k], 0));
