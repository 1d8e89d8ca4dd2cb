// The stage: which points are shown and selected, and how the reader moves the view.

import { allOf, channels, cssColor, get, lighter } from "./basics.js";
import { drawOverlay } from "./overlay.js";
import { KINDS, N_HUES, SHAPES, STATES, Scatter } from "./scatter.js";
import { View } from "./view.js";

const MOVED = 4000; // points that are drawn while the view moves, at most
const STEPS = { ArrowLeft: [30, 0], ArrowRight: [-30, 0], ArrowUp: [0, 30], ArrowDown: [0, -30] };

export class Stage {
  width = 0; height = 0; ratio = 1;
  hovered = -1; selected = -1; neighbors = [];
  waiting = false; isStale = true; inMotion = false; resting = 0;
  names = []; hues = [[0, 0, 0]];
  /** @type {any} */
  live = null;
  /** @type {{ hiddenClasses: Set<number>, hiddenKinds: Set<number>, strong: Set<number> | null }} */
  filter = { hiddenClasses: new Set(), hiddenKinds: new Set(), strong: null };
  drawn = { training: 0, test: 0, mislabelled: 0, unlabelled: 0, total: 0 };

  /** @param {Points} points */
  constructor(points, listeners) {
    this.points = points;
    this.listeners = listeners;
    this.box = get("stage");
    this.canvas = get("points");
    this.overlay = get("overlay");
    this.every = Math.ceil(points.n / MOVED); // one of so many points is drawn while the view moves
    this.view = new View(points);
    this.scatter = new Scatter(this.canvas);
    this.marks = new Uint8Array(4 * points.n);
    this.screen = new Float32Array(3 * points.n); // x, y and depth of every point, as drawn last
    this.order = Uint32Array.from(allOf(points.n));
    this.readTheme();
    this.remark();
    this.resize();
    listen(this);
    new ResizeObserver(() => this.resize()).observe(this.box);
  }

  kindOf(i) {
    if (!this.points.isTest(i)) return this.points.certainty(i) ? KINDS.unlabelled : KINDS.training;
    return this.points.isWrong(i) ? KINDS.mislabelled : KINDS.test;
  }

  isShown(i) { return this.marks[4 * i + 3] !== STATES.hidden; }

  // Marks of all points. Classes determine hue and shape, and the filter determines the state.
  remark() {
    const { points, marks, filter } = this, counts = [0, 0, 0, 0];
    for (let i = 0; i < points.n; i++) {
      const code = points.shown[i], kind = this.kindOf(i);
      const hidden = filter.hiddenClasses.has(code) || filter.hiddenKinds.has(kind);
      const chosen = !filter.strong ? STATES.normal : filter.strong.has(i) ? STATES.strong : STATES.dimmed;
      const shape = Math.floor(code / N_HUES) % SHAPES.length;
      marks.set([code % N_HUES, shape, kind, hidden ? STATES.hidden : chosen], 4 * i);
      if (!hidden) counts[kind]++;
    }
    const [training, test, mislabelled, unlabelled] = counts, total = counts.reduce((a, b) => a + b);
    this.drawn = { training, test, mislabelled, unlabelled, total };
    this.refresh();
  }

  setView(mode, axes = this.view.axes) {
    this.view.choose(mode, axes);
    this.order.sort((a, b) => a - b);
    this.refresh();
  }

  readTheme() {
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(name).trim();
    this.paper = channels(color("--paper"));
    this.ink = channels(color("--ink"));
    this.muted = color("--muted");
    this.faint = color("--faint");
    this.dark = color("--is-dark") === "1";
    this.hues = this.points.data.hues.map((hue) => (this.dark ? lighter(channels(hue)) : channels(hue)));
    this.refresh();
  }

  channelsOf(code) { return this.hues[code % N_HUES]; }
  hueOf(code) { return cssColor(this.channelsOf(code)); }

  resize() {
    this.ratio = window.devicePixelRatio || 1;
    ({ width: this.width, height: this.height } = this.box.getBoundingClientRect());
    for (const canvas of [this.canvas, this.overlay]) {
      canvas.width = Math.max(1, Math.round(this.width * this.ratio));
      canvas.height = Math.max(1, Math.round(this.height * this.ratio));
    }
    this.refresh();
  }

