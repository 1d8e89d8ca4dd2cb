"""Errors, log-losses and detection of unknown classes, compared between two versions of nsse.

Version 0.4 projects new samples onto the hull of the training samples if there are more features than
samples. The first part measures errors and log-losses on gene expression, with 5, 10 and 20 training
samples per class and with half of all samples, for columns as published and for columns divided by
their standard deviations. It also measures how far the probabilities of new samples are from the class
priors, and how many samples get the priors. The second part leaves a fifth of the classes out of
training. It measures how well p-values separate samples of these classes from new samples of known
classes (area under the curve), and how many samples of known classes have a p-value of at most 5 %.

    python benchmarks/hull.py --splits 0             # print the tables of the stored rows
    NSSE_DATA=<folder> python benchmarks/hull.py --out hull.jsonl            # 4 minutes
    NSSE_DATA=<folder> PYTHONPATH=<0.3>/src python benchmarks/hull.py --out hull.jsonl --version 0.3

The file contains one JSON line per data set, size and split. Lines that it already contains are not
computed again. "choose" and "report" are the two halves of the data sets (`reproduction/study/sets.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).parents[1]))

from common import RESULTS, markdown_table
from nsse import SmoothEmbedding
from nsse.datasets import load_dataset
from reproduction.study.sets import half_of

GENES = ("breast_subtypes", "breast_tcga", "colon", "leukemia", "mesothelioma", "methylation")
GENES += ("prostate", "tissues")
HALF = 0  # stands for half of the samples of every class
SIZES, SPLITS, UNKNOWN_SPLITS = (5, 10, 20, HALF), 5, 10
COLUMNS = "as published", "standardized"
# Sets for unknown classes, with training samples per class.
UNKNOWN = {"digits": 20, "orl": 5, "coil20": 15, "yale": 10, "embedded_banking": 10}
UNKNOWN |= {"genes_tissues": 10, "genes_breast_tcga": 20}
TITLES = {"digits": "digits", "orl": "ORL", "coil20": "COIL-20", "yale": "Extended Yale B"}
TITLES |= {"embedded_banking": "banking77, embedded", "genes_tissues": "tissues (genes)"}
TITLES |= {"genes_breast_tcga": "breast cancer (genes)"}
VERSIONS = "0.3", "0.4"
ROWS = RESULTS / "hull.jsonl"
LEVEL = 0.05
NO_PROBABILITY = 1e-15  # probabilities below this count as this
AT_THE_PRIORS = 1e-6  # probabilities that differ from the priors by less than this

Row = dict[str, Any]


@cache
def data(name: str) -> tuple[Any, Any]:
    """Return the samples of a set and the codes of their classes."""
    if "_" in name:
        with np.load(Path(os.environ["NSSE_DATA"]) / "wide" / f"{name}.npz") as stored:
            X, y = stored["X"].astype(np.float64), stored["y"]
    else:
        loaded = load_dataset(name)
        X, y = loaded.X, loaded.y
    return X, np.unique(y, return_inverse=True)[1]


def divided(codes: Any, per_class: int, seed: int) -> tuple[Any, Any]:
    """Return random positions of so many samples of each class, and those of all others."""
    order = np.random.default_rng(seed).permutation(len(codes))
    own = [order[codes[order] == c] for c in np.unique(codes)]
    train = np.concatenate([part[: per_class or len(part) // 2] for part in own])
    return np.sort(train), np.setdiff1d(order, train)


def measured_errors(part: str, name: str, per_class: int, seed: int) -> Row:
    """Fit a model to some samples of each class, and measure its probabilities on the others."""
    X, codes = data(name)
    enough = np.bincount(codes)[codes] >= per_class + 2
    X, codes = X[enough], np.unique(codes[enough], return_inverse=True)[1]
    train, test = divided(codes, per_class, seed)
    scaler = StandardScaler(with_mean=False, with_std=part == COLUMNS[1])
    model = make_pipeline(scaler, SmoothEmbedding()).fit(X[train], codes[train])
    P, y = model.predict_proba(X[test]), codes[test]
    priors = np.bincount(codes[train]) / len(train)
    distances = np.abs(P - priors).max(axis=1)
    return {
        "test": len(test),
        "error": rounded((model.predict(X[test]) != y).mean()),
        "log_loss": rounded(log_loss(y, np.clip(P, NO_PROBABILITY, 1.0), labels=np.arange(len(priors)))),
        "from_priors": rounded(np.median(distances)),
        "at_priors": rounded((distances < AT_THE_PRIORS).mean()),
    }


def measured_unknown(_: str, name: str, per_class: int, seed: int) -> Row:
    """Leave a fifth of the classes out, and compare the p-values of their samples with the others."""
    X, codes = data(name)
    classes = np.random.default_rng(seed).permutation(codes.max() + 1)
    is_unknown = np.isin(codes, classes[: max(1, len(classes) // 5)])
    known = np.flatnonzero(~is_unknown)
    train, test = (known[part] for part in divided(codes[known], per_class, seed))
    model = SmoothEmbedding().fit(X[train], codes[train])
    # Version 0.3 calls typicality novelty.
    p_values = model.typicality if hasattr(model, "typicality") else model.novelty
    old, new = p_values(X[test]), p_values(X[is_unknown])
    area = roc_auc_score(np.repeat([0, 1], [len(old), len(new)]), -np.r_[old, new])
    return {"area": rounded(area), "level": rounded((old <= LEVEL).mean())}


def rounded(value: Any) -> float:
    return round(float(value), 5)


Cell = tuple[str, str, int, int, Callable[[str, str, int, int], Row]]


def cells(options: argparse.Namespace) -> list[Cell]:
    """Return the part, the set, the samples per class, the split and the function of each row."""
    found: list[Cell] = [
        (part, f"genes_{name}", size, seed, measured_errors)
        for part in COLUMNS
        for name in options.genes
        for size in SIZES
        for seed in range(min(options.splits, SPLITS))
        if has_enough(f"genes_{name}", size)
    ]
    found += [
        ("unknown", name, UNKNOWN[name], seed, measured_unknown)
        for name in options.unknown
        for seed in range(options.splits)
    ]
    return found


def has_enough(name: str, per_class: int) -> bool:
    """Whether at least two classes have two samples left for testing."""
    return bool((np.bincount(data(name)[1]) >= per_class + 2).sum() > 1)


def tables(rows: Sequence[Row]) -> str:
    """Return the tables of errors, their summary, and the tables of unknown classes."""
    parts = [errors_table(rows, part) for part in COLUMNS]
    return "\n\n".join([*parts, summary(rows), unknown_table(rows, VERSIONS), typicality_table(rows)])


def typicality_table(rows: Sequence[Row]) -> str:
    """Return the table of `docs/research/measurements.md`, which contains version 0.4 alone."""
    return unknown_table(rows, VERSIONS[1:])


def by_version(rows: Sequence[Row], part: str) -> dict[tuple[str, int], dict[str, list[Row]]]:
    """Return the rows of a part by set and size, and by version, if both versions have them."""
    found: dict[Any, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["part"] == part:
            found[row["set"], row["per_class"]][row["version"]].append(row)
    return {key: own for key, own in found.items() if set(own) >= set(VERSIONS)}


def mean(rows: Sequence[Row], key: str) -> float:
    return float(np.mean([row[key] for row in rows]))


def pair(own: dict[str, list[Row]], key: str, form: str) -> str:
    """Return the means of both versions."""
    return " → ".join(form.format(mean(own[version], key)) for version in VERSIONS)


def size_of(per_class: int) -> str:
    return "half of the samples" if per_class == HALF else f"{per_class} per class"


def errors_table(rows: Sequence[Row], part: str) -> str:
    """Return one line per set and size, with the numbers of version 0.3 and of version 0.4."""
    lines = []
    for (name, size), own in by_version(rows, part).items():
        shown = [pair(own, "error", "{:.1%}"), pair(own, "log_loss", "{:.3f}")]
        shown += [pair(own, "from_priors", "{:.3f}"), pair(own, "at_priors", "{:.1%}")]
        lines.append([f"{name}, {size_of(size)}", half_of(name), *shown])
    head = [f"columns {part}, 0.3 → 0.4", "half", "error", "log-loss", "distance from the priors"]
    return markdown_table([*head, "samples at the priors"], lines)


def summary(rows: Sequence[Row]) -> str:
    """Return the geometric mean of the relative errors, and the mean change of the log-loss."""
    lines = []
    for part in COLUMNS:
        found = by_version(rows, part)
        groups = {size_of(size): [key for key in found if key[1] == size] for size in SIZES}
        for half in ("choose", "report"):
            groups[f"all sizes, {half} half"] = [key for key in found if half_of(key[0]) == half]
        for group, keys in groups.items():
            if keys:
                error, loss = np.mean([change(found[key]) for key in keys], axis=0)
                shown = f"{100 * np.expm1(error):+.1f} %", f"{loss:+.3f}"
                lines.append([f"columns {part}, {group}", len(keys), *shown])
    return markdown_table(["0.4 compared with 0.3", "experiments", "error", "log-loss"], lines)


def change(own: dict[str, list[Row]]) -> tuple[float, float]:
    """Return the logarithm of the relative error, and the difference of the log-losses."""
    # A set without errors would have a ratio of zero or infinity, so half an error is added to each.
    old, new = (np.mean([r["error"] + 0.5 / r["test"] for r in own[version]]) for version in VERSIONS)
    losses = [mean(own[version], "log_loss") for version in VERSIONS]
    return float(np.log(new / old)), losses[1] - losses[0]


def unknown_table(rows: Sequence[Row], versions: Sequence[str]) -> str:
    """Return one line per set with unknown classes."""
    names = [f", version {version}" if len(versions) > 1 else "" for version in versions]
    head = ["data, training samples per class", *(f"area under the curve{name}" for name in names)]
    head += [f"known samples with p ≤ 0.05{name}" for name in names]
    lines = []
    for (name, size), own in by_version(rows, "unknown").items():
        areas, levels = ([spread(own[v], key) for v in versions] for key in ("area", "level"))
        lines.append([f"{TITLES[name]}, {size}", *areas, *levels])
    return markdown_table(head, lines)


def spread(rows: Sequence[Row], key: str) -> str:
    """Return the mean and its standard error over the splits."""
    values = [row[key] for row in rows]
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{np.mean(values):.3f} ± {error:.3f}"


def main(argv: Sequence[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--splits", type=int, default=UNKNOWN_SPLITS)
    parser.add_argument("--genes", nargs="*", default=GENES, choices=GENES)
    parser.add_argument("--unknown", nargs="*", default=list(UNKNOWN), choices=list(UNKNOWN))
    parser.add_argument("--version", default=VERSIONS[1], choices=VERSIONS, help="the one that runs")
    parser.add_argument("--out", type=Path, default=ROWS, help="the file of JSON lines")
    options = parser.parse_args(argv)
    text = options.out.read_text(encoding="utf-8") if options.out.exists() else ""
    rows = [json.loads(line) for line in text.splitlines()]
    keys = "version", "part", "set", "per_class", "split"
    done = {tuple(row[key] for key in keys) for row in rows}
    with options.out.open("a", encoding="utf-8") as out, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # raw gene expression has columns of different spreads
        for *cell, measure in cells(options) if options.splits else []:
            key = (options.version, *cell)
            if key not in done:
                rows.append(dict(zip(keys, key, strict=True)) | measure(*cell))
                out.write(json.dumps(rows[-1]) + "\n")
                out.flush()
    print(tables(rows))
    return rows


if __name__ == "__main__":
    main()
