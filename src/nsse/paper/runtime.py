"""Table 7: seconds of a fit of NSSE, beside Algorithm 1 as it is printed, in the same run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from nsse.estimators import NSSE
from nsse.evaluation import per_class_split
from nsse.paper.literal import Literal, literal_nsse
from nsse.paper.printed import RUN_TIMES
from nsse.paper.settings import IMAGE_SIZE, N_CLASSES, TITLES, Profile
from nsse.paper.work import samples

TIME_HEADER = [
    "dataset",
    "n_samples",
    "seconds",
    "literal_seconds",
    "ratio",
    "printed",
    "excess",
    "literal_excess",
]

# Training samples in all, where the paper prints none.
OTHER_SIZES = {"digits": (100, 300), "objects": (140, 300)}
REPEATS = 3
_SHARED = ("mu1", "mu2", "n_neighbors", "sigma_range", "n_sigmas", "tol", "max_iter")

Result = TypeVar("Result")


@dataclass(frozen=True)
class RunTime:
    """One line of Table 7. ``excess`` is the objective, Eq. (11), above its floor −μ1 N d."""

    dataset: str
    n_samples: int
    seconds: float
    literal_seconds: float
    printed: float | None
    excess: float
    literal_excess: float

    @property
    def ratio(self) -> float:
        """How many times faster than the literal algorithm."""
        return self.literal_seconds / self.seconds

    def columns(self) -> list[str]:
        """A line of ``runtime.csv``."""
        printed = "" if self.printed is None else f"{self.printed:.2f}"
        return [
            self.dataset,
            str(self.n_samples),
            f"{self.seconds:.4f}",
            f"{self.literal_seconds:.4f}",
            f"{self.ratio:.1f}",
            printed,
            f"{self.excess:.6g}",
            f"{self.literal_excess:.6g}",
        ]

    def __str__(self) -> str:
        return (
            f"{TITLES[self.dataset]}, {self.n_samples} samples: {self.seconds:.3f} s, Algorithm 1 as "
            f"printed {self.literal_seconds:.3f} s ({self.ratio:.1f} times)"
        )


def run_times(profile: Profile, datasets: Iterable[str]) -> Iterator[RunTime]:
    """Measure every size of Table 7 for the data sets that are there."""
    for dataset in datasets:
        sizes: Iterable[int] = RUN_TIMES.get(dataset, OTHER_SIZES.get(dataset, ()))
        for n_samples in sizes:
            yield run_time(dataset, n_samples)


def run_time(dataset: str, n_samples: int) -> RunTime:
    """The shortest of a few fits, by turns; the literal gets all BLAS threads, and one alone."""
    data = samples(dataset, "unit", IMAGE_SIZE)
    train, _ = per_class_split(data.y, n_samples // N_CLASSES[dataset], 0)
    X, codes = data.X[train], np.unique(data.y[train], return_inverse=True)[1]
    model = NSSE.as_published().fit(X, codes)
    own, literal = np.inf, np.inf
    # Threads that wait for each other by spinning can make all of BLAS a hundred times slower than one
    # thread on a busy machine: that way once, the other as often as ours.
    for threads in (None, *[1] * REPEATS):
        own = min(own, _timed(lambda: NSSE.as_published().fit(X, codes))[0])
        with threadpool_limits(threads, user_api="blas"):
            seconds, ended = _timed(lambda: _literal(model, X, codes))
        literal = min(literal, seconds)
    printed = RUN_TIMES.get(dataset, {}).get(n_samples)
    excess = float(model.trace_.column("excess").min())
    shift = model.mu1 * ended.Y.size  # μ1 N d
    return RunTime(dataset, len(train), own, literal, printed, excess, ended.objective + shift)


def _literal(model: NSSE, X: np.ndarray, codes: np.ndarray) -> Literal:
    step = model.trace_[0]
    mu3 = float(step.scale * (step.sigma / model.length_unit_) ** 2)  # `mu3=None` depends on the others
    settings = {name: getattr(model, name) for name in _SHARED}
    return literal_nsse(X, codes, model.coef_.shape[1], mu3=mu3, **settings)


def _timed(work: Callable[[], Result]) -> tuple[float, Result]:
    start = perf_counter()
    result = work()
    return perf_counter() - start, result
