"""How an embedding is handed out and read: in which units, and by whom."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse.estimators._base import unfitted_classifier
from nsse.estimators._posing import Posed
from nsse.estimators._settings import Settings
from nsse.extensions import ClassScores, fitted_temperature, total_scatters
from nsse.kernels import gaussian
from nsse.solvers.leave_one_out import MOST_SAMPLES, left_out_of_samples, regression_of_samples, some_of
from nsse.solvers.problem import constant_price

Ints = NDArray[np.intp]


@dataclass(frozen=True)
class SolvedRows:
    """The embedding of some samples as it was solved for, their labels, eigenvalues, τ and weights."""

    embedding: Any
    y: NDArray[Any]
    eigenvalues: Any
    temperature: float | None = None
    weights: Any = None


def reads_scores(classifier: Any, mu1: float) -> bool:
    """Whether labels are read by scores: by name, or where nothing is said and classes are separated."""
    return mu1 > 0 if classifier is None else isinstance(classifier, str) and classifier == "scores"


def exact_temperature(posed: Posed, sigma: float, first: Ints, groups: Ints) -> float:
    """τ of the scores of an exact fit, from those that its samples have where each is left out.

    Equal samples are left out together: ``first`` of every group, and the ``groups`` of the samples.
    Of many samples the regression has a part, of all classes alike: a temperature needs no more, and
    the whole one would take as long as the fit.
    """
    problem, place = posed.problem, np.argsort(posed.order)
    objective, graph = problem.objective, problem.graph
    own = np.ones(len(groups)) if graph.weights is None else graph.weights[place]
    order = np.argsort(place[first])  # as they lie in the problem: nothing is copied without need
    weights, some = np.bincount(groups, own).astype(np.float64)[order], place[first[order]]
    if len(some) > MOST_SAMPLES:  # they lie class by class
        part = np.linspace(0, len(some) - 1, MOST_SAMPLES).astype(np.intp)
        weights, some = weights[part], some[part]
    codes, D2 = graph.codes[some], problem.D2
    problem.workspace.clear()
    if len(some) < len(D2) or np.any(np.diff(some) != 1):
        D2 = D2[np.ix_(some, some)]
    n_classes = graph.n_classes
    smoothness = objective.mu2 / (objective.mu1 * problem.n_samples / n_classes)
    K, price = gaussian(D2, sigma), constant_price(n_classes)
    some = some_of(codes, np.bincount(codes, weights).astype(np.float64), weights)
    if math.isinf(price) and np.all(weights == 1.0):
        scores = left_out_of_samples(K, codes, smoothness, some)
    else:
        regression, features = regression_of_samples(K, codes, weights, smoothness, price)
        scores = regression.left_out(features[some], codes[some], weights[some], some)
    return fitted_temperature(scores, codes[some], weights[some])


@dataclass(frozen=True)
class Reading:
    """How an embedding is handed out and read: in which units, and by whom.

    ``factors`` multiply its columns; ``reader`` is to be fitted on what they give.
    """

    factors: Any
    reader: Any

    @classmethod
    def of(cls, classifier: Any, settings: Settings, rows: SolvedRows, sizes: Any) -> Reading:
        """``sizes`` are those of the classes among all samples that the rows stand for."""
        mu1, by_scores = settings.mu1, reads_scores(classifier, settings.mu1)
        scatters = np.ones(rows.embedding.shape[1])
        if mu1 > 0 and (by_scores or settings.normalization == "classes"):
            scatters = total_scatters(rows.embedding, rows.y, sizes, rows.eigenvalues, mu1, rows.weights)
        factors = _factors(settings, scatters, float(np.sum(sizes)))
        if by_scores:
            price = constant_price(len(sizes))
            counts = np.asarray(sizes, dtype=np.float64)
            return cls(factors, ClassScores(scatters * factors**2, counts, price, rows.temperature))
        return cls(factors, unfitted_classifier(classifier))

    def scaled(self, Y: NDArray[Any]) -> NDArray[Any]:
        """An embedding in these units, in its floating-point type."""
        return np.asarray((Y * self.factors).astype(Y.dtype, copy=False))


def _factors(settings: Settings, scatters: Any, n_samples: float) -> Any:
    """What multiplies the coordinates: see `embedding_scale`."""
    if settings.embedding_scale == "orthonormal":
        return np.ones(len(scatters))
    if settings.normalization == "samples":
        return np.full(len(scatters), np.sqrt(n_samples))
    # The whole of every coordinate is 1 in the mean over the samples: weak ones are short.
    return np.sqrt(n_samples / scatters)
