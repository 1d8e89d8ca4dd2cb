"""Points per second, and milliseconds for one point, beside ``SVC.predict`` trained on the same samples.

    python benchmarks/throughput.py
    python benchmarks/throughput.py --n 300 --queries 200

All samples are centres. Supervised UMAP joins in where it is installed: it compiles code in its first
call, which does not count.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.svm import SVC

from common import RESULTS, best_time, draw_samples, machine_facts, show, write_json
from nsse import NSSE, SmoothEmbedding

WIDTH = 0.7  # median distances
SINGLE_CALLS = 50
PEER = "SVC.predict"


def calls(X: np.ndarray, y: np.ndarray) -> dict[str, Callable[[Any], Any]]:
    """What is asked, of models fitted to the same samples."""
    model, published = SmoothEmbedding(centers=None).fit(X, y), NSSE(sigma=WIDTH).fit(X, y)
    gamma = 1.0 / (WIDTH * float(np.median(euclidean_distances(X[:1000])))) ** 2
    svc = SVC(C=10.0, gamma=gamma).fit(X, y)
    found = {
        "SmoothEmbedding.transform": model.transform,
        "SmoothEmbedding.predict": model.predict,
        "SmoothEmbedding.predict_proba": model.predict_proba,
        "SmoothEmbedding.certified_radius": model.certified_radius,
        "NSSE.predict": published.predict,
        PEER: svc.predict,
    }
    try:
        from umap import UMAP
    except ImportError:
        return found
    umap = UMAP(n_components=9, random_state=0).fit(X, y)
    return found | {"supervised UMAP.transform": umap.transform}


def row(what: str, function: Callable[[Any], Any], queries: np.ndarray) -> dict[str, Any]:
    function(queries)
    seconds, _ = best_time(lambda: function(queries), 2)
    singles = []
    for point in queries[:SINGLE_CALLS]:
        start = time.perf_counter()
        function(point[np.newaxis])
        singles.append(time.perf_counter() - start)
    return {
        "what": what,
        "points_per_second": round(len(queries) / seconds),
        "one_point_ms": round(1000 * float(np.median(singles)), 2),
    }


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--n", type=int, default=5000, help="training samples")
    parser.add_argument("--queries", type=int, default=8900, help="points to ask about")
    parser.add_argument("--out", type=Path, default=RESULTS / "throughput.json")
    options = parser.parse_args(argv)
    facts = machine_facts()
    samples = draw_samples(options.n, options.queries)
    asked = calls(samples.X_train, samples.y_train)
    rows = [row(what, function, samples.X_test) for what, function in asked.items()]
    peer = next(one["points_per_second"] for one in rows if one["what"] == PEER)
    for one in rows:
        one["ratio_to_svc"] = round(one["points_per_second"] / peer, 2)
    print(f"{options.queries} points, {options.n} samples of {samples.source}")
    show(rows)
    record = {"data": samples.source, "centres": options.n, "rows": rows, "machine": facts}
    write_json(options.out, record)
    return record


if __name__ == "__main__":
    main()
