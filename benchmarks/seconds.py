"""Seconds of a fit by the number of samples: the table of the README.

Process time of one run each, on one BLAS thread, on MNIST where `NSSE_DATA` names it, else on samples
drawn around the digits; the same samples for all.

    OPENBLAS_NUM_THREADS=1 python benchmarks/seconds.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from sklearn.svm import SVC

from common import RESULTS, draw_samples, machine_facts, markdown_table, write_json
from nsse import NSSE, NSSECV

SIZES = (1000, 2000, 5000)
NEW = 1000
MODELS: dict[str, Callable[[], Any]] = {
    "`NSSE()`": NSSE,
    "`NSSE(n_landmarks=1000)`": lambda: NSSE(n_landmarks=1000),
    "`SVC(C=10)`": lambda: SVC(C=10.0),
    "`NSSE.as_published()`": NSSE.as_published,
    "`NSSECV()`": NSSECV,
}
# The last two take minutes for 5,000 samples; `NSSECV().estimate_seconds` says how many.
SHOWN = list(MODELS)[:3]


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=SHOWN)
    parser.add_argument("--out", type=Path, default=RESULTS / "seconds.json")
    options = parser.parse_args(argv)
    rows = []
    for n in options.sizes:
        samples = draw_samples(n, NEW)
        for name in options.models:
            rows.append({"model": name, "n_samples": n, **_timed(MODELS[name](), samples)})
            print(rows[-1], flush=True)
    record = {"data": samples.source, "n_new": NEW, "rows": rows, "machine": machine_facts()}
    print(table(record))
    write_json(options.out, record)
    return record


def _timed(model: Any, samples: Any) -> dict[str, float]:
    marks = [time.process_time()]
    model.fit(samples.X_train, samples.y_train)
    marks.append(time.process_time())
    model.predict(samples.X_test)
    marks.append(time.process_time())
    fit, predict = (after - before for before, after in pairwise(marks))
    return {"fit": round(fit, 3), "predict": round(predict, 3)}


def table(record: dict[str, Any]) -> str:
    """A row for each model, a column for each N, and what `predict` takes at the last."""
    sizes = sorted({row["n_samples"] for row in record["rows"]})
    names = list(dict.fromkeys(row["model"] for row in record["rows"]))
    by = {(row["model"], row["n_samples"]): row for row in record["rows"]}
    header = ["seconds", *(f"N = {n}" for n in sizes), f"predict {record['n_new']} at N = {sizes[-1]}"]
    cells = [
        [name, *(_short(by[name, n]["fit"]) for n in sizes), _short(by[name, sizes[-1]]["predict"])]
        for name in names
    ]
    return markdown_table(header, cells)


def _short(seconds: float) -> str:
    return (
        f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.1f}" if seconds >= 0.1 else f"{seconds:.2f}"
    )


if __name__ == "__main__":
    main()
