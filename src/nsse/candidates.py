"""Compute the values that candidates give to held-out samples.

A candidate has one value v_c(x) for every class c. This is its class score, or minus the squared
distance from x to the nearest training sample of the class in its embedding. The values of the held-out
samples of a split have a closed form. The metric gives distances in all of its settings
(`nsse.metrics.Metric.distances`), and each smoothness takes one Cholesky factorization.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state

from nsse._support.errors import rule_error
from nsse._support.types import Bools, Floats, Ints
from nsse.columns import standardizing
from nsse.distances import median_distance, squared_norms
from nsse.grid import Candidate, Grid, Setting
from nsse.kernels import Kernel
from nsse.model import UNIT_SAMPLES, evenly
from nsse.rows import Rows, stratified
from nsse.smooth import SmoothEmbedding
from nsse.splits import BalancedSplits, GroupedSplits

Singles = NDArray[np.float32]
Split = tuple[Ints, Ints]

# Samples that a class must have for random splits.
FEWEST_OF_A_CLASS = 3
# Splits, and the share of every class that each of them holds out.
N_SPLITS, HELD_OUT = 10, 0.25
# The number of samples from which fewer splits are enough. They still hold out nearly every sample once.
MANY_SAMPLES, FEWER_SPLITS = 1000, 4
# Samples that one of ten splits and one of fewer splits trains on, at most, because a Cholesky
# factorization is cubic in their number.
MOST_TRAINING, MOST_OF_FEWER = 500, 750
# Rows, and values of rows, that a split trains on, at most, if samples are augmented.
MOST_ROWS, MOST_VALUES = 1500, 1_500_000
# Values of held-out samples of a split, at most: with many classes, fewer samples are held out.
MOST_HELD_VALUES = 60_000
# Least λ, for every row, beside which single precision is precise enough.
ROUNDING = 4e-7
# Temperatures among which the best one is looked for.
TEMPERATURES = np.geomspace(0.004, 4.0, 16)


@dataclass(frozen=True)
class Samples:
    """The labeled samples on which candidates are compared, in memory.

    Equal samples of a class are one row, with their total weight, so that three equal samples are
    the same as one sample of weight 3.

    Attributes
    ----------
    rows : Rows
        The rows, all of them labeled.
    places : ndarray of shape (n_rows,)
        The position of the row among all rows.
    given : ndarray of shape (n_samples,)
        The row of every given sample among all rows, −1 if it has no weight.
    groups : ndarray of shape (n_rows,) or None
        Rows of a group are not split.
    n_effective : float
        Effective number of labeled samples, N.
    """

    rows: Rows
    places: Ints
    given: Ints
    groups: NDArray[Any] | None
    n_effective: float

    @classmethod
    def of(cls, rows: Rows, groups: Any, most: int) -> Samples:
        """Take at most so many of the rows."""
        places = np.flatnonzero(rows.is_labeled)
        n_effective = effective_number(rows.weights[places])
        if len(places) > most:
            places = places[stratified(rows.codes[places], most, np.random.default_rng(0))]
        own = None
        if groups is not None:
            first = np.full(len(rows), -1)
            order = np.flatnonzero(rows.given >= 0)[::-1]
            first[rows.given[order]] = order
            own = checked_groups(groups, len(rows.given))[first[places]]
        return cls(rows.select(places), places, rows.given, own, n_effective)

    @property
    def codes(self) -> Ints:
        """The class of every row."""
        return self.rows.codes

    def splits(self, cv: Any, random_state: Any, fewest: int = FEWEST_OF_A_CLASS) -> list[Split]:
        """Return the training and held-out rows of every split.

        A row leaves the training part if an equal row is held out, whatever their classes, so that a
        copy of a held-out sample is never trained on. A split needs two classes to train on, and a
        held-out sample of one of these. If no class has ``fewest`` samples, there are no random splits,
        because they would train on single samples of the classes, from which no metric can be learned.
        """
        labels = self.rows.classes[self.codes]
        if cv is None and np.bincount(self.codes).max() < fewest:
            return []
        if cv is None:
            n_splits = N_SPLITS if len(self.codes) < MANY_SAMPLES else FEWER_SPLITS
            seed = check_random_state(random_state).randint(2**31 - 1)
            cv = (BalancedSplits if self.groups is None else GroupedSplits)(n_splits, HELD_OUT, seed)
        if hasattr(cv, "split") or not isinstance(cv, Iterable):
            drawn = check_cv(cv, labels, classifier=True).split(self.rows.held(), labels, self.groups)
        else:
            drawn = (tuple(self._rows_of(part) for part in pair) for pair in checked_pairs(cv))
        rng, found = np.random.default_rng(0), []
        for train, held in drawn:
            train = train[~np.isin(self.rows.places[train], self.rows.places[held])]
            most = max(1, MOST_HELD_VALUES // len(self.rows.classes))
            if len(held) > most:
                held = held[np.sort(rng.permutation(len(held))[:most])]
            if (
                np.isin(self.codes[held], self.codes[train]).any()
                and len(np.unique(self.codes[train])) > 1
            ):
                found.append((train, held))
        if not found and cv is not None and not isinstance(cv, BalancedSplits | GroupedSplits):
            cure = "Each split needs samples to hold out, and two classes to train on."
            raise rule_error("cv", "give usable splits", cv, cure)
        return found

    def _rows_of(self, part: Any) -> Ints:
        """Return the rows of some given samples."""
        position = np.full(int(self.given.max(initial=0)) + 1, -1)
        position[self.places] = np.arange(len(self.places))
        part = np.asarray(part)
        rows = self.given[part.astype(np.intp) if part.size == 0 else part]
        found = np.unique(position[rows[rows >= 0]])
        return np.asarray(found[found >= 0], dtype=np.intp)


def effective_number(weights: Floats) -> float:
    """Return the number of samples of equal weight that determine a weighted mean as well (Kish 1965).

    It is (Σ w)² / Σ w². Many copies of a few rows count as few samples, because a search learns as
    little from them.
    """
    return float(weights.sum() ** 2 / (weights @ weights))


def checked_pairs(cv: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Return splits that are given as pairs of indices."""
    pairs = list(cv)
    if not pairs or not all(isinstance(pair, Sequence) and len(pair) == 2 for pair in pairs):
        cure = "Pass for example 5, StratifiedKFold(5), or a list of pairs (train, test) of indices."
        raise rule_error("cv", "be a number, a splitter or a list of pairs of indices", pairs, cure)
    return pairs


