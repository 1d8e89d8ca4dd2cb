// Charts: small, in SVG, in the colours of the page. Elements are made by `make`, text is always text.

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function draw(tag, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// Few round numbers between two others.
function ticks(low, high, count = 4) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) out.push(k * step);
  return out;
}

function powersOfTen(low, high) {
  const out = [];
  for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); k++) out.push(10 ** k);
  const inside = out.filter((v) => v >= low && v <= high);
  return inside.length > 1 ? inside : ticks(low, high, 3).filter((v) => v > 0);
}

const short = (v) => {
  if (v === 0) return "0";
  const size = Math.abs(v);
  if (size >= 1e5 || size < 1e-3) return v.toExponential(1).replace("e+", "e").replace(".0e", "e");
  return String(Number(v.toPrecision(3)));
};

const CHART = { width: 420, height: 220, left: 52, right: 14, top: 12, bottom: 42 };

// Axes with few lines; `plot` receives the svg and the functions from values to pixels.
function chart(title, { x, y, xLabel, yLabel, logY = false, xTicks, yTicks }, plot) {
  const { width, height, left, right, top, bottom } = CHART;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title, class: "chart" });
  const share = (v, [low, high]) => (high > low ? (v - low) / (high - low) : 0.5);
  const log = (range) => range.map(Math.log);
  const toX = (v) => left + share(v, x) * (width - left - right);
  const toY = (v) => height - bottom - (logY ? share(Math.log(v), log(y)) : share(v, y)) * (height - top - bottom);
  for (const v of yTicks || (logY ? powersOfTen(...y) : ticks(...y))) {
    svg.append(draw("line", { x1: left, x2: width - right, y1: toY(v), y2: toY(v), class: "grid" }));
    svg.append(draw("text", { x: left - 8, y: toY(v) + 4, class: "tick end" }, short(v)));
  }
  for (const v of xTicks || ticks(...x, 5))
    svg.append(draw("text", { x: toX(v), y: height - bottom + 18, class: "tick middle" }, short(v)));
  svg.append(draw("text", { x: (left + width - right) / 2, y: height - 6, class: "label middle" }, xLabel));
  const turned = `rotate(-90 12 ${(top + height - bottom) / 2})`;
  svg.append(draw("text", { x: 12, y: (top + height - bottom) / 2, transform: turned, class: "label middle" }, yLabel));
  plot(svg, toX, toY);
  return make("figure", {}, make("h3", {}, title), svg);
}

function line(svg, xs, ys, toX, toY, kind = "line") {
  const path = xs.map((x, k) => `${k ? "L" : "M"}${toX(x).toFixed(1)} ${toY(ys[k]).toFixed(1)}`).join("");
  svg.append(draw("path", { d: path, class: kind }));
}

function dots(svg, xs, ys, toX, toY, names, kind = "dot") {
  xs.forEach((x, k) => {
    const dot = draw("circle", { cx: toX(x), cy: toY(ys[k]), r: 3.2, class: kind });
    dot.append(draw("title", {}, names[k]));
    svg.append(dot);
  });
}

const rangeOf = (values, margin = 0.06) => {
  const low = smallest(values), high = -smallest(values.map((v) => -v));
  const room = (high - low || Math.abs(high) || 1) * margin;
  return [low - room, high + room];
};

// A picture of a sample, one canvas pixel per pixel.
function pictureCanvas(grey, width, height, name) {
  const canvas = make("canvas", { class: "picture", role: "img", "aria-label": name });
  canvas.width = width;
  canvas.height = height;
  const image = new ImageData(width, height);
  grey.forEach((v, k) => image.data.set([v, v, v, 255], 4 * k));
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}
