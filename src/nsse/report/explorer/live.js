// The live map: a visitor's picture or row goes through f, here in the page.

import { get, make, makeButton, paragraph } from "./elements.js";
import { LiveModel } from "./map.js";
import { allOf, clipped, greatest, number, percent } from "./numbers.js";
import { Pad } from "./pad.js";
import { alikeList, neighborList, swatch } from "./panels.js";
import { normed } from "./pictures.js";

export class Live {
  /** @param {Stage} stage @param {LiveEntry} entry */
  constructor(stage, entry) {
    this.stage = stage;
    this.model = new LiveModel(entry);
    this.map = this.model.map;
    /** @type {object | null} */
    this.last = null;
    this.images = entry.preparation.kind === "images" ? entry.preparation : null;
    this.pad = this.images && new Pad(this.images, {
      paint: () => this.attempt(() => this.showPad("Painted")),
      clear: () => this.clear(),
    });
    const n = this.map.nFeatures;
    this.text = make("textarea", { id: "row", spellcheck: false,
      placeholder: `${n} numbers, separated by commas or spaces`, "aria-label": `A row of ${n} numbers` });
    this.result = make("div", { class: "result", hidden: true, "aria-live": "polite" });
    get("live").hidden = false;
    get("live-body").replaceChildren(make("div", { class: "try" }, ...this.imageParts(), ...this.rowParts(),
      this.result));
  }

  imageParts() {
    if (!this.images || !this.pad) return [];
    const [height, width] = this.images.size, norm = this.images.unit_norm ? ", with norm 1" : "";
    const label = "Choose a picture";
    const file = make("input", { type: "file", accept: "image/*", id: "file", "aria-label": label });
    file.addEventListener("change", () => this.takeFile(file.files));
    const invitation = "Drop a picture here or on the embedding, or choose one. "
      + `It is ${this.images.colour ? "" : "made grey and "}averaged to ${width} × ${height}${norm}.`;
    const drop = make("div", { class: "drop" }, invitation, file);
    for (const place of [drop, this.stage.box]) this.acceptDrops(place);
    return [drop, this.pad.element(this.fillButton())];
  }

  rowParts() {
    const go = () => {
      this.attempt(() => this.show(parseRow(this.text.value, this.map.nFeatures)));
      this.result.scrollIntoView({ block: "nearest" });
    };
    const buttons = [makeButton({ class: "plain", id: "embed", onclick: go }, "Embed this row")];
    if (!this.images) buttons.push(this.fillButton());
    const parts = [this.text, make("div", { class: "row" }, ...buttons)];
    const { columns } = this.stage.points.data;
    if (!this.images) return [paragraph(`Paste a row: ${clipped(columns.join(", "), 120)}.`), ...parts];
    const summary = make("summary", { class: "quiet" }, "A row of numbers instead");
    return [make("details", {}, summary, ...parts)];
  }

  fillButton() {
    return makeButton({ class: "plain", onclick: () => this.takeSelected() }, "Take the selected sample");
  }

  // A training sample is a centre, known exactly; a test sample is known as the page shows it.
  takeSelected() {
    this.attempt(() => {
      const { points, selected: i } = this.stage;
      if (i < 0) throw new Error("Click a sample in the embedding first.");
      const exact = this.exactly(i), x = exact || this.roughly(i);
      const precision = this.images ? ", in 256 levels" : ", in single precision";
      if (this.pad) this.pad.show(this.levelsOf(x));
      else this.text.value = Array.from(x, (v) => Number(v.toPrecision(9))).join(", ");
      this.show(x, `${points.title(i)}${exact ? "" : precision}`);
    });
  }

  /** @param {Float64Array} x */
  levelsOf(x) {
    const top = greatest([...x]) || 1, stretch = this.images?.unit_norm || top > 1;
    return x.map((v) => Math.max(0, stretch ? v / top : v));
  }

  /** @param {number} i */
  exactly(i) {
    const { points } = this.stage, kept = points.data.rows || points.data.pictures;
    return points.isTest(i) || !kept || kept.first > 0 ? null : this.map.center(i);
  }

  /** @param {number} i */
  roughly(i) {
    const { points } = this.stage, { nFeatures } = this.map;
    const levels = points.picture(i)?.levels, values = points.rowValues(i);
    if (levels && levels.length === nFeatures && !points.data.pictures?.stretched)
      return normed(Float64Array.from(levels, (v) => v / 255), Boolean(this.images?.unit_norm));
    if (values && values.length === nFeatures) return Float64Array.from(values, ([, v]) => v);
    throw new Error("The page does not carry all numbers of this sample.");
  }

  /** @param {HTMLElement} place */
  acceptDrops(place) {
    /** @type {(event: DragEvent, on: boolean) => void} */
    const over = (event, on) => {
      event.preventDefault();
      place.classList.toggle("dropping", on);
    };
    place.addEventListener("dragover", (event) => over(event, true));
    place.addEventListener("dragleave", (event) => over(event, false));
    place.addEventListener("drop", (event) => {
      over(event, false);
      this.takeFile(event.dataTransfer && event.dataTransfer.files);
    });
  }

