"""Turns solutions into trace steps, and tells whoever listens; a listener may end the search."""

from __future__ import annotations

import time
from collections.abc import Callable

from nsse.solvers.pencil import Solution
from nsse.solvers.problem import Problem
from nsse.solvers.trace import Step, Trace

Listener = Callable[[Step, Solution], bool]


class SearchStopped(Exception):  # noqa: N818 - no error, like StopIteration
    """The listener asked for an end; carries the best solution so far."""

    def __init__(self, best: Solution) -> None:
        super().__init__("stopped by a callback")
        self.best = best


class Recorder:
    """Collects one step per evaluation and calls ``listener(step, solution)`` as each one ends.

    A listener that returns True ends the search: `SearchStopped` is raised.
    """

    def __init__(self, problem: Problem, listener: Listener | None = None) -> None:
        self._problem = problem
        self._listener = listener
        self._steps: list[Step] = []
        self._best: Solution | None = None
        self._clock = time.perf_counter()

    def record(self, stage: str, solution: Solution, iteration: int | None = None) -> None:
        """Evaluate the four terms of Eq. (11) at a solution and append them as a step."""
        p = self._problem
        within = p.graph.within(solution.embedding)
        between = -p.graph.mu1 * p.graph.between(solution.embedding)
        regularity = p.mu2 * float((solution.coef**2).sum())
        scale = p.scale_term(solution.sigma)
        now = time.perf_counter()
        step = Step(
            iteration=len(self._steps) if iteration is None else iteration, stage=stage,
            sigma=solution.sigma, within=within, between=between, regularity=regularity,
            scale=scale, objective=solution.excess - p.shift, excess=solution.excess,
            seconds=now - self._clock,
        )  # fmt: skip
        self._steps.append(step)
        if self._best is None or solution.excess <= self._best.excess:
            self._best = solution
        if self._listener is not None and self._listener(step, solution):
            raise SearchStopped(self._best)
        self._clock = time.perf_counter()

    def trace(self) -> Trace:
        """Give all steps so far."""
        return Trace(tuple(self._steps))
