"""Time and memory of a fit where features are many: 100 samples, up to 22,000 features.

    OPENBLAS_NUM_THREADS=1 python benchmarks/wide.py

Seconds are those of the processor, the least of three; memory is the peak of what a fit allocates,
beside the data.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.svm import SVC

from common import markdown_table
from nsse import SmoothEmbedding, SmoothEmbeddingCV

N_SAMPLES, FEATURES, N_CLASSES = 100, (1000, 5000, 22_000), 4
MODELS: dict[str, Callable[[], Any]] = {
    "SmoothEmbedding()": SmoothEmbedding,
    "SmoothEmbeddingCV()": SmoothEmbeddingCV,
    "SVC(C=10)": lambda: SVC(C=10.0),
}


def samples(n_features: int) -> tuple[Any, Any]:
    """Noise, and a hundredth of the features that say something."""
    rng = np.random.default_rng(0)
    y = np.arange(N_SAMPLES) % N_CLASSES
    X = rng.normal(size=(N_SAMPLES, n_features))
    X[:, : n_features // 100] += 0.5 * y[:, np.newaxis]
    return X, y


def measured(model: Callable[[], Any], X: Any, y: Any) -> str:
    """Seconds and megabytes of a fit."""
    seconds = []
    for _ in range(3):
        start = time.process_time()
        model().fit(X, y)
        seconds.append(time.process_time() - start)
    tracemalloc.start()
    model().fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return f"{min(seconds):.2g} s, {peak / 1e6:.0f} MB"


def main() -> None:
    """Print the table."""
    data = {n: samples(n) for n in FEATURES}
    head = [f"{n} features ({X.nbytes / 1e6:.0f} MB)" for n, (X, _) in data.items()]
    lines = [[name, *(measured(model, *data[n]) for n in FEATURES)] for name, model in MODELS.items()]
    print(markdown_table([f"{N_SAMPLES} samples", *head], lines))


if __name__ == "__main__":
    main()
