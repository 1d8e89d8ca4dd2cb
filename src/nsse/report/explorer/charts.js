// Charts below the stage, in SVG: probabilities, radii and what they buy, and how the map was found.

import { allOf, draw, get, greatest, make, number, paragraph, percent, short, smallest } from "./basics.js";

const SIZE = { width: 420, height: 220, left: 52, right: 14, top: 12, bottom: 42 };
const N_BINS = 30;

// Few round numbers between two others; on a logarithmic axis powers of ten, or with their halves.
function ticks([low, high], count, log) {
  const inside = (factors) => allOf(40).flatMap((k) => factors.map((m) => Number(`${m}e${k - 20}`)))
    .filter((v) => v >= low && v <= high);
  const powers = log ? [inside([1, 2, 5]), inside([1])].find((found) => found.length < 7) ?? [] : [];
  if (powers.length > 1) return powers;
  const rough = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5].map((m) => m * power).find((s) => s >= rough * 0.999) || 10 * power;
  const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
  return allOf(last - first + 1).map((k) => (first + k) * step);
}

// Axes with few lines, and what they hold: lines and bars of a kind, dots with a name.
/** @type {(title: string, axes: any, labels: string[], parts: any) => HTMLElement} */
function chart(title, { x, y, log = [false, false], whole = false }, labels, parts) {
  const { lines = [], bars = [], dots = [] } = parts;
  const { width, height, left, right, top, bottom } = SIZE, middle = (top + height - bottom) / 2;
  const viewBox = `0 0 ${width} ${height}`, turned = `rotate(-90 12 ${middle})`;
  const share = (v, [low, high], isLog) => {
    const [a, b, c] = isLog ? [v, low, high].map(Math.log) : [v, low, high];
    return c > b ? (a - b) / (c - b) : 0.5;
  };
  const toX = (v) => left + share(v, x, log[0]) * (width - left - right);
  const toY = (v) => height - bottom - share(v, y, log[1]) * (height - top - bottom);
  const svg = draw("svg", { viewBox, role: "img", "aria-label": title, class: "chart" });
  for (const v of ticks(y, 4, log[1]).filter((tick) => !whole || Number.isInteger(tick)))
    svg.append(draw("line", { x1: left, x2: width - right, y1: toY(v), y2: toY(v), class: "grid" }),
      draw("text", { x: left - 8, y: toY(v) + 4, class: "tick end" }, short(v)));
  for (const v of ticks(x, 5, log[0]))
    svg.append(draw("text", { x: toX(v), y: height - bottom + 18, class: "tick middle" }, short(v)));
  svg.append(draw("text", { x: (left + width - right) / 2, y: height - 6, class: "label middle" }, labels[0]),
    draw("text", { x: 12, y: middle, transform: turned, class: "label middle" }, labels[1]));
  for (const [kind, from, to, high] of bars)
    svg.append(draw("rect", { x: toX(from) + 0.5, y: toY(high), width: toX(to) - toX(from) - 1,
      height: toY(0) - toY(high), class: kind }));
  for (const [kind, xs, ys] of lines) {
    const d = xs.map((v, k) => `${k ? "L" : "M"}${toX(v).toFixed(1)} ${toY(ys[k]).toFixed(1)}`).join("");
    svg.append(draw("path", { d, class: kind }));
  }
  for (const [kind, cx, cy, name] of dots) {
    const circle = draw("circle", { cx: toX(cx), cy: toY(cy), r: 3.2, class: kind });
    circle.append(draw("title", {}, name));
    svg.append(circle);
  }
  return make("figure", {}, make("h3", {}, title), svg);
}

// How often labels of a probability are right, and where sets of labels come from.
export function buildProbabilities({ data: { probabilities } }) {
  const { curve, sentence, sets, set_sentence: aboutSets } = probabilities;
  if (!curve.length && !sets) return;
  const mean = curve.map((bin) => 100 * bin.mean), right = curve.map((bin) => 100 * bin.right);
  const low = Math.floor(smallest([...mean, ...right, 90]) / 10) * 10, axis = [low, 100];
  const dots = curve.map((bin, k) => ["dot", mean[k], right[k], `${bin.n} labels of ${percent(bin.low)} to `
    + `${percent(bin.high)}: mean ${percent(bin.mean)}, right ${percent(bin.right)}`]);
  const figure = () => chart("How often labels of a probability are right", { x: axis, y: axis },
    ["mean probability of the label (%)", "labels that are right (%)"],
    { lines: [["reference", axis, axis], ["line", mean, right]], dots });
  get("probabilities").hidden = false;
  get("probabilities-body").replaceChildren(paragraph(sentence), ...(curve.length ? [figure()] : []),
    paragraph(aboutSets));
}

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

