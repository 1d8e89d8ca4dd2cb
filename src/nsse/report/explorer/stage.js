// The stage: which points are shown and how, and how a visitor moves and picks.

class Stage extends Overlay {
  constructor(points, listeners) {
    super();
    this.points = points;
    this.listeners = listeners;
    this.box = document.getElementById("stage");
    this.canvas = document.getElementById("points");
    this.overlay = document.getElementById("overlay");
    this.view = new View(points);
    this.scatter = Scatter.on(this.canvas);
    this.marks = new Uint8Array(4 * points.n);
    this.filter = { hiddenClasses: new Set(), hiddenKinds: new Set(), strong: null };
    this.hovered = -1;
    this.selected = -1;
    this.live = null;
    this.neighbors = [];
    this.frames = 0;
    this.every = 1;
    this.scatter.setPositions(this.view.positions);
    this.readTheme();
    this.remark();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.box);
    this.resize();
  }

  kindOf(i) {
    if (!this.points.isTest(i)) return TRAINING;
    return this.points.isWrong(i) ? WRONG : TEST;
  }

  // Marks of all points: hue and shape by class, kind, and state by what is chosen.
  remark() {
    const { points, marks, filter } = this;
    this.drawn = { training: 0, test: 0, mislabelled: 0, total: 0 };
    for (let i = 0; i < points.n; i++) {
      const code = points.shown[i], kind = this.kindOf(i);
      const hidden = filter.hiddenClasses.has(code) || filter.hiddenKinds.has(kind);
      const state = hidden ? HIDDEN : !filter.strong ? NORMAL : filter.strong.has(i) ? STRONG : DIMMED;
      marks.set([code % N_HUES, Math.floor(code / N_HUES) % N_SHAPES, kind, state], 4 * i);
      if (hidden) continue;
      this.drawn.total++;
      this.drawn[["training", "test", "mislabelled"][kind]]++;
    }
    this.scatter.setMarks(marks);
    this.refresh();
  }

  setView(mode, axes = this.view.axes) {
    this.view.mode = mode;
    this.view.axes = axes;
    this.view.rebuild();
    this.scatter.setPositions(this.view.positions);
    this.refresh();
  }

  readTheme() {
    const style = getComputedStyle(document.documentElement);
    const color = (name) => channels(style.getPropertyValue(name).trim());
    this.paper = color("--paper");
    this.ink = color("--ink");
    this.muted = style.getPropertyValue("--muted").trim();
    this.faint = style.getPropertyValue("--faint").trim();
    this.dark = style.getPropertyValue("--is-dark").trim() === "1";
    this.hues = this.points.data.hues.map((hue) => (this.dark ? lighter(channels(hue)) : channels(hue)));
    this.refresh();
  }

  hueOf(code) {
    return cssColor(this.hues[code % N_HUES]);
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const { width, height } = this.box.getBoundingClientRect();
    Object.assign(this, { ratio, width, height });
    for (const canvas of [this.canvas, this.overlay]) {
      canvas.width = Math.max(1, Math.round(width * ratio));
      canvas.height = Math.max(1, Math.round(height * ratio));
    }
    this.refresh();
  }

  refresh() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  // The view is being moved. Where that is slow, fewer points are drawn until it rests.
  moving() {
    const now = performance.now();
    if (this.inMotion && now - this.lastMotion < 400 && this.frames > this.framesThen) {
      const perFrame = (now - this.lastMotion) / (this.frames - this.framesThen);
      if (perFrame > 50 && this.points.n / this.every > 4000) this.every *= 2;
    }
    if (!this.inMotion || this.frames > this.framesThen) [this.lastMotion, this.framesThen] = [now, this.frames];
    this.inMotion = true;
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      this.inMotion = false;
      this.refresh();
    }, 200);
    this.refresh();
  }

  get pointSize() {
    const calm = Math.max(3.2, 17 - 2.75 * Math.log10(this.points.n + 1)) * Math.min(1, this.width / 520 + 0.35);
    return Math.min(16, calm * this.view.zoom ** 0.3);
  }

  draw() {
    const { view, width, height } = this;
    if (!width) return;
    const rotation = view.rotation;
    this.scatter.draw({
      rotation, center: view.center, scale: view.scale(width, height), width, height, ratio: this.ratio,
      size: this.pointSize, reach: view.reach, deep: view.mode === "3d", hues: this.hues, paper: this.paper,
      ink: this.ink, every: this.inMotion ? this.every : 1,
      // Many outlines and rings would hide what they are to mark.
      outline: this.points.nTrain > 5000 ? 0.25 : 0.85,
      ring: Math.max(0.2, Math.min(1, 400 / (this.drawn.mislabelled + 1))),
      toScreen: (i) => this.screenOf(i, rotation).slice(0, 2),
    });
    this.drawOverlay(rotation);
    this.frames++;
  }

  screenOf(i, rotation) {
    const p = this.view.positions;
    return this.view.toScreen(p[3 * i], p[3 * i + 1], p[3 * i + 2], this.width, this.height, rotation);
  }

  // The visible point nearest to a place on the screen, at most 14 pixels away; test points first.
  pick(x, y) {
    // `screenOf` for all points, without an array for each.
    const { marks, view: { positions: p, center: [a, b, c], rotation: [R, Q] } } = this;
    const s = this.view.scale(this.width, this.height);
    const u = (x - this.width / 2) / s, v = (this.height / 2 - y) / s;
    let best = -1, least = (14 / s) ** 2;
    for (let i = this.points.n - 1; i >= 0; i--) {
      if (marks[4 * i + 3] === HIDDEN) continue;
      const [e, f, g] = [p[3 * i] - a, p[3 * i + 1] - b, p[3 * i + 2] - c];
      const away = (R[0] * e + R[1] * f + R[2] * g - u) ** 2 + (Q[0] * e + Q[1] * f + Q[2] * g - v) ** 2;
      if (away < least) {
        best = i;
        least = away;
      }
    }
    return best;
  }

  listen() {
    const { overlay, view } = this;
    const fingers = new Map(); // pointers that are down, by their id
    let last = null, moved = 0;
    const at = (event) => {
      const box = overlay.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    overlay.addEventListener("pointerdown", (event) => {
      overlay.setPointerCapture(event.pointerId);
      last = at(event);
      fingers.set(event.pointerId, last);
      moved = fingers.size > 1 ? Infinity : 0;
    });
    overlay.addEventListener("pointermove", (event) => {
      const [x, y] = at(event);
      if (!last) return this.hover(this.pick(x, y), x, y);
      if (fingers.size === 2) return this.pinch(fingers, event.pointerId, [x, y]);
      const [dx, dy] = [x - last[0], y - last[1]];
      moved += Math.abs(dx) + Math.abs(dy);
      if (view.mode === "3d" && !event.shiftKey && event.buttons !== 2) view.rotate(dx, dy);
      else view.pan(dx, dy, this.width, this.height);
      last = [x, y];
      this.moving();
    });
    const release = (event) => {
      fingers.delete(event.pointerId);
      last = fingers.size ? [...fingers.values()][0] : null;
    };
    overlay.addEventListener("pointerup", (event) => {
      if (last && moved < 5) this.select(this.pick(...at(event)));
      release(event);
    });
    overlay.addEventListener("pointercancel", release);
    overlay.addEventListener("pointerleave", () => this.hover(-1, 0, 0));
    overlay.addEventListener("contextmenu", (event) => event.preventDefault());
    overlay.addEventListener("dblclick", () => this.home());
    overlay.addEventListener("wheel", (event) => {
      event.preventDefault();
      view.zoomAt(Math.exp(-event.deltaY * 0.0015), ...at(event), this.width, this.height);
      this.moving();
    }, { passive: false });
    overlay.addEventListener("keydown", (event) => this.key(event));
  }

  // Two fingers zoom by how far they part, about their middle.
  pinch(fingers, id, place) {
    const spread = () => {
      const [[a, b], [c, d]] = fingers.values();
      return { size: Math.hypot(a - c, b - d) || 1, middle: [(a + c) / 2, (b + d) / 2] };
    };
    const before = spread();
    fingers.set(id, place);
    const after = spread();
    this.view.zoomAt(after.size / before.size, ...after.middle, this.width, this.height);
    this.moving();
  }

  key(event) {
    const { view, width, height } = this;
    const step = { ArrowLeft: [30, 0], ArrowRight: [-30, 0], ArrowUp: [0, 30], ArrowDown: [0, -30] }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (step && view.mode === "3d") view.rotate(-step[0], -step[1]);
    else if (step) view.pan(...step, width, height);
    else if (event.key === "+" || event.key === "=") view.zoomAt(1.25, width / 2, height / 2, width, height);
    else if (event.key === "-") view.zoomAt(0.8, width / 2, height / 2, width, height);
    else if (event.key === "0") view.home();
    else if (event.key === "Escape") this.select(-1);
    else if (event.key === "n" || event.key === "p") this.step(event.key === "n" ? 1 : -1);
    else return;
    event.preventDefault();
    this.refresh();
  }

  // The next visible point, for those without a pointer.
  step(by) {
    const n = this.points.n;
    let i = this.selected < 0 ? (by > 0 ? -1 : n) : this.selected;
    for (let tried = 0; tried < n; tried++) {
      i = (i + by + n) % n;
      if (this.marks[4 * i + 3] !== HIDDEN) return this.select(i);
    }
  }

  home() {
    this.view.home();
    this.refresh();
  }

  hover(i, x, y) {
    if (i !== this.hovered) this.refresh();
    this.hovered = i;
    this.listeners.hover(i, x, y);
  }

  select(i) {
    this.selected = i;
    this.neighbors = i < 0 ? [] : this.points.neighbors(this.points.place(i), 8, i);
    this.listeners.select(i, this.neighbors);
    this.refresh();
  }
}
