"""Compare fits that must be equal on random configurations: weights, sources and orders of rows.

Each configuration draws data (real and made up, with ±1, {0, 1}, {0, 2}, x and −x, repeated rows,
conflicting labels, more features than samples) and parameters. It then compares fits that must be
equal:

- copies: a weight of w, and w copies of the sample, by `fit` and by `partial_fit`;
- sparse, blocks, Dask, memory map: the same rows from another source;
- permutation: the same rows in another order;
- file: the same model, saved and loaded.

Scores and probabilities must agree to 1e-6, and labels must agree where the two largest probabilities
differ by more than that. The leave-one-out score must agree, too. The table contains the comparisons,
the disagreements and the largest difference of each kind. Permutations are not compared if centers are
drawn by position.

    python benchmarks/equalities.py --out equalities.jsonl    # 400 configurations, 1 minute
    python benchmarks/equalities.py --out equalities.jsonl --configurations 0    # print the table again

The file contains one JSON line per configuration. Lines that it already contains are not computed
again.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from dask import array as dask_array
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import nsse
from common import Row, parser_of, resumed, text_table
from nsse import SmoothEmbedding
from nsse.augment import Signals

TOLERANCE = 1e-6
LEAST_SCALE = 1e-6  # of scores: those of rows that have every label are all zero up to rounding
CONFIGURATIONS = 400
LOADERS = {"iris": load_iris, "wine": load_wine, "breast": load_breast_cancer, "digits": load_digits}
MADE_UP = ("normal", "±1", "{0, 1}", "{0, 2}", "x and −x", "integers", "wide", "wide ±1")
METHODS = ("decision_function", "predict_proba")


def real_rows(name: str, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return some samples of a data set of scikit-learn, with columns of unit variance."""
    X, y = LOADERS[name](return_X_y=True)
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    some = rng.permutation(len(y))[: rng.integers(60, 130)]
    return X[some], y[some]