// Samples by radius, those with a right and those with a wrong label.
function radiusHistogram(points, values) {
  const finite = values.filter(Number.isFinite), high = Math.max(greatest(finite), 1e-12);
  if (!finite.length) return [paragraph("All radii are infinite: no change of a sample changes its label.")];
  const bins = values.map((v) => Math.min(N_BINS - 1, Math.floor((N_BINS * v) / high)));
  const counted = (kind, counts) => allOf(N_BINS).map((k) => [kind, (k * high) / N_BINS,
    ((k + 1) * high) / N_BINS, bins.filter((bin, row) => bin === k && counts(row)).length]);
  const bars = [...counted("bar", (row) => Number.isFinite(values[row])),
    ...counted("bar-wrong", (row) => points.isWrong(points.nTrain + row))];
  const axes = { x: [0, high], y: [0, greatest(bars.map(([, , , n]) => n))], whole: true };
  const labels = ["certified radius", "samples"];
  const figure = chart("Certified radii of the test samples", axes, labels, { bars });
  const key = [make("span", {}, points.data.labelled ? "label right" : "all")];
  if (points.data.labelled) key.push(make("span", { class: "is-wrong" }, "label wrong"));
  const infinite = values.length - finite.length;
  return [figure, make("div", { class: "key" }, ...key),
    ...(infinite ? [paragraph(`${infinite} more have an infinite radius.`)] : [])];
}

function riskCoverage({ coverage, risk, error, at_80: at80 }) {
  const share = coverage.map((v) => 100 * v), wrong = risk.map((v) => 100 * v), all = 100 * error;
  const top = Math.max(1.25 * greatest([...wrong.filter((_, k) => share[k] >= 5), all]), 1);
  const inside = allOf(share.length).filter((k) => wrong[k] <= top);
  const lines = [["reference", [0, 100], [all, all]],
    ["line", inside.map((k) => share[k]), inside.map((k) => wrong[k])]];
  return [chart("Mistakes among accepted predictions", { x: [0, 100], y: [0, top] },
    ["samples accepted, largest radii first (%)", "mislabelled (%)"],
    { lines, dots: [["dot", 80, 100 * at80, `${percent(at80)} of the accepted are mislabelled`]] }),
  paragraph(`Of all test samples ${percent(error)} are mislabelled; `
    + `of the 80 % with the largest radii ${percent(at80)}.`)];
}

export function buildTrace({ data: { trace } }) {
  // A scale that was given is one dot, and stands in the title of the page.
  if (!trace || trace.sigma.length < 2) return;
  const steps = allOf(trace.sigma.length).sort((a, b) => trace.sigma[a] - trace.sigma[b]);
  const sigma = steps.map((k) => trace.sigma[k]), excess = steps.map((k) => trace.excess[k]);
  const least = smallest(excess), best = excess.indexOf(least), isLog = least > 0;
  const stretch = (values) => [smallest(values) / 1.1, greatest(values) * 1.1];
  const dots = steps.map((step, k) => [k === best ? "dot chosen" : "dot", sigma[k], excess[k],
    `step ${step + 1}, ${trace.stage[step]}: σ ${number(sigma[k])}, objective ${number(excess[k])}`]);
  const y = isLog ? stretch(excess) : [least, greatest(excess)];
  get("trace").hidden = false;
  get("trace-body").replaceChildren(paragraph("The objective, without its constant part, at the "
    + `${steps.length} scales σ that the fit looked at; the marked one, σ = ${number(sigma[best])}, has the `
    + "smallest value."), chart("Objective by kernel scale", { x: stretch(sigma), y, log: [true, isLog] },
    ["kernel scale σ", "objective"], { lines: [["line", sigma, excess]], dots }));
}
