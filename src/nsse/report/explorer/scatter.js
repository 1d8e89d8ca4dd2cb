// Scatter: points as marks, by WebGL, or by a plain canvas where there is none.

import { cssColor } from "./colors.js";
import { brushOf } from "./elements.js";

export const STATES = { hidden: 0, normal: 1, dimmed: 2, strong: 3 };
export const KINDS = { training: 0, test: 1, mislabelled: 2, unlabelled: 3 };
export const N_HUES = 10;
export const N_SHAPES = 6;

const VERTEX = `
attribute vec3 a_position;
attribute vec4 a_mark;               // hue, shape, kind, state
uniform mat3 u_rotation;
uniform vec3 u_center, u_paper, u_hues[${N_HUES}];
uniform vec2 u_scale;
uniform float u_size, u_depth, u_fade;
varying vec4 v_color;
varying vec2 v_shape;                // shape, kind
varying float v_size;
void main() {
  vec3 seen = u_rotation * (a_position - u_center);
  float depth = clamp(seen.z * u_depth, -1.0, 1.0);
  gl_Position = a_mark.w < 0.5 ? vec4(2.0, 2.0, 2.0, 1.0) : vec4(seen.xy * u_scale, -0.9 * depth, 1.0);
  bool dimmed = a_mark.w > 1.5 && a_mark.w < 2.5;
  vec3 hue = u_hues[int(a_mark.x + 0.5)];
  float faded = dimmed ? 0.82 : u_fade * (0.5 - 0.5 * depth);
  v_color = vec4(mix(hue, u_paper, faded), dimmed ? 0.35 : 1.0);
  v_shape = a_mark.yz;
  float kind = a_mark.z < 0.5 ? 1.0 : (a_mark.z < 1.5 ? 0.8 : (a_mark.z < 2.5 ? 1.7 : 0.9));
  v_size = max(2.0, u_size * kind * (a_mark.w > 2.5 ? 1.35 : 1.0));
  gl_PointSize = v_size;
}`;

const FRAGMENT = `
precision mediump float;
uniform vec3 u_ink;
uniform float u_outline, u_ring;
varying vec4 v_color;
varying vec2 v_shape;
varying float v_size;
float reach(vec2 p, float shape) {   // 1 on the rim of the mark
  if (shape < 0.5) return length(p);
  if (shape < 1.5) return max(abs(p.x), abs(p.y)) * 1.18;
  if (shape < 2.5) return max(abs(p.x) * 1.55 - p.y * 0.62, p.y * 1.25) * 1.0 + 0.12;
  if (shape < 3.5) return (abs(p.x) + abs(p.y)) * 0.98;
  if (shape < 4.5) return max(abs(p.x) * 1.55 + p.y * 0.62, -p.y * 1.25) * 1.0 + 0.12;
  return max(min(abs(p.x), abs(p.y)) * 2.6, max(abs(p.x), abs(p.y)) * 1.02);
}
void main() {
  vec2 p = 2.0 * gl_PointCoord - 1.0;
  float soft = 2.4 / v_size;
  vec3 color = v_color.rgb;
  float cover;
  if (v_shape.y < 0.5) {             // training: outlined
    float d = reach(p, v_shape.x);
    cover = 1.0 - smoothstep(1.0 - soft, 1.0, d);
    float rim = smoothstep(1.0 - 2.2 * soft, 1.0 - 1.2 * soft, d);
    color = mix(color, u_ink, u_outline * rim * step(0.9, v_color.a));
  } else if (v_shape.y < 1.5) {      // test: plain
    cover = 0.85 * (1.0 - smoothstep(1.0 - soft, 1.0, reach(p, v_shape.x)));
  } else if (v_shape.y > 2.5) {      // training, without a label: hollow
    float d = reach(p, v_shape.x);
    cover = smoothstep(0.62 - 2.0 * soft, 0.62 - soft, d) * (1.0 - smoothstep(1.0 - soft, 1.0, d));
  } else {                           // test, mislabelled: with a ring
    float dot_ = 1.0 - smoothstep(1.0 - 2.0 * soft, 1.0, reach(p / 0.5, v_shape.x));
    float ring = 1.0 - smoothstep(0.5 * soft, 1.1 * soft, abs(length(p) - 1.0 + 1.2 * soft));
    cover = max(dot_, ring * u_ring);
    color = mix(color, u_ink, ring * u_ring * step(0.9, v_color.a));
  }
  float alpha = cover * v_color.a;
  if (alpha < 0.02) discard;
  gl_FragColor = vec4(color * alpha, alpha);
}`;

/** @type {(canvas: HTMLCanvasElement) => GlScatter | PlainScatter} */
export function scatterOn(canvas) {
  const options = { antialias: false, premultipliedAlpha: true, alpha: true };
  const found = canvas.getContext("webgl2", options) || canvas.getContext("webgl", options);
  const gl = /** @type {WebGLRenderingContext | null} */ (found);
  if (gl) gl.getExtension("OES_element_index_uint"); // part of WebGL 2
  return gl ? new GlScatter(canvas, gl) : new PlainScatter(canvas);
}

/** @type {(gl: WebGLRenderingContext) => WebGLProgram} */
function linkedProgram(gl) {
  const program = gl.createProgram();
  /** @type {(kind: number, source: string) => void} */
  const attach = (kind, source) => {
    const shader = /** @type {WebGLShader} */ (gl.createShader(kind));
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  };
  attach(gl.VERTEX_SHADER, VERTEX);
  attach(gl.FRAGMENT_SHADER, FRAGMENT);
  gl.bindAttribLocation(program, 0, "a_position");
  gl.bindAttribLocation(program, 1, "a_mark");
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program) || "");
  return program;
}

