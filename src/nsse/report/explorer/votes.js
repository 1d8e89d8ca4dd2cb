// What several maps say together: labels, radii and probabilities of a vote.

import { allOf, greatest } from "./numbers.js";

const CASTING = 1e-9; // nsse.certificates.votes

// The formulas of nsse.certificates.votes: of equal ones, the first voter's label wins.
/** @type {(votes: number[]) => number[]} */
const supporters = (votes) => votes.map((vote) => votes.filter((other) => other === vote).length);

/** @type {(votes: number[]) => number} */
export function winner(votes) {
  const counts = supporters(votes);
  return votes[counts.indexOf(Math.max(...counts))];
}

// Within the radius too few voters can turn to change the majority.
/** @type {(votes: number[], radii: number[]) => number} */
export function voteRadius(votes, radii) {
  // Not by differences: those of infinite radii are no numbers.
  const order = allOf(votes.length).sort((a, b) => (radii[a] < radii[b] ? -1 : radii[a] > radii[b] ? 1 : 0));
  const won = winner(votes);
  let certified = radii[order[0]];
  for (let turned = 1; turned < votes.length; turned++) {
    const kept = order.slice(turned).map((j) => votes[j]), counts = supporters(kept);
    const loyal = kept.filter((vote) => vote === won).length;
    const rivals = Math.max(0, ...counts.filter((_, j) => kept[j] !== won));
    if (loyal <= rivals + turned) break;
    certified = radii[order[turned]];
  }
  return certified;
}

// The mean of the probabilities that the maps give, the label's the largest; null where one gives none.
/** @type {(told: (number[] | null)[], code: number) => number[] | null} */
export function meanChances(told, code) {
  const known = told.flatMap((row) => (row ? [row] : []));
  if (known.length < told.length) return null;
  const mean = known[0].map((_, c) => known.reduce((sum, row) => sum + row[c], 0) / known.length);
  const top = greatest(mean);
  if (mean.indexOf(top) === code) return mean;
  return overTheirSum(mean.map((p, c) => (c === code ? top * (1 + CASTING) : p)));
}

/** @param {number[]} values */
export function overTheirSum(values) {
  const sum = values.reduce((a, b) => a + b, 0);
  return values.map((v) => v / sum);
}

// By how much each class leads the best of the others; a class is as strange as it is behind.
/** @type {(margins: number[]) => number[]} */
export const leadsOf = (margins) => margins.map((own, c) =>
  own - greatest(margins.filter((_, other) => other !== c)));

// nsse.certificates.votes: how far all leads of a class may fall, and those of others rise, while it wins.
/** @type {(told: number[][]) => number[]} */
export function majorityMargins(told) {
  const weights = told.map((_, v) => 1 + 0.5 ** (v + 2));
  /** @type {(c: number, isFor: (lead: number) => boolean) => number} */
  const support = (c, isFor) => told.reduce((sum, row, v) => sum + (isFor(row[c]) ? weights[v] : 0), 0);
  const steps = told.flat().flatMap((lead) => [lead, -lead]).sort((a, b) => a - b);
  const classes = allOf(told[0].length);
  return classes.map((c) => {
    let low = 0, high = steps.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1, t = steps[middle];
      const own = support(c, (lead) => lead >= t);
      const wins = classes.every((e) => e === c || own > support(e, (lead) => lead > -t));
      if (wins) low = middle; else high = middle;
    }
    return steps[low];
  });
}

// nsse.extensions.nearest: by how much each class wins the vote of the nearest, in distances.
/** @type {(own: number[][], count: number) => number[]} */
export function voteOfNeighbors(own, count) {
  const sorted = own.map((lengths) => [...lengths].sort((a, b) => a - b).slice(0, count + 1));
  const all = sorted.flat().sort((a, b) => a - b), last = all[count - 1];
  const reach = (last + (count < all.length ? all[count] : last)) / 2;
  /** @type {(c: number, e: number) => number} */
  const wins = (c, e) => greatest(allOf(count).map((j) =>
    Math.min(reach - (sorted[c][j] ?? Infinity), (sorted[e][j] ?? Infinity) - reach)));
  return own.map((_, c) => -greatest(allOf(own.length).flatMap((e) =>
    e === c ? [] : [c > e ? -wins(c, e) : wins(e, c)])));
}
