"""Measure coverage of 90 % prediction sets and the level of typicality, with few and many features.

Each model is fitted to training samples and calibrated on the same samples, left out one by one. Each
line of the table belongs to one model on one data set. It contains the share of new samples whose
90 % set contains the true label, the standard error of this share over the splits, its distance from
0.90 in standard errors, the share of new samples of known classes with a typicality of at most 5 %,
and the number of labels per set. The last line is the sentence of `docs/research/measurements.md`.

    python benchmarks/prediction_sets.py --splits 0                     # print the stored table again
    NSSE_DATA=<folder> python benchmarks/prediction_sets.py --out sets.jsonl    # 12 splits, 12 minutes
    python benchmarks/prediction_sets.py --out sets.jsonl --sizes 300 --ratios 0.5 5    # a part of it

The file contains one JSON line per model and split. Lines that it already contains are not computed
again.
"""

from __future__ import annotations

import os
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from common import RESULTS, Row, mean_and_error, parser_of, resumed, text_table, wide_arrays
from nsse import SmoothEmbedding
from nsse.certificates import ConformalClassifier

ROWS = RESULTS / "prediction_sets.jsonl"
ALPHA, LEVEL = 0.1, 0.05
SPLITS, N_TEST = 12, 1000
# Made-up data: training samples, and features per training sample.
SIZES, RATIOS, N_CLASSES, SHIFT = (300, 600), (0.5, 1.0, 2.0, 5.0, 10.0), 4, 2.2
# Real data with more features than samples; the rest of their samples is for testing.
REAL = {"genes_methylation": 130, "genes_breast_tcga": 130, "genes_mesothelioma": 101}
CENTERS = (30, 100, 300)
LATER = {"1": 1, "100": 100, "half": None}

Split = tuple[Any, Any, Any, Any]


def made_up(n_train: int, ratio: float, seed: int) -> Split:
    """Draw Gaussian classes that differ in one feature each. All other features are noise."""
    rng = np.random.default_rng([seed, n_train, int(10 * ratio)])
    y = rng.integers(N_CLASSES, size=n_train + N_TEST)
    X = rng.normal(size=(len(y), int(ratio * n_train)))
    X[:, :N_CLASSES] += SHIFT * np.eye(N_CLASSES)[y]
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def real(name: str, n_train: int, seed: int) -> Split:
    """Split a data set of the folder `wide` of `NSSE_DATA` at random."""
    X, labels = wide_arrays(name)
    y = np.unique(labels, return_inverse=True)[1]
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:n_train], order[n_train:]
    return X[train], y[train], X[test], y[test]


def updated(X: Any, y: Any, n_later: int) -> SmoothEmbedding:
    """Fit a model to the first samples, and let it learn the last ones by `partial_fit`."""
    first = len(y) - n_later
    return SmoothEmbedding().fit(X[:first], y[:first]).partial_fit(X[first:], y[first:])


def models_of(n_train: int) -> dict[str, Callable[[Any, Any], Any]]:
    """Return the models to fit, by name; with as many centers as samples the model is the exact one."""
    models: dict[str, Callable[[Any, Any], Any]] = {"exact": SmoothEmbedding().fit}
    for count in CENTERS:
        if count < n_train:
            models[f"{count} centers"] = SmoothEmbedding(centers=count).fit
    for name, count in LATER.items():
        n_later = n_train // 2 if count is None else count
        if n_later <= 3 * n_train // 4:
            models[f"partial_fit of {name}"] = lambda X, y, n=n_later: updated(X, y, n)
    return models


def measured(fit: Callable[[Any, Any], Any], split: Split) -> dict[str, Any]:
    """Fit one model, and compare its sets and p-values with the labels of the new samples."""
    X, y, X_new, y_new = split
    model = fit(X, y)
    sets = np.asarray(ConformalClassifier(model, alpha=ALPHA).fit().predict_set(X_new))
    p = model.typicality(X_new)
    codes = np.searchsorted(model.classes_, y_new)
    found = {
        "coverage": sets[np.arange(len(codes)), codes].mean(),
        "labels": sets.sum(axis=1).mean(),
        "level": (p <= LEVEL).mean(),
        "accuracy": model.score(X_new, y_new),
        "left_out": model.leave_one_out_score_,
    }
    return {name: round(float(value), 4) for name, value in found.items()}


