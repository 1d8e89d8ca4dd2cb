"""Fits and predictions beside SVC(C=10), and the paper's method beside Algorithm 1: ratios of one run.

Two pieces of work take turns in one process, in seconds of the processor on one thread; the least of
several turns counts, of each. "fit" ends before the first new sample; "fit, predict" does not. The
literal method is Algorithm 1 written plainly (`literal`), on the same
samples, weights, graph, unit of length and range of σ; its objective is never below ours.

    NSSE_DATA=<folder> python benchmarks/fits.py       # COIL-20 and MNIST; digits without
    python benchmarks/fits.py --objects 100 --digits --literal 100 --turns 1
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from common import RESULTS, Floats, Labels, draw_samples, machine_facts, show, write_json
from literal import Literal, literal_nsse
from nsse import NSSE, SmoothEmbedding
from nsse.datasets import load_dataset

OBJECTS, DIGITS, LITERAL = (140, 300, 600), (2000, 5000), (300, 600, 2000)
MOST_OBJECTS = 700  # with more samples: MNIST
NEW, CALLS = 1000, 200
FIT, BOTH, PREDICT = "fit", f"fit, predict {NEW}", f"predict {NEW}"
POINT, PAPER = "predict one", "NSSE, fit"
# What the ratio may be at most.
LIMITS = {
    (FIT, 140): 1.0,
    (FIT, 300): 1.0,
    (FIT, 600): 1.0,
    (FIT, 2000): 1.3,
    (FIT, 5000): 1.7,
    (PREDICT, 5000): 1 / 5,
    (POINT, 600): 1.0,
    (PAPER, 300): 1 / 3,
    (PAPER, 600): 1 / 3,
    (PAPER, 2000): 1 / 8,
}
SEARCH = {"n_neighbors": 5, "sigma_range": (0.1, 10.0), "tol": 1e-8, "max_iter": 50}
Split = tuple[Floats, Labels, Floats]


def samples(n_train: int) -> Split:
    """Pictures of objects or digits with their labels, and new ones."""
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


def in_turns(works: Sequence[Callable[[], Any]], turns: int) -> tuple[list[float], list[Any]]:
    """Least seconds of the processor of each, taking turns, and what they gave last."""
    seconds: list[list[float]] = [[] for _ in works]
    results: list[Any] = [None] * len(works)
    for _ in range(turns):
        for place, work in enumerate(works):
            start = time.process_time()
            results[place] = work()
            seconds[place].append(time.process_time() - start)
    return [min(each) for each in seconds], results


def row(work: str, n_samples: int, seconds: Sequence[float]) -> dict[str, Any]:
    ours, theirs = seconds
    limit = LIMITS.get((work, n_samples))
    return {
        "work": work,
        "n_samples": n_samples,
        "milliseconds": float(f"{1e3 * ours:.4g}"),
        "beside": float(f"{1e3 * theirs:.4g}"),
        "ratio": float(f"{ours / theirs:.3g}"),
        "limit": limit and round(limit, 3),
        "reached": None if limit is None else bool(ours <= limit * theirs),
    }


def beside_svc(n_samples: int, turns: int) -> list[dict[str, Any]]:
    """A fit, a prediction of many points and of one, each beside an SVM on the same samples."""
    X, y, X_new = samples(n_samples)
    seconds, models = in_turns(
        [lambda: SmoothEmbedding().fit(X, y), lambda: SVC(C=10.0).fit(X, y)], turns
    )
    # The map of new samples may be formed with the first of them: here that counts.
    whole, _ = in_turns(
        [
            lambda: SmoothEmbedding().fit(X, y).predict(X_new),
            lambda: SVC(C=10.0).fit(X, y).predict(X_new),
        ],
        turns,
    )
    rows = [row(FIT, n_samples, seconds), row(BOTH, n_samples, whole)]
    many, _ = in_turns([lambda m=m: m.predict(X_new) for m in models], turns)
    one, _ = in_turns([lambda m=m: [m.predict(x[None]) for x in X_new[:CALLS]] for m in models], turns)
    return [*rows, row(PREDICT, n_samples, many), row(POINT, n_samples, np.array(one) / CALLS)]


def beside_literal(n_samples: int, turns: int) -> dict[str, Any]:
    """The paper's method beside Algorithm 1, and whether its objective is no higher."""
    X, y, _ = samples(n_samples)
    classes, codes = np.unique(y, return_inverse=True)
    d = len(classes) - 1
    weights = {"mu1": 1.0, "mu2": 0.01, "mu3": 0.05 * d}  # what mu3=None is

    def literal() -> Literal:
        return literal_nsse(X, codes, d, **weights, **SEARCH, n_sigmas=40)

    seconds, (ours, ended) = in_turns([lambda: NSSE(**weights, **SEARCH).fit(X, y), literal], turns)
    excess = [float(f"{value + n_samples * d:.8g}") for value in (ours.objective_, ended.objective)]
    return row(PAPER, n_samples, seconds) | {"excess": excess, "no_higher": bool(excess[0] <= excess[1])}


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--objects", type=int, nargs="*", default=OBJECTS, help="samples of COIL-20")
    parser.add_argument("--digits", type=int, nargs="*", default=DIGITS, help="samples of MNIST")
    parser.add_argument("--literal", type=int, nargs="*", default=LITERAL, help="for NSSE, of either")
    parser.add_argument("--turns", type=int, default=5, help="turns of each; the shortest counts")
    parser.add_argument("--out", type=Path, default=RESULTS / "fits.json")
    options = parser.parse_args(argv)
    facts = machine_facts()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sizes = [*options.objects, *options.digits]
        rows = [one for n in sizes for one in beside_svc(n, options.turns)]
        literal = [beside_literal(n, options.turns) for n in options.literal]
    print("SmoothEmbedding() beside SVC(C=10)")
    show(rows)
    print("NSSE() beside Algorithm 1, written plainly")
    show(literal)
    record = {"svc": rows, "literal": literal, "machine": facts}
    write_json(options.out, record)
    return record


if __name__ == "__main__":
    main()
