"""Coverage of 90 % prediction sets and level of typicality, with few and with many features.

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

import argparse
import json
import os
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from common import RESULTS, text_table
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
    """Gaussian classes that differ in one feature each; all other features are noise."""
    rng = np.random.default_rng([seed, n_train, int(10 * ratio)])
    y = rng.integers(N_CLASSES, size=n_train + N_TEST)
    X = rng.normal(size=(len(y), int(ratio * n_train)))
    X[:, :N_CLASSES] += SHIFT * np.eye(N_CLASSES)[y]
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def real(name: str, n_train: int, seed: int) -> Split:
    """A random split of a set of the folder `wide` of `NSSE_DATA`."""
    with np.load(Path(os.environ["NSSE_DATA"]) / "wide" / f"{name}.npz") as stored:
        X, y = stored["X"].astype(np.float64), np.unique(stored["y"], return_inverse=True)[1]
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
    # Version 0.3 calls typicality novelty.
    p = (model.typicality if hasattr(model, "typicality") else model.novelty)(X_new)
    codes = np.searchsorted(model.classes_, y_new)
    found = {
        "coverage": sets[np.arange(len(codes)), codes].mean(),
        "labels": sets.sum(axis=1).mean(),
        "level": (p <= LEVEL).mean(),
        "accuracy": model.score(X_new, y_new),
        "left_out": model.leave_one_out_score_,
    }
    return {name: round(float(value), 4) for name, value in found.items()}


def cases(options: argparse.Namespace) -> Iterator[tuple[str, int, Callable[[int], Split]]]:
    """Yield the name of each data set, its number of training samples, and a function that splits it."""
    for n_train in options.sizes:
        for ratio in options.ratios:
            name = f"{n_train} samples, {int(ratio * n_train)} features"
            yield name, n_train, lambda seed, n=n_train, r=ratio: made_up(n, r, seed)
    if "NSSE_DATA" in os.environ:
        for name in options.real:
            yield name, REAL[name], lambda seed, name=name: real(name, REAL[name], seed)


def stored_rows(path: Path) -> list[dict[str, Any]]:
    return (
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if path.exists()
        else []
    )


def spread(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error, which is NaN for a single value."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(np.mean(values)), float(error)


def experiments(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the rows of each data set and model."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["data"], row["model"]].append(row)
    return groups


def sentence(rows: Sequence[dict[str, Any]]) -> str:
    """Return the sentence of the page about all experiments."""
    found = [spread([row["coverage"] for row in own]) for own in experiments(rows).values()]
    coverage = [mean for mean, _ in found]
    furthest = max(abs(mean - (1 - ALPHA)) / error for mean, error in found if error > 0)
    return (
        f"In {len(found)} experiments, the coverage of 90 % sets is between {100 * min(coverage):.1f} "
        f"and {100 * max(coverage):.1f} %, and at most {furthest:.1f} standard errors from 90 %."
    )


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return one line per data set and model."""
    lines = []
    for (data, model), own in experiments(rows).items():
        coverage, error = spread([row["coverage"] for row in own])
        level, level_error = spread([row["level"] for row in own])
        gap = coverage - (1 - ALPHA)
        far = np.copysign(np.inf, gap) if error == 0 else gap / error
        means = [
            f"{np.mean([row[key] for row in own]):.2f}" for key in ("labels", "accuracy", "left_out")
        ]
        shares = [f"{coverage:.3f} ± {error:.3f}", f"{far:+.1f}", f"{level:.3f} ± {level_error:.3f}"]
        lines.append([f"{data}, {model}", len(own), *shares, *means])
    header = ["data, model", "splits", "coverage", "errors from 0.90", "typicality ≤ 0.05", "labels"]
    return text_table([*header, "accuracy", "left-out accuracy"], lines)


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="numbers of made-up samples")
    parser.add_argument("--ratios", type=float, nargs="*", default=RATIOS, help="features per sample")
    parser.add_argument("--real", nargs="*", default=list(REAL), choices=list(REAL))
    parser.add_argument("--models", nargs="*", default=[""], help="models whose names begin like this")
    parser.add_argument("--out", type=Path, default=ROWS, help="the file of JSON lines")
    options = parser.parse_args(argv)
    rows = stored_rows(options.out)
    done = {(row["data"], row["model"], row["split"]) for row in rows}
    with options.out.open("a", encoding="utf-8") as out, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # raw gene expression has columns of different spreads
        for seed in range(options.splits):
            for name, n_train, split_of in cases(options):
                chosen = {
                    m: f for m, f in models_of(n_train).items() if m.startswith(tuple(options.models))
                }
                missing = [m for m in chosen if (name, m, seed) not in done]
                split = split_of(seed) if missing else None
                for model in missing:
                    row = {"data": name, "model": model, "split": seed, **measured(chosen[model], split)}
                    rows.append(row)
                    out.write(json.dumps(row) + "\n")
                    out.flush()
    print(table(rows))
    print(sentence(rows))
    return rows


if __name__ == "__main__":
    main()