def splits_by_name(
    sizes: Sequence[int], ratios: Sequence[float], names: Sequence[str]
) -> dict[str, tuple[int, Callable[[int], Split]]]:
    """Return the number of training samples of each data set, and a function that splits it."""
    found: dict[str, tuple[int, Callable[[int], Split]]] = {}
    for n_train in sizes:
        for ratio in ratios:
            name = f"{n_train} samples, {int(ratio * n_train)} features"
            found[name] = n_train, lambda seed, n=n_train, r=ratio: made_up(n, r, seed)
    for name in names if "NSSE_DATA" in os.environ else ():
        found[name] = REAL[name], lambda seed, name=name: real(name, REAL[name], seed)
    return found


def experiments(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    """Return the rows of each data set and model."""
    groups = defaultdict[tuple[str, str], list[Row]](list)
    for row in rows:
        groups[row["data"], row["model"]].append(row)
    return groups


def sentence(rows: Sequence[Row]) -> str:
    """Return the sentence of the page about all experiments."""
    found = [mean_and_error([row["coverage"] for row in own]) for own in experiments(rows).values()]
    coverage = [mean for mean, _ in found]
    furthest = max(abs(mean - (1 - ALPHA)) / error for mean, error in found if error > 0)
    return (
        f"In {len(found)} experiments, the coverage of 90 % sets is between {100 * min(coverage):.1f} "
        f"and {100 * max(coverage):.1f} %, and at most {furthest:.1f} standard errors from 90 %."
    )


def table(rows: Sequence[Row]) -> str:
    """Return one line per data set and model."""
    lines = []
    for (data, model), own in experiments(rows).items():
        coverage, error = mean_and_error([row["coverage"] for row in own])
        level, level_error = mean_and_error([row["level"] for row in own])
        gap = coverage - (1 - ALPHA)
        far = np.copysign(np.inf, gap) if error == 0 else gap / error
        means = [
            f"{np.mean([row[key] for row in own]):.2f}" for key in ("labels", "accuracy", "left_out")
        ]
        shares = [f"{coverage:.3f} ± {error:.3f}", f"{far:+.1f}", f"{level:.3f} ± {level_error:.3f}"]
        lines.append([f"{data}, {model}", len(own), *shares, *means])
    header = ["data, model", "splits", "coverage", "errors from 0.90", "typicality ≤ 0.05", "labels"]
    return text_table([*header, "accuracy", "left-out accuracy"], lines)


def main(argv: Sequence[str] | None = None) -> list[Row]:
    """Compute the missing rows, and print the table and the sentence."""
    parser = parser_of(__doc__, ROWS)
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="numbers of made-up samples")
    parser.add_argument("--ratios", type=float, nargs="*", default=RATIOS, help="features per sample")
    parser.add_argument("--real", nargs="*", default=list(REAL), choices=list(REAL))
    parser.add_argument("--models", nargs="*", default=[""], help="models whose names begin like this")
    options = parser.parse_args(argv)
    data = splits_by_name(options.sizes, options.ratios, options.real)
    cells = [
        (name, model, seed)
        for seed in range(options.splits)
        for name, (n_train, _) in data.items()
        for model in models_of(n_train)
        if model.startswith(tuple(options.models))
    ]

    @lru_cache(maxsize=1)
    def split_of(name: str, seed: int) -> Split:
        return data[name][1](seed)

    def row(name: str, model: str, seed: int) -> Row:
        return measured(models_of(data[name][0])[model], split_of(name, seed))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # raw gene expression has columns of different spreads
        rows = resumed(options.out, ("data", "model", "split"), cells, row)
    print(table(rows))
    print(sentence(rows))
    return rows


if __name__ == "__main__":
    main()
