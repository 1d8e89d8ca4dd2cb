// What the scripts share: the page's data as `page_data` (write.py) makes it, decoded, and names of classes.

type Numbers = Float32Array | Float64Array | Uint8Array | Uint16Array | Uint32Array;
type Block<Kind extends Numbers = Numbers> = { values: Kind; shape: number[] };
type Floats = number[] | Float32Array | Float64Array;
type Color = number[]; // red, green, blue in [0, 1]
type Place = [number, number, number];
type Neighbor = { i: number; distance: number };
type Choose = (button: HTMLElement, members: number[]) => void;

type Points = import("./data.js").Points;
type View = import("./view.js").View;
type Stage = import("./stage.js").Stage;

interface PageData {
  classes: string[];
  hues: string[];
  train: PointsEntry;
  test: PointsEntry;
  labelled: boolean;
  notes: string[];
  polygon: { classes: number[]; center: number[]; matrix: number[][]; offset: number[]; corners: number[][] };
  columns: string[];
  trace: { stage: string[]; sigma: number[]; excess: number[] } | null;
  radii: RadiiEntry | { values: null; reason: string };
  chances: ChancesEntry;
  alike: Block<Uint32Array> | null;
  nearest: { sample: Block<Float64Array>; copy: Block<Uint16Array>; names: string[] } | null;
  live: LiveEntry | null;
  without_live: string;
  pictures: PicturesEntry | null;
  rows: { first: number; columns: string[]; n_columns: number; values: Block<Float32Array> } | null;
}

type PicturesEntry =
  { first: number; height: number; width: number; levels: Block<Uint8Array>; stretched: boolean };

interface PointsEntry {
  embedding: Block<Float32Array>;
  codes: Block<Uint16Array>;
  predicted: Block<Uint16Array>;
  names: string[] | null;
  certainty: Block<Float32Array> | null; // of labels given to training samples without one, else 0
}

type RadiiEntry = { values: Block<Float32Array>; unit: string; sentence: string; risk: Risk | null };
type Risk = { coverage: number[]; risk: number[]; error: number; at_80: number };

// Probabilities of what was predicted and of the labels; sets of labels, all members in one list.
interface ChancesEntry {
  said: Block<Float32Array> | null;
  own: Block<Float32Array> | null;
  curve: { low: number; high: number; n: number; mean: number; right: number }[];
  sentence: string;
  sets: SetsEntry | null;
  set_sentence: string;
}

interface SetsEntry {
  sure: string;
  sizes: Block<Uint16Array>;
  members: Block<Uint16Array>;
  threshold: number | null;
  n_samples: number;
}

interface MapEntry {
  factor: Block<Float64Array>;
  offset: Block<Float64Array>;
  size: Block<Float64Array>;
  gamma: number;
  centers: Block<Float32Array | Float64Array>;
  metric: MetricEntry | null;
  coef: Block<Float64Array>;
  sigma: number;
  stretch: number;
  widest: number;
  decision: Decision | null;
}

type MetricEntry = { axes: Block<Float64Array>; factors: Block<Float64Array> };

interface Decision {
  weights: Block<Float64Array>;
  offsets: Block<Float64Array>;
  codes: Block<Uint16Array>;
  n_votes: number;
  tie: { size2: number; share: number } | null;
  own: number;
  factor: Block<Float64Array>;
  doubt: number;
  margins: { kind: "distances" | "votes" | "scores"; unit: number };
  chances: Chances | null;
}

interface Chances {
  rule: "label" | "softmax" | "sigmoids" | "shares";
  sharpness: number;
  weights: Block<Float64Array> | null;
  offsets: Block<Float64Array> | null;
}

type Images = { kind: "images"; size: [number, number]; unit_norm: boolean; colour?: boolean };
type LiveEntry =
  MapEntry & { voters: Partial<MapEntry>[]; n_classes: number; preparation: Images | { kind: "array" } };

// One picture of all points: the camera in pixels, sizes and colours, and one point in `every`.
interface Look {
  rotation: number[][]; center: number[]; scale: number; reach: number; deep: boolean;
  width: number; height: number; ratio: number; toScreen: (i: number) => number[];
  size: number; outline: number; ring: number; hues: Color[]; paper: Color; ink: Color;
  every: number;
}

interface Window {
  nsse: object;
}
