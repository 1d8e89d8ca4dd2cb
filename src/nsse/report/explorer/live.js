// The live map: a visitor's picture or row goes through f, here in the page.

import { allOf, clipped, get, greatest, make, makeButton, number, paragraph, percent } from "./basics.js";
import { Model } from "./model.js";
import { neighborLists, swatch } from "./panels.js";
import { Pad, normed } from "./pictures.js";

export class Live {
  /** @type {any} */
  last = null;

  /** @param {LiveEntry} entry */
  constructor(stage, entry) {
    this.stage = stage;
    this.model = new Model(entry);
    this.n = entry.n_features;
    this.names = entry.preparation.columns ?? stage.points.data.columns;
    this.images = entry.preparation.kind === "images" ? entry.preparation : null;
    this.pad = this.images && new Pad(this.images, {
      paint: () => this.attempt(() => this.showPad("Painted")), clear: () => this.clear() });
    this.text = make("textarea", { id: "row", spellcheck: false, "aria-label": `A row of ${this.n} numbers`,
      placeholder: `${this.n} numbers, separated by commas or spaces` });
    this.result = make("div", { class: "result", hidden: true, "aria-live": "polite" });
    get("live").hidden = false;
    get("live-body").replaceChildren(make("div", { class: "try" }, ...this.imageParts(), ...this.rowParts(),
      this.result));
  }

  imageParts() {
    if (!this.images || !this.pad) return [];
    const [height, width] = this.images.size, norm = this.images.unit_norm ? ", with norm 1" : "";
    const file = make("input", { type: "file", accept: "image/*", id: "file",
      "aria-label": "Choose a picture", onchange: () => this.takeFile(file.files) });
    const drop = make("div", { class: "drop" }, "Drop a picture here or on the embedding, or choose one. It "
      + `is ${this.images.color ? "" : "made grey and "}averaged to ${width} × ${height}${norm}.`, file);
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
      this.attempt(() => this.show(parseRow(this.text.value, this.n, this.model.entry.preparation)));
      this.result.scrollIntoView({ block: "nearest" });
    };
    const parts = [this.text, make("div", { class: "row" },
      makeButton({ class: "plain", id: "embed", onclick: go }, "Embed this row"),
      ...(this.images ? [] : [this.fillButton()]))];
    if (!this.images) return [paragraph(`Paste a row: ${clipped(this.names.join(", "), 120)}.`), ...parts];
    return [make("details", {}, make("summary", { class: "quiet" }, "A row of numbers instead"), ...parts)];
  }

  fillButton() {
    return makeButton({ class: "plain", onclick: () => this.takeSelected() }, "Take the selected sample");
  }

  // A sample is known as the page shows it.
  takeSelected() {
    this.attempt(() => {
      const { points, selected: i } = this.stage;
      if (i < 0) throw new Error("Click a sample in the embedding first.");
      const levels = points.picture(i)?.levels, isWhole = !points.data.pictures?.stretched;
      const x = levels && isWhole && this.images ? Array.from(levels, (v) => v / 255) : points.numbers(i);
      if (x?.length !== this.n) throw new Error("The page does not carry all numbers of this sample.");
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
      const reason = unread ? `${files[0].name} is not a picture that this browser can read.` : error;
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
      ...neighborLists(stage, neighbors, code, alike));
  }

  // The labels that conform; null where the page has no threshold.
  setOf(conformity) {
    const { sets } = this.stage.points.data.probabilities;
    return sets && allOf(conformity.length).filter((c) => conformity[c] >= (sets.threshold ?? -Infinity));
  }

  words({ votes, code, radius, probabilities: P }, set) {
    const { points } = this.stage, agree = votes.filter((vote) => vote === code).length;
    const next = allOf(P.length).filter((c) => c !== code && P[c] >= 0.005).sort((a, b) => P[b] - P[a])
      .slice(0, 2).map((c) => `${points.className(c)} (${percent(P[c])})`);
    const certified = radius === Infinity ? "No change of the sample can change this label."
      : radius === 0 ? "Certified radius 0: nothing is certain here."
        : `Certified radius ${number(radius)}: no smaller change of the `
          + `${this.images ? "prepared picture" : "row"} changes this label.`;
    return [...(votes.length > 1 ? [`${agree} of ${votes.length} maps say so.`] : []),
      `Probability ${percent(P[code])}${next.length ? `; then ${next.join(", ")}` : ""}.`,
      ...(set ? [`${points.setWords(set)}.`] : []), certified];
  }
}

// A row of numbers; or of a table: entries of its columns in their order, or below a line of their names.
function parseRow(text, nFeatures, { columns = allOf(nFeatures).map(String), ...table }) {
  const numbers = text.trim().split(/[\s,;]+/).map(Number), lines = text.trim().split(/\r?\n/);
  if (numbers.length === nFeatures && numbers.every(Number.isFinite)) return Float64Array.from(numbers);
  const sign = ["\t", ";", ","].find((one) => lines[0].includes(one)) ?? /\s+/, around = /^[\s"]+|[\s"]+$/g;
  const [head, row] = lines.map((line) => line.split(sign).map((cell) => cell.replace(around, "")));
  const cells = row ? columns.map((name) => row[head.indexOf(name)] ?? "") : head;
  if (cells.length !== columns.length)
    throw new Error(`A row has ${columns.length} entries; there are ${cells.length} here.`);
  return Float64Array.from(columns.flatMap((name, k) => features(cells[k], name, table, sign)));
}

function features(cell, name, { categories = {}, medians = {}, dates = {} }, by) {
  const known = categories[name], isGap = /^(|-|\?|n\/?a|nan|none|null)$/i.test(cell);
  if (known && (isGap || known.includes(cell))) return known.map((one) => Number(one === cell));
  if (isGap && name in medians) return [medians[name]];
  if (known) throw new Error(`“${cell}” is not among ${known.join(", ")}.`);
  const value = name in dates ? days(cell, dates[name]) : Number(by === ";" ? cell.replace(",", ".") : cell);
  if (!isGap && Number.isFinite(value)) return [value];
  throw new Error(`“${cell}” is not a ${name in dates ? "date" : "number"}.`);
}

function days(text, form) {
  const names = (form || "%Y-%m-%d %H:%M:%S").match(/%[YmdHMS]/g);
  const at = Object.fromEntries((text.match(/\d+/g) ?? []).map((part, k) => [names[k], Number(part)]));
  const [year, month, day, ...time] = ["%Y", "%m", "%d", "%H", "%M", "%S"].map((name) => at[name]);
  return Date.UTC(year, month - 1, day, ...time.map((part) => part ?? 0)) / 864e5;
}
