// The live map: the page predicts an image or a row that the reader provides.

import { allOf, atMost, clipped, get, greatest, make, makeButton, paragraph, percent } from "./basics.js";
import { Model } from "./model.js";
import { similarParts, swatch } from "./panels.js";
import { Pad, normed } from "./pictures.js";

const PROVED = 1 - 1e-6; // share of a radius that holds in spite of the rounding in the page

export class Live {
  /** @type {any} */
  last = null;

  /** @param {LiveEntry} entry */
  constructor(stage, entry) {
    this.stage = stage;
    this.model = new Model(entry);
    this.n = entry.n_features;
    this.isTable = entry.preparation.kind === "table";
    this.names = entry.preparation.columns ?? stage.points.data.columns;
    this.images = entry.preparation.kind === "images" ? entry.preparation : null;
    this.pad = this.images && new Pad(this.images, {
      paint: () => this.attempt(() => this.showPad("Painted")), clear: () => this.clear() });
    const what = this.isTable ? `the ${this.names.length} entries of a row, or two lines: names and entries`
      : `${this.n} numbers, separated by commas or spaces`;
    this.text = make("textarea", { id: "row", spellcheck: false, "aria-label": "A row", placeholder: what });
    this.result = make("div", { class: "result", hidden: true, "aria-live": "polite" });
    get("live").hidden = false;
    get("live-body").replaceChildren(make("div", { class: "try" }, ...this.imageParts(), ...this.rowParts(),
      this.result));
  }

  imageParts() {
    if (!this.images || !this.pad) return [];
    const [height, width] = this.images.size, norm = this.images.unit_norm ? ", with norm 1" : "";
    const file = make("input", { type: "file", accept: "image/*", id: "file",
      "aria-label": "Choose an image", onchange: () => this.takeFile(file.files) });
    const drop = make("div", { class: "drop" }, "Drop an image here or on the map, or choose one. It is "
      + `${this.images.color ? "" : "converted to gray and "}averaged to ${width} × ${height}${norm}.`,
    file);
    for (const place of [drop, this.stage.box])
      for (const [name, on] of [["dragover", true], ["dragleave", false], ["drop", false]])
        place.addEventListener(name, (event) => {
          event.preventDefault();
          place.classList.toggle("dropping", on);
          if (name === "drop") this.takeFile(event.dataTransfer?.files);
        });
    return [drop, this.pad.element(this.fillButton())];
  }

  rowParts() {
    const go = () => {
      this.attempt(() => this.takeRow());
      this.result.scrollIntoView({ block: "nearest" });
    };
    const parts = [this.text, make("div", { class: "row" },
      makeButton({ class: "plain", id: "embed", onclick: go }, "Predict this row"),
      ...(this.images ? [] : [this.fillButton()]))];
    if (!this.images) return [paragraph(`Paste a row: ${clipped(this.names.join(", "), 120)}.`), ...parts];
    return [make("details", {}, make("summary", { class: "quiet" }, "A row of numbers instead"), ...parts)];
  }

  // Categories that the model does not know count as none of its categories, as in Python.
  takeRow(source = "") {
    const { x, unknown } = parseRow(this.text.value, this.n, this.model.entry.preparation);
    const words = `Unknown: ${unknown.join(", ")}. They count as none of the known categories.`;
    this.show(x, [source, ...(unknown.length ? [words] : [])].filter(Boolean).join(". "));
  }

  fillButton() {
    return makeButton({ class: "plain", onclick: () => this.takeSelected() }, "Use the selected sample");
  }

  // The sample as the page contains it.
  takeSelected() {
    this.attempt(() => {
      const { points, selected: i } = this.stage;
      if (i < 0) throw new Error("Click a sample in the map first.");
      if (this.isTable && points.cells(i).length === this.names.length) {
        this.text.value = `${this.names.join("\t")}\n${points.cells(i).map(([, cell]) => cell).join("\t")}`;
        return this.takeRow(points.title(i));
      }
      const levels = points.picture(i)?.levels, isWhole = !points.data.pictures?.stretched;
      const x = levels && isWhole && this.images ? Array.from(levels, (v) => v / 255) : points.numbers(i);
      if (x?.length !== this.n) throw new Error("The page does not contain all numbers of this sample.");
      if (this.pad) {
        this.pad.show(Float64Array.from(x, (v) => v / (this.images?.unit_norm ? greatest(x) || 1 : 1)));
        return this.showPad(`${points.title(i)}, in 256 levels`);
      }
      this.text.value = Array.from(x, (v) => Number(v.toPrecision(9))).join(", ");
      this.show(x, `${points.title(i)}, in single precision`);
    });
  }

  async takeFile(files) {
    if (!files?.length || !this.pad) return;
    try {
      const cautions = await this.pad.take(files[0]);
      this.showPad([files[0].name, ...cautions].join(". "));
    } catch (error) {
      const unread = error instanceof DOMException && error.name === "InvalidStateError";
      const reason = unread ? `${files[0].name} is not an image that this browser can read.` : error;
      this.attempt(() => { throw reason; });
    }
  }