class GlScatter {
  /** @type {Float32Array} */
  positions = new Float32Array();
  /** @type {Uint8Array} */
  marks = new Uint8Array();
  /** @type {Look | null} */
  last = null;
  /** @type {WebGLProgram | null} */
  program = null;
  /** @type {WebGLBuffer[]} */
  buffers = [];
  chosen = 0;
  name = "WebGL";

  /** @param {HTMLCanvasElement} canvas @param {WebGLRenderingContext} gl */
  constructor(canvas, gl) {
    this.canvas = canvas;
    this.gl = gl;
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this.prepare();
      this.setPositions(this.positions);
      this.setMarks(this.marks);
      if (this.last) this.draw(this.last);
    });
    this.prepare();
  }

  prepare() {
    this.program = linkedProgram(this.gl);
    this.gl.useProgram(this.program);
    this.buffers = [this.gl.createBuffer(), this.gl.createBuffer(), this.gl.createBuffer()];
    this.chosen = 0;
  }

  /** @param {string} name */
  at(name) {
    return this.program ? this.gl.getUniformLocation(this.program, name) : null;
  }

  /** @type {(place: number, values: Float32Array | Uint8Array, size: number, kind: number) => void} */
  fill(place, values, size, kind) {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[place]);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, size, kind, false, 0, 0);
  }

  /** @param {Float32Array} positions */
  setPositions(positions) {
    this.positions = positions;
    this.fill(0, positions, 3, this.gl.FLOAT);
  }

  /** @param {Uint8Array} marks */
  setMarks(marks) {
    this.marks = marks;
    this.fill(1, marks, 4, this.gl.UNSIGNED_BYTE);
  }

  /** @param {Look} look */
  draw(look) {
    const gl = this.gl, { width, height } = this.canvas;
    this.last = look;
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    if (look.deep) gl.enable(gl.DEPTH_TEST);
    else gl.disable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    const R = look.rotation;
    gl.uniformMatrix3fv(this.at("u_rotation"), false, [0, 1, 2].flatMap((k) => R.map((row) => row[k])));
    gl.uniform3fv(this.at("u_center"), look.center);
    gl.uniform2f(this.at("u_scale"), (2 * look.scale) / look.width, (2 * look.scale) / look.height);
    gl.uniform1f(this.at("u_size"), look.size * look.ratio);
    gl.uniform1f(this.at("u_depth"), 1 / look.reach);
    gl.uniform1f(this.at("u_fade"), look.deep ? 0.4 : 0);
    gl.uniform1f(this.at("u_outline"), look.outline);
    gl.uniform1f(this.at("u_ring"), look.ring);
    gl.uniform3fv(this.at("u_hues"), look.hues.flat());
    gl.uniform3fv(this.at("u_paper"), look.paper);
    gl.uniform3fv(this.at("u_ink"), look.ink);
    if (look.every === 1) return gl.drawArrays(gl.POINTS, 0, this.positions.length / 3);
    gl.drawElements(gl.POINTS, this.someOf(look.every), gl.UNSIGNED_INT, 0);
  }

  // Chooses one point in so many, in the order of all; returns how many there are.
  /** @param {number} every */
  someOf(every) {
    const gl = this.gl, count = Math.ceil(this.positions.length / 3 / every);
    if (this.chosen === every) return count;
    this.chosen = every;
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.buffers[2]);
    const rows = Uint32Array.from({ length: count }, (_, k) => k * every);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, rows, gl.STATIC_DRAW);
    return count;
  }

  // All pixels as they are drawn now: red, green, blue, alpha, from the bottom row up.
  pixels() {
    if (this.last) this.draw(this.last);
    const { width, height } = this.canvas, gl = this.gl;
    const out = new Uint8Array(4 * width * height);
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, out);
    return out;
  }
}

// The same points as discs and squares, one after the other: slow for many, and never nothing.
class PlainScatter {
  /** @type {Float32Array} */
  positions = new Float32Array();
  /** @type {Uint8Array} */
  marks = new Uint8Array();
  name = "canvas";

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.context = brushOf(canvas);
  }

  /** @param {Float32Array} positions */
  setPositions(positions) {
    this.positions = positions;
  }

  /** @param {Uint8Array} marks */
  setMarks(marks) {
    this.marks = marks;
  }

  /** @param {Look} look */
  draw(look) {
    const { context, canvas, positions, marks } = this;
    context.clearRect(0, 0, canvas.width, canvas.height);
    const hues = look.hues.map(cssColor), ink = cssColor(look.ink);
    for (let i = 0; i < positions.length / 3; i += look.every) {
      const [hue, shape, kind, state] = marks.subarray(4 * i, 4 * i + 4);
      if (state === STATES.hidden) continue;
      const [x, y] = look.toScreen(i).map((v) => v * look.ratio);
      const r = (look.ratio * look.size * (kind === KINDS.training ? 1 : 0.8)) / 2;
      context.globalAlpha = state === STATES.dimmed ? 0.12 : 0.9;
      context.fillStyle = hues[hue];
      context.strokeStyle = ink;
      context.beginPath();
      if (shape % 2) context.rect(x - r, y - r, 2 * r, 2 * r);
      else context.arc(x, y, r, 0, 7);
      if (kind === KINDS.unlabelled) {
        context.strokeStyle = hues[hue];
        context.lineWidth = r / 2;
        context.stroke();
        context.lineWidth = 1;
        continue;
      }
      context.fill();
      if (kind === KINDS.training) context.stroke();
      if (kind === KINDS.mislabelled) {
        context.beginPath();
        context.arc(x, y, 1.8 * r, 0, 7);
        context.stroke();
      }
    }
    context.globalAlpha = 1;
  }

  pixels() {
    return this.context.getImageData(0, 0, this.canvas.width, this.canvas.height).data;
  }
}