def made_up_rows(kind: str, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return rows of a kind of numbers, with two to four classes of different means."""
    # At most 200 rows in all: of more, the samples that are left out are chosen by position.
    n_samples = int(rng.integers(20, 80 if kind == "x and −x" else 130))
    n_classes = int(rng.integers(2, 5))
    is_wide = kind.startswith("wide")
    n_features = int(rng.integers(n_samples, 4 * n_samples) if is_wide else rng.integers(3, 12))
    y = np.arange(n_samples) % n_classes
    X = rng.normal(size=(n_samples, n_features)) + rng.normal(size=(n_classes, n_features))[y]
    if kind.endswith("±1"):
        X = np.where(X > 0, 1.0, -1.0)
    elif kind.startswith("{"):
        X = np.where(X > 0, float(kind[4]), 0.0)
    elif kind == "integers":
        X = np.round(2 * X)
    elif kind == "x and −x":
        X, y = np.concatenate([X, -X]), np.concatenate([y, (y + rng.integers(2)) % n_classes])
    return X, y


def samples(rng: np.random.Generator) -> tuple[str, Any, Any]:
    """Draw the data of a configuration: their name, the rows and the labels."""
    name = str(rng.choice([*LOADERS, *MADE_UP]))
    X, y = (real_rows if name in LOADERS else made_up_rows)(name, rng)
    if rng.random() < 0.4:  # repeated rows, and some of them with another label
        again = rng.integers(len(y), size=rng.integers(1, 30))
        wrong = rng.integers(y.max() + 1, size=len(again))
        labels = np.where(rng.random(len(again)) < rng.choice([0.0, 0.5]), wrong, y[again])
        X, y = np.concatenate([X, X[again]]), np.concatenate([y, labels])
        name += ", repeated" if np.array_equal(labels, y[again]) else ", conflicting"
    order = rng.permutation(len(y))
    return name, X[order].astype(rng.choice([np.float64, np.float64, np.float32])), y[order]


def parameters(n_samples: int, classes: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Draw the parameters of a configuration."""
    n_centers = int(rng.integers(5, max(6, n_samples // 2)))
    chosen = np.sort(rng.permutation(n_samples)[:n_centers])
    weights = {int(c): float(rng.choice([0.5, 1.0, 3.0])) for c in classes}
    centers = [None, None, n_centers, chosen][rng.integers(4)]
    return {
        "sigma": float(np.exp(rng.uniform(np.log(0.3), np.log(2.0)))),
        "smoothness": float(np.exp(rng.uniform(np.log(0.01), np.log(3.0)))),
        "decision": str(rng.choice(["scores", "nearest"])),
        "metric": [None, "within"][rng.integers(2)],
        "centers": centers,
        "class_weight": [None, None, "balanced", weights][rng.integers(4)],
        "n_components": [None, 1][rng.integers(2)],
        "kernel": str(rng.choice(["gaussian", "gaussian", "exponential", "matern32"])),
        "standardize": bool(rng.random() < 0.3),
        "augment": [None, None, None, Signals(shift=1)][rng.integers(4)],
    }


def difference(one: Any, other: Any, X_new: Any) -> float:
    """Return the largest relative difference of two models; infinity if a label or a shape differs."""
    found = 0.0
    for method in METHODS:
        a, b = (getattr(model, method)(X_new) for model in (one, other))
        if a.shape != b.shape:
            return np.inf
        found = max(found, float(np.abs(a - b).max() / max(LEAST_SCALE, np.abs(a).max())))
    differ = one.predict(X_new) != other.predict(X_new)
    values = np.sort(one.predict_proba(X_new), axis=1)
    is_clear = values[:, -1] - values[:, -2] > TOLERANCE
    return np.inf if np.any(differ & is_clear) else found


def blocks_of(X: Any, y: Any, rng: np.random.Generator) -> list[tuple[Any, Any]]:
    cuts = np.sort(rng.choice(np.arange(1, len(y)), rng.integers(1, 6), replace=False))
    return list(zip(np.split(X, cuts), np.split(y, cuts), strict=True))


def repeated(counts: Any) -> Any:
    """Return each position as often as its count says."""
    return np.repeat(np.arange(len(counts)), counts.astype(int))


def pairs(
    X: Any, y: Any, weights: Any, options: dict[str, Any], folder: Path, rng: np.random.Generator
) -> Iterator[tuple[str, Callable[[], tuple[Any, Any]]]]:
    """Yield the kinds of comparisons, and functions that return the two fits."""

    def model(**changed: Any) -> SmoothEmbedding:
        return SmoothEmbedding(**options | changed)

    def whole() -> SmoothEmbedding:
        return model().fit(X, y, weights)

    def reloaded() -> Any:
        nsse.save(whole(), folder / "model.nsse")
        return nsse.load(folder / "model.nsse")

    yield "file", lambda: (whole(), reloaded())
    centers = options["centers"]
    is_drawn, is_given = isinstance(centers, int), isinstance(centers, np.ndarray)
    copies = np.concatenate([np.arange(len(y)), rng.permutation(repeated(weights - 1))])
    yield "copies", lambda: (whole(), model().fit(X[copies], y[copies]))
    half = len(y) // 2
    later = half + repeated(weights[half:])
    all_classes = np.array_equal(np.unique(y[:half]), np.unique(y))
    if options["decision"] == "scores" and not isinstance(options["class_weight"], str) and all_classes:

        def begun() -> SmoothEmbedding:
            return model(centers=None if is_given else centers).fit(X[:half], y[:half])

        yield (
            "copies, partial_fit",
            lambda: (
                begun().partial_fit(X[half:], y[half:], sample_weight=weights[half:]),
                begun().partial_fit(X[later], y[later]),
            ),
        )
    if options["metric"] is None and not is_drawn and options["augment"] is None:
        yield "sparse", lambda: (whole(), model().fit(sparse.csr_array(X), y, weights))
    yield "blocks", lambda: (whole(), model().fit_blocks(blocks_of(X, y, rng), weights))
    lazy = dask_array.from_array(X, chunks=(int(rng.integers(5, len(y))), X.shape[1]))
    yield "Dask", lambda: (whole(), model().fit(lazy, y, weights))
    np.save(folder / "X.npy", X)
    mapped = np.load(folder / "X.npy", mmap_mode="r")
    yield "memory map", lambda: (whole(), model().fit(mapped, y, weights))
    if not is_drawn:
        order = rng.permutation(len(y))
        moved = np.sort(np.argsort(order)[centers]) if is_given else centers
        yield (
            "permutation",
            lambda: (whole(), model(centers=moved).fit(X[order], y[order], weights[order])),
        )


def compared(seed: int) -> Row:
    """Return the configuration of a seed and the difference of each kind of comparison."""
    rng = np.random.default_rng(seed)
    name, X, y = samples(rng)
    weights = rng.integers(1, 4, len(y)).astype(float) if rng.random() < 0.7 else np.ones(len(y))
    options = parameters(len(y), np.unique(y), rng)
    X_new = np.concatenate([X, X[:30] + rng.normal(size=X[:30].shape).astype(X.dtype)])
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # weights with an unusual mean
        for kind, fits in pairs(X, y, weights, options, Path(folder), rng):
            try:
                one, other = fits()
            except Exception as error:  # a fit that fails where its equal does not is a disagreement
                found[kind] = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
                continue
            found[kind] = difference(one, other, X_new)
            found[f"{kind}, left out"] = abs(one.leave_one_out_score_ - other.leave_one_out_score_)
    centers = options["centers"]
    shown = f"{len(centers)} rows" if isinstance(centers, np.ndarray) else centers
    return {
        "data": name,
        "samples": len(y),
        "features": X.shape[1],
        "dtype": str(X.dtype),
        "parameters": options | {"centers": shown, "augment": str(options["augment"])},
        "differences": found,
    }


def is_equal(value: Any) -> bool:
    return not isinstance(value, str) and value <= TOLERANCE


def table(rows: Sequence[Row]) -> str:
    """Return one line per kind of comparison."""
    lines = []
    for kind in sorted({kind for row in rows for kind in row["differences"]}):
        values = [row["differences"][kind] for row in rows if kind in row["differences"]]
        wrong = [value for value in values if not is_equal(value)]
        right = [value for value in values if is_equal(value)]
        lines.append([kind, len(values), len(wrong), f"{max(right, default=0.0):.1e}"])
    return text_table(
        ["kind", "comparisons", "disagreements", "largest difference of the others"], lines
    )


def counted(rows: Sequence[Row]) -> dict[str, int]:
    """Count the comparisons and the disagreements."""
    values = [value for row in rows for value in row["differences"].values()]
    return {"comparisons": len(values), "disagreements": sum(not is_equal(value) for value in values)}


def main(argv: Sequence[str] | None = None) -> dict[str, int]:
    """Compute the missing rows and print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--configurations", type=int, default=CONFIGURATIONS)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args(argv)
    seeds = range(options.first, options.first + options.configurations)
    rows = resumed(options.out, ("seed",), [(seed,) for seed in seeds], compared)
    for row in rows:
        for kind, value in row["differences"].items():
            if not is_equal(value):
                print(row["seed"], row["data"], kind, value, row["parameters"])
    print(table(rows))
    total = counted(rows)
    print(f"{len(rows)} configurations: " + ", ".join(f"{value} {key}" for key, value in total.items()))
    return total


if __name__ == "__main__":
    raise SystemExit(int(main()["disagreements"] > 0))