  showPad(source) { this.show(normed(this.pad?.levels, this.images?.unit_norm), source); }

  attempt(action) {
    try {
      action();
    } catch (error) {
      this.clear(error instanceof Error ? error.message : String(error));
    }
  }

  clear(reason = "") {
    this.result.hidden = !reason;
    this.result.replaceChildren(paragraph(reason, "wrong"));
    this.last = this.stage.live = null;
    this.stage.refresh(false);
  }

  show(x, source = "") {
    const { stage, model } = this, { points } = stage, found = model.tell(x), { place, code } = found;
    const perSample = model.entry.per_sample;
    const neighbors = points.neighbors(place, 8), set = this.setOf(found.conformity);
    this.last = { ...found, x: Array.from(x), place: Array.from(place), set, neighbors };
    stage.live = { ...found, neighbors: neighbors.slice(0, 4) };
    stage.refresh(false);
    const alike = perSample ? points.alikeBy(found.squares, perSample, code, 8) : [];
    const name = make("strong", {}, `Predicted ${points.className(code)}`);
    this.result.hidden = false;
    this.result.replaceChildren(...(source ? [paragraph(source)] : []),
      make("p", { class: "row" }, swatch(stage, code), name),
      ...this.words(found, set).map((text) => paragraph(text)),
      ...similarParts(stage, neighbors, code, alike));
  }

  // The prediction set, or null if the page has no threshold.
  setOf(conformity) {
    const { sets } = this.stage.points.data.probabilities;
    return sets && allOf(conformity.length).filter((c) => conformity[c] >= (sets.threshold ?? -Infinity));
  }

  words({ code, radius, probabilities: P }, set) {
    const { points } = this.stage;
    const next = allOf(P.length).filter((c) => c !== code && P[c] >= 0.005).sort((a, b) => P[b] - P[a])
      .slice(0, 2).map((c) => `${points.className(c)} (${percent(P[c])})`);
    const certified = radius === Infinity ? "No change of the sample can change this label."
      : `Certified radius ${atMost(PROVED * radius)}. No smaller change of the `
        + `${this.images ? "image" : "row"} changes this label.`;
    return [`Probability ${percent(P[code])}${next.length ? `, then ${next.join(", ")}` : ""}.`,
      ...(set ? [`${points.setWords(set)}.`] : []), ...(this.model.entry.certifies ? [certified] : [])];
  }
}

// The features of a row of numbers or of the entries of a table, and the entries that are unknown categories.
// Entries are in the order of the columns, or below a line with their names.
function parseRow(text, nFeatures, { kind, columns = allOf(nFeatures).map(String), ...table }) {
  const numbers = text.trim().split(/[\s,;]+/).map(Number), unknown = [];
  if (kind !== "table" && numbers.length === nFeatures && numbers.every(Number.isFinite))
    return { x: Float64Array.from(numbers), unknown };
  const lines = text.replace(/^\s*\n|\s*$/g, "").split(/\r?\n/), around = /^[\s"]+|[\s"]+$/g;
  const sign = ["\t", ";", ","].find((one) => lines[0].includes(one)) ?? /\s+/;
  const [head, row] = lines.map((line) => line.split(sign).map((cell) => cell.replace(around, "")));
  const missing = row ? columns.filter((name) => !head.includes(name)) : [];
  if (missing.length) throw new Error(`The line of names lacks ${clipped(missing.join(", "), 120)}.`);
  const cells = row ? columns.map((name) => row[head.indexOf(name)] ?? "") : head;
  if (cells.length !== columns.length)
    throw new Error(`A row has ${columns.length} entries. There are ${cells.length} here.`);
  const x = columns.flatMap((name, k) => features(cells[k], name, table, sign, unknown));
  return { x: Float64Array.from(x), unknown };
}

function features(cell, name, { categories = {}, medians = {}, dates = {} }, by, unknown) {
  const known = categories[name], isGap = /^(|-|\?|n\/?a|nan|none|null)$/i.test(cell);
  if (known && !isGap && !known.includes(cell)) unknown.push(`“${cell}” in ${name}`);
  if (known) return known.map((one) => Number(one === cell));
  if (isGap && name in medians) return [medians[name]];
  const value = name in dates ? days(cell, dates[name]) : Number(by === ";" ? cell.replace(",", ".") : cell);
  if (!isGap && Number.isFinite(value)) return [value];
  throw new Error(`${name}: “${cell}” is not a ${name in dates ? "date" : "number"}.`);
}

function days(text, form) {
  const names = (form || "%Y-%m-%d %H:%M:%S").match(/%[YmdHMS]/g);
  const at = Object.fromEntries((text.match(/\d+/g) ?? []).map((part, k) => [names[k], Number(part)]));
  const [year, month, day, ...time] = ["%Y", "%m", "%d", "%H", "%M", "%S"].map((name) => at[name]);
  return Date.UTC(year, month - 1, day, ...time.map((part) => part ?? 0)) / 864e5;
}
