"""Measure time and memory of a fit with many features: 100 samples, up to 22,000 features.

    OPENBLAS_NUM_THREADS=1 python benchmarks/wide.py

Seconds are processor times, the least of three runs. Memory is the largest amount that a fit allocates
in addition to the data.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

from sklearn.svm import SVC

from common import least_seconds, markdown_table, wide_samples
from nsse import SmoothEmbedding, SmoothEmbeddingCV

FEATURES = (1000, 5000, 22_000)
MODELS: dict[str, Callable[[], Any]] = {
    "SmoothEmbedding()": SmoothEmbedding,
    "SmoothEmbeddingCV()": SmoothEmbeddingCV,
    "SVC(C=10)": lambda: SVC(C=10.0),
}


def measured(model: Callable[[], Any], X: Any, y: Any) -> str:
    """Return seconds and megabytes of a fit."""
    (seconds,), _ = least_seconds([lambda: model().fit(X, y)], 3)
    tracemalloc.start()
    model().fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return f"{seconds:.2g} s, {peak / 1e6:.0f} MB"


def main() -> None:
    """Print the table of `docs/research/measurements.md`."""
    data = {n: wide_samples(n) for n in FEATURES}
    head = [f"{n} features ({X.nbytes / 1e6:.0f} MB)" for n, (X, _) in data.items()]
    lines = [[name, *(measured(model, *data[n]) for n in FEATURES)] for name, model in MODELS.items()]
    print(markdown_table(["100 samples", *head], lines))


if __name__ == "__main__":
    main()
