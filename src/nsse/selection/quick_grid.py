"""What the quick search tries, and what came of it: scores of points, a table of them, who votes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from nsse.estimators._settings import RELEVANCE, SHRINKAGE, SIGMA, SMOOTHNESS
from nsse.selection.search import Scores

Floats = NDArray[np.float64]
Kernel = tuple[int, int, int]

READERS = ("scores", "nearest")
# Who votes, of up to so many samples, and of however many.
VOTERS, VOTERS_UP_TO, FEWEST_VOTERS = 9, 2500, 3
# A shrinkage that is as good as infinite.
LOOSEST = 100.0


def n_voters_for(n_rows: int) -> int:
    """How many vote: beyond some thousand rows fewer, since the time of each fit grows as their cube."""
    allowed = round(VOTERS * (VOTERS_UP_TO / max(n_rows, VOTERS_UP_TO)) ** 2)
    return max(FEWEST_VOTERS, allowed)


@dataclass(frozen=True)
class QuickGrid:
    """What is tried.

    Attributes
    ----------
    relevances : tuple of float
        Of features in the metric; 0 weighs all alike.
    shrinkages : tuple of float
        Of the within-class metric; inf shortens no direction.
    sigmas : tuple of float
        In medians of the distances in the metric.
    nus : tuple of float
        ν = μ2/(μ1 n̄), n̄ the mean class size.
    readers : tuple of str
        "scores", "nearest", or both.
    """

    relevances: tuple[float, ...] = (0.0, 1.0)
    shrinkages: tuple[float, ...] = (np.inf, 10.0, 1.0, 0.1)
    sigmas: tuple[float, ...] = (0.3, 0.5, 0.8, 1.2, 2.0, 4.0, 8.0)
    nus: tuple[float, ...] = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
    readers: tuple[str, ...] = READERS

    @property
    def shape(self) -> tuple[int, ...]:
        """Relevances, shrinkages, σ, ν, readers."""
        axes = (self.relevances, self.shrinkages, self.sigmas, self.nus, self.readers)
        return tuple(map(len, axes))

    @property
    def kernels(self) -> list[Kernel]:
        """Places of all (relevance, shrinkage, σ): what takes a decomposition each."""
        return [(i, j, k) for i, j, k in product(*map(range, self.shape[:3]))]


@dataclass(frozen=True)
class QuickResult:
    """Scores of all points on all splits.

    Attributes
    ----------
    grid : QuickGrid
        What was tried.
    scores : ndarray of shape (splits, relevances, shrinkages, sigmas, nus, readers)
        NaN where a kernel was out of the race, or the first rounds trained on a part of the samples.
    n_decompositions : int
        Eigendecompositions of a kernel matrix.
    n_rounds : int
        Rounds that were finished, heats among them.
    interrupted : bool
        Whether rounds are missing because someone stopped it.
    """

    grid: QuickGrid
    scores: Floats
    n_decompositions: int
    n_rounds: int
    interrupted: bool

    def table(self, mu1: float, mean_class_size: float) -> Scores:
        """The same as a table of NSSE's parameters: relevance, shrinkage, sigma, mu2 and reader.

        Rows in the order of `scores`. Points out of the race have no mean, and are never best.
        """
        grid = self.grid
        mu2 = [nu * mu1 * mean_class_size for nu in grid.nus]
        names = ("relevance", "shrinkage", "sigma", "mu2", "reader")
        values = product(grid.relevances, grid.shrinkages, grid.sigmas, mu2, grid.readers)
        points = tuple(dict(zip(names, point, strict=True)) for point in values)
        columns = self.scores.reshape(len(self.scores), -1).T
        return Scores(points, columns)

    def voters(self, table: Scores, n_voters: int = VOTERS) -> list[int]:
        """Rows of the table that vote, the best first: of every kernel and reader its best weight.

        Neighbouring weights label alike; other metrics and scales err elsewhere.
        """
        rows = np.arange(len(table.points)).reshape(self.grid.shape)
        lines = np.moveaxis(rows, 3, -1).reshape(-1, len(self.grid.nus))
        # Sums of the same counts in another order differ by rounding: those are ties.
        means, steps = np.round(table.means, 12), self._steps().ravel()
        finite = [line for line in lines if not np.isnan(means[line]).any()]
        best = [min(line, key=lambda row: (-means[row], steps[row])) for line in finite]
        ranked = [int(row) for row in sorted(best, key=lambda row: (-means[row], steps[row]))]
        good = set(table.hardly_worse(ranked[0]))
        return [row for row in ranked if row in good][:n_voters]

    def _steps(self) -> Floats:
        """How far every point is from the one that is taken untuned, in steps of the grid or so.

        Where scores tie, as they do on few samples, the nearest to it is taken: that is a good point.
        """
        grid = self.grid
        shrinkages = np.minimum(grid.shrinkages, LOOSEST)
        away = (
            abs(np.asarray(grid.relevances) - RELEVANCE),
            abs(np.log10(shrinkages / SHRINKAGE)),
            abs(np.log2(np.asarray(grid.sigmas) / SIGMA)),
            abs(np.log10(np.asarray(grid.nus) / SMOOTHNESS)) / 2,
            np.arange(len(grid.readers)) / 2,
        )
        return np.asarray(sum(np.ix_(*away)))
