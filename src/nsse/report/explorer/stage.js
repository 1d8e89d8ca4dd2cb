// The stage: which points are shown and how, and which one is picked.

import { channels, cssColor, lighter } from "./colors.js";
import { listen } from "./controls.js";
import { get } from "./elements.js";
import { drawOverlay } from "./overlay.js";
import { KINDS, N_HUES, N_SHAPES, STATES, scatterOn } from "./scatter.js";
import { View } from "./view.js";

/**
 * @typedef {(i: number, x: number, y: number) => void} HoverListener
 * @typedef {(i: number, neighbors: Neighbor[]) => void} SelectListener
 */

export class Stage {
  width = 0;
  height = 0;
  ratio = 1;
  hovered = -1;
  selected = -1;
  /** @type {Neighbor[]} */
  neighbors = [];
  /** @type {{ place: Floats, code: number | null, neighbors: Neighbor[] } | null} */
  live = null;
  frames = 0;
  every = 1;
  waiting = false;
  inMotion = false;
  lastMotion = 0;
  framesThen = 0;
  resting = 0;
  paper = [0, 0, 0];
  ink = [0, 0, 0];
  /** @type {Color[]} */
  hues = [];
  muted = "";
  faint = "";
  dark = false;
  drawn = { training: 0, test: 0, mislabelled: 0, total: 0 };
  /** @type {{ code: number, name: string, anchor: number[], box: number[] }[]} */
  names = [];
  /** @type {Map<number, number[]>} */
  nameOffsets = new Map();

  /** @param {Points} points @param {{ hover: HoverListener, select: SelectListener }} listeners */
  constructor(points, listeners) {
    this.points = points;
    this.listeners = listeners;
    this.box = get("stage");
    this.canvas = /** @type {HTMLCanvasElement} */ (get("points"));
    this.overlay = /** @type {HTMLCanvasElement} */ (get("overlay"));
    this.view = new View(points);
    this.scatter = scatterOn(this.canvas);
    this.marks = new Uint8Array(4 * points.n);
    /** @type {{ hiddenClasses: Set<number>, hiddenKinds: Set<number>, strong: Set<number> | null }} */
    this.filter = { hiddenClasses: new Set(), hiddenKinds: new Set(), strong: null };
    this.scatter.setPositions(this.view.positions);
    this.readTheme();
    this.remark();
    listen(this);
    new ResizeObserver(() => this.resize()).observe(this.box);
    this.resize();
  }

  /** @param {number} i */
  kindOf(i) {
    if (!this.points.isTest(i)) return this.points.certainty(i) ? KINDS.unlabelled : KINDS.training;
    return this.points.isWrong(i) ? KINDS.mislabelled : KINDS.test;
  }

  /** @param {number} i */
  isShown(i) {
    return this.marks[4 * i + 3] !== STATES.hidden;
  }

  // Marks of all points: hue and shape by class, kind, and state by what is chosen.
  remark() {
    const { points, marks, filter } = this, counts = [0, 0, 0];
    for (let i = 0; i < points.n; i++) {
      const code = points.shown[i], kind = this.kindOf(i);
      const hidden = filter.hiddenClasses.has(code) || filter.hiddenKinds.has(kind);
      const chosen = !filter.strong ? STATES.normal : filter.strong.has(i) ? STATES.strong : STATES.dimmed;
      const state = hidden ? STATES.hidden : chosen;
      marks.set([code % N_HUES, Math.floor(code / N_HUES) % N_SHAPES, kind, state], 4 * i);
      if (!hidden) counts[kind]++;
    }
    const [training, test, mislabelled] = counts;
    this.drawn = { training, test, mislabelled, total: training + test + mislabelled };
    this.scatter.setMarks(marks);
    this.refresh();
  }

  /** @type {(mode: View["mode"], axes?: number[]) => void} */
  setView(mode, axes = this.view.axes) {
    this.view.mode = mode;
    this.view.axes = axes;
    this.view.rebuild();
    this.scatter.setPositions(this.view.positions);
    this.refresh();
  }

  readTheme() {
    const style = getComputedStyle(document.documentElement);
    /** @param {string} name */
    const color = (name) => channels(style.getPropertyValue(name).trim());
    this.paper = color("--paper");
    this.ink = color("--ink");
    this.muted = style.getPropertyValue("--muted").trim();
    this.faint = style.getPropertyValue("--faint").trim();
    this.dark = style.getPropertyValue("--is-dark").trim() === "1";
    this.hues = this.points.data.hues.map((hue) => (this.dark ? lighter(channels(hue)) : channels(hue)));
    this.refresh();
  }

  /** @param {number} code */
  channelsOf(code) {
    return this.hues[code % N_HUES];
  }

  /** @param {number} code */
  hueOf(code) {
    return cssColor(this.channelsOf(code));
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
    if (!this.inMotion || this.frames > this.framesThen) {
      this.lastMotion = now;
      this.framesThen = this.frames;
    }
    this.inMotion = true;
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      this.inMotion = false;
      this.refresh();
    }, 200);
    this.refresh();
  }

  get pointSize() {
    const calm = Math.max(3.2, 17 - 2.75 * Math.log10(this.points.n + 1));
    return Math.min(16, calm * Math.min(1, this.width / 520 + 0.35) * this.view.zoom ** 0.3);
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
    drawOverlay(this, rotation);
    this.frames++;
  }

  /** @param {number} i */
  positionOf(i) {
    return [...this.view.positions.subarray(3 * i, 3 * i + 3)];
  }

  /** @type {(i: number, rotation?: number[][]) => Place} */
  screenOf(i, rotation) {
    return this.view.toScreen(this.positionOf(i), this.width, this.height, rotation);
  }

  // The visible point nearest to a place on the screen, at most 14 pixels away; test points first.
  /** @type {(x: number, y: number) => number} */
  pick(x, y) {
    // `screenOf` for all points, without an array for each.
    const { view: { positions: p, center: [a, b, c], rotation: [R, Q] } } = this;
    const s = this.view.scale(this.width, this.height);
    const u = (x - this.width / 2) / s, v = (this.height / 2 - y) / s;
    let best = -1, least = (14 / s) ** 2;
    for (let i = this.points.n - 1; i >= 0; i--) {
      if (!this.isShown(i)) continue;
      const [e, f, g] = [p[3 * i] - a, p[3 * i + 1] - b, p[3 * i + 2] - c];
      const away = (R[0] * e + R[1] * f + R[2] * g - u) ** 2 + (Q[0] * e + Q[1] * f + Q[2] * g - v) ** 2;
      if (away < least) {
        best = i;
        least = away;
      }
    }
    return best;
  }

  // The next visible point, for those without a pointer.
  /** @param {number} by */
  step(by) {
    const n = this.points.n;
    let i = this.selected < 0 ? (by > 0 ? -1 : n) : this.selected;
    for (let tried = 0; tried < n; tried++) {
      i = (i + by + n) % n;
      if (this.isShown(i)) return this.select(i);
    }
  }

  home() {
    this.view.home();
    this.refresh();
  }

  /** @type {HoverListener} */
  hover(i, x, y) {
    if (i !== this.hovered) this.refresh();
    this.hovered = i;
    this.listeners.hover(i, x, y);
  }

  /** @param {number} i */
  select(i) {
    this.selected = i;
    this.neighbors = i < 0 ? [] : this.points.neighbors(this.points.place(i), 8, i);
    this.listeners.select(i, this.neighbors);
    this.refresh();
  }
}
