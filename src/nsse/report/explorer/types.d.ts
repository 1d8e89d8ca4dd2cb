// What the scripts share: the page's data as `page_data` (write.py) makes it, decoded.

type Numbers = Float32Array | Float64Array | Uint8Array | Uint16Array | Uint32Array;
type Block<Kind extends Numbers = Numbers> = { values: Kind; shape: number[] };
type Points = import("./data.js").Points;

interface PageData {
  classes: string[];
  hues: string[];
  train: PointsEntry;
  test: PointsEntry;
  labelled: boolean;
  notes: string[];
  polygon: { classes: number[]; corners: number[][]; labels: number[][]; sharpness: number;
    places: Block<Float32Array>; bands: number[] | null }; // bands of two classes
  most_labels: number; // classes up to which they have names in the picture
  columns: string[];
  panels: Record<string, any[]>; // sentences, charts and lists of charts
  radius: Block<Float32Array> | null;
  probabilities: ProbabilitiesEntry;
  alike: Block<Uint32Array> | null;
  nearest: { sample: Block<Float64Array>; copy: Block<Uint16Array>; names: string[] } | null;
  why: { words: string; rival: string; support: number[]; oppose: number[] }[]; // of test samples, or empty
  live: LiveEntry | null;
  without_live: string;
  pictures:
    { first: number; height: number; width: number; levels: Block<Uint8Array>; stretched: boolean } | null;
  radius_in: string; // where radii hold, if it is not among the samples as they are
  photographs: (string | null)[] | null; // addresses that hold them
  rows: { first: number; columns: string[]; n_columns: number;
    values: Block<Float32Array> | null; words: string[][] | null } | null;
}

interface PointsEntry {
  embedding: Block<Float32Array>;
  codes: Block<Uint16Array>;
  predicted: Block<Uint16Array>;
  names: string[] | null;
  certainty: Block<Float32Array> | null; // of labels given to training samples without one, else 0
}

interface ProbabilitiesEntry {
  predicted: Block<Float32Array> | null;
  own: Block<Float32Array> | null;
  sets: { sure: string; sizes: Block<Uint16Array>; members: Block<Uint16Array>;
    threshold: number | null } | null;
}

// From a sample to its place behind the metric, and to distances from centers. A linear map has no centers.
interface SpaceEntry {
  shift: Block<Float64Array>;
  scale: Block<Float64Array>;
  offset: Block<Float64Array>;
  matrix: Block<Float64Array> | null;
  down: Block<Float64Array> | null;
  up: Block<Float64Array> | null;
  centers: Block<Float64Array>;
  norm: number; // of all steps up to the place where distances are measured
}

interface KernelEntry {
  name: string; // "linear", that of a formula, or "" with a table
  accuracy: number; // how far values may be from the exact ones
  curvature: number | null; // null if it is infinite
  low: number; // logarithm of the first t of the table
  step: number;
  table: Block<Float64Array>;
}

interface Place { u: Float64Array; squares: Float64Array }

interface Kernel {
  values: (place: Place) => number[] | Float64Array;
  at: (place: Place) => Float64Array;
  change: (distance: number) => number;
}

interface MemberEntry {
  space: number;
  kernel: KernelEntry;
  sigma: number;
  coef: Block<Float64Array>;
  weights: Block<Float64Array>;
  offsets: Block<Float64Array>;
  codes: Block<Uint16Array>;
  weight: number;
  images: Block<Float64Array>; // the distances of these rows are the norms of differences of functions
  has_local_bound: boolean;
}

interface LiveEntry {
  preparation:
    | { kind: "images"; size: [number, number]; unit_norm: boolean; color?: boolean; columns?: undefined }
    | { kind: "array"; columns?: undefined } | { kind: "table"; columns: string[] };
  n_features: number;
  n_classes: number;
  n_components: number;
  per_sample: number;
  certifies: boolean;
  alike: number; // the space whose distances rank training samples
  rotation: Block<Float64Array> | null; // from the class scores of an ensemble to its coordinates
  is_nearest: boolean; // whether a single model compares training samples
  temperature: number;
  own: number; // functions of the label that are tried
  worst: number; // functions of another class that are looked at closely
  spaces: SpaceEntry[];
  members: MemberEntry[];
}

interface Window {
  nsse: object;
}
