// Build the legend, the search, the card of the selected sample, and the confusion matrix.

import { allOf, atMost, clipped, draw, get, greatest, grouped, make, makeButton } from "./basics.js";
import { number, paragraph, percent, smallest } from "./basics.js";
import { pictureCanvas } from "./pictures.js";
import { KINDS, N_HUES, SHAPES } from "./scatter.js";

const KIND_NAMES = ["Training", "Test", "Misclassified", "Training without label"];
const TIP_COLUMNS = 6; // columns of a sample in the tip at the pointer
const SMALL_CLASSES = 14;
const LISTED_PAIRS = 30;
const CURVE_FROM = 41;
const CURVE = { width: 320, height: 90 };

// The mark of a class, as on the stage.
export function swatch(stage, code) {
  const svg = draw("svg", { viewBox: "-10 -10 20 20", class: "swatch", "aria-hidden": "true" });
  svg.append(draw("path", { d: SHAPES[Math.floor(code / N_HUES) % SHAPES.length], fill: stage.hueOf(code) }));
  return svg;
}

// A button that shows or hides a class or a kind of points.
function chip(stage, content, count, hidden, key) {
  const button = makeButton({ class: "chip", "aria-pressed": String(!hidden.has(key)), onclick: () => {
    if (!hidden.delete(key)) hidden.add(key);
    button.setAttribute("aria-pressed", String(!hidden.has(key)));
    stage.remark();
  } }, ...content, make("small", {}, String(count)));
  return button;
}

export function buildLegend(stage) {
  const { points, filter: { hiddenClasses, hiddenKinds } } = stage, { classes } = points.data;
  const counts = grouped(0, points.n, (i) => points.shown[i]);
  const kinds = grouped(0, points.n, (i) => stage.kindOf(i));
  const toggleAll = () => {
    if (hiddenClasses.size) hiddenClasses.clear();
    else classes.forEach((_, code) => hiddenClasses.add(code));
    stage.remark();
    buildLegend(stage);
  };
  get("classes").replaceChildren(
    ...classes.map((name, code) =>
      chip(stage, [swatch(stage, code), name], counts.get(code)?.length ?? 0, hiddenClasses, code)),
    makeButton({ class: "chip", id: "no-class", onclick: toggleAll },
      hiddenClasses.size ? "Show all" : "Hide all"));
  get("kinds").replaceChildren(...Object.values(KINDS).filter((kind) => kinds.has(kind)).map((kind) =>
    chip(stage, [KIND_NAMES[kind]], kinds.get(kind).length, hiddenKinds, kind)));
}

// Points by class name, by row ("12", "test 12", "training 12") or by a part of their name.
export function search(points, query) {
  const wanted = query.trim().toLowerCase(), named = wanted.replace(/^class\s+/, "");
  if (!wanted) return null;
  const code = points.data.classes.findIndex((name) => name.toLowerCase() === named);
  const row = wanted.match(/^(?:(test|training|train)\s+)?(?:row\s+)?(\d+)$/);
  let fits = (i) => points.title(i).toLowerCase().includes(wanted);
  // A bare number that is the name of a class means the class.
  if (code >= 0 && !(row && (row[1] || wanted.includes("row")))) fits = (i) => points.shown[i] === code;
  else if (row)
    fits = (i) => points.row(i) === Number(row[2]) && (!row[1] || (row[1] === "test") === points.isTest(i));
  return new Set(allOf(points.n).filter(fits));
}

const pictureOf = (points, i) => [points.picture(i)].filter(Boolean).map(({ src, levels, width, height }) =>
  src ? make("img", { class: "picture", src, alt: points.title(i) })
    : pictureCanvas(levels, width, height, points.title(i)));

