// The map f, its classifier and its certified radius, in double precision; pictures into features.
// The formulas and their names are those of nsse.extensions.rbf and nsse.certificates.radii.

const EPS = Number.EPSILON;

class LiveMap {
  constructor(entry) {
    Object.assign(this, entry);
    [this.nCenters, this.nFeatures] = entry.centers.shape;
    this.d = entry.coef.shape[1];
    const decision = entry.decision;
    if (!decision) return;
    // F'w of every score: their distances are the norms of differences of scores.
    this.images = multiply(decision.weights, decision.factor);
  }

  // |x - z_i|^2 of every centre.
  squares(x) {
    const z = this.centers.values, n = this.nFeatures;
    const u = Float64Array.from(x, (v, k) => v * this.factor.values[k] + this.offset.values[k]);
    const squares = new Float64Array(this.nCenters);
    for (let i = 0; i < this.nCenters; i++) {
      let squared = 0;
      for (let k = 0, at = i * n; k < n; k++) squared += (u[k] - z[at + k]) ** 2;
      squares[i] = squared;
    }
    return squares;
  }

  // f(x) = sum of c_i exp(-|x - z_i|^2 / sigma^2), Eq. (6).
  embed(squares) {
    const c = this.coef.values, d = this.d;
    const y = new Float64Array(d);
    const narrow = -1 / this.sigma ** 2;
    for (let i = 0; i < this.nCenters; i++) {
      const kernel = Math.exp(narrow * squares[i]);
      if (kernel !== 0) for (let k = 0; k < d; k++) y[k] += kernel * c[i * d + k];
    }
    return y;
  }

  scores(y) {
    const { weights, offsets } = this.decision, d = this.d;
    return Float64Array.from(offsets.values, (b, r) => {
      for (let k = 0; k < d; k++) b += weights.values[r * d + k] * y[k];
      return b;
    });
  }

  // The class of the largest score, or of most of the n_votes largest; the first one wins a tie.
  label(y) {
    const scores = this.scores(y), codes = this.decision.codes.values;
    if (this.decision.tie) return codes[this.firstOfTied(scores, y)];
    const votes = new Map();
    for (const r of largest(scores, allOf(scores.length), this.decision.n_votes)) {
      votes.set(codes[r], (votes.get(codes[r]) || 0) + 1);
    }
    return [...votes].reduce((best, vote) =>
      vote[1] > best[1] || (vote[1] === best[1] && vote[0] < best[0]) ? vote : best)[0];
  }

  // The first score that ties with the largest; the least squared distance is |y|^2 less that one.
  firstOfTied(scores, y) {
    const { size2, share } = this.decision.tie;
    const top = scores.reduce((a, b) => Math.max(a, b));
    const least = y.reduce((sum, v) => sum + v * v, 0) - top;
    return scores.findIndex((score) => score >= top - share * (least + size2));
  }

  // How far x may be moved, in any direction, before its label can change.
  radius(y, label) {
    const { codes, n_votes: k, own, doubt } = this.decision;
    const needed = Math.floor(k / 2) + 1, spare = k - needed;
    const mine = allOf(codes.values.length).filter((r) => codes.values[r] === label);
    const rivals = allOf(codes.values.length).filter((r) => codes.values[r] !== label);
    if (rivals.length <= spare) return Infinity;
    if (mine.length < needed) return 0;
    const scores = this.scores(y);
    const best = largest(scores, mine, k === 1 ? own : needed);
    const leads = best.map((i) => {
      const norms = this.norms(i, rivals);
      return rivals.map((j, place) => (scores[i] - scores[j] - doubt) / norms[place]);
    });
    if (k === 1) return this.reach(Math.max(...leads.map(smallest)));
    const worst = rivals.map((_, place) => smallest(leads.map((lead) => lead[place])));
    return this.reach(worst.sort((a, b) => a - b)[spare]);
  }

  // Norms of (w_i - w_j)'f, never less than they are and never zero.
  norms(i, rivals) {
    const d = this.d, images = this.images;
    let most = 0;
    const squares = rivals.map((j) => {
      let square = 0, own = 0, other = 0;
      for (let k = 0; k < d; k++) {
        const a = images[i * d + k], b = images[j * d + k];
        square += (a - b) ** 2;
        own += a * a;
        other += b * b;
      }
      most = Math.max(most, own, other);
      return square;
    });
    const rounding = 8 * (d + 8) * EPS * most + 2.3e-308;
    return squares.map((square) => Math.sqrt(square + rounding));
  }

  // The r with sqrt(2 - 2 exp(-r^2 / sigma^2)) = slack.
  reach(slack) {
    const safe = Math.max(slack, 0) * (1 - 8 * EPS);
    if (safe >= Math.SQRT2) return Infinity;
    return this.sigma * Math.sqrt(-Math.log1p(-(safe ** 2) / 2)) * (1 - 8 * EPS);
  }
}

// The map that is shown, and those that vote with it on labels.
class LiveModel {
  constructor(entry) {
    this.maps = [entry, ...entry.voters].map((voter) => new LiveMap({ ...entry, ...voter }));
    this.map = this.maps[0];
  }

