// Panels: legend, search, the sample in view, confusion matrix, radii and the trace.

const number = (v) => (v === Infinity ? "∞" : v === 0 ? "0" : Math.abs(v) < 1e-3 || Math.abs(v) >= 1e5 ? v.toExponential(2) : String(Number(v.toPrecision(4))));
const percent = (v) => `${(100 * v).toFixed(1)} %`;

// The mark of a class as it is drawn on the stage.
function swatch(stage, code) {
  const svg = draw("svg", { viewBox: "-10 -10 20 20", class: "swatch", "aria-hidden": "true" });
  const shapes = [
    "M-8 0a8 8 0 1 0 16 0a8 8 0 1 0 -16 0", "M-7-7H7V7H-7Z", "M0-8L8 7H-8Z", "M0-9L9 0L0 9L-9 0Z",
    "M0 8L8-7H-8Z", "M-3-8H3V-3H8V3H3V8H-3V3H-8V-3H-3Z",
  ];
  const shape = shapes[Math.floor(code / N_HUES) % N_SHAPES];
  svg.append(draw("path", { d: shape, fill: stage.hueOf(code) }));
  return svg;
}

function chip(content, pressed, toggle) {
  const button = make("button", { type: "button", class: "chip", "aria-pressed": String(pressed) }, ...content);
  button.addEventListener("click", (event) => {
    const now = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(now));
    toggle(now, event);
  });
  return button;
}

function buildLegend(stage) {
  const { points, filter } = stage;
  const counts = new Array(points.data.classes.length).fill(0);
  points.shown.forEach((code) => counts[code]++);
  const toggled = (set, key) => (on) => {
    if (on) set.delete(key);
    else set.add(key);
    stage.remark();
  };
  document.getElementById("classes").replaceChildren(
    ...points.data.classes.map((name, code) =>
      chip([swatch(stage, code), name, make("small", {}, String(counts[code]))], !filter.hiddenClasses.has(code),
        toggled(filter.hiddenClasses, code))),
    make("button", { type: "button", class: "chip", id: "no-class", onclick: () => {
      const all = filter.hiddenClasses.size === 0;
      points.data.classes.forEach((_, code) => (all ? filter.hiddenClasses.add(code) : filter.hiddenClasses.delete(code)));
      stage.remark();
      buildLegend(stage);
    } }, filter.hiddenClasses.size ? "Show all" : "Hide all"),
  );
  const kinds = [["Training, outlined", TRAINING], ["Test, plain", TEST], ["Test, mislabelled", WRONG]];
  const present = [0, 0, 0];
  for (let i = 0; i < points.n; i++) present[stage.kindOf(i)]++;
  document.getElementById("kinds").replaceChildren(
    ...kinds.filter(([, kind]) => present[kind]).map(([name, kind]) =>
      chip([name, make("small", {}, String(present[kind]))], !filter.hiddenKinds.has(kind), toggled(filter.hiddenKinds, kind))),
  );
}

// Points by class name, by row ("12", "test 12", "training 12") or by a part of their name.
function search(points, query) {
  const wanted = query.trim().toLowerCase();
  if (!wanted) return null;
  const code = points.data.classes.findIndex((name) => name.toLowerCase() === wanted.replace(/^class\s+/, ""));
  const row = wanted.match(/^(?:(test|training|train)\s+)?(?:row\s+)?(\d+)$/);
  const byRow = row && !(code >= 0 && !row[1] && !wanted.includes("row"));
  const found = new Set();
  for (let i = 0; i < points.n; i++) {
    if (byRow) {
      const side = !row[1] || (row[1] === "test") === points.isTest(i);
      if (side && points.row(i) === Number(row[2])) found.add(i);
    } else if (code >= 0 ? points.shown[i] === code : points.title(i).toLowerCase().includes(wanted)) found.add(i);
  }
  return found;
}

// Picture (or the first columns) and what is said about a sample.
function describe(stage, i, short_) {
  const { points } = stage, parts = [];
  const grey = points.picture(i), { pictures } = points.data;
  if (grey) parts.push(pictureCanvas(grey, pictures.width, pictures.height, points.title(i)));
  const lines = make("div", {}, make("p", { class: "name" }, points.title(i)));
  const label = points.codes[i] === UNKNOWN ? null : points.className(points.codes[i]);
  const said = points.className(points.predicted[i]);
  if (label === null) lines.append(make("p", {}, `Predicted ${said}`));
  else lines.append(make("p", {}, `Class ${label}`));
  if (points.isWrong(i)) lines.append(make("p", { class: "wrong" }, `Predicted ${said}`));
  else if (points.isTest(i) && label !== null) lines.append(make("p", { class: "quiet" }, "Predicted right"));
  const radius = points.radius(i);
  if (radius !== null) lines.append(make("p", { class: "quiet" }, `Certified radius ${number(radius)}`));
  if (short_ && !grey) {
    for (const [name, value] of (points.rowValues(i) || []).slice(0, 6))
      lines.append(make("p", { class: "quiet" }, `${name}: ${number(value)}`));
  }
  parts.push(lines);
  return parts;
}