// Sentences about a sample: its label, its prediction and the certificates.
function verdict(points, i) {
  const certainty = points.certainty(i), label = points.className(points.codes[i]);
  if (certainty)
    return [make("p", {}, `No label; given ${label}`),
      ...(certainty > 0 ? [paragraph(`Probability ${percent(certainty)}`)] : [])];
  const predicted = `Predicted ${points.className(points.predicted[i])}`, radius = points.radius(i);
  const lines = [make("p", {}, points.isLabelled(i) ? `Class ${label}` : predicted)];
  if (points.isWrong(i)) lines.push(paragraph(predicted, "wrong"));
  else if (points.isTest(i) && points.isLabelled(i)) lines.push(paragraph("Predicted correctly"));
  const probabilities = points.probabilities(i), set = points.setOf(i), nearest = points.nearestCopy(i);
  if (probabilities) {
    const [p, own] = probabilities.map(percent);
    lines.push(paragraph(`Probability ${p}${points.isWrong(i) ? `, and ${own} for ${label}` : ""}`));
  }
  if (set) lines.push(paragraph(points.setWords(set), "quiet set"));
  if (radius !== null) lines.push(paragraph(`Certified radius ${atMost(radius)}${points.data.radius_in}`));
  if (nearest) lines.push(paragraph(nearest, "nearest"));
  return lines;
}

const cellText = (cell) => (typeof cell === "number" ? number(cell) : cell || "missing");

const headOf = (points, i, more) => [...pictureOf(points, i),
  make("div", {}, paragraph(points.title(i), "name"), ...verdict(points, i), ...more)];

// The image of a sample or its first columns, with the sentences.
export const tipOf = (points, i) => headOf(points, i, points.cells(i).slice(0, TIP_COLUMNS)
  .map(([name, cell]) => paragraph(`${name}: ${cellText(cell)}`)));

// A sample with many numbers, such as a spectrum, as a curve.
function curveOf(points, i) {
  const values = points.numbers(i) ?? [], total = points.data.rows?.n_columns;
  if (values.length < CURVE_FROM || values.length < total) return [];
  const [low, high] = [smallest(values), greatest(values)], { width, height } = CURVE;
  const places = [...values].map((v, k) => [width * k / (values.length - 1),
    height - 1 - (height - 2) * (v - low) / (high - low || 1)].map((at) => at.toFixed(1)).join(" "));
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, class: "curve", role: "img",
    "aria-label": `The ${total} numbers of the sample as a curve` });
  svg.append(draw("path", { d: `M${places.join("L")}` }));
  return [svg, paragraph(`${total} columns, from ${number(low)} to ${number(high)}.`)];
}

function cellsTable(points, i) {
  const cells = points.cells(i), total = points.data.rows?.n_columns;
  if (!cells.length) return [];
  const lines = cells.map(([name, cell]) =>
    make("tr", {}, make("td", {}, name), make("td", {}, cellText(cell))));
  const more = total > cells.length ? [paragraph(`The first ${cells.length} of ${total} columns.`)] : [];
  const table = make("table", { class: "values" }, make("tbody", {}, ...lines));
  return [make("div", { class: "scroll" }, table), ...more];
}

function sampleList(stage, heading, kind, items) {
  const { points } = stage, rows = items.map(({ i, distance }) => {
    const facts = [points.shortTitle(i), ...(distance === undefined ? [] : [number(distance)])];
    return make("li", {}, makeButton({ title: points.title(i), onclick: () => stage.select(i) },
      ...pictureOf(points, i), points.className(points.shown[i]),
      ...facts.map((fact) => make("small", {}, fact))));
  });
  return items.length ? [paragraph(heading, "sub"), make("ol", { class: kind }, ...rows)] : [];
}

// The training samples that support a prediction and its rival, by their weights in its score.
function whyParts(stage, i) {
  const { points } = stage, why = points.data.why[i - points.nTrain];
  if (!why) return [];
  const list = (name, rows) => sampleList(stage, `Training samples that support ${name}`, "neighbors why",
    rows.map((row) => ({ i: row })));
  return [paragraph(`${why.words}.`, "quiet why"),
    ...list(points.className(points.predicted[i]), why.support), ...list(why.rival, why.oppose)];
}