  // Where x lands in the map that is shown; the label that most maps give, and how far it holds.
  tell(x) {
    const squares = new Map(), places = this.maps.map((map) => {
      if (!squares.has(map.centers)) squares.set(map.centers, map.squares(x));
      return map.embed(squares.get(map.centers));
    });
    const place = places[0];
    if (!this.map.decision) return { place, votes: [], code: null, radius: null };
    const votes = this.maps.map((map, k) => map.label(places[k]));
    const radii = this.maps.map((map, k) => map.radius(places[k], votes[k]));
    return { place, votes, code: winner(votes), radius: voteRadius(votes, radii) };
  }
}

// The formulas of nsse.certificates.votes: of equal ones, the first voter's label wins.
const supporters = (votes) => votes.map((vote) => votes.filter((other) => other === vote).length);

function winner(votes) {
  const counts = supporters(votes);
  return votes[counts.indexOf(Math.max(...counts))];
}

// Within the radius too few voters can turn to change the majority.
function voteRadius(votes, radii) {
  const won = winner(votes), order = allOf(votes.length).sort((a, b) => (radii[a] < radii[b] ? -1 : radii[a] > radii[b] ? 1 : 0));
  let certified = radii[order[0]];
  for (let turned = 1; turned < votes.length; turned++) {
    const kept = order.slice(turned).map((j) => votes[j]), counts = supporters(kept);
    const loyal = kept.filter((vote) => vote === won).length;
    const rivals = Math.max(0, ...counts.filter((_, j) => kept[j] !== won));
    if (loyal <= rivals + turned) break;
    certified = radii[order[turned]];
  }
  return certified;
}

function multiply(left, right) {
  const [rows, inner] = left.shape, columns = right.shape[1];
  const out = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++)
    for (let k = 0; k < inner; k++)
      for (let j = 0; j < columns; j++)
        out[i * columns + j] += left.values[i * inner + k] * right.values[k * columns + j];
  return out;
}

const allOf = (n) => Array.from({ length: n }, (_, i) => i);
const smallest = (values) => values.reduce((a, b) => (b < a ? b : a), Infinity);
const largest = (scores, among, count) => [...among].sort((a, b) => scores[b] - scores[a]).slice(0, count);

// Grey levels in [0, 1] of pixels (red, green, blue, alpha); colour is weighted as in ITU-R 601.
function greyLevels(pixels) {
  const grey = new Float64Array(pixels.length / 4);
  for (let i = 0, p = 0; i < grey.length; i++, p += 4)
    grey[i] = (299 * pixels[p] + 587 * pixels[p + 1] + 114 * pixels[p + 2]) / 255000;
  return grey;
}

// Every cell gets the mean of the area that it covers, fractions of pixels included.
function areaAverage(image, height, width, toHeight, toWidth) {
  const rows = averagedRows(image, height, width, toHeight);
  const turned = transposed(rows, toHeight, width);
  return transposed(averagedRows(turned, width, toHeight, toWidth), toWidth, toHeight);
}

// Cell i is [i nIn, (i + 1) nIn) and pixel j is [j nOut, (j + 1) nOut): whole numbers throughout.
function averagedRows(image, nIn, width, nOut) {
  const out = new Float64Array(nOut * width);
  for (let i = 0; i < nOut; i++) {
    for (let j = Math.floor((i * nIn) / nOut); j * nOut < (i + 1) * nIn; j++) {
      const overlap = Math.min((i + 1) * nIn, (j + 1) * nOut) - Math.max(i * nIn, j * nOut);
      for (let k = 0; k < width; k++) out[i * width + k] += (overlap / nIn) * image[j * width + k];
    }
  }
  return out;
}

function transposed(image, height, width) {
  const out = new Float64Array(image.length);
  for (let i = 0; i < height; i++) for (let j = 0; j < width; j++) out[j * height + i] = image[i * width + j];
  return out;
}

// Features of a picture, as nsse.datasets makes them.
function pictureFeatures(grey, height, width, preparation) {
  const [toHeight, toWidth] = preparation.size;
  return normed(areaAverage(grey, height, width, toHeight, toWidth), preparation);
}

function normed(image, preparation) {
  if (!preparation.unit_norm) return image;
  const norm = Math.sqrt(image.reduce((sum, v) => sum + v * v, 0));
  if (norm === 0) throw new Error("An all-black picture has no direction: its norm is 0.");
  return image.map((v) => v / norm);
}

// A row of numbers, separated by anything that is no part of one.
function parseRow(text, nFeatures) {
  const words = text.trim().split(/[\s,;]+/).filter(Boolean);
  const wrong = words.find((word) => !Number.isFinite(Number(word)));
  if (wrong !== undefined) throw new Error(`“${wrong}” is not a number.`);
  if (words.length !== nFeatures)
    throw new Error(`A row has ${nFeatures} numbers; there are ${words.length} here.`);
  return Float64Array.from(words, Number);
}
