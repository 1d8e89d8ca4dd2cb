"""Attack the certified radii of random models, half of which have more features than samples.

Each model is fitted to made-up data with random parameters. The attacked points are training samples,
new samples, points between two samples, and points outside the affine hull of the training samples or
far away. Each point is moved by less than its radius: along the gradient of the best rival class
(projected steps from the point and from random points of the ball), in random directions, and toward
samples of another label. A bisection then searches for the boundary along the gradient, along the
last direction of the projected steps, and toward the nearest sample of another label. A radius is
broken if a point that is closer than the radius gets another label.

The table contains the models, the attacked points, the points that were tried, the broken radii, the
smallest distance to a change (in radii), and the share of points for which a change was found within
30 radii. An attack that never succeeds outside the radius would prove nothing.

    python benchmarks/radii.py --out radii.jsonl    # 1012 models, of which 220 are ensembles
    python benchmarks/radii.py --out radii.jsonl --models 46    # each kind once with each shape
    python benchmarks/radii.py --out radii.jsonl --models 0    # print the table again
    python benchmarks/radii.py --out radii.jsonl --totals benchmarks/results/radii.json

The file contains one JSON line per model. Lines that it already contains are not computed again.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import nsse
from common import Row, parser_of, resumed, text_table, write_json
from given_ensembles import GivenEnsemble
from nsse import NSSE, SmoothEmbedding, WithinMetric
from nsse.certificates import certified_radius
from nsse.metrics import FixedMetric
from nsse.unlabeled import GraphPenalty

MODELS = 1012  # 44 of each kind, half of them with more features than samples
STARTS, STEPS, DIRECTIONS, TOWARD, HALVINGS = 4, 15, 8, 8, 30
OUTSIDE = 30.0  # radii within which the bisection searches
INSIDE = 1.0 - 1e-9  # share of a radius that the attacks use
ENDLESS = 1e3  # distances between samples that stand for an infinite radius
KINDS = (
    *("scores", "nearest", "centers", "sparse centers", "Euclidean", "float32", "scaler", "PCA"),
    *("scaler and PCA", "NSSE", "partial_fit", "augmented", "unlabeled", "loaded"),
    *("standardized", "Matérn 3/2", "exponential", "fixed metric"),
    *("ensemble of scores", "ensemble of nearest", "ensemble of both", "ensemble of kernels"),
    "ensemble behind a scaler",
)
KERNELS = {"Matérn 3/2": "matern32", "exponential": "exponential"}


def drawn_data(is_wide: bool, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Draw training rows, their labels and new rows: classes with different means, in random units."""
    n_samples, n_classes = int(rng.integers(20, 101)), int(rng.integers(2, 6))
    n_features = int(rng.integers(max(100, n_samples + 1), 701) if is_wide else rng.integers(2, 20))
    y = np.arange(n_samples + 30) % n_classes
    if rng.random() < 0.7:
        noise = rng.normal(size=(len(y), n_features))
    else:  # noise in a few directions
        rank = min(n_features, 12)
        noise = rng.normal(size=(len(y), rank)) @ rng.normal(size=(rank, n_features)) / np.sqrt(rank)
    X = noise + rng.uniform(0.3, 2.0) * rng.normal(size=(n_classes, n_features))[y]
    if rng.random() < 0.15:
        X = np.where(X > 0, 1.0, -1.0)
    spread = 10.0 ** rng.uniform(-3, 3)
    X = spread * (X + rng.choice([0.0, 0.0, 10.0, 1e3]))
    return X[:n_samples], y[:n_samples], X[n_samples:]


def shifted_rows(X: Any) -> list[Any]:
    """Augment rows: two copies that differ by a hundredth of the largest value."""
    step = 0.01 * np.abs(X).max(axis=1, keepdims=True)
    return [X + step, X - step * np.cos(np.arange(X.shape[1]))]


