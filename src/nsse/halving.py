"""Compare the candidates of a search: all of them on a few splits, and the best on all.

The typical slope of a candidate is

    L = √(2γ) · s · (d/σ) · R / τ,

with the curvature γ = −κ′(0) of the kernel, the stretch s of the metric, the median Euclidean distance d
between training samples, the width σ, and the temperature τ. R is the root mean square, over pairs of
classes, of the norm of the difference of their functions. L is how much the difference of the values of
two classes typically changes, in units of τ, over a distance of d. It is not a bound.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from nsse._support.progress import progress_bar
from nsse._support.threads import one_blas_thread
from nsse._support.types import Floats
from nsse.candidates import Compared, Fold, HeldOut, HeldOutSamples, Samples, Singles, Split
from nsse.columns import standardizing
from nsse.distances import median_distance, squared_distances
from nsse.grid import Candidate, Grid, Setting
from nsse.metrics.learned import centered
from nsse.model import evenly
from nsse.smooth import SmoothEmbedding
from nsse.unlabeled import UnlabeledUse
from nsse.unlabeled_candidates import UnlabeledSamples

# The best settings go on after a third of the splits. So many do, besides the user's.
FIRST_SHARE, BEST_SETTINGS = 3, 8
# Splits of the first round with unlabeled samples, and of both rounds.
FIRST_WITH_USES, SPLITS_WITH_USES = 2, 4
# The best settings with unlabeled samples go on. So many do, besides the user's.
SETTINGS_WITH_USES = 2
# Numbers of candidates and of splits in the rounds of a search by a scorer. None is all.
SCORED_ROUNDS = ((None, 1), (64, 3), (16, None))


@dataclass
class Comparison:
    """The work of comparing candidates on splits, which can be interrupted and done in parallel.

    Attributes
    ----------
    base : SmoothEmbedding
        The user's estimator.
    grid : Grid
        What is tried.
    samples : Samples
        The samples that are split.
    splits : list of Split
        Training and held-out rows.
    n_jobs, verbose
        Parameters of the search.
    is_interrupted : bool
        Whether the user has interrupted the comparison.
    """

    base: SmoothEmbedding
    grid: Grid
    samples: Samples
    splits: list[Split]
    n_jobs: int | None = None
    verbose: int = 0
    is_interrupted: bool = False

    def compared(self) -> Compared:
        """Compare all settings on a few splits, and the best of them on the others."""
        n_first = max(1, len(self.splits) // FIRST_SHARE)
        first, rest = self.splits[:n_first], self.splits[n_first:]
        found = self.on_splits(first, self.grid.settings, with_norms=not rest)
        if not found and first:
            raise KeyboardInterrupt
        best = self.best_settings(found)
        for augment in self.grid.augmentations:
            own = self.grid.with_augmentation(best, augment)
            more = self.on_splits(first[: len(found)], own, with_norms=not rest)
            if len(more) == len(found):
                found = [[*some, *others] for some, others in zip(found, more, strict=True)]
        if self.grid.augmentations:
            best = self.best_settings(found)
        found = [[one for one in some if one.setting in best] for some in found]
        if found and rest:
            on_rest = self.second_round(rest, [one.setting for one in found[0]])
            if not on_rest:  # it was interrupted
                found[0] = self.with_norms(found[0])
            found += on_rest
        return self.joined(found)

    def second_round(self, splits: Sequence[Split], settings: Sequence[Setting]) -> list[list[HeldOut]]:
        """Return the held-out values of settings with several augmentations, split by split."""
        by_augmentation: dict[int, list[Setting]] = {}
        for setting in settings:
            by_augmentation.setdefault(id(setting.augment), []).append(setting)
        parts = [self.on_splits(splits, own, with_norms=True) for own in by_augmentation.values()]
        n_done = min(map(len, parts), default=0)
        return [[one for part in parts for one in part[split]] for split in range(n_done)]

    def with_norms(self, found: Sequence[HeldOut]) -> list[HeldOut]:
        """Return values on the first split with the norms of the functions."""
        with_norms = []
        for one in found:
            parts = self.samples, self.base, self.grid, self.splits[0]
            own = held_out_values(*parts, [one.setting], with_norms=True)[0]
            with_norms.append(replace(one, norms=own.norms))
        return with_norms

    def with_unlabeled(self, compared: Compared, unlabeled: UnlabeledSamples, own: Any) -> Compared:
        """Return the candidates, and the best settings with uses of unlabeled samples, on some splits.

        All settings are combined with each use on a few splits, and the best of them on more, because
        the settings that are best without unlabeled samples are often not the best with them. ``own`` is
        the user's use, which comes first. Without any results, candidates stay as they are.
        """
        uses = unlabeled.uses(own)
        splits = self.splits[: min(SPLITS_WITH_USES, len(compared.held.ends))]
        first, rest = splits[:FIRST_WITH_USES], splits[FIRST_WITH_USES:]
        every = [self.grid.own.setting, *(candidate.setting for candidate in compared.candidates)]
        distinct = list({id(setting): setting for setting in every}.values())
        # Augmented samples are not combined with unlabeled ones, unless the user does it.
        settings = [setting for setting in distinct if setting.augment is None] or distinct[:1]
        found = self.on_splits_with_uses(first, settings, uses, unlabeled)
        if not found:
            return compared
        tried = self.joined_with_uses(found, settings, uses, compared.held)
        best = best_places(tried.losses.reshape(len(settings), -1).min(axis=1))
        more = self.on_splits_with_uses(rest, [settings[place] for place in best], uses, unlabeled)
        if more:
            found = [*([some[place] for place in best] for some in found), *more]
            settings = [settings[place] for place in best]
            tried = self.joined_with_uses(found, settings, uses, compared.held)
        return compared.first(len(found)).extended(tried.candidates, tried.values, tried.norms)

    def on_splits_with_uses(
        self,
        splits: Sequence[Split],
        settings: Sequence[Setting],
        uses: Sequence[UnlabeledUse],
        unlabeled: UnlabeledSamples,
    ) -> list[list[tuple[Singles, Floats]]]:
        """Return the values, and R², of every setting with all uses, split by split."""
        jobs = [
            (unlabeled, self.base, self.grid, setting, uses, split)
            for split in splits
            for setting in settings
        ]
        done = self.worked(values_with_unlabeled, jobs, "Comparing uses of unlabeled samples")
        n_splits = len(done) // len(settings)
        return [done[split * len(settings) :][: len(settings)] for split in range(n_splits)]

    def joined_with_uses(
        self,
        found: Sequence[Sequence[tuple[Singles, Floats]]],
        settings: Sequence[Setting],
        uses: Sequence[UnlabeledUse],
        held: HeldOutSamples,
    ) -> Compared:
        """Return the candidates of settings with all uses, with their values on all of these splits."""
        candidates = [
            one for setting in settings for use in uses for one in self.grid.with_use(setting, use)
        ]
        values = np.concatenate([np.concatenate([one[0] for one in some]) for some in found], axis=1)
        norms = np.mean([np.concatenate([one[1] for one in some]) for some in found], axis=0)
        return Compared.of(candidates, values, held.first(len(found)), np.sqrt(norms))

    def with_use(self, candidate: Candidate) -> Candidate:
        """Return a candidate with the user's use of unlabeled samples."""
        use = {**candidate.setting.parameters, "unlabeled": self.base.unlabeled}
        return replace(candidate, setting=Setting(use))

    def place_of_user(self, compared: Compared) -> int:
        """Return the position of the user's estimator among candidates, if possible with its use."""
        own, wanted = self.grid.own, self.with_use(self.grid.own)
        return compared.candidates.index(wanted if wanted in compared.candidates else own)

    def on_splits(
        self, splits: Sequence[Split], settings: Sequence[Setting], with_norms: bool
    ) -> list[list[HeldOut]]:
        """Return the held-out values of settings with the same augmentation, split by split.

        Norms of functions hardly depend on the split, so they are computed on the first of them alone.
        """
        jobs = [
            (self.samples, self.base, self.grid, split, settings, with_norms and split is splits[0])
            for split in splits
        ]
        done = self.worked(held_out_values, jobs, "Comparing parameters")
        # Settings that come back from another process are copies.
        return [
            [replace(one, setting=setting) for one, setting in zip(some, settings, strict=True)]
            for some in done
        ]

    def worked(self, work: Callable[..., Any], jobs: Sequence[Any], what: str) -> list[Any]:
        """Return the results of jobs, or of those that were done before an interruption."""
        done: list[Any] = []
        if self.is_interrupted:
            return done
        try:
            shown = True if self.verbose else None
            with progress_bar(len(jobs), what, shown) as advance:
                for result in in_order(work, jobs, self.n_jobs):
                    done.append(result)
                    advance()
        except KeyboardInterrupt:
            self.is_interrupted = True
            message = f"Interrupted while {what.lower()}. The results so far are used."
            warnings.warn(message, UserWarning, stacklevel=6)
        return done

    def best_settings(self, found: Sequence[Sequence[HeldOut]]) -> list[Setting]:
        """Return the user's setting and the best others, by the loss of their best candidates.

        The settings that are best by class scores and by nearest samples take turns.
        """
        compared = self.joined(found)
        own = self.grid.settings[0]
        ranked = []
        for decision in self.grid.decisions:
            losses: dict[int, float] = {}
            settings = {}
            for candidate, loss in zip(compared.candidates, compared.losses, strict=True):
                if candidate.decision == decision:
                    key = id(candidate.setting)
                    settings[key] = candidate.setting
                    losses[key] = min(loss, losses.get(key, np.inf))
            ranked.append([settings[key] for key in sorted(losses, key=lambda key: losses[key])])
        in_turn = [own, *(setting for together in zip(*ranked, strict=True) for setting in together)]
        return list({id(setting): setting for setting in in_turn}.values())[: BEST_SETTINGS + 1]

    def joined(self, found: Sequence[Sequence[HeldOut]]) -> Compared:
        """Return the candidates of settings with their values on all of these splits."""
        settings = [one.setting for one in found[0]] if found else []
        candidates = [own for setting in settings for own in self.grid.of_setting(setting)]
        weights = [some[0].weights for some in found]
        held = HeldOutSamples.of(self.samples, self.splits[: len(found)], weights)
        none = np.empty((len(candidates), 0, len(self.samples.rows.classes)), dtype=np.float32)
        parts = [np.concatenate([one.values for one in some]) for some in found]
        # Splits without norms have NaN.
        of_splits = [np.concatenate([one.norms for one in some]) for some in found]
        known = [own for own in of_splits if not np.isnan(own).any()]
        norms = known[0] if known else np.full(len(candidates), np.nan)
        return Compared.of(candidates, np.concatenate([none, *parts], axis=1), held, np.sqrt(norms))

    def scored(
        self, scorer: Callable[..., float], unlabeled: UnlabeledSamples
    ) -> tuple[list[Candidate], Floats]:
        """Return the candidates that were scored on all splits, and their scores on each of them.

        All of them use unlabeled samples as the user's estimator does.
        """
        candidates = [
            self.with_use(own)
            for setting in self.grid.every_setting()
            for own in self.grid.of_setting(setting)
        ]
        candidates.sort(key=lambda candidate: candidate != self.with_use(self.grid.own))
        scores = np.empty((0, len(candidates)))
        for most, n_splits in SCORED_ROUNDS:
            if most is not None:
                order = np.argsort(-scores.mean(axis=0), kind="stable")
                kept = np.unique([0, *order[:most]])
                candidates, scores = [candidates[place] for place in kept], scores[:, kept]
            splits = self.splits[len(scores) : n_splits]
            jobs = [(self, own, split, scorer, unlabeled) for split in splits for own in candidates]
            done = self.worked(score_of, jobs, "Scoring candidates")
            if len(done) == len(jobs):
                scores = np.concatenate([scores, np.reshape(done, (len(splits), len(candidates)))])
            elif len(scores) == 0:
                raise KeyboardInterrupt
        return candidates, scores

    def slopes(self, compared: Compared) -> Floats:
        """Return L of the candidates."""
        found = {}
        for candidate in compared.candidates:
            key = repr(candidate.setting.metric)
            if key not in found:
                found[key] = self.unit_slope(candidate.setting.metric)
        units = [found[repr(candidate.setting.metric)] for candidate in compared.candidates]
        of_kernels = [candidate.setting.kernel.unit_slope for candidate in compared.candidates]
        return np.array(of_kernels) * np.array(units) * compared.norms / compared.temperatures

    def unit_slope(self, metric: Mapping[str, Any]) -> float:
        """Return s d/m, the stretch of a metric times the ratio of median distances before and in it.

        Columns that the estimator standardizes are measured in their standard deviations.
        """
        rows = self.samples.rows
        if self.base.standardize:
            rows = rows.through(standardizing(rows))
        some, X = evenly(len(rows)), rows.held()
        plain = centered(X)  # with values of order one, so that no square overflows
        Z = plain(X)[some]
        before = median_distance(squared_distances(Z, Z))
        space = self.grid.metric.with_parameters(metric).learn(rows, with_hull=True).projected()
        stretch = space.affine.norm / float(plain.scale[0])
        return stretch * before / median_distance(space.distances(some))


