"""Compare the time of fits and predictions with that of SVC(C=10).

    NSSE_DATA=<folder> python benchmarks/fits.py       # COIL-20 and MNIST, or digits without NSSE_DATA
    python benchmarks/fits.py --objects 100 --digits --turns 1

Both models run in turns in one process on one thread, and the least processor time of several turns
counts. "fit, predict" includes the factors for new samples, which are computed with the first of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from common import (
    RESULTS,
    Floats,
    Labels,
    draw_samples,
    least_seconds,
    machine_facts,
    parser_of,
    show,
    write_json,
)
from nsse import SmoothEmbedding
from nsse.datasets import load_dataset

OBJECTS = (140, 300, 600)
DIGITS = (2000, 5000)
MOST_OBJECTS = 700  # more samples come from MNIST
NEW = 1000
CALLS = 200
Split = tuple[Floats, Labels, Floats]


def samples(n_train: int) -> Split:
    """Return images of objects or digits with their labels, and new images."""
    if n_train > MOST_OBJECTS:
        drawn = draw_samples(n_train, NEW)
        return drawn.X_train, drawn.y_train, drawn.X_test
    try:
        objects = load_dataset("coil20")
        X, y = objects.X, objects.y
    except FileNotFoundError:
        X, y = load_digits(return_X_y=True)
    X_train, X_new, y_train, _ = train_test_split(X, y, train_size=n_train, stratify=y, random_state=0)
    return X_train, y_train, np.resize(X_new, (NEW, X.shape[1]))


def row(work: str, n_samples: int, seconds: Sequence[float]) -> dict[str, Any]:
    """Return the times of both models and their ratio."""
    ours, others = seconds
    return {
        "work": work,
        "n_samples": n_samples,
        "milliseconds": float(f"{1e3 * ours:.4g}"),
        "milliseconds of the SVM": float(f"{1e3 * others:.4g}"),
        "ratio": float(f"{ours / others:.3g}"),
    }


def compared(n_samples: int, turns: int) -> list[dict[str, Any]]:
    """Time fits, predictions of many samples and predictions of one sample."""
    X, y, X_new = samples(n_samples)
    makers = [SmoothEmbedding, lambda: SVC(C=10.0)]
    fits, models = least_seconds([lambda m=make: m().fit(X, y) for make in makers], turns)
    both, _ = least_seconds([lambda m=make: m().fit(X, y).predict(X_new) for make in makers], turns)
    many, _ = least_seconds([lambda m=model: m.predict(X_new) for model in models], turns)
    one, _ = least_seconds(
        [lambda m=model: [m.predict(x[None]) for x in X_new[:CALLS]] for model in models], turns
    )
    works = {
        "fit": fits,
        f"fit, predict {NEW}": both,
        f"predict {NEW}": many,
        "predict one": np.array(one) / CALLS,
    }
    return [row(work, n_samples, seconds) for work, seconds in works.items()]


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Print and store the times."""
    parser = parser_of(__doc__, RESULTS / "fits.json")
    parser.add_argument("--objects", type=int, nargs="*", default=OBJECTS, help="samples of COIL-20")
    parser.add_argument("--digits", type=int, nargs="*", default=DIGITS, help="samples of MNIST")
    parser.add_argument("--turns", type=int, default=5, help="turns, of which the shortest counts")
    options = parser.parse_args(argv)
    facts = machine_facts()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sizes = [*options.objects, *options.digits]
        rows = [row for n in sizes for row in compared(n, options.turns)]
    print("SmoothEmbedding() compared with SVC(C=10)")
    show(rows)
    record = {"svc": rows, "machine": facts}
    write_json(options.out, record)
    return record


if __name__ == "__main__":
    main()