def checked_groups(groups: Any, n_samples: int) -> NDArray[Any]:
    """Return one group for every sample."""
    found = np.asarray(groups)
    if found.shape != (n_samples,):
        rule = f"have one group for each of the {n_samples} samples"
        raise rule_error("groups", rule, f"shape {found.shape}", "Check its length.")
    if found.dtype == object:
        found = found.astype(str)
    if len(np.unique(found)) < 2:
        cure = "Give each group a label of its own, or leave `groups` out."
        raise rule_error("groups", "name at least two groups", found[:1].tolist()[0], cure)
    return found


@dataclass(frozen=True)
class Fold:
    """The rows that a split trains on, and the samples that it holds out.

    A class that the training rows lack gets the lowest value of the other classes. Held-out samples of
    such a class have a weight of zero, because no candidate can predict them.
    """

    train: Rows
    held: Any
    codes: Ints
    weights: Floats

    @classmethod
    def of(cls, samples: Samples, base: SmoothEmbedding, split: Split, augment: Any) -> Fold:
        """Take a split, of which only the training samples are augmented."""
        train, held = split
        X = samples.rows.source.take(held)
        rows = samples.rows.select(train)
        most = MOST_TRAINING if len(samples.codes) < MANY_SAMPLES else MOST_OF_FEWER
        front = standardizing(rows) if base.standardize else None
        rows = rows.augmented(augment)
        if rows.per_sample > 1:
            fewest = MOST_VALUES // rows.source.n_features
            most = min(MOST_ROWS, max(MOST_TRAINING, fewest)) // rows.per_sample
        rows = rows.sample(most, np.random.default_rng(0))
        if front is not None:
            rows, X = rows.through(front), front(X)
        weights = samples.rows.weights[held].copy()
        weights[~np.isin(samples.codes[held], rows.codes)] = 0.0
        return cls(rows, X, samples.codes[held], weights)

    @cached_property
    def present(self) -> Bools:
        """Which classes the training rows have."""
        return np.bincount(self.train.codes, minlength=len(self.train.classes)) > 0

    def values(
        self, grid: Grid, settings: Sequence[Setting], with_norms: bool = True
    ) -> Iterator[HeldOut]:
        """Yield the values of the candidates of every setting, which have the same augmentation."""
        by_metric: dict[str, list[Setting]] = {}
        for setting in settings:
            by_metric.setdefault(repr(setting.metric), []).append(setting)
        metrics = [own[0].metric for own in by_metric.values()]
        distances = grid.metric.distances(self.train, self.held, metrics)
        for (D2, E2), own in zip(distances, by_metric.values(), strict=True):
            part = D2 if len(D2) <= UNIT_SAMPLES else D2[np.ix_(*2 * [evenly(len(D2))])]
            scale = median_distance(part) ** -2
            near, far = (D2 * scale).astype(np.float32), (E2 * scale).astype(np.float32)
            for setting in own:
                smoothness = grid.smoothness[setting.augment is not None]
                values, norms = [], []
                for solved in self._solved(near, far, setting.kernel, smoothness):
                    for decision in grid.decisions:
                        values.append(self._hidden(solved.values(decision)))
                        norms.append(solved.norm(decision) if with_norms else np.nan)
                yield HeldOut(setting, np.stack(values), np.array(norms), self.weights)

    def _solved(
        self, D2: Singles, E2: Singles, kernel: Kernel, smoothness: Sequence[float]
    ) -> Iterator[Solved]:
        """Yield the solved regression for every λ.

        With W^½ (K + λW⁻¹) W^½ C = W^½ T, the scores of the rows are T − λ W^(−½) C.
        """
        root = np.sqrt(self.train.weights).astype(np.float32)[:, np.newaxis]
        sizes = self.train.sizes
        shares = (sizes / sizes.sum()).astype(np.float32)
        T = self.train.indicators().astype(np.float32) - shares
        near: Any = D2.copy()
        across: Any = E2.copy()
        K = kernel(near) * (root * root.T)
        there = kernel(across) * root.T
        diagonal, wanted = np.diag_indices(len(K)), root * T
        for weight in smoothness:
            # In single precision if λ is large compared with the rounding of K.
            G: Any = K.astype(np.float32 if weight > ROUNDING * len(K) else np.float64)
            G[diagonal] += weight
            posv = linalg.lapack.sposv if G.dtype == np.float32 else linalg.lapack.dposv
            _, C, problem = posv(G.T, wanted, overwrite_a=True)
            if problem:
                raise np.linalg.LinAlgError(f"K + {weight:g} I has no Cholesky factor in {G.dtype}.")
            yield Solved(there @ C, T - weight * C / root, C * root, shares, self._by_class)

    @cached_property
    def _by_class(self) -> tuple[Ints, Ints, Ints]:
        """The training rows sorted by class, their classes, and where each class starts."""
        order = np.argsort(self.train.codes, kind="stable")
        known, starts = np.unique(self.train.codes[order], return_index=True)
        return order, known, starts

    def _hidden(self, values: Singles) -> Singles:
        """Return centered values, with the lowest one for classes that the training rows lack."""
        if not self.present.all():
            values = np.where(self.present, values, np.nan)
        return centered_values(values)


