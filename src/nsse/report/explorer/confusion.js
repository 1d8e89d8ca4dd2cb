// Which classes are confused: a matrix of test samples, or a list where it would be too large.

import { get, make, makeButton, paragraph } from "./elements.js";
import { clipped } from "./numbers.js";

const MATRIX_CLASSES = 40;
const SMALL_CLASSES = 14;
const LISTED_PAIRS = 30;

/** @typedef {Map<string, number[]>} Cells - rows of samples by "label,prediction" */

/** @type {(points: Points) => Cells} */
function cellsOf(points) {
  /** @type {Cells} */
  const cells = new Map();
  for (let i = points.nTrain; i < points.n; i++) {
    const key = `${points.codes[i]},${points.predicted[i]}`;
    const members = cells.get(key) || [];
    members.push(i);
    cells.set(key, members);
  }
  return cells;
}

/** @param {Stage} stage */
export function buildConfusion(stage) {
  const { points } = stage, { classes, labelled } = points.data;
  if (!labelled || !points.nTest) return;
  get("confusion").hidden = false;
  get("confusion").classList.toggle("wide", classes.length > SMALL_CLASSES);
  const body = get("confusion-body"), cells = cellsOf(points);
  /** @type {Choose} */
  const choose = (button, members) => {
    const on = button.getAttribute("aria-pressed") !== "true";
    body.querySelectorAll("[aria-pressed]").forEach((other) => other.setAttribute("aria-pressed", "false"));
    button.setAttribute("aria-pressed", String(on));
    stage.filter.strong = on ? new Set(members) : null;
    stage.remark();
  };
  const intro = "Rows are the classes of the test samples, columns what was predicted. "
    + "Click a cell to see its samples in the embedding.";
  const shown = classes.length <= MATRIX_CLASSES ? confusionTable : confusionList;
  body.replaceChildren(paragraph(intro), shown(classes, cells, choose));
}

/** @type {(classes: string[], cells: Cells, choose: Choose) => HTMLElement} */
function confusionTable(classes, cells, choose) {
  /** @type {(scope: string, name: string) => HTMLElement} */
  const head = (scope, name) => make("th", { scope, title: name }, clipped(name, 20));
  const rows = classes.map((name, r) => {
    const members = classes.map((_, c) => cells.get(`${r},${c}`) || []);
    const total = members.reduce((sum, cell) => sum + cell.length, 0);
    const buttons = members.map((cell, c) =>
      cellButton(r, c, cell.length, total, `${name} predicted as ${classes[c]}: ${cell.length}`));
    buttons.forEach((button, c) => button.addEventListener("click", () => choose(button, members[c])));
    return make("tr", {}, head("row", name), ...buttons.map((button) => make("td", {}, button)));
  });
  const heads = make("tr", {}, make("th", {}), ...classes.map((name) => head("col", name)));
  const table = make("table", {}, make("thead", {}, heads), make("tbody", {}, ...rows));
  const small = classes.length > SMALL_CLASSES ? " small" : "";
  const tall = classes.some((name) => name.length > 3) ? " tall" : "";
  return make("div", { class: `matrix${small}${tall}` }, table);
}

/** @type {(r: number, c: number, count: number, total: number, title: string) => HTMLElement} */
function cellButton(r, c, count, total, title) {
  if (!count) return makeButton({ class: "none", disabled: true, "aria-label": "0" });
  const share = count / total;
  const strength = r === c ? 0.08 + 0.32 * share : 0.18 + 0.6 * Math.min(1, 3 * share);
  const button = makeButton({ "aria-pressed": "false", "data-cell": `${r},${c}`, title }, String(count));
  button.style.setProperty("--tint", r === c ? "var(--heat)" : "var(--wrong)");
  button.style.setProperty("--strength", String(strength));
  return button;
}

// Too many classes for a matrix: the pairs that are confused most.
/** @type {(classes: string[], cells: Cells, choose: Choose) => HTMLElement} */
function confusionList(classes, cells, choose) {
  const pairs = [...cells].map(([key, members]) => ({ key, codes: key.split(",").map(Number), members }));
  const confused = pairs.filter(({ codes: [r, c] }) => r !== c);
  confused.sort((a, b) => b.members.length - a.members.length);
  return make("div", { class: "chips" }, ...confused.slice(0, LISTED_PAIRS).map(({ key, codes, members }) => {
    const button = makeButton({ class: "chip", "aria-pressed": "false", "data-cell": key },
      codes.map((code) => classes[code]).join(" → "), make("small", {}, String(members.length)));
    button.addEventListener("click", () => choose(button, members));
    return button;
  }));
}
