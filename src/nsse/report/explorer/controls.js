// How a visitor moves the stage and picks: pointer, fingers, wheel and keys.

const STEPS = new Map(Object.entries(
  { ArrowLeft: [30, 0], ArrowRight: [-30, 0], ArrowUp: [0, 30], ArrowDown: [0, -30] }));

/** @param {Stage} stage */
export function listen(stage) {
  const { overlay, view } = stage;
  /** @type {Map<number, number[]>} */
  const fingers = new Map(); // pointers that are down, by their id
  /** @type {number[] | null} */
  let last = null;
  let moved = 0;
  /** @type {(event: MouseEvent) => [number, number]} */
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
    if (!last) return stage.hover(stage.pick(x, y), x, y);
    if (fingers.size === 2) return pinch(stage, fingers, event.pointerId, [x, y]);
    const [dx, dy] = [x - last[0], y - last[1]];
    moved += Math.abs(dx) + Math.abs(dy);
    if (view.mode === "3d" && !event.shiftKey && event.buttons !== 2) view.rotate(dx, dy);
    else view.pan(dx, dy, stage.width, stage.height);
    last = [x, y];
    stage.moving();
  });
  /** @param {PointerEvent} event */
  const release = (event) => {
    fingers.delete(event.pointerId);
    last = fingers.size ? [...fingers.values()][0] : null;
  };
  overlay.addEventListener("pointerup", (event) => {
    if (last && moved < 5) stage.select(stage.pick(...at(event)));
    release(event);
  });
  overlay.addEventListener("pointercancel", release);
  overlay.addEventListener("pointerleave", () => stage.hover(-1, 0, 0));
  overlay.addEventListener("contextmenu", (event) => event.preventDefault());
  overlay.addEventListener("dblclick", () => stage.home());
  overlay.addEventListener("wheel", (event) => {
    event.preventDefault();
    view.zoomAt(Math.exp(-event.deltaY * 0.0015), at(event), stage.width, stage.height);
    stage.moving();
  }, { passive: false });
  overlay.addEventListener("keydown", (event) => press(stage, event));
}

// Two fingers zoom by how far they part, about their middle.
/** @type {(stage: Stage, fingers: Map<number, number[]>, id: number, place: number[]) => void} */
function pinch(stage, fingers, id, place) {
  const spread = () => {
    const [[a, b], [c, d]] = fingers.values();
    return { size: Math.hypot(a - c, b - d) || 1, middle: [(a + c) / 2, (b + d) / 2] };
  };
  const before = spread();
  fingers.set(id, place);
  const after = spread();
  stage.view.zoomAt(after.size / before.size, after.middle, stage.width, stage.height);
  stage.moving();
}

/** @type {(stage: Stage, event: KeyboardEvent) => void} */
function press(stage, event) {
  const { view, width, height } = stage;
  const step = STEPS.get(event.key), middle = [width / 2, height / 2];
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