def centered_values(values: Singles) -> Singles:
    """Return values that add up to zero. Values that are NaN become the lowest one of the sample."""
    if np.isnan(values).any():
        values = np.where(np.isnan(values), np.nanmin(values, axis=1, keepdims=True), values)
    return np.asarray(values - values.mean(axis=1, keepdims=True), dtype=np.float32)


@dataclass(frozen=True)
class Solved:
    """The regression of a split for one λ.

    Attributes
    ----------
    new, own : ndarrays of shape (n_held_out, n_classes) and (n_rows, n_classes)
        Class scores less shares of the held-out samples, and of the training rows.
    coef : ndarray of shape (n_rows, n_classes)
        C.
    shares : ndarray of shape (n_classes,)
        Shares of the classes.
    by_class : tuple of ndarrays
        The rows sorted by class, their classes, and where each class starts.
    """

    new: Singles
    own: Singles
    coef: Singles
    shares: Singles
    by_class: tuple[Ints, Ints, Ints]

    def values(self, decision: str) -> Singles:
        """Return the values of the classes at the held-out samples."""
        return self.new + self.shares if decision == "scores" else self._nearest()

    def norm(self, decision: str) -> float:
        """Return R², the mean squared norm of the difference of the functions of two classes."""
        Q = self.coef.T @ self.own
        return norms_of_scores(Q) if decision == "scores" else self._norms_of_nearest(Q)

    def _nearest(self) -> Singles:
        """Return −‖s − f‖² of scores s to the nearest row f of every class, −inf if it has none."""
        order, known, starts = self.by_class
        S, F = self.new, self.own[order]
        P = 2.0 * (F @ S.T) - squared_norms(F)[:, np.newaxis]
        found = np.full((S.shape[1], len(S)), -np.inf, dtype=np.float32)
        found[known] = np.minimum(np.maximum.reduceat(P, starts) - squared_norms(S), 0.0)
        return found.T

    def _norms_of_nearest(self, Q: Singles) -> float:
        """Return the mean of ‖2f_i − 2f_j‖²_Q over pairs of rows of two classes, by sums over classes.

        Means over pairs of rows within a pair of classes are averaged over all pairs of classes.
        """
        order, known, starts = self.by_class
        F = self.own[order]
        n = np.diff([*starts, len(F)])[:, np.newaxis]
        means = np.add.reduceat(F, starts) / n
        squares = np.add.reduceat(np.einsum("ij,ij->i", F @ Q, F), starts) / n[:, 0]
        inner = np.einsum("ij,ij->i", means @ Q, means)
        total = means.sum(axis=0)
        m = len(known)
        pairs = 2.0 * (m - 1) * squares.sum() - 2.0 * (total @ Q @ total - inner.sum())
        return max(4.0 * float(pairs) / (m * (m - 1)), 0.0)


