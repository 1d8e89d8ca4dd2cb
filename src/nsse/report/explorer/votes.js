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

// The formula of nsse.certificates.conformal: by how much the best of the other classes leads each.
/** @type {(margins: number[]) => number[]} */
export const strangeness = (margins) => margins.map((own, c) =>
  greatest(margins.filter((_, other) => other !== c)) - own);
