// Decode the data, build the stage and the panels, and connect the controls.

import { allOf, get, make } from "./basics.js";
import { buildPanels } from "./charts.js";
import { Points, decoded } from "./data.js";
import { Live } from "./live.js";
import { buildConfusion, buildLegend, search, showSample, tipOf } from "./panels.js";
import { Stage } from "./stage.js";

const MOVES = "Scroll to zoom, drag to move, double-click to reset.";
const HINTS = {
  all: "Class map: a sample near a corner surely belongs to that class, and a sample near the middle is "
    + `uncertain. Classes that are often confused are neighbors. ${MOVES}`,
  line: "Class map: a sample at the left or right end surely belongs to that class. The vertical position "
    + `has no meaning. It separates the samples of a class. ${MOVES}`,
  "2d": `Two coordinates of the embedding, to the same scale. ${MOVES}`,
  "3d": "Three coordinates. Drag to turn, with shift to move. Scroll to zoom, double-click to reset.",
};

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  get("theme").textContent = theme === "dark" ? "Light" : "Dark";
}

function showTip(stage, i, x, y) {
  const tip = get("tip");
  if ((tip.hidden = i < 0)) return;
  if (tip.dataset.point !== String(i)) tip.replaceChildren(...tipOf(stage.points, i));
  tip.dataset.point = String(i);
  const { offsetWidth: wide, offsetHeight: high } = tip;
  tip.style.left = `${x + 18 + wide > stage.width ? Math.max(4, x - wide - 18) : x + 18}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 14, stage.height - high - 6))}px`;
}

function axisSelect(stage, place) {
  const { points, view } = stage;
  const select = make("select", { "aria-label": `Axis ${"xyz"[place]}`, onchange: () =>
    stage.setView(view.mode, view.axes.map((axis, k) => (k === place ? Number(select.value) : axis))) },
  ...allOf(points.d).map((k) => make("option", { value: String(k), selected: view.axes[place] === k },
    `axis ${k + 1}`)));
  return select;
}

function bindViews(stage) {
  const { points, view } = stage;
  const buttons = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-view]")]);
  const show = (mode) => {
    if (mode !== view.mode) stage.setView(mode);
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.view === mode));
    const nAxes = { all: 0, "2d": 2, "3d": 3 }[mode];
    get("axes").replaceChildren(...allOf(nAxes).map((place) => axisSelect(stage, place)));
    get("hint").textContent = HINTS[mode === "all" && points.data.polygon.bands ? "line" : mode];
  };
  for (const button of buttons) {
    button.hidden = points.d === 1 || (button.dataset.view === "3d" && points.d < 3);
    button.addEventListener("click", () => show(button.dataset.view));
  }
  show(view.mode);
}

function bindSearch(stage) {
  const query = get("query");
  const run = () => {
    const found = stage.filter.strong = search(stage.points, query.value);
    get("found").textContent = found ? `${found.size} found` : "";
    stage.remark();
    return found;
  };
  query.addEventListener("input", run);
  get("search").addEventListener("submit", (event) => {
    event.preventDefault();
    const [first] = run() || [];
    if (first !== undefined) stage.select(first);
  });
}

async function main() {
  setTheme(window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const data = await decoded(JSON.parse(get("data").textContent || "")), points = new Points(data);
  const stage = new Stage(points, {
    hover: (i, x, y) => showTip(stage, i, x, y), select: (i, neighbors) => showSample(stage, i, neighbors) });
  get("theme").addEventListener("click", () => {
    setTheme(stage.dark ? "light" : "dark");
    stage.readTheme();
    buildLegend(stage);
  });
  get("reset").addEventListener("click", () => stage.home());
  for (const build of [buildLegend, bindViews, bindSearch, buildConfusion]) build(stage);
  buildPanels(points);
  const wrong = allOf(points.n).find((i) => points.isWrong(i)) ?? points.nTrain;
  if (points.nTest) stage.select(wrong);
  else showSample(stage, -1, []);
  const live = data.live ? new Live(stage, data.live) : null;
  const without = data.without_live ? [`The map itself is not in this page. ${data.without_live}`] : [];
  get("notes").replaceChildren(...[...data.notes, ...without].map((text) => make("li", {}, text)));
  // Scripts and tests use these objects.
  window.nsse = { points, stage, live, ready: true };
}

main().catch((error) => {
  Object.assign(get("stage-note"), { hidden: false, textContent: `No report: ${error.message}` });
  throw error;
});
