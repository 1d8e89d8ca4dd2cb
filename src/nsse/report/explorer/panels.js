// Panels beside the stage: legend, search, the sample in view.

import { draw, get, make, makeButton, paragraph } from "./elements.js";
import { number, percent } from "./numbers.js";
import { pictureCanvas } from "./pictures.js";
import { KINDS, N_HUES, N_SHAPES } from "./scatter.js";

const SHAPES = [
  "M-8 0a8 8 0 1 0 16 0a8 8 0 1 0 -16 0", "M-7-7H7V7H-7Z", "M0-8L8 7H-8Z", "M0-9L9 0L0 9L-9 0Z",
  "M0 8L8-7H-8Z", "M-3-8H3V-3H8V3H3V8H-3V3H-8V-3H-3Z",
];
const KIND_NAMES = ["Training, outlined", "Test, plain", "Test, mislabelled", "Training, no label, hollow"];
// Columns of a sample in the tip at the pointer.
const TIP_COLUMNS = 6;

// The mark of a class as it is drawn on the stage.
/** @type {(stage: Stage, code: number) => SVGElement} */
export function swatch(stage, code) {
  const svg = draw("svg", { viewBox: "-10 -10 20 20", class: "swatch", "aria-hidden": "true" });
  svg.append(draw("path", { d: SHAPES[Math.floor(code / N_HUES) % N_SHAPES], fill: stage.hueOf(code) }));
  return svg;
}

// A button that shows or hides what it names.
/** @type {(stage: Stage, content: (Node | string)[], count: number, hidden: Set<number>, key: number)
 *   => HTMLElement} */
function chip(stage, content, count, hidden, key) {
  const button = makeButton({ class: "chip", "aria-pressed": String(!hidden.has(key)) }, ...content,
    make("small", {}, String(count)));
  button.addEventListener("click", () => {
    if (!hidden.delete(key)) hidden.add(key);
    button.setAttribute("aria-pressed", String(!hidden.has(key)));
    stage.remark();
  });
  return button;
}

/** @param {Stage} stage */
export function buildLegend(stage) {
  const { points, filter: { hiddenClasses, hiddenKinds } } = stage, { classes } = points.data;
  const counts = new Array(classes.length).fill(0), present = [0, 0, 0, 0];
  points.shown.forEach((code, i) => {
    counts[code]++;
    present[stage.kindOf(i)]++;
  });
  const toggleAll = () => {
    if (hiddenClasses.size) hiddenClasses.clear();
    else classes.forEach((_, code) => hiddenClasses.add(code));
    stage.remark();
    buildLegend(stage);
  };
  get("classes").replaceChildren(
    ...classes.map((name, code) =>
      chip(stage, [swatch(stage, code), name], counts[code], hiddenClasses, code)),
    makeButton({ class: "chip", id: "no-class", onclick: toggleAll },
      hiddenClasses.size ? "Show all" : "Hide all"),
  );
  get("kinds").replaceChildren(...Object.values(KINDS).filter((kind) => present[kind]).map((kind) =>
    chip(stage, [KIND_NAMES[kind]], present[kind], hiddenKinds, kind)));
}

// Points by class name, by row ("12", "test 12", "training 12") or by a part of their name.
/** @type {(points: Points, query: string) => Set<number> | null} */
export function search(points, query) {
  const wanted = query.trim().toLowerCase();
  if (!wanted) return null;
  const named = wanted.replace(/^class\s+/, "");
  const code = points.data.classes.findIndex((name) => name.toLowerCase() === named);
  const row = wanted.match(/^(?:(test|training|train)\s+)?(?:row\s+)?(\d+)$/);
  /** @type {(i: number) => boolean} */
  let fits = (i) => points.title(i).toLowerCase().includes(wanted);
  // A bare number that is the name of a class means the class.
  if (code >= 0 && !(row && (row[1] || wanted.includes("row")))) fits = (i) => points.shown[i] === code;
  else if (row)
    fits = (i) => points.row(i) === Number(row[2]) && (!row[1] || (row[1] === "test") === points.isTest(i));
  const found = new Set();
  for (let i = 0; i < points.n; i++) if (fits(i)) found.add(i);
  return found;
}

/** @type {(points: Points, i: number) => HTMLElement[]} */
function pictureOf(points, i) {
  const picture = points.picture(i);
  return picture ? [pictureCanvas(picture.levels, picture.width, picture.height, points.title(i))] : [];
}

