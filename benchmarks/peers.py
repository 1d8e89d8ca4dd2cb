"""Exact NSSE, NSSE with landmarks and scikit-learn's peers on the same samples, in one run.

Seconds to fit and to predict, and the test error, with the parameters of each that its documentation
suggests; kernels have a width of 0.7 median distances. Supervised UMAP joins in where it is installed.

    python benchmarks/peers.py          # MNIST with NSSE_DATA; generated digits without
    python benchmarks/peers.py --quick
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

from common import RESULTS, draw_samples, machine_facts, text_table, write_json
from nsse import NSSE

WIDTH = 0.7  # median distances


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    options = _parse(argv)
    facts = machine_facts()
    samples = draw_samples(options.n, options.queries)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # solvers that stop at their max_iter
        for name, model in _models(samples.X_train, options).items():
            rows.append(_row(name, model, samples))
            print(rows[-1], flush=True)
    has_umap = any("UMAP" in row["model"] for row in rows)
    record = {
        "data": f"{samples.source}: {options.n} training, {options.queries} test samples",
        "rows": rows,
        "note": None if has_umap else "supervised UMAP is not installed",
        "machine": facts,
    }
    _show(record)
    write_json(options.out, record)
    return record


def _models(X: np.ndarray, options: argparse.Namespace) -> dict[str, Any]:
    median = float(np.median(euclidean_distances(X[:1000])))
    gamma = 1.0 / (WIDTH * median) ** 2
    m, d = options.landmarks, 9
    vote = KNeighborsClassifier(15)
    nystroem = Nystroem(gamma=gamma, n_components=min(1000, len(X)), random_state=0)
    kernel_pca = KernelPCA(options.components, kernel="rbf", gamma=gamma, random_state=0)
    models = {
        "NSSE, exact": NSSE.as_published(),
        f"NSSE, {m} landmarks": NSSE.as_published(n_landmarks=m, classifier=vote),
        "Nystroem(1000) + LinearSVC": make_pipeline(nystroem, LinearSVC(random_state=0)),
        "SVC": SVC(C=10.0, gamma=gamma),
        "KernelPCA + LDA": make_pipeline(kernel_pca, LinearDiscriminantAnalysis()),
        "NCA + nearest neighbour": make_pipeline(
            NeighborhoodComponentsAnalysis(d, max_iter=options.nca_steps, random_state=0),
            KNeighborsClassifier(1),
        ),
    }
    try:
        from umap import UMAP
    except ImportError:
        return models
    return models | {
        "supervised UMAP + 15 neighbours": make_pipeline(UMAP(n_components=d, random_state=0), vote)
    }


def _row(name: str, model: Any, samples: Any) -> dict[str, Any]:
    start = time.perf_counter()
    model.fit(samples.X_train, samples.y_train)
    fitted = time.perf_counter()
    labels = model.predict(samples.X_test)
    return {
        "model": name,
        "fit_seconds": round(fitted - start, 2),
        "predict_seconds": round(time.perf_counter() - fitted, 2),
        "test_error_percent": round(100 * float(np.mean(labels != samples.y_test)), 2),
    }


def _show(record: dict[str, Any]) -> None:
    print(record["data"])
    header = ["model", "fit, s", "predict, s", "test error %"]
    print(text_table(header, [list(row.values()) for row in record["rows"]]))
    if record["note"]:
        print(record["note"])


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, help="training samples")
    parser.add_argument("--queries", type=int, help="test samples")
    parser.add_argument("--landmarks", type=int, help="number of landmarks")
    parser.add_argument("--components", type=int, help="components of KernelPCA")
    parser.add_argument("--nca-steps", type=int, help="most iterations of NCA")
    parser.add_argument("--quick", action="store_true", help="few samples")
    parser.add_argument("--out", type=Path, default=RESULTS / "peers.json")
    options = parser.parse_args(argv)
    options.n = options.n or (200 if options.quick else 3000)
    options.queries = options.queries or (200 if options.quick else 5000)
    options.landmarks = options.landmarks or (50 if options.quick else 1000)
    options.components = options.components or (50 if options.quick else 300)
    options.nca_steps = options.nca_steps or (5 if options.quick else 30)
    return options


if __name__ == "__main__":
    main()
