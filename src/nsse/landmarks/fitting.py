"""One fit with centres, step by step: rows → unit → σ → one pass → coefficients → embedding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse.extensions import Contraction, GaussianExpansion, SingleExpansion, fitted_temperature
from nsse.graphs import class_contrasts, class_slices, contrast_values
from nsse.kernels import KernelRows, check_distinct, median_distance, precision_of, squared_distances
from nsse.landmarks.centers import Centers
from nsse.landmarks.duplicates import distinct_rows
from nsse.landmarks.kept import KeptRows
from nsse.landmarks.moments import GramMatrices, Terms, gram_matrices
from nsse.landmarks.neighborhoods import Neighbors
from nsse.landmarks.scale import (
    ROWS,
    THIN_ROWS,
    THINNER,
    UNIT_ROWS,
    Subsample,
    Thinner,
    draw_subsample,
    pose_sample,
)
from nsse.landmarks.smoothness import Smoothness
from nsse.landmarks.sources import ArrayRows, RowMap, RowSource
from nsse.solvers import Objective, Problem, Solution, Step, Trace, fix_signs
from nsse.solvers.constraint import ClassMeans, SummedMatrix
from nsse.solvers.descent import DescentEnd
from nsse.solvers.extrapolation import FAR_ABOVE, SUBSAMPLE_TOL
from nsse.solvers.gram_pencil import GramSolution, solve_gram
from nsse.solvers.joint import search_scale
from nsse.solvers.leave_one_out import MOST_ROWS, IndicatorRegression, some_of
from nsse.solvers.pencil import RankError
from nsse.solvers.problem import constant_price
from nsse.solvers.recorder import Recorder

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# Rows of every class from which its reference is taken: near the mean is all that is asked of it.
REFERENCE_ROWS = 50
# A coordinate whose length is wrong by this is made of rounding.
ALL_NOISE = 0.5
# Samples that are left out with their copies, however many these are.
FEWEST_COPIED = 100


@dataclass(frozen=True)
class Search:
    """How to find σ: a given one, or where to look for it and how long. In units of length."""

    sigma: float | None
    bounds: tuple[float, float]
    tol: float
    max_iter: int

    @property
    def most_rows(self) -> list[int]:
        """Of the subsamples that it needs: a thinner one to scan, if there is anything to find."""
        return [ROWS] if self.sigma is not None else [ROWS, THIN_ROWS]


# Called with the unit of length and a step of the search; True ends it.
OnStep = Callable[[float, Step], bool]


@dataclass(frozen=True)
class CenterFit:
    """A fitted model; ``scale`` is σ in the units of X, ``orthonormality`` is max |Y'MY − I|.

    M is I, or GG' where class means are normalised. ``added`` is what was added to μ2: the rounding of
    single precision, and more if it ``had_to_add``.
    """

    sigma: float
    scale: float
    unit: float
    precision: np.dtype[Any]
    coef: Floats
    embedding: NDArray[Any]
    eigenvalues: Floats
    excess: float
    trace: Trace
    converged: bool
    at_bound: bool
    condition: float
    added: float
    had_to_add: bool
    eigensolver: str
    orthonormality: float
    temperature: float | None = None


@dataclass(frozen=True)
class Solved:
    """A solution with eigenvalues freed of what was added to μ2.

    ``along`` is what rows without a label added to P, None where there are none.
    """

    found: GramSolution
    eigenvalues: Floats
    added: float
    grams: GramMatrices
    along: Floats | None = None


def fit_centers(
    source: RowSource,
    codes: Ints,
    chosen: Centers,
    objective: Objective,
    neighbors: Neighbors,
    search: Search,
    length_unit: float | None,
    rng: np.random.Generator,
    on_step: OnStep,
    metric: Contraction | None = None,
    *,
    leave_out: bool = False,
    weights: Floats | None = None,
    per_sample: int = 1,
    smoothness: Smoothness | None = None,
) -> CenterFit:
    """Embed all rows of a source by a map with the given centres.

    ``length_unit`` None is the median distance between samples. Rows and centres are in the units of
    the user; in a metric, all distances are between what it makes of them. With ``leave_out`` the
    temperature of scores is found, from some rows of the subsample. ``weights`` say how many times
    every row counts; ``per_sample`` rows, one after another, are a sample and its copies. ``smoothness``
    is that of more rows, which have no label; then σ is given.
    """
    counts = np.bincount(codes, weights).astype(np.float64)
    centers = chosen.rows if metric is None else metric(chosen.rows)
    n_centers = centers.shape[0]
    least = min(n_centers, 4 * (len(counts) + objective.n_components))
    parts = [
        draw_subsample(codes, chosen.indices, n_centers, least, rng, most) for most in search.most_rows
    ]
    sample = parts[0]
    copied = _some_with_copies(sample, codes, weights, per_sample) if leave_out else None
    wanted = [part.rows for part in parts] + ([] if copied is None else [copied])
    taken = [rows if metric is None else metric(rows) for rows in _taken(source, wanted)]
    rows = taken[0]
    check_distinct(rows)
    own_weights = _some(weights, sample.rows)
    unit = _median_of(rows, rng, own_weights) if length_unit is None else length_unit
    sigma, converged, at_bound = search.sigma, True, False
    told = partial(on_step, unit) if sigma is None else None
    recorder = Recorder(objective, _total(codes, weights), told)
    if sigma is None:

        def posed(part: Subsample, its_rows: Any) -> Problem:
            own, some = codes[part.rows], centers[part.centers]
            its_weights = _some(weights, part.rows)
            return pose_sample(its_rows, own, some, counts, objective, neighbors, unit, its_weights)

        is_thinner = parts[1].size * THINNER <= sample.size
        cheaper = Thinner(posed(parts[1], taken[1])) if is_thinner else None
        end = _searched(posed(sample, rows), cheaper, search, sample.is_everything, recorder)
        sigma, converged, at_bound = end.solution.sigma, end.converged, end.at_bound
        del cheaper, end
    scale = sigma * unit
    sigma = scale / unit  # to the bit what the fitted model, which keeps the scale, makes of it
    precision = precision_of(source.dtype)
    plain = KernelRows.at(centers, unit, precision)
    references = _references(plain, rows, codes[sample.rows], sigma)
    kernel = replace(plain, metric=metric)
    kept_out: _LeftOut | _LeftOutWithCopies | None = None
    if copied is not None:
        kept_out = _LeftOutWithCopies.of(copied, taken[-1], codes, chosen, weights, per_sample)
    elif leave_out:
        kept_out = _LeftOut.of(sample, rows, codes, counts, chosen, weights)
    del rows, taken
    terms = Terms(kernel, sigma, objective.mu1 * counts, references, neighbors)
    kept = KeptRows.where_they_fit(source, terms)
    solved = _solved(source, codes, terms, objective, kept, weights, smoothness)
    if kept is not None:
        Y = kept.embedded(solved.found.coef)
    else:
        Y = source.mapped(_map(terms, chosen.rows, solved.found.coef, scale, metric))
    finished = _finished(
        Y, codes, terms, scale, solved, objective, recorder, converged, at_bound, weights
    )
    if kept_out is None:
        return finished
    return replace(finished, temperature=kept_out.temperature(plain, sigma, solved, objective, counts))


@dataclass(frozen=True)
class _LeftOut:
    """Rows that are left out, their classes, and which centres they are (−1: none)."""

    rows: Any
    codes: Ints
    weights: Floats
    own: Ints

    @classmethod
    def of(
        cls,
        sample: Subsample,
        rows: Any,
        codes: Ints,
        sizes: Floats,
        chosen: Centers,
        weights: Floats | None,
    ) -> _LeftOut:
        """Some rows of the subsample, equal ones together."""
        among, w = codes[sample.rows], np.ones(len(sample.rows))
        if weights is not None:
            w = weights[sample.rows]
        first, group = distinct_rows(rows, among)
        own = np.full(len(first), -1, dtype=np.intp)
        if chosen.indices is not None:
            found = np.minimum(np.searchsorted(chosen.indices, sample.rows), len(chosen.indices) - 1)
            is_centre = chosen.indices[found] == sample.rows
            own[group[is_centre]] = found[is_centre]
        together = np.bincount(group, w).astype(np.float64)
        some = some_of(among[first], sizes, together)
        places = first[some]
        return cls(rows[places], among[places], together[some], own[some])

    def temperature(
        self, kernel: KernelRows, sigma: float, solved: Solved, objective: Objective, counts: Floats
    ) -> float:
        """τ of the scores that they have without themselves."""
        regression = _regression(kernel, solved, objective, counts)
        K = kernel.kernel(kernel.measured(self.rows), sigma).astype(np.float64)
        scores = regression.left_out(K, self.codes, self.weights, self.own)
        return fitted_temperature(scores, self.codes, self.weights)


@dataclass(frozen=True)
class _LeftOutWithCopies:
    """Samples that are left out with their copies, one after another, and the centres that these are.

    A copy that stayed would tell the label of its sample. What is asked about are the samples, as new
    ones come.
    """

    rows: Any
    codes: Ints
    weights: Floats  # samples × rows of each
    own: Ints

    @classmethod
    def of(
        cls,
        places: Ints,
        rows: Any,
        codes: Ints,
        chosen: Centers,
        weights: Floats | None,
        per_sample: int,
    ) -> _LeftOutWithCopies:
        """Of rows at these places, whole samples; those that are equal go together."""
        first, group = distinct_rows(rows[::per_sample], codes[places[::per_sample]])
        w = np.ones(len(places)) if weights is None else weights[places]
        together = np.zeros((len(first), per_sample))
        np.add.at(together, group, w.reshape(-1, per_sample))
        own = np.full(len(places), -1, dtype=np.intp)
        if chosen.indices is not None:
            found = np.minimum(np.searchsorted(chosen.indices, places), len(chosen.indices) - 1)
            own = np.where(chosen.indices[found] == places, found, -1)
        kept = (first[:, np.newaxis] * per_sample + np.arange(per_sample)).ravel()
        shaped = own[kept].reshape(-1, per_sample).astype(np.intp)
        return cls(rows[kept], codes[places[::per_sample]][first], together, shaped)

    def temperature(
        self, kernel: KernelRows, sigma: float, solved: Solved, objective: Objective, counts: Floats
    ) -> float:
        """τ of the scores that the samples have without themselves and their copies."""
        regression = _regression(kernel, solved, objective, counts)
        K = kernel.kernel(kernel.measured(self.rows), sigma).astype(np.float64)
        K = K.reshape(*self.weights.shape, -1)
        scores = regression.left_out_together(K, self.codes, self.weights, self.own)
        return fitted_temperature(scores, self.codes, self.weights[:, 0])


def _some_with_copies(
    sample: Subsample, codes: Ints, weights: Floats | None, per_sample: int
) -> Ints | None:
    """Places of samples of which the subsample has a row, and of all their copies; None without copies.

    As many rows in all as are left out one by one, but a hundred samples at least.
    """
    if per_sample == 1:
        return None
    firsts = np.unique(sample.rows // per_sample) * per_sample
    own = np.ones(len(codes)) if weights is None else weights
    w = per_sample * own[firsts]
    sizes = np.bincount(codes, own).astype(np.float64)
    some = some_of(codes[firsts], sizes, w, max(FEWEST_COPIED, MOST_ROWS // per_sample))
    return np.asarray((firsts[some, np.newaxis] + np.arange(per_sample)).ravel())


def _regression(
    kernel: KernelRows, solved: Solved, objective: Objective, counts: Floats
) -> IndicatorRegression:
    """The regression of all rows, ν as in the fit."""
    B, sums = solved.grams.B, solved.grams.class_sums
    smoothness = (objective.mu2 + solved.added) / (objective.mu1 * counts.mean())
    if solved.along is not None:
        B += solved.along / (objective.mu1 * counts.mean())
    if kernel.precision == np.float32:  # the rounding of products in B
        smoothness += float(np.finfo(np.float32).eps * np.diag(B).mean())
    return IndicatorRegression(B, sums, counts, smoothness, constant_price(len(counts)))


def _some(weights: Floats | None, rows: Ints) -> Floats | None:
    return None if weights is None else weights[rows]


def _total(codes: Ints, weights: Floats | None) -> float:
    """N: as many rows as there are, or as they count."""
    return len(codes) if weights is None else float(weights.sum())


def _median_of(rows: Any, rng: np.random.Generator, weights: Floats | None) -> float:
    if rows.shape[0] > UNIT_ROWS:
        some = np.sort(rng.choice(rows.shape[0], UNIT_ROWS, replace=False))
        rows, weights = rows[some], _some(weights, some)
        check_distinct(rows)
    return median_distance(squared_distances(rows), weights)


def _taken(source: RowSource, parts: list[Ints]) -> list[Any]:
    """The rows of several subsamples, from one pass over the source."""
    if len(parts) == 1 or isinstance(source, ArrayRows):  # rows in memory need no pass
        return [source.take(part) for part in parts]
    together = np.unique(np.concatenate(parts))
    rows = source.take(together)
    return [rows[np.searchsorted(together, part)] for part in parts]


def _searched(
    problem: Problem, cheaper: Thinner | None, search: Search, is_everything: bool, recorder: Recorder
) -> DescentEnd[Solution]:
    """σ of the subsample: as precisely as asked for where it is all there is."""
    return search_scale(
        problem,
        search.bounds,
        recorder,
        tol=search.tol if is_everything else max(search.tol, SUBSAMPLE_TOL),
        max_iter=search.max_iter,
        cheaper=cheaper,
        stages=("subsample", "subsample"),
        far_above=FAR_ABOVE,
    )


def _references(kernel: KernelRows, rows: Any, codes: Ints, sigma: float) -> Floats:
    """A row of K near the mean of every class."""
    order = np.argsort(codes, kind="stable")
    means = []
    for members in class_slices(codes[order]):
        some = order[members][:REFERENCE_ROWS]
        means.append(
            kernel.kernel(kernel.measured(rows[np.sort(some)]), sigma).mean(0, dtype=np.float64)
        )
    # Rounded to the precision of the rows: what is subtracted there must be what is added back here.
    return np.array(means).astype(kernel.precision).astype(np.float64)


def _solved(
    source: RowSource,
    codes: Ints,
    terms: Terms,
    objective: Objective,
    kept: KeptRows | None,
    weights: Floats | None,
    smoothness: Smoothness | None,
) -> Solved:
    """The coefficients from one pass over the rows.

    Products in single precision leave errors in P that are as large as small eigenvalues of it; the
    solution would look for them. ε times its mean diagonal entry is added to μ2, and taken off the
    eigenvalues again.
    """
    moments = source.moments(terms, codes, None if kept is None else kept.keep, weights)
    rounding = float(np.finfo(terms.kernel.precision).eps)
    single = terms.kernel.precision == np.float32
    along = None if smoothness is None else smoothness.products(terms.kernel, terms.sigma)
    typical = float(np.diag(moments.spread).mean())
    typical += 0.0 if along is None else float(np.diag(along).mean())
    floor = rounding * typical if single else 0.0
    counts = np.bincount(codes, weights)
    centring = objective.centring(_total(codes, weights), len(counts))
    grams = gram_matrices(moments, terms.references, objective.mu1, objective.mu2 + floor, centring)
    if along is not None:
        np.add(grams.P, along, out=grams.P)
    start = grams.class_sums.T
    B = _constraint(grams, counts, objective)
    found = solve_gram(B, grams.P, start, objective.n_components, rounding)
    added = floor + found.jitter
    eigenvalues = found.eigenvalues - added * np.einsum("ij,ij->j", found.coef, found.coef)
    return Solved(found, eigenvalues, added, grams, along)


def _constraint(
    grams: GramMatrices, counts: NDArray[Any], objective: Objective
) -> SummedMatrix | ClassMeans:
    """B = K'K, or K'GG'K by its factor: K'G are the class sums K'E times the values of G."""
    if not objective.is_of_classes:
        return SummedMatrix(grams.B)
    return ClassMeans(grams.class_sums.T @ contrast_values(counts))


