"""Our estimators and scikit-learn's peers on the same samples, in one run.

Seconds to fit and to predict, and the test error, with the parameters of each that its documentation
suggests; kernels have a width of 0.7 median distances. Supervised UMAP joins in where it is installed.

    python benchmarks/peers.py                      # MNIST with NSSE_DATA; generated digits without
    python benchmarks/peers.py --n 200 --queries 200
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from common import RESULTS, Samples, draw_samples, error_percent, machine_facts, show, write_json
from nsse import NSSE, SmoothEmbedding

WIDTH = 0.7  # median distances


def models(X: np.ndarray) -> dict[str, Any]:
    """What is compared; so many components as there are samples, at most."""
    gamma = 1.0 / (WIDTH * float(np.median(euclidean_distances(X[:1000])))) ** 2
    m, few = min(1000, len(X) // 2), min(300, len(X) // 2)
    found = {
        "SmoothEmbedding()": SmoothEmbedding(),
        f"SmoothEmbedding(centers={m})": SmoothEmbedding(centers=m),
        "NSSE()": NSSE(),
        f"Nystroem({m}) + LinearSVC": make_pipeline(
            Nystroem(gamma=gamma, n_components=m, random_state=0), LinearSVC(random_state=0)
        ),
        "SVC(C=10)": SVC(C=10.0, gamma=gamma),
        f"KernelPCA({few}) + LDA": make_pipeline(
            KernelPCA(few, kernel="rbf", gamma=gamma, random_state=0), LinearDiscriminantAnalysis()
        ),
        "NCA, 30 iterations + nearest neighbour": make_pipeline(
            NeighborhoodComponentsAnalysis(9, max_iter=30, random_state=0), KNeighborsClassifier(1)
        ),
    }
    try:
        from umap import UMAP
    except ImportError:
        return found
    umap = make_pipeline(UMAP(n_components=9, random_state=0), KNeighborsClassifier(15))
    return found | {"supervised UMAP + 15 neighbours": umap}


def row(name: str, model: Any, samples: Samples) -> dict[str, Any]:
    start = time.perf_counter()
    model.fit(samples.X_train, samples.y_train)
    fitted = time.perf_counter()
    error = error_percent(model, samples.X_test, samples.y_test)
    return {
        "model": name,
        "fit_seconds": round(fitted - start, 2),
        "predict_seconds": round(time.perf_counter() - fitted, 2),
        "test_error_percent": error,
    }


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--n", type=int, default=3000, help="training samples")
    parser.add_argument("--queries", type=int, default=5000, help="test samples")
    parser.add_argument("--out", type=Path, default=RESULTS / "peers.json")
    options = parser.parse_args(argv)
    facts = machine_facts()
    samples = draw_samples(options.n, options.queries)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # solvers that stop at their max_iter
        rows = [row(name, model, samples) for name, model in models(samples.X_train).items()]
    data = f"{samples.source}: {options.n} training, {options.queries} test samples"
    print(data)
    show(rows)
    record = {"data": data, "rows": rows, "machine": facts}
    write_json(options.out, record)
    return record


if __name__ == "__main__":
    main()
