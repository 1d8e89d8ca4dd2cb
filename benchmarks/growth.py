"""How time and memory of ``NSSE().fit`` grow with the number of samples.

Every N runs in a process of its own. Time is that of the fit; memory is the peak of the resident set,
whole and without what the imports and the data took before the fit.

    python benchmarks/growth.py --largest 8000
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from common import RESULTS, draw_samples, machine_facts, text_table, write_json
from nsse import NSSE

SIZES = (500, 1000, 2000, 4000, 8000)
GIB = 2**30
LIMIT_AT, LIMIT_GIB = 8000, 6.0


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    options = _parse(argv)
    if options.measure is not None:
        measured = _measure(options.measure)
        print(json.dumps(measured))
        return measured
    facts = machine_facts()
    sizes = [n for n in options.sizes if n <= options.largest]
    source, rows = _run(sizes)
    record = {
        "data": source,
        "rows": rows,
        "exponents": {name: _exponent(rows, name) for name in ("seconds", "fit_gib")},
        "limit": _limit(rows),
        "machine": facts,
    }
    _show(record)
    write_json(options.out, record)
    return record


def _run(sizes: Sequence[int]) -> tuple[str, list[dict[str, Any]]]:
    """Store the samples of each size and fit them in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            samples = draw_samples(n, 10)
            np.savez(_file(folder, n), X=samples.X_train, y=samples.y_train)
        return samples.source, [_in_fresh_process(_file(folder, n)) for n in sizes]


def _file(folder: str, n: int) -> Path:
    return Path(folder) / f"{n}.npz"


def _in_fresh_process(data: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--measure", str(data)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def _measure(data: Path) -> dict[str, Any]:
    with np.load(data) as stored:
        X, y = stored["X"], stored["y"]
    before = _peak_bytes()
    start = time.perf_counter()
    model = NSSE.as_published().fit(X, y)
    seconds = time.perf_counter() - start
    peak = _peak_bytes()
    return {
        "n_samples": len(y),
        "seconds": round(seconds, 3),
        "steps": model.n_iter_,
        "peak_gib": round(peak / GIB, 3),
        "fit_gib": round((peak - before) / GIB, 3),
        "bytes_per_n2": round((peak - before) / len(y) ** 2, 1),
    }


def _peak_bytes() -> int:
    """Peak resident set of this process.

    Linux counts the parent's memory in a child's ``ru_maxrss`` (the child borrows it until it becomes
    another program); VmHWM is the child's own.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _exponent(rows: list[dict[str, Any]], name: str) -> float | None:
    """p of N^p, by least squares over the three largest N."""
    largest = [row for row in rows if row[name] > 0][-3:]
    if len(largest) < 2:
        return None
    n, values = (np.log([row[key] for row in largest]) for key in ("n_samples", name))
    return round(float(np.polyfit(n, values, 1)[0]), 2)


def _limit(rows: list[dict[str, Any]]) -> dict[str, Any]:
    reached = next((row["peak_gib"] for row in rows if row["n_samples"] == LIMIT_AT), None)
    kept = None if reached is None else reached <= LIMIT_GIB
    return {"n_samples": LIMIT_AT, "limit_gib": LIMIT_GIB, "reached_gib": reached, "kept": kept}


def _show(record: dict[str, Any]) -> None:
    print(f"NSSE().fit, {record['data']}")
    header = ["N", "seconds", "steps", "peak GiB", "of the fit", "bytes/N²"]
    print(text_table(header, [list(row.values()) for row in record["rows"]]))
    exponents = record["exponents"]
    print(f"growth over the largest N: time N^{exponents['seconds']}, memory N^{exponents['fit_gib']}")
    limit = record["limit"]
    reached = "not run" if limit["kept"] is None else f"{limit['reached_gib']} GiB"
    print(f"peak at N = {LIMIT_AT}: {reached}, limit {LIMIT_GIB:g} GiB")


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of samples")
    parser.add_argument("--largest", type=int, default=max(SIZES), help="leave larger ones out")
    parser.add_argument("--out", type=Path, default=RESULTS / "growth.json")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