function valuesTable(points, i) {
  const values = points.rowValues(i);
  if (!values) return [];
  const rows = values.map(([name, value]) => make("tr", {}, make("td", {}, name), make("td", {}, number(value))));
  const { n_columns: all } = points.data.rows;
  const more = all > values.length ? [make("p", { class: "quiet" }, `The first ${values.length} of ${all} columns.`)] : [];
  return [make("div", { class: "scroll" }, make("table", { class: "values" }, make("tbody", {}, ...rows))), ...more];
}

function neighborList(stage, neighbors) {
  const { points } = stage, { pictures } = points.data;
  return make("ol", { class: "neighbors" }, ...neighbors.map(({ i, distance }) => {
    const grey = points.picture(i);
    const shown = grey ? [pictureCanvas(grey, pictures.width, pictures.height, points.title(i))] : [];
    return make("li", {}, make("button", { type: "button", title: points.title(i), onclick: () => stage.select(i) },
      ...shown, points.className(points.shown[i]), make("small", {}, `row ${points.row(i)}`), make("small", {}, number(distance))));
  }));
}

function showSample(stage, i, neighbors) {
  const body = document.getElementById("sample-body");
  if (i < 0) return body.replaceChildren(make("p", { class: "quiet" }, "Point at a sample to see it. Click one to find its nearest training samples."));
  body.replaceChildren(
    make("div", { class: "sample-head" }, ...describe(stage, i, false)),
    ...valuesTable(stage.points, i),
    make("p", { class: "sub" }, "Nearest training samples, by distance in the embedding"),
    neighborList(stage, neighbors),
  );
}

function buildConfusion(stage) {
  const { points } = stage, { classes, labelled } = points.data;
  if (!labelled || !points.nTest) return;
  document.getElementById("confusion").hidden = false;
  document.getElementById("confusion").classList.toggle("wide", classes.length > 14);
  const cells = new Map();
  for (let i = points.nTrain; i < points.n; i++) {
    const key = `${points.codes[i]},${points.predicted[i]}`;
    if (!cells.has(key)) cells.set(key, []);
    cells.get(key).push(i);
  }
  const body = document.getElementById("confusion-body");
  const choose = (button, members) => {
    const on = button.getAttribute("aria-pressed") !== "true";
    body.querySelectorAll("[aria-pressed]").forEach((other) => other.setAttribute("aria-pressed", "false"));
    button.setAttribute("aria-pressed", String(on));
    stage.filter.strong = on ? new Set(members) : null;
    stage.remark();
  };
  const intro = make("p", { class: "quiet" }, "Rows are the classes of the test samples, columns what was predicted. Click a cell to see its samples in the embedding.");
  body.replaceChildren(intro, classes.length <= 40 ? confusionTable(classes, cells, choose) : confusionList(classes, cells, choose));
}

function confusionTable(classes, cells, choose) {
  const totals = classes.map((_, r) => classes.reduce((sum, __, c) => sum + (cells.get(`${r},${c}`) || []).length, 0));
  const head = make("tr", {}, make("th", {}), ...classes.map((name) => make("th", { scope: "col", title: name }, clipped(name, 20))));
  const rows = classes.map((name, r) => make("tr", {}, make("th", { scope: "row", title: name }, clipped(name, 20)),
    ...classes.map((other, c) => {
      const members = cells.get(`${r},${c}`);
      if (!members) return make("td", {}, make("button", { type: "button", class: "none", disabled: true, "aria-label": "0" }));
      const share = members.length / totals[r];
      const button = make("button", { type: "button", "aria-pressed": "false", "data-cell": `${r},${c}`,
        title: `${name} predicted as ${other}: ${members.length}` }, String(members.length));
      button.style.setProperty("--tint", r === c ? "var(--heat)" : "var(--wrong)");
      button.style.setProperty("--strength", r === c ? 0.08 + 0.32 * share : 0.18 + 0.6 * Math.min(1, 3 * share));
      button.addEventListener("click", () => choose(button, members));
      return make("td", {}, button);
    })));
  const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
  const small_ = classes.length > 14 ? " small" : "", tall = classes.some((name) => name.length > 3) ? " tall" : "";
  return make("div", { class: `matrix${small_}${tall}` }, table);
}

// Too many classes for a matrix: the pairs that are confused most.
function confusionList(classes, cells, choose) {
  const pairs = [...cells].map(([key, members]) => [...key.split(",").map(Number), members]).filter(([r, c]) => r !== c);
  pairs.sort((a, b) => b[2].length - a[2].length);
  return make("div", { class: "chips" }, ...pairs.slice(0, 30).map(([r, c, members]) => {
    const button = make("button", { type: "button", class: "chip", "aria-pressed": "false", "data-cell": `${r},${c}` },
      `${classes[r]} → ${classes[c]}`, make("small", {}, String(members.length)));
    button.addEventListener("click", () => choose(button, members));
    return button;
  }));
}
