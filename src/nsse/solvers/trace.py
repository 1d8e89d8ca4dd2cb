"""What a solver reports: one row per step, the same for every solver."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from nsse.solvers.pencil import Solution


@dataclass(frozen=True)
class Step:
    """One evaluation of Eq. (11): its four terms, their sum, and what it cost.

    ``excess`` is the objective plus the constant μ1 N d. It is never negative and is the one to look
    at: the constant dominates the objective itself. Where class means are normalised there is no such
    constant: both are the same, and ``between`` is μ1 tr(Y'(N I − L_b)Y), never negative.
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

    def column(self, name: str) -> NDArray[np.float64]:
        """One quantity over all steps, for example ``trace.column("sigma")``."""
        return np.array([getattr(step, name) for step in self.steps])

    def to_dict(self) -> dict[str, list[object]]:
        """Columns by name, ready for ``pandas.DataFrame`` or ``polars.DataFrame``."""
        rows = [asdict(step) for step in self.steps]
        return {name: [row[name] for row in rows] for name in rows[0]}


@dataclass(frozen=True)
class SearchResult:
    """The end of a search over σ: the best solution, the way there, and how it ended."""

    solution: Solution
    trace: Trace
    n_iter: int
    converged: bool
    at_bound: bool