  /** @param {FileList | null} files */
  async takeFile(files) {
    if (!files || !files.length || !this.pad) return;
    const [file] = files;
    try {
      const cautions = await this.pad.take(file);
      this.showPad([file.name, ...cautions].join(". "));
    } catch (error) {
      const unread = error instanceof DOMException && error.name === "InvalidStateError";
      this.fail(unread ? new Error(`${file.name} is not a picture that this browser can read.`) : error);
    }
  }

  /** @param {string} source */
  showPad(source) {
    if (this.pad && this.images) this.show(normed(this.pad.levels, this.images.unit_norm), source);
  }

  /** @param {() => void} action */
  attempt(action) {
    try {
      action();
    } catch (error) {
      this.fail(error);
    }
  }

  /** @param {unknown} error */
  fail(error) {
    this.clear();
    this.result.hidden = false;
    this.result.replaceChildren(paragraph(error instanceof Error ? error.message : String(error), "wrong"));
  }

  clear() {
    this.result.hidden = true;
    this.last = this.stage.live = null;
    this.stage.refresh();
  }

  /** @type {(x: Float64Array, source?: string) => void} */
  show(x, source = "") {
    const { stage, stage: { points } } = this;
    const { place, squares, votes, code, radius, modelRadius, chances, strange } = this.model.tell(x);
    const neighbors = points.neighbors(place, 8), set = this.setOf(strange);
    this.last = { x: Array.from(x), place: Array.from(place), code, radius, modelRadius, chances, set,
      neighbors };
    stage.live = { place, code, neighbors: neighbors.slice(0, 4) };
    stage.refresh();
    const told = code === null
      ? [paragraph("This classifier is not computed in the page; see where the sample lands.")]
      : prediction(stage, votes, code, [...this.chanceWords(chances, code), ...this.setWords(set),
        this.radiusWords(radius, modelRadius)]);
    const alike = code === null || !points.data.alike ? []
      : alikeList(stage, code, points.alikeBy(squares, code, 8));
    this.result.hidden = false;
    this.result.replaceChildren(...(source ? [paragraph(source)] : []), ...told,
      ...neighborList(stage, neighbors), ...alike);
  }

  // The labels that a sample may have, by what the labels of the test samples tell.
  /** @type {(strange: number[] | null) => number[] | null} */
  setOf(strange) {
    const { sets } = this.stage.points.data.chances;
    if (!sets || !strange) return null;
    const most = sets.threshold === null ? Infinity : sets.threshold;
    return allOf(strange.length).filter((c) => strange[c] <= most);
  }

  /** @type {(set: number[] | null) => string[]} */
  setWords(set) {
    const { points } = this.stage, { sets } = points.data.chances;
    return set && sets ? [`${points.setWords(set)} (by the labels of ${sets.n_samples} test samples).`] : [];
  }

  /** @type {(chances: number[] | null, code: number) => string[]} */
  chanceWords(chances, code) {
    const { points } = this.stage;
    if (!chances || !points.data.chances.said) return [];
    const next = allOf(chances.length).filter((c) => c !== code && chances[c] >= 0.005)
      .sort((a, b) => chances[b] - chances[a]).slice(0, 2)
      .map((c) => `${points.className(c)} (${percent(chances[c])})`);
    return [`Probability ${percent(chances[code])}${next.length ? `; then ${next.join(", ")}` : ""}.`];
  }

  /** @type {(radius: number, modelRadius: number) => string} */
  radiusWords(radius, modelRadius) {
    if (radius === Infinity) return "No change of the sample can change this label.";
    if (radius === 0) return "Certified radius 0: nothing is certain here.";
    const what = this.images ? "prepared picture" : "row";
    const certain = `Certified radius ${number(radius)}: no smaller change of the ${what} changes `
      + "this label.";
    if (!this.map.gamma) return certain;
    return `${certain} Measured on scaled features: ${number(modelRadius)}.`;
  }
}

/** @type {(stage: Stage, votes: number[], code: number, words: string[]) => HTMLElement[]} */
function prediction(stage, votes, code, words) {
  const name = make("strong", {}, `Predicted ${stage.points.className(code)}`);
  const voted = votes.length > 1 ? [paragraph(voteWords(votes, code, stage.points))] : [];
  return [make("p", { class: "row" }, swatch(stage, code), name), ...voted,
    ...words.map((text) => paragraph(text))];
}

/** @type {(votes: number[], code: number, points: Points) => string} */
function voteWords(votes, code, points) {
  const loyal = votes.filter((vote) => vote === code).length;
  const drawn = votes[0] === code ? "" : ` The map drawn says ${points.className(votes[0])}.`;
  return `${loyal} of ${votes.length} maps say so.${drawn}`;
}

// A row of numbers, separated by anything that is no part of one.
/** @type {(text: string, nFeatures: number) => Float64Array} */
function parseRow(text, nFeatures) {
  const words = text.trim().split(/[\s,;]+/).filter(Boolean);
  const wrong = words.find((word) => !Number.isFinite(Number(word)));
  if (wrong !== undefined) throw new Error(`“${wrong}” is not a number.`);
  if (words.length !== nFeatures)
    throw new Error(`A row has ${nFeatures} numbers; there are ${words.length} here.`);
  return Float64Array.from(words, Number);
}