  // If the points have not moved, only the layer above them is drawn.
  refresh(isMoved = true) {
    this.isStale ||= isMoved;
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => this.draw());
  }

  // While the view moves, only some of many points are drawn.
  moving() {
    this.inMotion = true;
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.refresh(!(this.inMotion = false)), 200);
    this.refresh();
  }

  draw() {
    const { view, width, height, ratio, screen, order } = this;
    this.waiting = false;
    if (!width) return;
    const rotation = view.rotation, isDeep = view.mode === "3d";
    const at = (place) => view.toScreen(place, width, height, rotation);
    const calm = Math.max(3.2, 17 - 2.75 * Math.log10(this.points.n + 1)) * Math.min(1, width / 520 + 0.35);
    const look = { ratio, size: Math.min(16, calm * view.zoom ** 0.3), hues: this.hues, ink: this.ink,
      reach: isDeep ? view.reach : 0, every: this.inMotion ? this.every : 1,
      // Many outlines and rings would hide the points.
      outline: this.points.nTrain > 5000 ? 0.25 : 0.85,
      ring: Math.max(0.2, Math.min(1, 400 / (this.drawn.mislabelled + 1))) };
    if (this.isStale) {
      for (let i = 0; i < screen.length; i += 3) screen.set(at(view.positions.subarray(i, i + 3)), i);
      if (isDeep) order.sort((a, b) => screen[3 * a + 2] - screen[3 * b + 2]);
      this.scatter.draw(screen, this.marks, order, look);
    }
    drawOverlay(this, at);
    this.isStale = false;
  }

  screenOf(i) { return [...this.screen.subarray(3 * i, 3 * i + 3)]; }

  // The visible point nearest to a place on the screen, at most 14 pixels away; test points first.
  pick(x, y) {
    let best = -1, least = 14 ** 2;
    for (let i = this.points.n - 1; i >= 0; i--) {
      const away = (this.screen[3 * i] - x) ** 2 + (this.screen[3 * i + 1] - y) ** 2;
      if (away < least && this.isShown(i)) [best, least] = [i, away];
    }
    return best;
  }

  // The next visible point, for readers without a pointer.
  step(by) {
    const n = this.points.n, from = this.selected < 0 && by < 0 ? n : this.selected;
    const next = allOf(n).map((k) => (from + by * (k + 1) + n) % n).find((i) => this.isShown(i));
    if (next !== undefined) this.select(next);
  }

  home() { this.view.home(); this.refresh(); }

  hover(i, x, y) {
    if (i !== this.hovered) this.refresh(false);
    this.hovered = i;
    this.listeners.hover(i, x, y);
  }

  select(i) {
    this.selected = i;
    this.neighbors = i < 0 ? [] : this.points.neighbors(this.points.place(i), 8, i);
    this.listeners.select(i, this.neighbors);
    this.refresh(false);
  }
}

// Handle pointers, fingers, the wheel and keys.
function listen(stage) {
  const { overlay, view } = stage, fingers = new Map(); // pointers that are down, by their id
  let last = null, moved = 0;
  const at = (event) => [event.offsetX, event.offsetY];
  const release = (event) => {
    fingers.delete(event.pointerId);
    [last = null] = fingers.values();
  };
  const heard = {
    pointerdown: (event) => {
      overlay.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, (last = at(event)));
      moved = fingers.size > 1 ? Infinity : 0;
    },
    pointermove: (event) => {
      const [x, y] = at(event);
      if (!last) return stage.hover(stage.pick(x, y), x, y);
      if (fingers.size === 2) return pinch(stage, fingers, event.pointerId, [x, y]);
      const [dx, dy] = [x - last[0], y - last[1]];
      moved += Math.abs(dx) + Math.abs(dy);
      if (view.mode === "3d" && !event.shiftKey && event.buttons !== 2) view.rotate(dx, dy);
      else view.pan(dx, dy, stage.width, stage.height);
      last = [x, y];
      stage.moving();
    },
    pointerup: (event) => {
      if (last && moved < 5) stage.select(stage.pick(...at(event)));
      release(event);
    },
    pointercancel: release,
    pointerleave: () => stage.hover(-1, 0, 0),
    contextmenu: (event) => event.preventDefault(),
    dblclick: () => stage.home(),
    wheel: (event) => {
      event.preventDefault();
      view.zoomAt(Math.exp(-event.deltaY * 0.0015), at(event), stage.width, stage.height);
      stage.moving();
    },
    keydown: (event) => press(stage, event),
  };
  for (const [name, action] of Object.entries(heard))
    overlay.addEventListener(name, action, { passive: false });
}

// Two fingers zoom around their middle by the change of their distance.
function pinch(stage, fingers, id, place) {
  const apart = () => {
    const [[a, b], [c, d]] = fingers.values();
    return [Math.hypot(a - c, b - d) || 1, (a + c) / 2, (b + d) / 2];
  };
  const [before] = apart();
  fingers.set(id, place);
  const [after, ...middle] = apart();
  stage.view.zoomAt(after / before, middle, stage.width, stage.height);
  stage.moving();
}

function press(stage, event) {
  const { view, width, height } = stage, step = STEPS[event.key], middle = [width / 2, height / 2];
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (step && view.mode === "3d") view.rotate(-step[0], -step[1]);
  else if (step) view.pan(step[0], step[1], width, height);
  else if (event.key === "+" || event.key === "=") view.zoomAt(1.25, middle, width, height);
  else if (event.key === "-") view.zoomAt(0.8, middle, width, height);
  else if (event.key === "0") view.home();
  else if (event.key === "Escape") stage.select(-1);
  else if (event.key === "n" || event.key === "p") stage.step(event.key === "n" ? 1 : -1);
  else return;
  event.preventDefault();
  stage.refresh();
}