def norms_of_scores(Q: Singles | Floats) -> float:
    """Return the mean of ‖e_c − e_r‖²_Q over pairs of classes."""
    m = len(Q)
    return max(2.0 * float(m * np.trace(Q) - Q.sum()) / (m * (m - 1)), 0.0)


@dataclass(frozen=True)
class HeldOut:
    """The values and norms of the candidates of a setting on a split.

    Attributes
    ----------
    setting : Setting
        The setting.
    values : ndarray of shape (n_candidates, n_held_out, n_classes)
        Values of the classes, centered.
    norms : ndarray of shape (n_candidates,)
        R².
    weights : ndarray of shape (n_held_out,)
        Weights of the held-out samples.
    """

    setting: Setting
    values: Singles
    norms: Floats
    weights: Floats


@dataclass(frozen=True)
class HeldOutSamples:
    """The held-out samples of some splits, one split after the other.

    Attributes
    ----------
    rows : ndarray of shape (n_held_out,)
        Positions of the samples among those that are compared.
    codes, weights : ndarrays of shape (n_held_out,)
        Their classes and weights.
    ends : list of int
        Where the samples of each split end.
    n_effective : float
        Effective number of all labeled samples, of which these are a part.
    """

    rows: Ints
    codes: Ints
    weights: Floats
    ends: list[int]
    n_effective: float

    @classmethod
    def of(cls, samples: Samples, splits: Sequence[Split], weights: Sequence[Floats]) -> HeldOutSamples:
        """Join the held-out samples of splits."""
        parts = [held for _, held in splits]
        rows = np.concatenate([np.empty(0, dtype=np.intp), *parts])
        ends = np.cumsum([len(part) for part in parts]).tolist()
        own = np.concatenate([np.empty(0), *weights])
        return cls(rows, samples.codes[rows], own, ends, samples.n_effective)

    def first(self, n_splits: int) -> HeldOutSamples:
        """Return the samples of the first splits."""
        stop = self.ends[n_splits - 1]
        return HeldOutSamples(
            self.rows[:stop],
            self.codes[:stop],
            self.weights[:stop],
            self.ends[:n_splits],
            self.n_effective,
        )


