"""Points of a grid that have landmarks: embeddings for all weights from one sweep on weighted rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from nsse.estimators._centers import CenterPlan, check_supported, choose_centers
from nsse.estimators._parameters import check_n_components
from nsse.estimators._posing import neighbors_of, objective_of
from nsse.graphs import ShiftedGraph
from nsse.kernels import KernelRows
from nsse.landmarks import ArrayRows, Centers, MeasuredRows, Neighbors, few_centers
from nsse.landmarks.sources import stacked
from nsse.solvers import fix_signs
from nsse.solvers.many import Embedded, embed_all
from nsse.solvers.sweep import Sweep, Wanted

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Fold:
    """Training samples with their classes as integers, validation samples, the unit of length.

    ``sizes`` are the class sizes of the samples that the training samples stand for: their own, or
    those of all samples where they are a subsample.
    """

    X: Any
    codes: Ints
    X_new: Any
    sizes: Floats
    unit: float

    @property
    def n_samples(self) -> int:
        """How many samples the training samples stand for."""
        return int(self.sizes.sum())


def sweep_with_centers(
    fold: Fold, models: Sequence[Any], settings: Sequence[Any], counts: Counter[str]
) -> Iterator[tuple[int, Embedded | None]]:
    """Embeddings of the training and validation samples for models that differ in swept parameters.

    None where the kernel does not carry so many coordinates, or there are not so many.
    """
    first = settings[0]
    check_supported(models[0])
    dimensions = _dimensions(fold, models, first.centers.n_centers(fold.n_samples))
    for index in set(range(len(models))) - set(dimensions):
        yield index, None
    if not dimensions:
        return
    largest = max(dimensions.values())
    rng = np.random.default_rng(check_random_state(models[0].random_state).randint(2**31 - 1))
    centers = _centers(fold, first.centers, rng, largest)
    used, apart = _rows(fold, first.centers, centers.indices, rng)
    kernel = KernelRows.at(centers.rows, fold.unit, np.float64)
    rows = MeasuredRows.of(fold.X[used], fold.codes[used], kernel, fold.sizes)
    places_of: dict[Neighbors, int] = {}
    candidates = []
    for index, d in dimensions.items():
        s = settings[index]
        graph = places_of.setdefault(neighbors_of(s), len(places_of))
        candidates.append(Wanted(graph, objective_of(s, d), s.sigma))
    centring = candidates[0].objective.centring(fold.n_samples, len(fold.sizes))
    graphs = [rows.graph(neighbors, 0.0, centring) for neighbors in places_of]
    new = stacked([fold.X_new, fold.X[apart]])
    D2_new = kernel.squared_distances(kernel.measured(new))
    sweep = Sweep(rows.D2, D2_new, graphs, largest, counts, is_exact=False)
    places = used[np.argsort(fold.codes[used], kind="stable")], apart
    indices = list(dimensions)
    for place, found in embed_all(sweep, first.sigma_range, candidates):
        yield indices[place], None if found is None else _in_order(found, fold, graphs[0], *places)


def _dimensions(fold: Fold, models: Sequence[Any], n_centers: int) -> dict[int, int]:
    """d of every model that can have so many."""
    found = {}
    for index, model in enumerate(models):
        try:
            d = check_n_components(
                model.n_components, len(fold.codes), len(fold.sizes), model.normalization
            )
        except ValueError:
            continue  # a fit of its own says why it cannot be
        if d <= n_centers:
            found[index] = d
    return found


def _centers(fold: Fold, plan: CenterPlan, rng: np.random.Generator, largest: int) -> Centers:
    """As a fit chooses them; fewer on a subsample, as the search for σ takes fewer."""
    n_rows, n_samples = len(fold.codes), fold.n_samples
    if n_rows < n_samples:
        least = 4 * (len(fold.sizes) + largest)
        m = plan.n_centers(n_samples)
        wanted = min(m, few_centers(m, n_rows, n_samples, least), n_rows)
        if isinstance(plan.how, str):
            plan = replace(plan, n=wanted)
        else:
            plan = replace(plan, how=plan.how[np.sort(rng.choice(m, wanted, replace=False))])
    return choose_centers(plan, ArrayRows(fold.X), fold.codes, rng, largest)


def _rows(
    fold: Fold, plan: CenterPlan, indices: Ints | None, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Which training samples are rows of the problem, and which are kept apart.

    A sample that is its own centre is fitted too well: as many of them as in the whole stay.
    """
    everyone = np.arange(len(fold.codes))
    share = plan.n_centers(fold.n_samples) / fold.n_samples
    if indices is None or len(everyone) == fold.n_samples:
        return everyone, everyone[:0]
    n_own = min(len(indices), round(share * len(everyone)))
    apart = np.sort(rng.choice(indices, len(indices) - n_own, replace=False))
    used = np.setdiff1d(everyone, apart)
    # A class of centres only keeps them all.
    missing = ~np.isin(fold.codes[apart], fold.codes[used])
    return np.sort(np.concatenate([used, apart[missing]])), apart[~missing]


def _in_order(found: Embedded, fold: Fold, graph: ShiftedGraph, order: Ints, apart: Ints) -> Embedded:
    """The training samples in the order of the user, orthonormal over what they stand for."""
    Y = np.empty((len(fold.codes), found.Y.shape[1]))
    signs = fix_signs(found.Y, graph.codes)
    n_new = fold.X_new.shape[0]
    Y[order] = found.Y * signs / (1.0 if graph.roots is None else graph.roots)
    Y[apart] = found.Z[n_new:] * signs
    return Embedded(Y, found.Z[:n_new] * signs, found.sigma, found.eigenvalues)
