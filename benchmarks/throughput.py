"""Points per second of ``NSSE.transform``, beside ``SVC.predict`` trained on the same samples.

    python benchmarks/throughput.py
    python benchmarks/throughput.py --quick

All samples are centres; f is evaluated in double precision, whatever the samples are in. Supervised UMAP
joins in where it is installed: it compiles code in its first call, which is shown but does not count.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.svm import SVC

from common import RESULTS, best_time, draw_samples, machine_facts, text_table, write_json
from nsse import NSSE

SINGLE_CALLS = 50


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    options = _parse(argv)
    facts = machine_facts()
    samples = draw_samples(options.n, options.queries)
    X, y, queries = samples.X_train, samples.y_train, samples.X_test
    model = NSSE.as_published(sigma=0.7).fit(X, y)
    median = model.length_unit_
    svc = SVC(C=10.0, gamma=1.0 / (0.7 * median) ** 2).fit(X, y)
    rows = [
        _row("NSSE.transform", model.transform, queries, options.repeats),
        _row("NSSE.predict", model.predict, queries, options.repeats),
        _row("SVC.predict", svc.predict, queries, 1),
    ]
    note = "supervised UMAP is not installed"
    if (umap := _umap(X, y)) is not None:
        rows.append(_row("supervised UMAP.transform", umap, queries, 1))
        note = None
    by_name = {row["what"]: row["points_per_second"] for row in rows}
    record = {
        "data": samples.source,
        "centres": len(X),
        "points": len(queries),
        "support_vectors": int(svc.n_support_.sum()),
        "rows": rows,
        "ratios_to_svc": {
            name: round(rate / by_name["SVC.predict"], 2) for name, rate in by_name.items()
        },
        "note": note,
        "machine": facts,
    }
    _show(record)
    write_json(options.out, record)
    return record


def _row(what: str, function: Callable[[Any], Any], queries: np.ndarray, repeats: int) -> dict[str, Any]:
    first, _ = best_time(lambda: function(queries), 1)
    seconds, _ = best_time(lambda: function(queries), repeats)
    singles = []
    for point in queries[:SINGLE_CALLS]:
        start = time.perf_counter()
        function(point[np.newaxis])
        singles.append(time.perf_counter() - start)
    return {
        "what": what,
        "first_call_seconds": round(first, 2),
        "points_per_second": round(len(queries) / seconds),
        "one_point_ms": round(1000 * float(np.median(singles)), 2),
    }


def _umap(X: np.ndarray, y: np.ndarray) -> Callable[[Any], Any] | None:
    try:
        from umap import UMAP
    except ImportError:
        return None
    return UMAP(n_components=9, random_state=0).fit(X, y).transform


def _show(record: dict[str, Any]) -> None:
    print(
        f"{record['points']} points, {record['centres']} samples of {record['data']}, "
        f"{record['support_vectors']} support vectors"
    )
    ratios = record["ratios_to_svc"]
    print(
        text_table(
            ["", "points per second", "of SVC", "one point, ms", "first call, s"],
            [
                [
                    row["what"],
                    row["points_per_second"],
                    ratios[row["what"]],
                    row["one_point_ms"],
                    row["first_call_seconds"],
                ]
                for row in record["rows"]
            ],
        )
    )
    if record["note"]:
        print(record["note"])


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, help="training samples")
    parser.add_argument("--queries", type=int, help="points to embed")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="few samples")
    parser.add_argument("--out", type=Path, default=RESULTS / "throughput.json")
    options = parser.parse_args(argv)
    options.n = options.n or (300 if options.quick else 5000)
    # MNIST's test part has 892 samples of its rarest class: so many of each can be drawn.
    options.queries = options.queries or (200 if options.quick else 8900)
    return options


if __name__ == "__main__":
    main()
