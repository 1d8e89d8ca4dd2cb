// Elements of the page: found, or made; text is always text, never markup.

/** @type {(id: string) => HTMLElement} */
export function get(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`The page has no element “${id}”.`);
  return element;
}

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} properties
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name in element && typeof value !== "string") Object.assign(element, { [name]: value });
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** @param {string} words */
export const paragraph = (words, kind = "quiet") => make("p", { class: kind }, words);

/** @type {(properties: Record<string, any>, ...children: (Node | string)[]) => HTMLButtonElement} */
export const makeButton = (properties, ...children) =>
  make("button", { type: "button", ...properties }, ...children);

// A part of a drawing in SVG.
/** @type {(tag: string, attributes: Record<string, string | number>, text?: string) => SVGElement} */
export function draw(tag, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  if (text !== undefined) element.textContent = text;
  return /** @type {SVGElement} */ (element);
}

/** @param {HTMLCanvasElement} canvas @param {CanvasRenderingContext2DSettings} [options] */
export function brushOf(canvas, options) {
  const context = canvas.getContext("2d", options);
  if (!context) throw new Error("This browser cannot draw on a canvas.");
  return context;
}
