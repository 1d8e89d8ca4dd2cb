"""Turns solutions into trace steps, and calls back after each one, which may end the search."""

from __future__ import annotations

import time
from collections.abc import Callable

from nsse.graphs import RowGraph
from nsse.solvers.pencil import Solution
from nsse.solvers.problem import Objective
from nsse.solvers.trace import Step, Trace

# Called with a step as it ends; True ends the search.
OnStep = Callable[[Step], bool]


class SearchStopped(Exception):  # noqa: N818 - no error, like StopIteration
    """A callback asked for an end; carries the best solution so far."""

    def __init__(self, best: Solution) -> None:
        super().__init__("stopped by a callback")
        self.best = best


class Recorder:
    """Collects one step per evaluation and calls ``on_step(step)`` as each one ends.

    If that returns True, the search ends: `record` raises `SearchStopped`.
    """

    def __init__(self, objective: Objective, n_samples: float, on_step: OnStep | None = None) -> None:
        self._objective = objective
        self._shift = objective.shift(n_samples)
        self._n_samples = n_samples
        self._on_step = on_step
        self._steps: list[Step] = []
        self._best: Solution | None = None
        self._clock = time.perf_counter()

    def record(
        self, stage: str, graph: RowGraph, solution: Solution, iteration: int | None = None
    ) -> None:
        """Evaluate the four terms of Eq. (11) at a solution and append them as a step.

        Where class means are normalised, tr(Y'(S − L_w)Y) is in the place of −μ1 tr(Y'L_b Y).
        """
        mu1, Y = self._objective.mu1, solution.embedding
        pull = mu1 * graph.pull(Y) if self._objective.is_of_classes else -mu1 * graph.between(Y)
        if self._best is None or solution.excess <= self._best.excess:
            self._best = solution
        regularity = self._objective.mu2 * float((solution.coef**2).sum())
        terms = graph.within(Y), pull, regularity
        if self.add(stage, solution.sigma, terms, solution.excess, iteration):
            raise SearchStopped(self._best)

    def add(
        self,
        stage: str,
        sigma: float,
        terms: tuple[float, float, float],
        excess: float,
        iteration: int | None = None,
    ) -> bool:
        """Append a step with its terms (within, between, regularity); True if none is to follow."""
        within, between, regularity = terms
        now = time.perf_counter()
        step = Step(
            iteration=len(self._steps) if iteration is None else iteration,
            stage=stage,
            sigma=sigma,
            within=within,
            between=between,
            regularity=regularity,
            scale=self._objective.scale_term(sigma),
            objective=excess - self._shift,
            excess=excess,
            seconds=now - self._clock,
        )
        self._steps.append(step)
        enough = self._on_step is not None and self._on_step(step)
        self._clock = time.perf_counter()
        return enough

    def trace(self) -> Trace:
        """Give all steps so far."""
        return Trace(tuple(self._steps))
