"""Record the steps of a search for σ, one per evaluation of Eq. (11), for every solver."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse.published.embedding import Embedding
from nsse.published.objective import Problem


@dataclass(frozen=True)
class Step:
    """One evaluation of Eq. (11): its four terms with their weights and signs, their sum, and the time.

    ``excess`` is the objective plus the constant μ1 N d. It is never negative. Compare this number,
    because the constant dominates the objective itself.
    """

    iteration: int
    stage: str
    sigma: float
    within: float
    between: float
    regularity: float
    scale: float
    objective: float
    excess: float
    seconds: float


@dataclass(frozen=True)
class Trace:
    """The steps of a fit in order."""

    steps: tuple[Step, ...]

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, index: int) -> Step:
        return self.steps[index]

    def column(self, name: str) -> NDArray[Any]:
        """Return one quantity over all steps, for example ``trace.column("sigma")``."""
        return np.array([getattr(step, name) for step in self.steps])

    def to_dict(self) -> dict[str, list[object]]:
        """Return columns by name, for ``pandas.DataFrame`` or ``polars.DataFrame``."""
        return {field.name: self.column(field.name).tolist() for field in fields(Step)}


class Stopped(Exception):  # noqa: N818 - not an error, like StopIteration
    """The callback ended the search. The exception contains the best embedding so far."""

    def __init__(self, best: Embedding) -> None:
        super().__init__("stopped by a callback")
        self.best = best


class Recorder:
    """Collect the steps of a search and call the user's callback, which ends it by returning True.

    Parameters
    ----------
    problem : Problem
        The problem that is solved.
    unit : float
        The unit of length in the units of X. σ is reported in the units of X.
    callback : callable or None
        ``callback(step)``.
    """

    def __init__(
        self, problem: Problem, unit: float = 1.0, callback: Callable[[Step], Any] | None = None
    ) -> None:
        self.problem = problem
        self.unit = unit
        self.callback = callback
        self.steps: list[Step] = []
        self.best: Embedding | None = None
        self._clock = time.perf_counter()

    def record(self, stage: str, found: Embedding, iteration: int | None = None) -> Embedding:
        """Append a step. Raises `Stopped` if the callback returned True."""
        weights = self.problem.weights
        S = self.problem.S
        Y = found.Y
        number = len(self.steps) if iteration is None else iteration
        graphs = S.within(Y), -weights.mu1 * S.between(Y)
        smoothness = weights.mu2 * float((found.coef**2).sum()), weights.scale_term(found.sigma)
        total = found.excess - self.problem.shift * weights.n_components, found.excess
        seconds = time.perf_counter() - self._clock
        step = Step(number, stage, found.sigma * self.unit, *graphs, *smoothness, *total, seconds)
        self.steps.append(step)
        if self.best is None or found.excess <= self.best.excess:
            self.best = found
        answer = None if self.callback is None else self.callback(step)
        if isinstance(answer, bool | np.bool_) and answer:
            raise Stopped(self.best)
        self._clock = time.perf_counter()
        return found