// What is said about a sample: its label, what was predicted, how far that holds.
/** @type {(points: Points, i: number) => HTMLElement[]} */
function verdict(points, i) {
  const certainty = points.certainty(i);
  if (certainty) {
    const given = `No label; given ${points.className(points.shown[i])}`;
    return [make("p", {}, given), paragraph(`Probability ${number(certainty)}`)];
  }
  const said = `Predicted ${points.className(points.predicted[i])}`, radius = points.radius(i);
  const lines = [make("p", {}, points.isLabelled(i) ? `Class ${points.className(points.codes[i])}` : said)];
  if (points.isWrong(i)) lines.push(paragraph(said, "wrong"));
  else if (points.isTest(i) && points.isLabelled(i)) lines.push(paragraph("Predicted right"));
  const chances = points.chances(i), set = points.setOf(i);
  if (chances) lines.push(paragraph(chanceWords(points, i, chances), "quiet chance"));
  if (set) lines.push(paragraph(points.setWords(set), "quiet set"));
  if (radius !== null) lines.push(paragraph(`Certified radius ${number(radius)}`));
  const nearest = points.nearestCopy(i);
  if (nearest) lines.push(paragraph(`Nearest: ${points.title(nearest.i)}, ${nearest.copy}`, "nearest"));
  return lines;
}

/** @type {(points: Points, i: number, chances: { said: number, own: number }) => string} */
function chanceWords(points, i, { said, own }) {
  const label = points.className(points.codes[i]);
  const right = points.isWrong(i) ? `; of ${label}, the label, ${percent(own)}` : "";
  return `Probability ${percent(said)}${right}`;
}

// Picture (or the first columns) and what is said about a sample.
/** @type {(points: Points, i: number) => HTMLElement[]} */
export function tipOf(points, i) {
  const values = points.rowValues(i) || [];
  const columns = values.slice(0, TIP_COLUMNS).map(([name, v]) => paragraph(`${name}: ${number(v)}`));
  return headOf(points, i, columns);
}

/** @type {(points: Points, i: number, more?: HTMLElement[]) => HTMLElement[]} */
function headOf(points, i, more = []) {
  const lines = [paragraph(points.title(i), "name"), ...verdict(points, i), ...more];
  return [...pictureOf(points, i), make("div", {}, ...lines)];
}

/** @type {(points: Points, i: number) => HTMLElement[]} */
function valuesTable(points, i) {
  const values = points.rowValues(i), { rows } = points.data;
  if (!values || !rows) return [];
  const lines = values.map(([name, v]) => make("tr", {}, make("td", {}, name), make("td", {}, number(v))));
  const table = make("table", { class: "values" }, make("tbody", {}, ...lines));
  const words = `The first ${values.length} of ${rows.n_columns} columns.`;
  const more = rows.n_columns > values.length ? [paragraph(words)] : [];
  return [make("div", { class: "scroll" }, table), ...more];
}

/** @type {(stage: Stage, i: number, facts: string[]) => HTMLElement} */
function neighborItem(stage, i, facts) {
  const { points } = stage, small = [`row ${points.row(i)}`, ...facts].map((fact) => make("small", {}, fact));
  return make("li", {}, makeButton({ title: points.title(i), onclick: () => stage.select(i) },
    ...pictureOf(points, i), points.className(points.shown[i]), ...small));
}

/** @type {(stage: Stage, neighbors: Neighbor[]) => HTMLElement[]} */
export function neighborList(stage, neighbors) {
  const items = neighbors.map(({ i, distance }) => neighborItem(stage, i, [number(distance)]));
  const heading = paragraph("Nearest training samples, by distance in the embedding", "sub");
  return [heading, make("ol", { class: "neighbors" }, ...items)];
}

// Where a class has collapsed to a point, the embedding does not tell its samples apart.
/** @type {(stage: Stage, code: number, alike: number[] | null) => HTMLElement[]} */
export function alikeList(stage, code, alike) {
  if (!alike || !alike.length) return [];
  const words = `Most alike in ${stage.points.className(code)}, by distance of the samples themselves`;
  const items = alike.map((i) => neighborItem(stage, i, []));
  return [paragraph(words, "sub"), make("ol", { class: "neighbors alike" }, ...items)];
}

// In which class samples alike are looked for.
/** @type {(points: Points, i: number) => number} */
const classOf = (points, i) => (points.isTest(i) ? points.predicted[i] : points.codes[i]);

/** @type {(stage: Stage, i: number, neighbors: Neighbor[]) => void} */
export function showSample(stage, i, neighbors) {
  const invitation = "Point at a sample to see it. Click one to find its nearest training samples.";
  get("sample-body").replaceChildren(...(i < 0 ? [paragraph(invitation)] : [
    make("div", { class: "sample-head" }, ...headOf(stage.points, i)),
    ...valuesTable(stage.points, i),
    ...neighborList(stage, neighbors),
    ...alikeList(stage, classOf(stage.points, i), stage.points.alike(i)),
  ]));
}
