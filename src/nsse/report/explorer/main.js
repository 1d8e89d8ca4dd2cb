// The page comes to life: data decoded, stage and panels built, controls bound.

const get = (id) => document.getElementById(id);

function chooseTheme(stage, theme) {
  document.documentElement.dataset.theme = theme;
  get("theme").textContent = theme === "dark" ? "Light" : "Dark";
  if (!stage) return;
  stage.readTheme();
  buildLegend(stage);
}

function showTip(stage, i, x, y) {
  const tip = get("tip");
  tip.hidden = i < 0;
  if (i < 0) return;
  if (tip.dataset.point !== String(i)) {
    tip.replaceChildren(...describe(stage, i, true));
    tip.dataset.point = String(i);
  }
  const { offsetWidth: wide, offsetHeight: high } = tip;
  tip.style.left = `${x + 18 + wide > stage.width ? Math.max(4, x - wide - 18) : x + 18}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 14, stage.height - high - 6))}px`;
}

function bindViews(stage) {
  const { points, view } = stage;
  const buttons = [...document.querySelectorAll("[data-view]")];
  const axisSelect = (place) => {
    const select = make("select", { "aria-label": `Axis ${"xyz"[place]}` },
      ...allOf(points.d).map((k) => make("option", { value: String(k), selected: view.axes[place] === k }, `axis ${k + 1}`)));
    select.addEventListener("change", () => {
      const axes = [...view.axes];
      axes[place] = Number(select.value);
      stage.setView(view.mode, axes);
    });
    return select;
  };
  const hints = {
    all: "A linear view of all dimensions: the least-squares map that sends training samples to their class’s corner.",
    "2d": "Two coordinates of the embedding, to the same scale.",
    "3d": "Three coordinates. Drag to turn, with shift to move.",
  };
  const show = (mode) => {
    if (mode !== view.mode) stage.setView(mode);
    buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.view === mode)));
    get("axes").replaceChildren(...(mode === "all" ? [] : allOf(Math.min(points.d, mode === "3d" ? 3 : 2)).map(axisSelect)));
    get("hint").textContent = `${hints[mode]} Scroll to zoom, drag to move, double-click to reset.`.replace(mode === "3d" ? "drag to move, " : "\0", "");
  };
  for (const button of buttons) {
    button.hidden = button.dataset.view === "3d" && points.d < 3;
    button.addEventListener("click", () => show(button.dataset.view));
  }
  show(view.mode);
}

function bindSearch(stage) {
  const run = () => {
    const found = search(stage.points, get("query").value);
    stage.filter.strong = found;
    get("found").textContent = found ? `${found.size} found` : "";
    stage.remark();
    return found;
  };
  get("query").addEventListener("input", run);
  get("search").addEventListener("submit", (event) => {
    event.preventDefault();
    const found = run();
    if (found && found.size) stage.select(found.values().next().value);
  });
}

async function main() {
  const wanted = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  chooseTheme(null, wanted);
  const data = await decoded(JSON.parse(get("data").textContent));
  const points = new Points(data);
  const stage = new Stage(points, {
    hover: (i, x, y) => showTip(stage, i, x, y),
    select: (i, neighbors) => showSample(stage, i, neighbors),
  });
  if (stage.scatter.name !== "WebGL") {
    get("stage-note").hidden = false;
    get("stage-note").textContent = "This browser has no WebGL: points are drawn more slowly.";
  }
  get("theme").addEventListener("click", () => chooseTheme(stage, stage.dark ? "light" : "dark"));
  get("reset").addEventListener("click", () => stage.home());
  get("notes").replaceChildren(...data.notes.map((text) => make("li", {}, text)));
  buildLegend(stage);
  bindViews(stage);
  bindSearch(stage);
  buildConfusion(stage);
  buildRadii(points);
  buildTrace(points);
  const live = data.live ? new Live(stage, data.live) : null;
  if (!live && data.without_live) get("notes").append(make("li", {}, `The map itself is not in this page. ${data.without_live}`));
  // For scripts and tests: what is drawn, and the objects behind it.
  window.nsse = { points, stage, live, ready: true };
}

main().catch((error) => {
  get("stage-note").hidden = false;
  get("stage-note").textContent = `This report cannot be shown: ${error.message}`;
  throw error;
});