def fitted(kind: str, X: Any, y: Any, rng: np.random.Generator) -> Any:
    """Fit a model of a kind with random parameters."""
    options: dict[str, Any] = {
        "sigma": float(np.exp(rng.uniform(np.log(0.2), np.log(4.0)))),
        "smoothness": float(np.exp(rng.uniform(np.log(1e-4), np.log(3.0)))),
        "decision": "nearest" if kind == "nearest" or rng.random() < 0.25 else "scores",
        "metric": None if kind in ("Euclidean", "sparse centers") else "within",
        "centers": int(rng.integers(5, max(6, len(y) // 2))) if "centers" in kind else None,
    }
    steps = {"scaler": [StandardScaler()], "PCA": [PCA(min(8, *X.shape))], "loaded": [MinMaxScaler()]}
    steps["scaler and PCA"] = [StandardScaler(), PCA(min(8, *X.shape), whiten=bool(rng.integers(2)))]
    if kind == "NSSE":
        return NSSE().fit(X, y)
    if kind in ("standardized", "Matérn 3/2", "exponential"):
        options["standardize"] = kind == "standardized"
        options["kernel"] = KERNELS.get(kind, "gaussian")
    if kind == "fixed metric":
        n_outputs = int(rng.integers(2, X.shape[1] + 1))
        options["metric"] = FixedMetric(rng.normal(size=(n_outputs, X.shape[1])))
    if kind == "partial_fit":
        half = len(y) // 2
        model = SmoothEmbedding(**options | {"decision": "scores"}).fit(X[:half], y[:half])
        return model.partial_fit(X[half:], y[half:])
    if kind == "augmented":
        options["augment"] = shifted_rows
    if kind == "unlabeled":
        options["unlabeled"] = GraphPenalty()
        y = np.where(np.arange(len(y)) % 3 == 0, -1, y)
    if kind.startswith("ensemble"):
        models = [drawn_member(kind, len(y), rng) for _ in range(int(rng.integers(2, 7)))]
        ensemble = GivenEnsemble(models, np.exp(rng.normal(size=len(models))))
        return make_pipeline(*[StandardScaler()][: kind.endswith("scaler")], ensemble).fit(X, y)
    if kind == "sparse centers":
        return SmoothEmbedding(**options).fit(sparse.csr_array(X), y)
    return make_pipeline(*steps.get(kind, []), SmoothEmbedding(**options)).fit(X, y)


def drawn_member(kind: str, n_samples: int, rng: np.random.Generator) -> Any:
    """Draw a member of an ensemble."""
    decision = rng.choice(["scores", "nearest"])
    decision = {"ensemble of scores": "scores", "ensemble of nearest": "nearest"}.get(kind, decision)
    kernels = ["gaussian", "matern32", "exponential"] if kind.endswith("kernels") else ["gaussian"]
    metrics = [None, "within", WithinMetric(float(10.0 ** rng.uniform(-2, 0)), relevance=0.0)]
    return SmoothEmbedding(
        sigma=float(np.exp(rng.uniform(np.log(0.2), np.log(4.0)))),
        smoothness=float(np.exp(rng.uniform(np.log(1e-4), np.log(3.0)))),
        decision=str(decision),
        kernel=str(rng.choice(kernels)),
        metric=metrics[int(rng.integers(3))],
        centers=int(rng.integers(5, max(6, n_samples // 2))) if rng.random() < 0.2 else None,
    )


def reloaded(model: Any) -> Any:
    """Save a model to a file and load it again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.nsse"
        nsse.save(model, path)
        return nsse.load(path)


def attacked_points(X: Any, y: Any, X_new: Any, rng: np.random.Generator) -> Any:
    """Return training rows, new rows, rows in between, rows outside the hull and rows far away."""
    spread = X.std(axis=0) + 1e-3 * X.std()
    between = (X[rng.integers(len(X), size=5)] + X_new[rng.integers(len(X_new), size=5)]) / 2.0
    outside = X_new[20:23] + 3.0 * spread * rng.normal(size=(3, X.shape[1]))
    center = X.mean(axis=0)
    far = center + rng.uniform(2.0, 5.0, size=(3, 1)) * (X_new[23:26] - center)
    return np.concatenate([X[rng.integers(len(X), size=5)], X_new[:8], between, outside, far])


class Target:
    """A fitted model as the attacks see it: labels of rows, and directions that favor a rival class."""

    def __init__(self, model: Any, kind: str, n_features: int) -> None:
        self.model, self.is_sparse = model, kind == "sparse centers"
        self.is_float32 = kind == "float32"
        self.front = model[:-1] if isinstance(model, Pipeline) and len(model) > 1 else None
        self.last = model[-1] if isinstance(model, Pipeline) else model
        self.pull = None
        if self.front is not None:  # the steps are affine: a difference is their matrix
            origin = np.zeros((1, n_features))
            self.pull = self.front.transform(np.eye(n_features)) - self.front.transform(origin)

    def rows(self, X: Any) -> Any:
        """Return rows of the kind that the model was fitted to."""
        return sparse.csr_array(X) if self.is_sparse else X

    def predict(self, X: Any) -> Any:
        """Return the labels of rows."""
        return self.model.predict(self.rows(X))

    def radius(self, X: Any) -> Any:
        """Return the certified radii of rows."""
        return certified_radius(self.model, self.rows(X))

    def ascent(self, X: Any, labels: Any, radius: Any) -> Any:
        """Return unit directions in which the best rival gains most on the label."""
        try:
            G = self._closed_form(X, labels)
        except (AttributeError, NotImplementedError):  # a map without a Jacobian
            G = self._by_differences(X, labels, radius)
        length = np.linalg.norm(G, axis=1, keepdims=True)
        return G / np.where(length > 0, length, 1.0)

    def _closed_form(self, X: Any, labels: Any) -> Any:
        Z = self.rows(X) if self.front is None else self.front.transform(X)
        f, scores = self.last.map_, self.last.scores_
        v = scores.functions(f(Z))
        own = scores.codes == np.searchsorted(scores.classes, labels)[:, np.newaxis]
        i, j = np.where(own, v, -np.inf).argmax(axis=1), np.where(own, -np.inf, v).argmax(axis=1)
        G = f.gradients(Z, scores.weights[j] - scores.weights[i])
        return G if self.pull is None else G @ self.pull.T

    def _by_differences(self, X: Any, labels: Any, radius: Any) -> Any:
        step = 1e-4 * radius[:, np.newaxis]
        moved = X[:, np.newaxis] + step[:, np.newaxis] * np.eye(X.shape[1])
        near = self._rival_lead(moved.reshape(-1, X.shape[1]), np.repeat(labels, X.shape[1]))
        return (near.reshape(X.shape) - self._rival_lead(X, labels)[:, np.newaxis]) / step

    def _rival_lead(self, X: Any, labels: Any) -> Any:
        v = self.model.decision_function(self.rows(X))
        v = np.column_stack([np.zeros(len(v)), v]) if v.ndim == 1 else v
        own = self.model.classes_ == labels[:, np.newaxis]
        return np.where(own, -np.inf, v).max(axis=1) - np.where(own, v, -np.inf).max(axis=1)


class Attack:
    """Counts the points that were tried around some samples, and the closest change of each label."""

    def __init__(self, target: Target, X: Any, radius: Any) -> None:
        self.target, self.X, self.radius = target, X, radius
        self.labels = target.predict(X) if len(X) else np.zeros(0)
        self.closest, self.tries = np.full(len(X), np.inf), 0

    def tried(self, moved: Any) -> Any:
        """Record the labels of moved points, and return which of them differ."""
        changed = self._recorded(moved)
        if self.target.is_float32:
            self._recorded(moved.astype(np.float32).astype(np.float64), np.float32)
        return changed

    def _recorded(self, moved: Any, dtype: Any = np.float64) -> Any:
        changed = self.target.predict(moved.astype(dtype)) != self.labels
        length = np.linalg.norm(moved - self.X, axis=1)
        self.closest = np.where(changed, np.minimum(self.closest, length), self.closest)
        self.tries += len(moved)
        return changed

    def along(self, direction: Any, length: Any) -> Any:
        """Return the samples, moved in unit directions."""
        return self.X + direction * length[:, np.newaxis]

    def by_gradients(self, rng: np.random.Generator) -> Any:
        """Climb toward the best rival inside the ball, and return the last direction."""
        limit = INSIDE * self.radius[:, np.newaxis]
        direction = np.zeros_like(self.X)
        for start in range(STARTS):
            change = limit * random_directions(self.X, rng) * rng.random((len(self.X), 1)) * (start > 0)
            for step in range(STEPS):
                ascent = self.target.ascent(self.X + change, self.labels, self.radius)
                change = change + 2.0 * limit * ascent / (1 + step) ** 0.75
                length = np.linalg.norm(change, axis=1, keepdims=True)
                change = change * np.minimum(1.0, limit / np.where(length > 0, length, 1.0))
                self.tried(self.X + change)
            length = np.linalg.norm(change, axis=1, keepdims=True)
            direction = change / np.where(length > 0, length, 1.0)
        return direction

    def at_random(self, rng: np.random.Generator) -> None:
        """Move to random points of the sphere."""
        for _ in range(DIRECTIONS):
            self.tried(self.along(random_directions(self.X, rng), INSIDE * self.radius))

    def toward(self, others: Any) -> Any:
        """Move toward the nearest samples of another label, and return the direction to the nearest."""
        D = cdist(self.X, others)
        D[self.labels[:, np.newaxis] == self.target.predict(others)] = np.inf
        order = np.argsort(D, axis=1)[:, :TOWARD]
        first = np.zeros_like(self.X)
        for place, nearest in enumerate(order.T):
            distance = D[np.arange(len(self.X)), nearest]
            usable = np.isfinite(distance) & (distance > 0)
            gap = np.where(usable[:, np.newaxis], others[nearest] - self.X, 0.0)
            direction = gap / np.where(usable, distance, 1.0)[:, np.newaxis]
            self.tried(
                self.along(direction, np.where(usable, np.minimum(INSIDE * self.radius, distance), 0.0))
            )
            first = direction if place == 0 else first
        return first

    def to_the_boundary(self, direction: Any) -> None:
        """Bisect between the sample and a point 30 radii away that has another label."""
        low, high = np.zeros(len(self.X)), OUTSIDE * self.radius
        reached = self.tried(self.along(direction, high))
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            changed = self.tried(self.along(direction, middle))
            low, high = np.where(changed, low, middle), np.where(changed, middle, high)
            if not reached.any():
                break


def median_distance(X: Any) -> float:
    """Return the median distance of different rows."""
    distances = cdist(X, X)
    return float(np.median(distances[distances > 0]))


def random_directions(X: Any, rng: np.random.Generator) -> Any:
    direction = rng.standard_normal(X.shape)
    return direction / np.linalg.norm(direction, axis=1, keepdims=True)


def attacked(seed: int) -> Row:
    """Fit the model of a seed and attack the radii of its points."""
    start, kind = time.perf_counter(), KINDS[seed % len(KINDS)]
    is_wide = bool(seed // len(KINDS) % 2)
    rng = np.random.default_rng(seed)
    X, y, X_new = drawn_data(is_wide, rng)
    dtype = np.float32 if kind == "float32" else np.float64
    X, X_new = (rows.astype(dtype).astype(np.float64) for rows in (X, X_new))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fitted(kind, X.astype(dtype), y, rng)
        model = reloaded(model) if kind == "loaded" else model
        target = Target(model, kind, X.shape[1])
        points = attacked_points(X, y, X_new, rng).astype(dtype).astype(np.float64)
        radius = target.radius(points.astype(dtype))
        usual = median_distance(X)
        is_endless = np.isinf(radius)
        radius = np.where(is_endless, ENDLESS * usual, radius)
        has = radius > 0
        attack = Attack(target, points[has], radius[has])
        if has.any():
            attack.at_random(rng)
            last, nearest = attack.by_gradients(rng), attack.toward(np.concatenate([X, X_new]))
            first = target.ascent(attack.X, attack.labels, attack.radius)
            for direction in (first, last, nearest):
                attack.to_the_boundary(direction)
    ratio = attack.closest / attack.radius
    shape = {"samples": len(X), "features": X.shape[1], "wide": is_wide}
    return {
        "kind": kind,
        **shape,
        "points": len(points),
        "positive": int(has.sum()),
        "infinite": int(is_endless.sum()),
        "nan": int(np.isnan(radius).sum()),
        "tries": attack.tries,
        "broken": int(np.sum(ratio < 1.0)),
        "closest": float(ratio.min(initial=np.inf)),
        "changed": float(np.isfinite(ratio).mean()) if has.any() else 0.0,
        "median_radius": float(np.median(radius[has]) / usual) if has.any() else 0.0,
        "seconds": round(time.perf_counter() - start, 2),
    }


def table(rows: Sequence[Row]) -> str:
    """Return one line per kind of model and shape of data, and the totals."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        shape = "more features" if row["wide"] else "more samples"
        for name in (f"{row['kind']}, {shape}", f"all, {shape}", "all"):
            groups[name].append(row)
    lines = []
    for name in sorted(groups, key=lambda name: (name.startswith("all"), name != "all", name)):
        own = groups[name]
        sums = [
            sum(row[key] for row in own)
            for key in ("points", "positive", "infinite", "nan", "tries", "broken")
        ]
        closest = min(row["closest"] for row in own)
        shares = [f"{np.mean([row[key] for row in own]):.3f}" for key in ("changed", "median_radius")]
        lines.append([name, len(own), *sums, f"{closest:.9f}", *shares])
    header = ["kind, shape", "models", "points", "positive", "infinite", "NaN", "tries", "broken"]
    return text_table([*header, "closest change", "changed within 30 radii", "radius / distance"], lines)


def sentence(totals: dict[str, int]) -> str:
    """Return what `docs/research/measurements.md` states about the attacks."""
    return (
        f"attacks {totals['models']:,} random models at {totals['positive']:,} samples, with "
        f"{totals['tries']:,} attempts. {totals['broken'] or 'No'} label changed within its radius."
    )


def main(argv: Sequence[str] | None = None) -> dict[str, int]:
    """Attack the missing models, and print the table and the sentence."""
    parser = parser_of(__doc__)
    parser.add_argument("--models", type=int, default=MODELS)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--totals", type=Path, help="file for the totals")
    options = parser.parse_args(argv)
    seeds = range(options.first, options.first + options.models)
    rows = resumed(options.out, ("seed",), [(seed,) for seed in seeds], attacked)
    for row in rows:
        if row["broken"]:
            print(row)
    totals = {key: sum(row[key] for row in rows) for key in ("positive", "tries", "broken")}
    totals = {"models": len(rows)} | totals
    if rows:
        print(table(rows))
        print(sentence(totals))
    if options.totals is not None:
        write_json(options.totals, totals)
    return totals


if __name__ == "__main__":
    raise SystemExit(int(main()["broken"] > 0))