// The most similar training samples of the predicted class, or else the nearest ones in the embedding.
export function similarParts(stage, neighbors, code, alike) {
  const { points } = stage, name = points.className(code);
  const noun = points.data.pictures || points.data.photographs ? "images" : "samples";
  const most = alike.map((i) => ({ i }));
  if (most.length)
    return sampleList(stage, `Most similar training ${noun} of ${name}`, "neighbors alike", most);
  return sampleList(stage, "Nearest training samples in the embedding", "neighbors", neighbors);
}

export function showSample(stage, i, neighbors) {
  const { points } = stage;
  const invitation = "Point at a sample to see it. Click one to find similar training samples.";
  get("sample-body").replaceChildren(...(i < 0 ? [paragraph(invitation)] : [
    make("div", { class: "sample-head" }, ...headOf(points, i, [])), ...whyParts(stage, i),
    ...similarParts(stage, neighbors, points.predicted[i], points.alike(i)),
    ...curveOf(points, i), ...cellsTable(points, i)]));
}

// A matrix of test samples, or a list of pairs if the matrix would be too large.
export function buildConfusion(stage) {
  const { points } = stage, { classes, labelled } = points.data, body = get("confusion-body");
  const cells = grouped(points.nTrain, points.n, (i) => `${points.codes[i]},${points.predicted[i]}`);
  if (!labelled || !points.nTest) return;
  const choose = (event) => {
    const button = event.currentTarget, on = button.getAttribute("aria-pressed") !== "true";
    body.querySelectorAll("[aria-pressed]").forEach((other) => other.setAttribute("aria-pressed", "false"));
    button.setAttribute("aria-pressed", String(on));
    stage.filter.strong = on ? new Set(cells.get(button.dataset.cell)) : null;
    stage.remark();
  };
  get("confusion").hidden = false;
  get("confusion").classList.toggle("wide", classes.length > SMALL_CLASSES);
  const [list, how] = classes.length <= points.data.most_labels
    ? [confusionTable, "Rows are labels, columns are predictions"]
    : [confusionList, "Label → prediction, with the most frequent pairs first"];
  body.replaceChildren(paragraph(`${how}. Click to see the samples.`), list(classes, cells, choose));
}

function confusionTable(classes, cells, onclick) {
  const head = (scope, name) => make("th", { scope, title: name }, clipped(name, 20));
  const rows = classes.map((name, r) => {
    const counts = classes.map((_, c) => (cells.get(`${r},${c}`) || []).length);
    const total = counts.reduce((sum, count) => sum + count, 0);
    return make("tr", {}, head("row", name), ...counts.map((count, c) => {
      if (!count) return make("td", {}, makeButton({ class: "none", disabled: true, "aria-label": "0" }));
      const share = count / total, title = `${name} predicted as ${classes[c]}: ${count}`;
      const strength = r === c ? 0.08 + 0.32 * share : 0.18 + 0.6 * Math.min(1, 3 * share);
      const style = `--tint: var(--${r === c ? "heat" : "wrong"}); --strength: ${strength}`;
      return make("td", {}, makeButton({ "aria-pressed": "false", "data-cell": `${r},${c}`, title, style,
        onclick }, String(count)));
    }));
  });
  const heads = make("tr", {}, make("th"), ...classes.map((name) => head("col", name)));
  const small = classes.length > SMALL_CLASSES ? " small" : "";
  const tall = classes.some((name) => name.length > 3) ? " tall" : "";
  return make("div", { class: `matrix${small}${tall}`, style: `--n: ${classes.length}` },
    make("table", {}, make("thead", {}, heads), make("tbody", {}, ...rows)));
}

function confusionList(classes, cells, onclick) {
  const confused = [...cells].map(([key, members]) => ({ key, codes: key.split(",").map(Number), members }))
    .filter(({ codes: [r, c] }) => r !== c).sort((a, b) => b.members.length - a.members.length);
  return make("div", { class: "chips" }, ...confused.slice(0, LISTED_PAIRS).map(({ key, codes, members }) =>
    makeButton({ class: "chip", "aria-pressed": "false", "data-cell": key, onclick },
      codes.map((code) => classes[code]).join(" → "), make("small", {}, String(members.length)))));
}