def held_out_values(
    samples: Samples,
    base: SmoothEmbedding,
    grid: Grid,
    split: Split,
    settings: Sequence[Setting],
    with_norms: bool,
) -> list[HeldOut]:
    """Return the values of the candidates of settings on a split, in the order of the settings."""
    with quiet(), one_blas_thread():  # splits have few rows, on which several threads fight
        fold = Fold.of(samples, base, split, settings[0].augment)
        found = {id(one.setting): one for one in fold.values(grid, settings, with_norms)}
    return [found[id(setting)] for setting in settings]


def best_places(losses: Floats) -> list[int]:
    """Return the positions of the user's setting, which is the first, and of the lowest losses."""
    order = [0, *np.argsort(losses, kind="stable").tolist()]
    return list(dict.fromkeys(order))[: SETTINGS_WITH_USES + 1]


def values_with_unlabeled(
    unlabeled: UnlabeledSamples,
    base: SmoothEmbedding,
    grid: Grid,
    setting: Setting,
    uses: Sequence[UnlabeledUse],
    split: Split,
) -> tuple[Singles, Floats]:
    """Return the values, and R², of a setting with uses of unlabeled samples on a split."""
    with quiet(), one_blas_thread():
        return unlabeled.values(base, grid, setting, uses, split)


def score_of(
    comparison: Comparison, candidate: Candidate, split: Split, scorer: Any, unlabeled: UnlabeledSamples
) -> float:
    """Return the score of a candidate that is fitted to the training part of a split."""
    rows, (train, held) = comparison.samples.rows, split
    with quiet():
        model = unlabeled.fitted(candidate.model(comparison.base), train)
    # A row stands for several equal samples.
    repeats = np.maximum(np.round(rows.counts[held]), 1).astype(np.intp)
    each = np.repeat(held, repeats)
    return float(
        scorer(
            model,
            rows.source.take(held)[np.repeat(np.arange(len(held)), repeats)],
            rows.classes[rows.codes[each]],
        )
    )


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore warnings of fits to a part of the samples. Fits to all samples give them again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def in_order(work: Callable[..., Any], jobs: Sequence[Any], n_jobs: int | None) -> Iterable[Any]:
    """Yield the results of jobs in their order, computed one after the other or by processes."""
    if n_jobs is None or n_jobs == 1:
        return (work(*job) for job in jobs)
    return Parallel(n_jobs, return_as="generator")(delayed(work)(*job) for job in jobs)
