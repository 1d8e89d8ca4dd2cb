"""Measure how well typicality separates samples of unknown classes from samples of known classes.

    python benchmarks/hull.py --splits 0             # print the table of the stored rows
    NSSE_DATA=<folder> python benchmarks/hull.py --out hull.jsonl            # 2 minutes

A fifth of the classes is not in the training data. The area under the curve compares the p-values of
samples of these classes with those of new samples of known classes. The level is the share of new
samples of known classes with a p-value of at most 5 %.

The file contains one JSON line per data set and split. Lines that it already contains are not computed
again.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.metrics import roc_auc_score

from common import (
    RESULTS,
    Row,
    coded_samples,
    markdown_table,
    mean_and_error,
    parser_of,
    random_split,
    resumed,
)
from nsse import SmoothEmbedding

# Data sets with their titles and training samples per class.
UNKNOWN = {
    "digits": ("digits", 20),
    "orl": ("ORL", 5),
    "coil20": ("COIL-20", 15),
    "yale": ("Extended Yale B", 10),
    "embedded_banking": ("banking77, embedded", 10),
    "genes_tissues": ("tissues (genes)", 10),
    "genes_breast_tcga": ("breast cancer (genes)", 20),
}
SPLITS = 10
ROWS = RESULTS / "hull.jsonl"
LEVEL = 0.05
KEYS = ("set", "per_class", "split")


def measured(name: str, per_class: int, seed: int) -> Row:
    """Leave a fifth of the classes out, and compare the p-values of their samples with the others."""
    X, codes = coded_samples(name)
    classes = np.random.default_rng(seed).permutation(codes.max() + 1)
    is_unknown = np.isin(codes, classes[: max(1, len(classes) // 5)])
    known = np.flatnonzero(~is_unknown)
    train, test = (known[part] for part in random_split(codes[known], per_class, seed))
    model = SmoothEmbedding().fit(X[train], codes[train])
    of_known, of_unknown = model.typicality(X[test]), model.typicality(X[is_unknown])
    truth = np.repeat([0, 1], [len(of_known), len(of_unknown)])
    area = roc_auc_score(truth, -np.concatenate([of_known, of_unknown]))
    return {"area": round(float(area), 5), "level": round(float((of_known <= LEVEL).mean()), 5)}


def table(rows: Sequence[Row]) -> str:
    """Return the table of `docs/research/measurements.md`."""
    lines = []
    for name, (title, size) in UNKNOWN.items():
        own = [row for row in rows if row["set"] == name]
        if own:
            cells = [mean_and_error([row[key] for row in own]) for key in ("area", "level")]
            lines.append([f"{title}, {size}", *(f"{mean:.3f} ± {error:.3f}" for mean, error in cells)])
    head = "data, training samples per class", "area under the curve", "known samples with p ≤ 0.05"
    return markdown_table(head, lines)


def main(argv: Sequence[str] | None = None) -> list[Row]:
    """Compute the missing rows and print the table."""
    parser = parser_of(__doc__, ROWS)
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--sets", nargs="*", default=list(UNKNOWN), choices=list(UNKNOWN))
    options = parser.parse_args(argv)
    cells = [(name, UNKNOWN[name][1], seed) for name in options.sets for seed in range(options.splits)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # raw gene expression has columns of different spreads
        rows = resumed(options.out, KEYS, cells, measured)
    print(table(rows))
    return rows


if __name__ == "__main__":
    main()
