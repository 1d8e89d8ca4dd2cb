"""Which landmarks: the error of every selector on a validation part of MNIST's *training* samples.

MNIST's test samples take no part: this is what the default rests on. Every seed draws training and
validation samples anew.

    python benchmarks/landmarks.py          # needs NSSE_DATA; generated digits without
    python benchmarks/landmarks.py --quick
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from common import RESULTS, draw_samples, machine_facts, text_table, write_json
from nsse import NSSE
from nsse.datasets import load_dataset
from nsse.landmarks import SELECTORS

NEIGHBORS = 15


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    options = _parse(argv)
    X, y, source = _samples(options)
    rows = []
    for seed in range(options.seeds):
        order = np.random.default_rng(seed).permutation(len(y))[: options.train + options.valid]
        train, valid = order[: options.train], order[options.train :]
        for m in options.landmarks:
            for name in SELECTORS:
                row = _measured(name, m, seed, (X[train], y[train]), (X[valid], y[valid]))
                rows.append(row)
                print(row, flush=True)
    record = {
        "data": f"{source}: {options.train} training, {options.valid} validation samples",
        "rows": rows,
        "means": _means(rows),
        "machine": machine_facts(),
    }
    _show(record)
    write_json(options.out, record)
    return record


def _samples(options: argparse.Namespace) -> tuple[np.ndarray, np.ndarray, str]:
    try:
        if options.quick:
            raise FileNotFoundError
        mnist = load_dataset("mnist")
    except FileNotFoundError:
        samples = draw_samples(options.train + options.valid, 10)
        return samples.X_train.astype(np.float32), samples.y_train, samples.source
    part = slice(mnist.n_train)
    return mnist.X[part].astype(np.float32), mnist.y[part], "MNIST, its training part"


def _measured(name: str, m: int, seed: int, train: Any, valid: Any) -> dict[str, Any]:
    model = NSSE.as_published(
        n_landmarks=m, landmarks=name, classifier=KNeighborsClassifier(NEIGHBORS), random_state=seed
    )
    start = time.process_time()
    model.fit(*train)
    return {
        "landmarks": name,
        "n": m,
        "seed": seed,
        "error_percent": round(100 * (1 - model.score(*valid)), 3),
        "cpu_seconds": round(time.process_time() - start, 2),
    }


def _means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    means = []
    for name, m in dict.fromkeys((row["landmarks"], row["n"]) for row in rows):
        own = [row for row in rows if (row["landmarks"], row["n"]) == (name, m)]
        errors = [row["error_percent"] for row in own]
        means.append(
            {
                "landmarks": name,
                "n": m,
                "error_percent": round(float(np.mean(errors)), 2),
                "cpu_seconds": round(float(np.mean([row["cpu_seconds"] for row in own])), 2),
            }
        )
    return means


def _show(record: dict[str, Any]) -> None:
    print(record["data"])
    print(
        text_table(
            ["landmarks", "m", "error %", "CPU seconds"], [list(row.values()) for row in record["means"]]
        )
    )


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--landmarks", type=int, nargs="+", help="numbers of landmarks")
    parser.add_argument("--train", type=int, help="training samples")
    parser.add_argument("--valid", type=int, help="validation samples")
    parser.add_argument("--seeds", type=int, help="how often to draw anew")
    parser.add_argument("--quick", action="store_true", help="few generated samples")
    parser.add_argument("--out", type=Path, default=RESULTS / "landmarks.json")
    options = parser.parse_args(argv)
    options.landmarks = options.landmarks or ([50] if options.quick else [500, 1000])
    options.train = options.train or (1000 if options.quick else 10_000)
    options.valid = options.valid or (500 if options.quick else 5000)
    options.seeds = options.seeds or (1 if options.quick else 3)
    return options


if __name__ == "__main__":
    main()
