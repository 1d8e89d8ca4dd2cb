"""Table 7: seconds of a fit of NSSE, compared with Algorithm 1 as it is printed, in the same run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from nsse import NSSE
from nsse.datasets import per_class_split
from reproduction.paper.literal import literal_nsse
from reproduction.paper.printed import RUN_TIMES
from reproduction.paper.settings import IMAGE_SIZE, N_CLASSES
from reproduction.paper.work import samples

# Training samples in all, for data sets that are not in Table 7.
OTHER_SIZES = {"digits": (100, 300)}
REPEATS = 3
SHARED = ("mu1", "mu2", "n_neighbors", "sigma_range", "tol", "max_iter")
N_SIGMAS = 40  # that Algorithm 1 tries in its search for σ


def run_times(datasets: Iterable[str]) -> Iterator[dict[str, str]]:
    """Measure every size of Table 7 for these data sets, and return lines of ``runtime.csv``."""
    for dataset in datasets:
        for n_samples in RUN_TIMES.get(dataset, OTHER_SIZES.get(dataset, ())):
            yield run_time(dataset, n_samples)


def run_time(dataset: str, n_samples: int) -> dict[str, str]:
    """Measure the shortest of a few fits. Algorithm 1 runs with all BLAS threads, and with one.

    ``excess`` is the objective, Eq. (11), above its floor −μ1 N d.
    """
    data = samples(dataset, "unit", IMAGE_SIZE)
    train, _ = per_class_split(data.y, n_samples // N_CLASSES[dataset], 0)
    X, codes = data.X[train], np.unique(data.y[train], return_inverse=True)[1]
    model = NSSE().fit(X, codes)
    step = model.trace_[0]
    mu3 = float(step.scale * (step.sigma / model.length_unit_) ** 2)  # `mu3=None` depends on the others
    settings = {name: getattr(model, name) for name in SHARED}
    settings |= {"mu3": mu3, "n_sigmas": N_SIGMAS}
    own, literal = np.inf, np.inf
    # On a busy machine, several BLAS threads can be a hundred times slower than one, because they wait
    # for each other. They are tried once only.
    for threads in (None, *[1] * REPEATS):
        start = perf_counter()
        NSSE().fit(X, codes)
        own = min(own, perf_counter() - start)
        with threadpool_limits(threads, user_api="blas"):
            start = perf_counter()
            found = literal_nsse(X, codes, model.coef_.shape[1], **settings)
            literal = min(literal, perf_counter() - start)
    printed = RUN_TIMES.get(dataset, {}).get(n_samples)
    return {
        "dataset": dataset,
        "n_samples": str(len(train)),
        "seconds": f"{own:.4f}",
        "literal_seconds": f"{literal:.4f}",
        "ratio": f"{literal / own:.1f}",
        "printed": "" if printed is None else f"{printed:.2f}",
        "excess": f"{float(model.trace_.column('excess').min()):.6g}",
        "literal_excess": f"{found.objective + model.mu1 * found.Y.size:.6g}",
    }
