// Figures below the stage: probabilities, radii and what they buy, and how the map was found.

import { chart, dot, line, rangeOf, ticks } from "./charts.js";
import { draw, get, make, paragraph } from "./elements.js";
import { allOf, greatest, number, percent, smallest } from "./numbers.js";

const N_BINS = 30;

/** @param {Points} points */
export function buildRadii(points) {
  const body = get("radii-body"), { radii } = points.data;
  if (!radii.values) return body.replaceChildren(paragraph(`No certified radii here. ${radii.reason}`));
  const intro = "No change of a sample by less than its certified radius, in any direction, changes the "
    + `label that the model gives it. The radius is measured in ${radii.unit}; `
    + `it does not say whether the label is right. ${radii.sentence}`;
  body.replaceChildren(paragraph(intro), make("div", { class: "pair" },
    make("div", {}, ...radiusHistogram(points, [...radii.values.values])),
    ...(radii.risk ? [make("div", {}, ...riskCoverage(radii.risk))] : [])));
}

// How often labels of a probability are right, and where sets of labels come from.
/** @param {Points} points */
export function buildChances({ data: { chances } }) {
  const { curve, sentence, sets, set_sentence: aboutSets } = chances;
  if (!curve.length && !sets) return;
  get("chances").hidden = false;
  const figure = curve.length ? [reliability(curve)] : [];
  get("chances-body").replaceChildren(paragraph(sentence), ...figure, paragraph(aboutSets));
}

/** @param {ChancesEntry["curve"]} curve */
function reliability(curve) {
  const mean = curve.map((bin) => 100 * bin.mean), right = curve.map((bin) => 100 * bin.right);
  const low = Math.floor(Math.min(...mean, ...right) / 10) * 10;
  const axes = { x: [low, 100], y: [low, 100], xLabel: "mean probability of the label (%)",
    yLabel: "labels that are right (%)" };
  return chart("How often labels of a probability are right", axes, (svg, toX, toY) => {
    line(svg, [toX(low), toX(100)], [toY(low), toY(100)], "reference");
    line(svg, mean.map(toX), right.map(toY));
    curve.forEach((bin, k) => dot(svg, toX(mean[k]), toY(right[k]), `${bin.n} labels of ${percent(bin.low)} `
      + `to ${percent(bin.high)}: mean ${percent(bin.mean)}, right ${percent(bin.right)}`));
  });
}

// Samples by radius, those with a right and those with a wrong label.
/** @type {(points: Points, values: number[], high: number) => [number[], number[]]} */
function countRadii(points, values, high) {
  const right = new Array(N_BINS).fill(0), wrong = new Array(N_BINS).fill(0);
  values.forEach((v, row) => {
    if (!Number.isFinite(v)) return;
    const bin = Math.min(N_BINS - 1, Math.floor((N_BINS * v) / high));
    (points.isWrong(points.nTrain + row) ? wrong : right)[bin]++;
  });
  return [right, wrong];
}

/** @type {(points: Points, values: number[]) => HTMLElement[]} */
function radiusHistogram(points, values) {
  const finite = values.filter(Number.isFinite);
  if (!finite.length)
    return [make("p", {}, "All radii are infinite: no change of a sample changes its label.")];
  const high = Math.max(greatest(finite), 1e-12);
  const [right, wrong] = countRadii(points, values, high);
  const most = Math.max(...right.map((count, k) => count + wrong[k]));
  const axes = { x: [0, high], y: [0, most], xLabel: "certified radius", yLabel: "samples",
    yTicks: ticks([0, most]).filter(Number.isInteger) };
  const figure = chart("Certified radii of the test samples", axes, (svg, toX, toY) => {
    const width = toX(high / N_BINS) - toX(0) - 1;
    /** @type {(k: number, from: number, to: number, kind: string) => void} */
    const bar = (k, from, to, kind) => {
      if (to <= from) return;
      const x = toX((k * high) / N_BINS) + 0.5;
      svg.append(draw("rect", { x, y: toY(to), width, height: toY(from) - toY(to), class: kind }));
    };
    right.forEach((count, k) => {
      bar(k, 0, wrong[k], "bar-wrong");
      bar(k, wrong[k], wrong[k] + count, "bar");
    });
  });
  const key = [make("span", {}, points.data.labelled ? "label right" : "all")];
  if (points.data.labelled) key.push(make("span", { class: "is-wrong" }, "label wrong"));
  const infinite = values.length - finite.length;
  const beyond = infinite ? [paragraph(`${infinite} more have an infinite radius.`)] : [];
  return [figure, make("div", { class: "key" }, ...key), ...beyond];
}

/** @type {(risk: Risk) => HTMLElement[]} */
function riskCoverage(risk) {
  const share = risk.coverage.map((v) => 100 * v), error = risk.risk.map((v) => 100 * v);
  const all = 100 * risk.error, at80 = percent(risk.at_80);
  const top = Math.max(1.25 * Math.max(...error.filter((_, k) => share[k] >= 5), all), 1);
  const axes = { x: [0, 100], y: [0, top], xLabel: "samples accepted, largest radii first (%)",
    yLabel: "mislabelled (%)" };
  const figure = chart("Mistakes among accepted predictions", axes, (svg, toX, toY) => {
    line(svg, [toX(0), toX(100)], [toY(all), toY(all)], "reference");
    const inside = share.map((x, k) => [x, error[k]]).filter(([, y]) => y <= top);
    line(svg, inside.map(([x]) => toX(x)), inside.map(([, y]) => toY(y)));
    dot(svg, toX(80), toY(100 * risk.at_80), `${at80} of the accepted are mislabelled`);
  });
  const words = `Of all test samples ${percent(risk.error)} are mislabelled; `
    + `of the 80 % with the largest radii ${at80}.`;
  return [figure, paragraph(words)];
}

/** @param {Points} points */
export function buildTrace({ data: { trace } }) {
  // A scale that was given is one dot, and stands in the title of the page.
  if (!trace || trace.sigma.length < 2) return;
  get("trace").hidden = false;
  const steps = allOf(trace.sigma.length).sort((a, b) => trace.sigma[a] - trace.sigma[b]);
  const sigma = steps.map((k) => trace.sigma[k]), excess = steps.map((k) => trace.excess[k]);
  const names = steps.map((k) => `step ${k + 1}, ${trace.stage[k]}: σ ${number(trace.sigma[k])}, `
    + `objective ${number(trace.excess[k])}`);
  const best = excess.indexOf(smallest(excess)), logY = smallest(excess) > 0;
  const axes = { x: rangeOf(sigma, true), y: rangeOf(excess, logY), xLabel: "kernel scale σ",
    yLabel: "objective", logX: true, logY };
  const figure = chart("Objective by kernel scale", axes, (svg, toX, toY) => {
    line(svg, sigma.map(toX), excess.map(toY));
    steps.forEach((_, k) => dot(svg, toX(sigma[k]), toY(excess[k]), names[k]));
    dot(svg, toX(sigma[best]), toY(excess[best]), names[best], "chosen");
  });
  const intro = `The objective, without its constant part, at the ${steps.length} scales σ that the fit `
    + `looked at; the marked one, σ = ${number(sigma[best])}, has the smallest value.`;
  get("trace-body").replaceChildren(paragraph(intro), figure);
}