def _map(terms: Terms, centers: Any, coef: Floats, scale: float, metric: Contraction | None) -> RowMap:
    """f for the samples of the fit: as the fitted model has it, or faster in single precision."""
    if terms.kernel.precision == np.float32:
        return SingleExpansion(terms.kernel, coef, terms.sigma)
    return GaussianExpansion.at(centers, coef, scale, metric)


def _finished(
    Y: Floats,
    codes: Ints,
    terms: Terms,
    scale: float,
    solved: Solved,
    objective: Objective,
    recorder: Recorder,
    converged: bool,
    at_bound: bool,
    weights: Floats | None,
) -> CenterFit:
    """Signs of the embedding, and what there is to report."""
    kernel, sigma, solution = terms.kernel, terms.sigma, solved.found
    counted = Y if weights is None else Y * np.sqrt(weights)[:, np.newaxis]
    frame = counted
    if objective.is_of_classes:
        sizes = None if weights is None else np.bincount(codes, weights).astype(np.float64)
        frame = class_contrasts(counted, codes, sizes, weights)
    deviation = frame.T @ frame - np.eye(Y.shape[1])
    noisy = np.abs(np.diag(deviation)) > ALL_NOISE
    if noisy.any():
        raise RankError(int(np.argmax(noisy)), len(noisy))
    signs = fix_signs(Y, codes, weights)
    coef, Y = solution.coef * signs, Y * signs
    regularity = objective.mu2 * float((coef**2).sum())
    total = float(solved.eigenvalues.sum())
    classes = objective.mu1 * _class_part(Y, codes, objective, weights)
    shift = objective.shift(_total(codes, weights))
    terms_of_step = total - regularity - classes, classes - shift, regularity
    excess = total + objective.scale_term(sigma)
    recorder.add("centres", sigma, terms_of_step, excess)
    return CenterFit(
        sigma=sigma,
        scale=scale,
        unit=kernel.unit,
        precision=kernel.precision,
        coef=coef,
        embedding=Y,
        eigenvalues=solved.eigenvalues,
        excess=excess,
        trace=recorder.trace(),
        converged=converged,
        at_bound=at_bound,
        condition=solution.condition,
        added=solved.added,
        had_to_add=solution.jitter > 0,
        eigensolver=solution.eigensolver,
        orthonormality=float(np.abs(deviation).max()),
    )


def _class_part(Y: Floats, codes: Ints, objective: Objective, weights: Floats | None) -> float:
    """tr Y'(diag(n_c) − EE' + 11')Y = Σ_c n_c ‖Y_c − mean‖² + ‖1'Y‖², 11' times its centring."""
    w = np.ones(len(codes)) if weights is None else weights
    total = w @ Y
    result = objective.centring(float(w.sum()), int(codes.max()) + 1) * float(total @ total)
    for c in range(int(codes.max()) + 1):
        own, its = Y[codes == c], w[codes == c]
        size = float(its.sum())
        result += size * float((its @ (own - its @ own / size) ** 2).sum())
    return result
