"""Measure the coverage of prediction sets and the median certified radii of images.

    NSSE_DATA=<folder> python benchmarks/certificates.py

The table compares three ways to calibrate: left-out training samples in closed form, folds (CV+), and a
split, which fits the model to half of the samples. `benchmarks/radii.py` attacks certified radii.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from common import (
    RESULTS,
    coded_samples,
    markdown_table,
    mean_and_error,
    parser_of,
    random_split,
    write_json,
)
from nsse import SmoothEmbedding
from nsse.certificates import ConformalClassifier

TITLES = {
    "digits": "digits",
    "coil20": "COIL-20",
    "yale": "Extended Yale B",
    "embedded_banking": "banking77, embedded",
    "embedded_flowers": "flowers, embedded",
    "genes_tissues": "tissues (genes)",
    "series_swedishleaf": "Swedish leaf",
    "series_faceall": "faces (series)",
}
PER_CLASS = 10
LEVELS = (0.05, 0.1, 0.2)
FOLDS = 10  # one sample of every class in each
MOST_TEST = 1500
# Training images per class of the certified radii.
RADII = {"digits": 20, "coil20": 10, "orl": 3}
MOST_RADII = 700


def covered(name: str, n_splits: int) -> list[dict[str, Any]]:
    """Return coverage and size of prediction sets for each calibration, level and kind of threshold."""
    X, codes = coded_samples(name)
    enough = np.bincount(codes)[codes] > PER_CLASS + 2
    X, codes = X[enough], np.unique(codes[enough], return_inverse=True)[1]
    measured: dict[Any, list[Any]] = {}
    for seed in range(n_splits):
        train, test = random_split(codes, PER_CLASS, seed)
        half, rest = (train[part] for part in random_split(codes[train], PER_CLASS // 2, seed))
        test = test[:MOST_TEST]
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
            measured.setdefault(key, []).append((holds.mean(), sets.sum(axis=1).mean(), each))
    found = []
    for (alpha, way), rows in measured.items():
        coverage, size, each = zip(*rows, strict=True)
        row = {
            "coverage": round(mean_and_error(coverage)[0], 3),
            "error": round(mean_and_error(coverage)[1], 3),
            "size": round(float(np.mean(size)), 2),
            # The coverage of the class that is covered least, as a mean over splits.
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
        markdown_table(
            ["", *head], [[title, *(cell(name, *key) for key in keys)] for name, title in TITLES.items()]
        )
        for head, keys in ((names, first), (by_class, second))
    ]


def median_radius(name: str, per_class: int) -> float:
    """Return the median certified radius of new samples."""
    X, codes = coded_samples(name)
    train, test = random_split(codes, per_class, 0)
    model = SmoothEmbedding().fit(X[train], codes[train])
    new = np.random.default_rng(1).permutation(X[test])[:MOST_RADII]
    return float(f"{np.median(model.certified_radius(new)):.3g}")


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Print and store coverage and radii."""
    parser = parser_of(__doc__, RESULTS / "certificates.json")
    parser.add_argument("--splits", type=int, default=10)
    options = parser.parse_args(argv)
    rows = [row for name in TITLES for row in covered(name, options.splits)]
    radii = {name: median_radius(name, size) for name, size in RADII.items()}
    record = {"radii": radii, "coverage": rows}
    print("\n\n".join(page_tables(record)))
    print(radii)
    write_json(options.out, record)
    return record


if __name__ == "__main__":
    main()
