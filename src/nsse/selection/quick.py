"""Parameters chosen in seconds: metric, σ, one weight and the reader, by the closed form on splits.

One eigendecomposition per split and kernel, which is a relevance, a shrinkage and a σ, serves every
weight and both readers (`solvers.closed_form`); distances for all shrinkages come from one decomposition
per split and relevance. Kernels race: those behind after a few splits are not tried on the others. With
many samples they race in heats that train on a part of them. All this was chosen on one
half of the sets of ``reproduction/study``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._errors import rule_error
from nsse._threads import one_blas_thread
from nsse.invariances import enlarged, n_copies_of
from nsse.kernels import gaussian, median_distance, squared_distances
from nsse.landmarks import stratified
from nsse.selection.counting import Counted
from nsse.selection.quick_grid import READERS, Kernel, QuickGrid, QuickResult
from nsse.selection.rulers import Rulers
from nsse.solvers.closed_form import ClassTargets, KernelSpectrum
from nsse.solvers.problem import constant_price

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Score = Callable[..., float]
Few = Callable[[Ints], Ints | None]

# How many kernels go on after so many splits.
RACE = {2: 28, 4: 16, 8: 10}
# With more training rows than MANY they race in HEATS that train on FEW of them, and FINALISTS are left.
# A decomposition takes time as rows³, a support vector machine as rows²: rows · final splits is fixed.
MANY, FEW, HEATS, FINALISTS, FINAL_ROWS = 240, 200, 4, 4, 2200
# So many rows train at most: the best metric, σ and smoothness hardly move beyond, and decomposing
# twice the rows takes eight times as long. Copies of a sample say much the same: fewer rows of these.
MOST_ROWS, COPIED_ROWS = 2000, 1000
# Splits, and the samples that all of them together train on where these are few.
FEWEST_SPLITS, MOST_SPLITS, TRAINED = 8, 16, 2000
HELD_OUT = 0.2


@dataclass(frozen=True)
class Round:
    """A split on which kernels race: training rows, kernels, and whether it is more than a heat."""

    n_rows: int
    n_kernels: int
    is_final: bool


def planned_rounds(n_rows: int, n_splits: int, n_kernels: int) -> list[Round]:
    """The rounds of a search on splits with so many training rows: what it will cost."""
    heats = []
    if n_rows > MANY:
        heats = [Round(FEW, number, False) for number in _racing(min(n_splits, HEATS), n_kernels)]
        n_kernels, n_splits = min(n_kernels, FINALISTS), n_finals(n_rows, n_splits)
    return heats + [Round(n_rows, number, True) for number in _racing(n_splits, n_kernels)]


def training_rows(n_samples: int, per_sample: int) -> int:
    """Rows that so many samples train with, where each makes so many."""
    return min(per_sample * n_samples, MOST_ROWS if per_sample == 1 else COPIED_ROWS)


def n_finals(n_rows: int, n_splits: int) -> int:
    """On how many splits those that are left after heats race with all rows."""
    return min(n_splits, max(2, round(FINAL_ROWS / n_rows)))


def _racing(n_splits: int, n_kernels: int) -> Iterator[int]:
    """How many kernels race on each of the splits."""
    for place in range(n_splits):
        n_kernels = min(n_kernels, RACE.get(place, n_kernels))
        yield n_kernels


def n_splits_for(n_samples: int) -> int:
    """How many splits: more where samples, and hence the ones held out, are few."""
    return min(MOST_SPLITS, max(FEWEST_SPLITS, TRAINED // n_samples))


def quick_search(
    X: Any,
    codes: Ints,
    splits: Sequence[tuple[Ints, Ints]],
    grid: QuickGrid | None = None,
    *,
    n_neighbors: int | None = 5,
    score: Score | None = None,
    advance: Callable[[], None] | None = None,
    seed: int = 0,
    invariances: Any = None,
    counted: Counted | None = None,
) -> QuickResult:
    """Score every point of a grid on splits, by the closed form.

    Parameters
    ----------
    X : {ndarray, csr_array} of shape (n_samples, n_features)
        Samples.
    codes : ndarray of shape (n_samples,)
        Classes.
    splits : sequence of (train, valid)
        Indices.
    grid : QuickGrid, default=None
        None is `QuickGrid()`.
    n_neighbors : int or None, default=5
        Of the within-class graph that the metric is learned from.
    score : callable, default=None
        ``score(labels, truth)`` of the samples held out, with their weights as a third argument where
        there are any; None is the accuracy, every class counting by its share of all samples.
    advance : callable, default=None
        Called after every split, heats among them (`planned_rounds`).
    seed : int, default=0
        Draws the part of the samples that the first rounds train on.
    invariances : callable, default=None
        Gives copies of the training samples of a split, which train as well; heats draw from all.
    counted : Counted, default=None
        How many times samples count; None counts each once.

    Returns
    -------
    QuickResult
        If interrupted, of the splits that were finished, or of the heats if no other was.
    """
    grid = QuickGrid() if grid is None else grid
    unknown = [reader for reader in grid.readers if reader not in READERS]
    if unknown:
        raise rule_error("readers", f"be among {READERS}", unknown, 'Take "scores".')
    D2 = None if invariances is not None else squared_distances(X)
    rows = _Rows(X, codes, D2, invariances, Counted() if counted is None else counted)
    search = _Search(rows, grid, n_neighbors, score, np.random.default_rng(seed))
    with one_blas_thread():
        return search.run(list(splits), advance or (lambda: None))


@dataclass(frozen=True)
class _Part:
    """Training rows of a split, their classes, new rows, and all distances."""

    X: Any
    codes: Ints
    X_new: Any
    D2: Floats
    D2_new: Floats
    copies: float = 1.0  # rows of a training sample, itself among them
    weights: Floats | None = None


@dataclass(frozen=True)
class _Rows:
    """Samples, their classes, and their distances unless training samples have copies."""

    X: Any
    codes: Ints
    D2: Floats | None
    invariances: Any
    counted: Counted

    @property
    def per_sample(self) -> int:
        """Rows that a training sample makes."""
        return 1 + n_copies_of(self.invariances, self.X.shape[1])

    def part(self, train: Ints, valid: Ints, few: Few) -> _Part:
        """Of a split; ``few`` draws places of rows that train from their classes."""
        if self.D2 is not None:
            some = few(self.codes[train])
            train = train if some is None else train[some]
            D2, D2_new = self.D2[np.ix_(train, train)], self.D2[np.ix_(valid, train)]
            weights = self.counted.training(train, self.codes[train])
            return _Part(self.X[train], self.codes[train], self.X[valid], D2, D2_new, weights=weights)
        rows, codes = enlarged(self.invariances, self.X[train]), self.codes[train]
        codes, new = np.repeat(codes, self.per_sample), self.X[valid]
        places, some = np.repeat(train, self.per_sample), few(codes)
        if some is not None:
            rows, codes, places = rows[some], codes[some], places[some]
        D2 = squared_distances(np.concatenate([rows, new]))
        n = len(rows)
        weights = self.counted.training(places, codes)
        return _Part(rows, codes, new, D2[:n, :n], D2[n:, :n], n / len(train), weights)


@dataclass
class _Search:
    """A race of kernels over splits."""

    rows: _Rows
    grid: QuickGrid
    n_neighbors: int | None
    score: Score | None
    rng: np.random.Generator
    n_decompositions: int = 0

    def run(self, splits: list[tuple[Ints, Ints]], advance: Callable[[], None]) -> QuickResult:
        alive, finals = self.grid.kernels, splits
        n_rows = training_rows(max(len(train) for train, _ in splits), self.rows.per_sample)
        heats: list[Floats] = []
        scores: list[Floats] = []
        interrupted = False
        try:
            if n_rows > MANY:
                few = partial(self._at_most, FEW)
                alive = self._raced(splits[:HEATS], alive, heats, advance, few)
                alive = self._best_kernels(heats, alive, FINALISTS)
                finals = splits[: n_finals(n_rows, len(splits))]
            self._raced(finals, alive, scores, advance, partial(self._at_most, n_rows))
        except KeyboardInterrupt:
            if not (heats or scores):
                raise
            interrupted = True
        n_rounds, last = len(heats) + len(scores), np.array(scores or heats)
        return QuickResult(self.grid, last, self.n_decompositions, n_rounds, interrupted)

    def _raced(
        self,
        splits: list[tuple[Ints, Ints]],
        alive: list[Kernel],
        scores: list[Floats],
        advance: Callable[[], None],
        few: Few,
    ) -> list[Kernel]:
        """Add the scores of the splits, one after another; the kernels that are left."""
        for train, valid in splits:
            scores.append(self._scored(self.rows.part(train, valid, few), valid, alive))
            advance()
            alive = self._left(scores, alive)
        return alive

    def _at_most(self, number: int, codes: Ints) -> Ints | None:
        """Places of rows that train, some of every class; None for all of them."""
        if len(codes) <= number:
            return None
        return stratified(_consecutive(codes), number, self.rng)

    def _left(self, scores: list[Floats], alive: list[Kernel]) -> list[Kernel]:
        """The kernels that go on."""
        return self._best_kernels(scores, alive, RACE.get(len(scores), len(alive)))

    def _best_kernels(self, scores: list[Floats], alive: list[Kernel], number: int) -> list[Kernel]:
        """Those with the best points; of several the better ones on the whole."""
        if number >= len(alive):
            return alive
        means = np.mean(scores, axis=0)

        def standing(kernel: Kernel) -> tuple[float, float]:
            return round(float(means[kernel].max()), 12), round(float(means[kernel].mean()), 12)

        return sorted(sorted(alive, key=standing, reverse=True)[:number])

    def _scored(self, part: _Part, valid: Ints, alive: list[Kernel]) -> Floats:
        scores = np.full(self.grid.shape, np.nan)
        n_neighbors = self.n_neighbors
        if n_neighbors is not None:
            n_neighbors = max(n_neighbors, round(n_neighbors * part.copies))
        rulers = Rulers(part.X, part.codes, part.X_new, part.D2, part.D2_new, part.weights)
        for kernel, labels in Trained.on(part.codes, rulers, n_neighbors).labels(self.grid, alive):
            self.n_decompositions += 1
            scores[kernel] = self._judged(labels, valid)
        return scores

    def _judged(self, labels: Ints, valid: Ints) -> Floats:
        truth, judging = self.rows.codes[valid], self.rows.counted.judging
        if self.score is None:
            weights = self._weights(valid)
            return np.asarray((labels == truth) @ weights / weights.sum())
        counts = () if judging is None else (judging[valid],)
        flat = [self.score(row, truth, *counts) for row in labels.reshape(-1, len(truth))]
        return np.reshape(flat, labels.shape[:-1])

    def _weights(self, valid: Ints) -> Floats:
        """How much each of the samples held out counts.

        One sample at least is held out of every class, of a small one hence too many: classes count as
        they occur among all samples.
        """
        truth, judging = self.rows.codes[valid], self.rows.counted.judging
        own = None if judging is None else judging[valid]
        sizes, held_out = np.bincount(self.rows.codes, judging), np.bincount(truth, own)
        weights = sizes[truth] / held_out[truth]
        if own is not None:
            weights = weights * own
        return np.asarray(weights / weights[0])  # ones, to the bit, where classes are of equal size


@dataclass(frozen=True)
class Trained:
    """Samples with labels, and how far new ones are from them.

    ``classes`` are those that occur, ``codes`` the place of each sample's among them.
    """

    classes: Ints
    codes: Ints
    rulers: Rulers
    n_neighbors: int | None

    @classmethod
    def on(cls, codes: Ints, rulers: Rulers, n_neighbors: int | None) -> Trained:
        """Of samples with any codes."""
        classes, places = np.unique(codes, return_inverse=True)
        return cls(classes, places.astype(np.intp), rulers, n_neighbors)

    def labels(self, grid: QuickGrid, kernels: Sequence[Kernel]) -> Iterator[tuple[Kernel, Ints]]:
        """Labels of the new samples, (ν, readers, samples), for kernels of the grid."""
        targets = ClassTargets.of(self.codes, len(self.classes), self.rulers.counts)
        price = constant_price(len(self.classes))
        for (r, s), members in groupby(sorted(kernels), key=lambda kernel: kernel[:2]):
            ruler = self.rulers.ruler(self.n_neighbors, grid.relevances[r])
            D2, D2_new = ruler.distances(grid.shrinkages[s])
            unit = median_distance(D2, self.rulers.counts) if D2.any() else 1.0
            for kernel in members:
                sigma = grid.sigmas[kernel[2]] * unit
                spectrum = KernelSpectrum.of(gaussian(D2, sigma), targets, price)
                read = _read(spectrum, gaussian(D2_new, sigma), self.codes, grid)
                yield kernel, self.classes[read]


def _read(spectrum: KernelSpectrum, K_new: Floats, codes: Ints, grid: QuickGrid) -> Ints:
    """Labels, (ν, readers, samples)."""
    read = []
    for reader in grid.readers:
        if reader == "scores":
            read.append(spectrum.scores(K_new, grid.nus).argmax(axis=2))
        else:
            read.append(codes[_nearest(*spectrum.coordinates(K_new, grid.nus))])
    return np.stack(read, axis=1)


def _nearest(own: Floats, new: Floats) -> Ints:
    """Place of the nearest of its own for every new point, in every layer."""
    D2 = np.einsum("kid,kid->ki", own, own)[:, np.newaxis, :] - 2.0 * (new @ own.transpose(0, 2, 1))
    return np.asarray(D2.argmin(axis=2))


def _consecutive(codes: Ints) -> Ints:
    return np.unique(codes, return_inverse=True)[1].astype(np.intp)
