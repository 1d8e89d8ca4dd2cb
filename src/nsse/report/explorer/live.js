// The live map: a visitor's picture or row goes through f, here in the page.

class Live {
  constructor(stage, entry) {
    this.stage = stage;
    this.model = new LiveModel(entry);
    this.map = this.model.map;
    this.preparation = entry.preparation;
    this.isImages = entry.preparation.kind === "images";
    document.getElementById("live").hidden = false;
    this.result = make("div", { class: "result", hidden: true, "aria-live": "polite" });
    const body = make("div", { class: "try" }, ...(this.isImages ? this.imageParts() : []), ...this.rowParts(), this.result);
    document.getElementById("live-body").replaceChildren(body);
  }

  imageParts() {
    const [height, width] = this.preparation.size;
    this.levels = new Float64Array(height * width);
    const file = make("input", { type: "file", accept: "image/*", id: "file", "aria-label": "Choose a picture" });
    file.addEventListener("change", () => file.files.length && this.takeFile(file.files[0]));
    const drop = make("div", { class: "drop" }, `Drop a picture here or on the embedding, or choose one. It is made grey and averaged to ${width} × ${height}${this.preparation.unit_norm ? ", with norm 1" : ""}.`, file);
    for (const place of [drop, this.stage.box]) this.acceptDrops(place);
    this.pad = make("canvas", { id: "pad", role: "img", "aria-label": "Picture to try; paint on it" });
    this.pad.width = width;
    this.pad.height = height;
    this.paintPad();
    this.listenToPad();
    this.brush = make("select", { "aria-label": "Brush" }, make("option", { value: "1" }, "Paint white"), make("option", { value: "0" }, "Paint black"));
    const buttons = make("div", {}, make("span", { class: "quiet" }, "Or paint, and watch it move."), this.brush,
      make("button", { type: "button", class: "plain", onclick: () => this.clearPad() }, "Clear"), this.fillButton());
    return [drop, make("div", { class: "pad" }, this.pad, buttons)];
  }

  rowParts() {
    const n = this.map.nFeatures;
    this.text = make("textarea", { id: "row", spellcheck: false, placeholder: `${n} numbers, separated by commas or spaces`, "aria-label": `A row of ${n} numbers` });
    const go = () => this.attempt(() => this.show(parseRow(this.text.value, n)));
    const submit = make("button", { type: "button", class: "plain", id: "embed", onclick: go }, "Embed this row");
    const parts = [this.text, make("div", { class: "row" }, submit, ...(this.isImages ? [] : [this.fillButton()]))];
    if (this.isImages) return [make("details", {}, make("summary", { class: "quiet" }, "A row of numbers instead"), ...parts)];
    const { columns } = this.stage.points.data;
    return [make("p", { class: "quiet" }, `Paste a row: ${clipped(columns.join(", "), 120)}.`), ...parts];
  }

  fillButton() {
    return make("button", { type: "button", class: "plain", onclick: () => this.takeSelected() }, "Take the selected sample");
  }

  // A training sample is a centre, known exactly; a test sample is known as the page shows it.
  takeSelected() {
    this.attempt(() => {
      const { points, selected: i } = this.stage;
      if (i < 0) throw new Error("Click a sample in the embedding first.");
      const exact = this.exactly(i), x = exact || this.roughly(i);
      if (this.isImages) {
        const top = -smallest(Array.from(x, (v) => -v)) || 1;
        this.levels = Float64Array.from(x, (v) => Math.max(0, this.preparation.unit_norm || top > 1 ? v / top : v));
        this.paintPad();
      } else this.text.value = Array.from(x, (v) => Number(v.toPrecision(9))).join(", ");
      this.show(x, `${points.title(i)}${exact ? "" : this.isImages ? ", in 256 grey levels" : ", in single precision"}`);
    });
  }

  exactly(i) {
    const { map, stage: { points } } = this;
    const kept = points.data.rows || points.data.pictures;
    if (points.isTest(i) || !kept || kept.first > 0) return null;
    const row = map.centers.values.subarray(i * map.nFeatures, (i + 1) * map.nFeatures);
    return Float64Array.from(row, (v, k) => (v - map.offset.values[k]) / map.factor.values[k]);
  }

  roughly(i) {
    const { points } = this.stage, grey = points.picture(i), values = points.rowValues(i);
    if (grey && grey.length === this.map.nFeatures && !points.data.pictures.stretched)
      return normed(Float64Array.from(grey, (v) => v / 255), this.preparation);
    if (values && values.length === this.map.nFeatures) return Float64Array.from(values, ([, v]) => v);
    throw new Error("The page does not carry all numbers of this sample.");
  }

  acceptDrops(place) {
    const over = (on) => (event) => {
      event.preventDefault();
      place.classList.toggle("dropping", on);
    };
    place.addEventListener("dragover", over(true));
    place.addEventListener("dragleave", over(false));
    place.addEventListener("drop", (event) => {
      over(false)(event);
      if (event.dataTransfer.files.length) this.takeFile(event.dataTransfer.files[0]);
    });
  }