@dataclass(frozen=True)
class Compared:
    """Candidates with their values for held-out samples.

    Attributes
    ----------
    candidates : list of Candidate
        The candidates.
    values : ndarray of shape (n_candidates, n_held_out, n_classes)
        Values of the classes, centered.
    held : HeldOutSamples
        The samples.
    norms : ndarray of shape (n_candidates,)
        R, the typical norm of the difference of the functions of two classes.
    temperatures, losses : ndarrays of shape (n_candidates,)
        The temperature with the lowest log-loss, and this log-loss.
    """

    candidates: list[Candidate]
    values: Singles
    held: HeldOutSamples
    norms: Floats
    temperatures: Floats
    losses: Floats

    @classmethod
    def of(
        cls, candidates: list[Candidate], values: Singles, held: HeldOutSamples, norms: Floats
    ) -> Compared:
        """Find the best temperature of every candidate."""
        found = [best_temperature(own, held) for own in values]
        losses, temperatures = np.array(found).reshape(-1, 2).T
        return cls(candidates, values, held, norms, temperatures, losses)

    def first(self, n_splits: int) -> Compared:
        """Return the candidates with their values on the first splits."""
        held = self.held.first(n_splits)
        return Compared.of(self.candidates, self.values[:, : len(held.rows)], held, self.norms)

    def extended(self, candidates: list[Candidate], values: Singles, norms: Floats) -> Compared:
        """Return these candidates and others, with values of the same samples."""
        together = np.concatenate([self.values, values])
        all_norms = np.concatenate([self.norms, norms])
        return Compared.of([*self.candidates, *candidates], together, self.held, all_norms)

    def scaled(self) -> Singles:
        """Return u_k, the values divided by the temperature of the candidate."""
        return np.asarray(self.values / self.temperatures[:, np.newaxis, np.newaxis], dtype=np.float32)

    def losses_by_split(self) -> Floats:
        """Return the mean log-loss of every candidate at its temperature, on every split."""
        held = self.held
        each = np.array([log_losses(own, held.codes) for own in self.scaled()], dtype=np.float64)
        starts = [0, *held.ends[:-1]]
        sizes = np.add.reduceat(held.weights, starts)
        sums = np.add.reduceat(each * held.weights, starts, axis=1)
        return np.asarray(sums / np.where(sizes > 0.0, sizes, 1.0))

    def mean_scores(self, scores: Floats) -> tuple[Ints, Floats]:
        """Return positions of samples, and the means of scores over the splits that hold them out."""
        known = self.held.weights > 0.0
        rows, group = np.unique(self.held.rows[known], return_inverse=True)
        sums = np.zeros((len(rows), scores.shape[1]))
        np.add.at(sums, group, scores[known])
        return rows, sums / np.bincount(group)[:, np.newaxis]


def log_losses(values: NDArray[Any], codes: Ints) -> NDArray[Any]:
    """Return −log softmax(values) of every sample at its own class."""
    largest = values.max(axis=1)
    sums = np.exp(values - largest[:, np.newaxis]).sum(axis=1)
    return np.log(sums) + largest - values[np.arange(len(codes)), codes]


def best_temperature(values: Singles, held: HeldOutSamples, n_more: float = 1.0) -> tuple[float, float]:
    """Return the lowest mean log-loss of values/τ, and τ.

    ``n_more`` samples are added, of every class alike and placed like the others: otherwise values that
    are all right would make τ zero. Their log-loss is log Σ exp, because values add up to zero.
    """
    codes, weights = held.codes, held.weights
    shares = weights / max(weights.sum(), 1e-300)
    moved = values - values.max(axis=1, keepdims=True)
    own, largest = moved[np.arange(len(codes)), codes] @ shares, -moved.mean(axis=1) @ shares
    scratch = np.empty_like(moved)
    share = n_more / held.n_effective

    def loss(temperature: float) -> float:
        np.multiply(moved, np.float32(1.0 / temperature), out=scratch)
        logs = np.log(np.exp(scratch, out=scratch).sum(axis=1)) @ shares
        return float(logs - own / temperature + share * (logs + largest / temperature))

    found = [loss(temperature) for temperature in TEMPERATURES]
    best = int(np.argmin(found))
    if 0 < best < len(found) - 1:
        before, here, after = found[best - 1 : best + 2]
        step = 0.5 * (before - after) / max(before - 2.0 * here + after, 1e-300)
        ratio = TEMPERATURES[1] / TEMPERATURES[0]
        refined = float(TEMPERATURES[best] * ratio ** np.clip(step, -1.0, 1.0))
        if (lower := loss(refined)) < here:
            return lower, refined
    return found[best], float(TEMPERATURES[best])
