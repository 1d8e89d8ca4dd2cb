"""Random small problems fitted by two checkouts of the library: which ends lower, and which is faster.

    git worktree add ../before <commit>
    python benchmarks/two_checkouts.py ../before        # 500 problems, minutes

Each checkout fits in a process of its own, on one BLAS thread, the same problems in the same order:
classes apart and overlapping, equal and unequal, doubled samples, weights near and far apart, given and
default ranges of σ. A search is accurate to ``tol``, 1e-8 of what the objective exceeds its floor by; a
problem is *higher* where the second checkout ends more than twice that above the first.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_blobs, make_classification

HERE = Path(__file__).resolve().parent
TOL = 1e-8
# Around its minimum g is a parabola of curvature 1 or more in log σ: so far apart two ends of it may be.
SIGMA_TOL = float(np.sqrt(4.0 * TOL))
SIZES = (20, 40, 80, 120, 160, 240, 400)


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Fit with both, print, and say what is higher."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("before", type=Path, help="the root of a checkout")
    parser.add_argument("after", type=Path, nargs="?", default=HERE.parent, help="default: this one")
    parser.add_argument("--problems", type=int, default=500)
    parser.add_argument("--fit", action="store_true", help=argparse.SUPPRESS)  # a child: fit and print
    options = parser.parse_args(arguments)
    if options.fit:
        print(json.dumps(list(fitted(options.problems))))
        return {}
    before, after = (_asked(root, options.problems) for root in (options.before, options.after))
    facts = compared(before, after)
    for name, value in facts.items():
        print(f"{name}: {value}")
    return facts


def compared(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> dict[str, Any]:
    """How many problems the second ended higher and lower in, where σ moved, and how long both took."""
    pairs = list(zip(before, after, strict=True))
    solved = [(a, b) for a, b in pairs if "excess" in a and "excess" in b]
    change = np.array([b["excess"] / a["excess"] - 1.0 for a, b in solved])
    moved = np.array([abs(np.log(b["sigma"] / a["sigma"])) for a, b in solved])
    same = np.abs(change) <= 2 * TOL
    names = np.array([a["problem"] for a, _ in solved])
    return {
        "problems": len(pairs),
        "solved by one only": [a["problem"] for a, b in pairs if ("excess" in a) != ("excess" in b)],
        "higher": names[change > 2 * TOL].tolist(),
        "lower": names[change < -2 * TOL].tolist(),
        "largest rise": float(change.max(initial=0.0)),
        "same objective, sigma apart": names[same & (moved > SIGMA_TOL)].tolist(),
        "evaluations": [sum(one["evaluations"] for one in side) for side in zip(*solved, strict=True)],
        "seconds": [round(sum(one["seconds"] for one in side), 2) for side in zip(*solved, strict=True)],
    }


def fitted(n_problems: int) -> Iterator[dict[str, Any]]:
    """The ends of the searches of this process's own library."""
    from nsse import NSSE

    for problem in range(n_problems):
        X, y, params = drawn(problem)
        start = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = NSSE.as_published(**params).fit(X, y)
        except ValueError as error:
            yield {"problem": problem, "error": str(error)}
            continue
        seconds = time.process_time() - start
        steps = model.trace_.steps
        end = min(steps, key=lambda step: abs(step.sigma - model.sigma_))
        yield {
            "problem": problem,
            "excess": end.excess,
            "sigma": model.sigma_ / model.length_unit_,
            "evaluations": len(steps),
            "seconds": seconds,
        }


def drawn(problem: int) -> tuple[Any, Any, dict[str, Any]]:
    """Samples, labels and parameters of one problem."""
    rng = np.random.default_rng([19, problem])
    X, y = _samples(rng, int(rng.choice(SIZES)))
    if rng.random() < 0.15:
        X[: len(X) // 5] = X[-(len(X) // 5) :]  # equal samples, of any classes
    n_classes = len(np.unique(y))
    params = {
        "mu1": float(10.0 ** rng.uniform(-1, 2)),
        "mu2": float(10.0 ** rng.uniform(-4, 0)),
        "mu3": None if rng.random() < 0.3 else float(10.0 ** rng.uniform(-1, 2)),
        "n_components": int(rng.integers(1, n_classes + 2)) if rng.random() < 0.4 else None,
        "n_neighbors": int(rng.choice([2, 5, 10])),
        "sigma_range": (0.02, 30.0) if rng.random() < 0.2 else (0.1, 10.0),
    }
    if rng.random() < 0.2:
        params |= {"normalization": "classes", "n_components": None}
    return X, y, params


def _samples(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    kind, seed = rng.choice(["blobs", "table", "digits", "noise"]), int(rng.integers(2**31))
    n_classes = int(rng.integers(2, min(20, n // 5) + 1))
    n_features = int(rng.choice([2, 5, 20]))
    if kind == "blobs":
        spread = float(rng.uniform(0.5, 6.0))
        X, y = make_blobs(n, n_features, centers=n_classes, cluster_std=spread, random_state=seed)
    elif kind == "table":
        X, y = make_classification(
            n,
            20,
            n_informative=8,
            n_classes=min(n_classes, 8),
            n_clusters_per_class=1,
            random_state=seed,
        )
    elif kind == "digits":
        X, y = load_digits(return_X_y=True)
        chosen = rng.choice(len(y), n, replace=False)
        X, y = X[chosen].copy(), y[chosen]
    else:
        X, y = rng.standard_normal((n, n_features)), np.arange(n) % n_classes
    return X, y


def _asked(root: Path, n_problems: int) -> list[dict[str, Any]]:
    one = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    environment = {**os.environ, **one, "PYTHONPATH": str(root.resolve() / "src")}
    command = [sys.executable, __file__, str(root), "--fit", "--problems", str(n_problems)]
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: list[dict[str, Any]] = json.loads(run.stdout)
    return found


if __name__ == "__main__":
    main()