  async takeFile(file) {
    try {
      const note = await caution(file);
      const bitmap = await createImageBitmap(file, { colorSpaceConversion: "none", premultiplyAlpha: "none" });
      const canvas = make("canvas");
      [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
      const context = canvas.getContext("2d", { willReadFrequently: true });
      context.drawImage(bitmap, 0, 0);
      const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height);
      const seeThrough = data.some((v, k) => k % 4 === 3 && v < 255);
      const [height, width] = this.preparation.size;
      this.levels = areaAverage(greyLevels(data), bitmap.height, bitmap.width, height, width);
      this.paintPad();
      const notes = [note, seeThrough ? "Parts of it are transparent; Python sees the colour behind them, this page does not." : ""];
      this.show(normed(this.levels, this.preparation), [file.name, ...notes].filter(Boolean).join(". "));
    } catch (error) {
      this.fail(error.name === "InvalidStateError" ? `${file.name} is not a picture that this browser can read.` : error.message);
    }
  }

  listenToPad() {
    let painting = false;
    const paint = (event) => {
      const box = this.pad.getBoundingClientRect(), [height, width] = this.preparation.size;
      const x = ((event.clientX - box.left) / box.width) * width - 0.5, y = ((event.clientY - box.top) / box.height) * height - 0.5;
      const level = Number(this.brush.value), reach = Math.max(0.75, 0.06 * width);
      for (let i = 0; i < height; i++)
        for (let j = 0; j < width; j++) {
          const cover = Math.max(0, Math.min(1, reach + 0.5 - Math.hypot(i - y, j - x)));
          this.levels[i * width + j] += cover * (level - this.levels[i * width + j]);
        }
      this.paintPad();
      this.attempt(() => this.show(normed(this.levels, this.preparation), "Painted"));
    };
    this.pad.addEventListener("pointerdown", (event) => {
      painting = true;
      this.pad.setPointerCapture(event.pointerId);
      paint(event);
    });
    this.pad.addEventListener("pointermove", (event) => painting && paint(event));
    for (const end of ["pointerup", "pointercancel"]) this.pad.addEventListener(end, () => (painting = false));
  }

  clearPad() {
    this.levels = this.levels.map(() => 0);
    this.paintPad();
    this.clear();
  }

  paintPad() {
    const grey = Uint8Array.from(this.levels, (v) => Math.round(255 * Math.min(1, v)));
    this.pad.getContext("2d").drawImage(pictureCanvas(grey, this.pad.width, this.pad.height, ""), 0, 0);
  }

  attempt(action) {
    try {
      action();
    } catch (error) {
      this.fail(error.message);
    }
  }

  fail(message) {
    this.clear();
    this.result.hidden = false;
    this.result.replaceChildren(make("p", { class: "wrong" }, message));
  }

  clear() {
    this.result.hidden = true;
    this.last = this.stage.live = null;
    this.stage.refresh();
  }

  show(x, source = "") {
    const { model, stage } = this, { points } = stage;
    const { place, votes, code, radius } = model.tell(x);
    const neighbors = points.neighbors(place, 8);
    this.last = { x: Array.from(x), place: Array.from(place), code, radius, neighbors };
    stage.live = { place, code, neighbors: neighbors.slice(0, 4) };
    stage.refresh();
    const told = code === null
      ? [make("p", { class: "quiet" }, "This classifier is not computed in the page; see where the sample lands.")]
      : [make("p", { class: "row" }, swatch(stage, code), make("strong", {}, `Predicted ${points.className(code)}`)),
        ...(votes.length > 1 ? [make("p", { class: "quiet" }, voteWords(votes, code, points))] : []),
        make("p", { class: "quiet" }, radiusWords(radius))];
    this.result.hidden = false;
    this.result.replaceChildren(
      ...(source ? [make("p", { class: "quiet" }, source)] : []), ...told,
      make("p", { class: "sub" }, "Nearest training samples, by distance in the embedding"),
      neighborList(stage, neighbors),
    );
  }
}

function voteWords(votes, code, points) {
  const loyal = votes.filter((vote) => vote === code).length;
  const drawn = votes[0] === code ? "" : ` The map drawn says ${points.className(votes[0])}.`;
  return `${loyal} of ${votes.length} maps say so.${drawn}`;
}

function radiusWords(radius) {
  if (radius === Infinity) return "No change of the sample can change this label.";
  if (radius === 0) return "Certified radius 0: nothing is certain here.";
  return `Certified radius ${number(radius)}: no smaller change of the sample changes this label.`;
}

// What a browser does otherwise than Python, where the file tells.
async function caution(file) {
  const head = new Uint8Array(await file.slice(0, 26).arrayBuffer());
  const isPng = [137, 80, 78, 71].every((byte, k) => head[k] === byte);
  return isPng && head[24] === 16 ? "It has 16 bits; the browser keeps 8" : "";
}
