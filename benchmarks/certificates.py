"""Certificates under test: attacks inside radii, and coverage of label sets.

- attacks: projected gradients from the sample and from random points of the ball, and bisection along
  the gradient to the nearest change of the label. What counts is `predict`. Far beyond the radius labels
  should change: an attack that never succeeds proves nothing;
- coverage: how often sets from left-out training samples, and from folds, hold the label, beside
  split-conformal sets of a model of half of the samples.

    NSSE_DATA=<folder> python benchmarks/certificates.py            # or: make certificates
    python benchmarks/certificates.py --only digits --points 50     # fails where a label changes inside
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

import nsse
from nsse import SmoothEmbedding, SmoothEmbeddingCV, WithinMetric, methods
from nsse.certificates import ConformalClassifier, certified_radius
from nsse.datasets import load_dataset
from nsse.unlabeled import GraphPenalty, LabelPropagation

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "certificates"))
from attacks import boundary, changed

from common import RESULTS, markdown_table, write_json
from given_ensembles import GivenEnsemble

STARTS, SHARES = 4, (0.9, 1.0)  # of the ball, and of the certified radius
OUTSIDE = 30.0  # times the radius, where labels should change
SIZES = {"digits": 20, "coil20": 10, "orl": 3, "yale": 10, "wine": 20, "breast": 40, "mnist": 30}
COVERED = ["digits", "coil20", "yale", "embedded_banking", "embedded_flowers", "genes_tissues"]
COVERED += ["series_swedishleaf", "series_faceall"]
TITLES = {"digits": "digits", "coil20": "COIL-20", "yale": "Extended Yale B"}
TITLES |= {"embedded_banking": "banking77, embedded", "embedded_flowers": "flowers, embedded"}
TITLES |= {"genes_tissues": "tissues (genes)", "series_swedishleaf": "Swedish leaf"}
TITLES |= {"series_faceall": "faces (series)"}
LEVELS = (0.05, 0.1, 0.2)
FOLDS = 10  # one sample of every class in each


def shaken(X: Any) -> list[Any]:
    rng = np.random.default_rng(0)
    return [X + 0.05 * rng.standard_normal(X.shape), X * 0.95]


def method(name: str) -> Callable[[], Any]:
    return lambda: getattr(nsse if name == "NSSE" else methods, name)()


WIDTHS = (0.4, 0.65, 1.0, 1.6, 2.5)
RULES = ("scores", "nearest", "scores", "nearest", "scores")
SCORES = [SmoothEmbedding(sigma=s) for s in WIDTHS]
BOTH = [SmoothEmbedding(sigma=s, decision=d) for s, d in zip(WIDTHS, RULES, strict=True)]
METRICS = [SmoothEmbedding(metric=m, sigma=s) for m in (None, WithinMetric(0.1)) for s in (0.5, 2.0)]
KERNELS = [SmoothEmbedding(kernel=k) for k in ("gaussian", "matern32")]
ATTACKED: dict[str, Callable[[], Any]] = {
    "digits": SmoothEmbedding,
    "coil20": SmoothEmbedding,
    "orl": SmoothEmbedding,
    "yale": SmoothEmbedding,
    "mnist": SmoothEmbedding,
    "digits, nearest": lambda: SmoothEmbedding(decision="nearest"),
    "coil20, nearest, wide": lambda: SmoothEmbedding(decision="nearest", sigma=8.0, smoothness=1.0),
    "digits, no metric": lambda: SmoothEmbedding(metric=None),
    "digits, short metric": lambda: SmoothEmbedding(metric=WithinMetric(0.1)),
    "digits, 50 centres": lambda: SmoothEmbedding(centers=50),
    "digits, float32": SmoothEmbedding,
    "digits, augmented": lambda: SmoothEmbedding(augment=shaken),
    "digits, GraphPenalty": lambda: SmoothEmbedding(unlabeled=GraphPenalty()),
    "digits, LabelPropagation": lambda: SmoothEmbedding(unlabeled=LabelPropagation()),
    "digits, tuned": SmoothEmbeddingCV,
    "digits, five widths": lambda: GivenEnsemble(SCORES, [1.0] * 5),
    "digits, five with nearest": lambda: GivenEnsemble(BOTH, [1.0] * 5),
    "digits, metrics": lambda: GivenEnsemble(METRICS, [1.0, 0.5, 2.0, 1.0]),
    "digits, kernels": lambda: GivenEnsemble(KERNELS, [2.0, 1.0]),
    "digits, float32 ensemble": lambda: GivenEnsemble(BOTH, [1.0] * 5),
    "coil20, five widths": lambda: GivenEnsemble(SCORES, [1.0] * 5),
    "coil20, five with nearest": lambda: GivenEnsemble(BOTH, [1.0] * 5),
    "wine, ensemble": lambda: make_pipeline(StandardScaler(), GivenEnsemble(BOTH, [1.0] * 5)),
    "digits, standardised": lambda: make_pipeline(StandardScaler(), SmoothEmbedding()),
    "digits, forty axes": lambda: make_pipeline(PCA(40), SmoothEmbedding()),
    "wine, whitened": lambda: make_pipeline(StandardScaler(), PCA(10, whiten=True), SmoothEmbedding()),
    "wine, robust": lambda: make_pipeline(RobustScaler(), SmoothEmbedding(decision="nearest")),
    "breast, in [0, 1]": lambda: make_pipeline(MinMaxScaler(), SmoothEmbedding()),
    "breast, standardised": lambda: make_pipeline(StandardScaler(), SmoothEmbedding()),
    **{
        f"digits, {name}": method(name)
        for name in ("NSSE", *methods.__all__)
        if name not in ("NPPE", "NYS", "SPE", "catalogue")  # which have other maps
    },
}


@cache
def data(name: str) -> tuple[Any, Any]:
    """Samples and the codes of their classes."""
    if name in ("wine", "breast"):
        X, y = (load_wine if name == "wine" else load_breast_cancer)(return_X_y=True)
    elif "_" in name:
        stored = np.load(Path(os.environ["NSSE_DATA"]) / "wide" / f"{name}.npz", allow_pickle=False)
        X, y = stored["X"], stored["y"]
    else:
        loaded = load_dataset(name)
        X, y = loaded.X, loaded.y
    return X, np.unique(y, return_inverse=True)[1]


def split(codes: Any, per_class: int, seed: int) -> tuple[Any, Any]:
    """Places of so many samples of every class, and of the others."""
    order = np.random.default_rng(seed).permutation(len(codes))
    train = np.concatenate([order[codes[order] == c][:per_class] for c in np.unique(codes)])
    return np.sort(train), np.setdiff1d(order, train)


def attacked(title: str, n_points: int) -> dict[str, Any]:
    """How many labels change inside the certified radius, and far outside."""
    name = title.split(",")[0]
    X, codes = data(name)
    train, test = split(codes, SIZES[name], 0)
    y = codes[train].copy()
    if title.endswith(("GraphPenalty", "LabelPropagation")):
        y[::2] = -1
    dtype = np.float32 if "float32" in title else np.float64
    model = ATTACKED[title]().fit(X[train].astype(dtype), y)
    X_new = np.random.default_rng(1).permutation(X[test])[:n_points].astype(dtype)
    radius = certified_radius(model, X_new)
    has = (radius > 0) & np.isfinite(radius)
    broken = [
        int(changed(model, X_new[has], share * radius[has], starts=STARTS).sum()) for share in SHARES
    ]
    nearest = boundary(model, X_new[has], furthest=OUTSIDE * float(np.median(radius[has])))
    broken.append(int(np.sum(nearest < radius[has])))
    outside = changed(model, X_new[has], OUTSIDE * radius[has], starts=1).mean()
    return {
        "attacked": title,
        "points": int(has.sum()),
        "attacks": int(has.sum()) * (STARTS * len(SHARES) + 1),
        "broken": sum(broken),
        "changed far outside": round(float(outside), 3),
        "nearest change over radius": float(f"{np.min(nearest / radius[has]):.3g}"),
        "median radius": float(f"{np.median(radius):.3g}"),
    }


def covered(name: str, n_splits: int, per_class: int = 10) -> list[dict[str, Any]]:
    """Coverage and size of sets by left-out samples, by folds and by a split; within classes too."""
    X, codes = data(name)
    enough = np.bincount(codes)[codes] > per_class + 2
    X, codes = X[enough], np.unique(codes[enough], return_inverse=True)[1]
    told: dict[Any, list[Any]] = {}
    for seed in range(n_splits):
        train, test = split(codes, per_class, seed)
        half, rest = (train[part] for part in split(codes[train], per_class // 2, seed))
        test = test[:1500]
        whole, part = (SmoothEmbedding().fit(X[rows], codes[rows]) for rows in (train, half))
        ways = {
            "left out": ConformalClassifier(whole).fit(),
            "folds": ConformalClassifier(whole, cv=FOLDS).fit(X[train], codes[train]),
            "split": ConformalClassifier(part).fit(X[rest], codes[rest]),
        }
        for (way, conformal), by_class, alpha in product(ways.items(), (False, True), LEVELS):
            conformal.set_params(alpha=alpha, class_conditional=by_class)
            sets = conformal.predict_set(X[test])
            holds = sets[np.arange(len(test)), codes[test]]
            each = [holds[codes[test] == c].mean() for c in np.unique(codes[test])]
            key = alpha, f"{way}, by class" if by_class else way
            told.setdefault(key, []).append((holds.mean(), sets.sum(axis=1).mean(), each))
    found = []
    for (alpha, way), rows in told.items():
        coverage, size, each = zip(*rows, strict=True)
        row = {
            "coverage": round(float(np.mean(coverage)), 3),
            "error": round(float(np.std(coverage, ddof=1) / np.sqrt(n_splits)), 3),
            "size": round(float(np.mean(size)), 2),
            # In the mean over splits: how a class fares that is covered least.
            "worst class": round(float(np.min(np.mean(each, axis=0))), 3),
        }
        found.append({"set": name, "alpha": alpha, "way": way} | row)
    return found


def page_tables(record: dict[str, Any]) -> list[str]:
    """Return the tables of `docs/research/measurements.md`."""
    rows = {(row["set"], row["alpha"], row["way"]): row for row in record["coverage"]}

    def cell(name: str, alpha: float, way: str) -> str:
        row = rows[name, alpha, way]
        return f"{100 * row['coverage']:.1f} ± {100 * row['error']:.1f} ({row['size']:.2f})"

    ways = ("left out", "closed form"), ("folds", "CV+"), ("split", "split")
    first = [(alpha, way) for alpha in LEVELS for way, _ in ways]
    second = [(alpha, way) for alpha in LEVELS[1:] for way in ("left out", "left out, by class")]
    names = [
        f"{1 - alpha:.0%}: {title}".replace("%", " %") if way == "left out" else title
        for alpha in LEVELS
        for way, title in ways
    ]
    by_class = [
        name
        for alpha in LEVELS[1:]
        for name in (f"{100 * (1 - alpha):.0f} %: over all (size)", "by class (size)")
    ]
    return [
        markdown_table(["", *head], [[TITLES[n], *(cell(n, *key) for key in keys)] for n in COVERED])
        for head, keys in ((names, first), (by_class, second))
    ]


def attacks_sentence(record: dict[str, Any]) -> str:
    """Return what the pages state about the attacks."""
    totals, radii = record["totals"], {r["attacked"]: r["median radius"] for r in record["attacks"]}
    wrong = totals["broken"] or "No"
    return (
        f"attacks {len(record['attacks'])} models at {totals['points']:,} samples, "
        f"{totals['attacks']:,} times. {wrong} label changed within its radius. The median radii of "
        f"unseen samples are {radii['digits']:.3f} for digits (8 × 8 pixels), {radii['coil20']:.3f} for "
        f"COIL-20 with {SIZES['coil20']} images per class and {radii['orl']:.3f} for ORL with "
        f"{SIZES['orl']} images per class (25 × 25 pixels in [0, 1])."
    )


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--points", type=int, default=700, help="samples attacked, of each model")
    parser.add_argument("--splits", type=int, default=10, help="of the others; 0 leaves them out")
    parser.add_argument("--only", nargs="*", default=[""], help="titles of attacks that begin so")
    parser.add_argument("--out", type=Path, default=RESULTS / "certificates.json")
    options = parser.parse_args(argv)
    record: dict[str, Any] = {"attacks": [], "coverage": []}
    for title in (t for t in ATTACKED if t.startswith(tuple(options.only))):
        record["attacks"].append(_shown(attacked(title, options.points)))
    if options.splits > 1:
        for name in COVERED:
            record["coverage"] += [_shown(row) for row in covered(name, options.splits)]
        print("\n\n".join(page_tables(record)))
    totals = {key: sum(row[key] for row in record["attacks"]) for key in ("points", "attacks", "broken")}
    record["totals"] = totals
    _shown(totals)
    if not options.only[0]:
        print(attacks_sentence(record))
    write_json(options.out, record)
    return record


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    return row


if __name__ == "__main__":
    raise SystemExit(int(main()["totals"]["broken"] > 0))
