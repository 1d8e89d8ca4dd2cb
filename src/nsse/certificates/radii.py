"""Certified radii: how far x may be moved, in any direction, before its label can change.

Let i be a score of x's own class and j one of another. Their difference is an affine function of f(x),
and moves by at most ‖(w_i − w_j)'f‖ √(2 − 2 exp(−r²/σ²)) when x moves by r (``function_space``). So i
stays ahead of j while

    (s_i − s_j)(x) > √((w_i − w_j)'G(w_i − w_j)) · √(2 − 2 exp(−r²/σ²)).

For two nearest neighbours the left-hand side is, up to a factor that cancels, the distance of f(x) to
their bisector. The radius is that of the worst rival j for the best own i. Every own score is a valid
choice of i; only the `OWN` largest are tried, so the radius may be less than the best of this form and
is never more.

With k votes, let m = ⌊k/2⌋ + 1 own samples stay ahead of all rivals but k − m. Fewer than m own samples
among the k nearest would mean more than k − m rivals, hence one of those that are behind all m, and with
it the m. So most of the k nearest are of x's own class, and it wins.

Rounding is on the safe side throughout: differences of scores are lowered by what they may be wrong by
at x and again at the moved point, norms are raised, quotients and radii are taken a little smaller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._support.errors import rule_error
from nsse._support.threads import in_parallel
from nsse.certificates.decisions import Decision
from nsse.certificates.function_space import EPS, FunctionSpace
from nsse.certificates.lipschitz import proposition_1, row_sum_bound
from nsse.kernels import complete_squares, row_products

Floats = NDArray[np.float64]

OWN = 4
BOUNDS = ("directional", "rkhs", "row_sum", "proposition_1")
# Scores in flight per block: 16 MB, a few times over.
BLOCK_VALUES = 2_000_000


@dataclass(frozen=True)
class Certificate:
    """A map and what decides on its values: all that a radius depends on.

    Attributes
    ----------
    space : FunctionSpace
        The map.
    decision : Decision
        What decides on its values.

    See Also
    --------
    nsse.certificates.certified_radius : Radii in one call, through pipelines and votes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import NSSE
    >>> from nsse.certificates import Certificate, FunctionSpace, decision_of
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NSSE().fit(X[::3], y[::3])
    >>> certificate = Certificate(FunctionSpace.of(model.expansion_), decision_of(model))
    >>> bool((certificate.radius(model.transform(X[:4])) > 0).all())  # in the metric of the model
    True
    """

    space: FunctionSpace
    decision: Decision

    def radius(self, embedded: Floats, dtype: Any = np.float64, bound: str = "directional") -> Floats:
        """Certified radii of samples, from the map at them; in its metric, where it has one.

        Parameters
        ----------
        embedded : ndarray of shape (n_samples, n_components)
            f(x) of every sample, in float64.
        dtype : numpy dtype, default=float64
            Floating-point type of the samples: the classifier sees f(x) rounded to it.
        bound : {"directional", "rkhs", "row_sum", "proposition_1"}, default="directional"
            What bounds the change of a difference of scores: its own norm in the space of the kernel
            (above), the largest such norm for every direction, or a Lipschitz constant.

        Returns
        -------
        ndarray of shape (n_samples,)
            Radii, 0 where nothing is certain, ``inf`` where no change of x can change the label.
        """
        return self.radius_of(embedded, self.decision.labels(embedded.astype(dtype)), dtype, bound)

    def radius_of(self, embedded: Floats, labels: NDArray[Any], dtype: Any, bound: str) -> Floats:
        """The same where the labels are known already."""
        own = np.searchsorted(self.decision.classes, labels)
        leads = _Leads(self.decision, self.decision.weights @ self._metric(bound), self.doubt(dtype))
        slack = np.empty(len(embedded))
        rows = max(1, BLOCK_VALUES // len(leads.images))

        def fill(block: NDArray[np.intp]) -> None:
            slack[block] = leads.slack(embedded[block], int(own[block[0]]))

        in_parallel(fill, _blocks_of_a_class(own, rows), slack.size * len(leads.images))
        if bound in ("directional", "rkhs"):
            return reach(slack, self.space.sigma)
        return np.asarray(np.maximum(slack, 0.0) * (1.0 - 8 * EPS))

    def in_units_of_samples(self, radius: Floats) -> Floats:
        """Radii of changes to x itself: ‖Aδ‖ ≤ ‖A‖‖δ‖, and ‖A‖ ≤ 1."""
        metric = self.space.expansion.metric
        return radius if metric is None else radius / metric.norm * (1.0 - 8 * EPS)

    def _metric(self, bound: str) -> Floats:
        """F such that w'f moves by at most ‖F'w‖ per unit of length, of kernels or of x."""
        check_bound(bound)
        if bound == "directional":
            return self.space.factor
        expansion = self.space.expansion
        constant = {
            "rkhs": lambda: self.space.largest_norm,
            "row_sum": lambda: row_sum_bound(expansion.coef, expansion.sigma),
            "proposition_1": lambda: proposition_1(expansion.coef, expansion.sigma),
        }[bound]()
        return np.eye(len(self.space.gram)) * constant

    def doubt(self, dtype: Any) -> float:
        """What two differences of scores, at x and at the moved point, may be wrong by together."""
        norm = self.space.largest_norm + self.space.rounding
        widest = float(np.linalg.norm(self.decision.weights, axis=1).max())
        return 4.0 * (widest * self.space.rounding + self.decision.rounding(norm, dtype))


def check_bound(bound: Any) -> None:
    """Refuse what is no name of a bound."""
    if bound not in BOUNDS:
        names = ", ".join(map(repr, BOUNDS))
        raise rule_error("bound", f"be one of {names}", bound, "Choose one of them.")


def reach(slack: Floats, sigma: float) -> Floats:
    """The r with √(2 − 2 exp(−r²/σ²)) = slack: 0 where there is none, infinite from √2 on."""
    safe = np.maximum(slack, 0.0) * (1.0 - 8 * EPS)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        r = sigma * np.sqrt(-np.log1p(-(safe**2) / 2.0))
    return np.where(safe < np.sqrt(2.0), r * (1.0 - 8 * EPS), np.inf)


@dataclass(frozen=True)
class _Leads:
    """By how much own scores lead, over how fast they can lose it."""

    decision: Decision
    images: Floats  # F'w of every score: their distances are the norms of differences of scores
    doubt: float

    def slack(self, embedded: Floats, code: int) -> Floats:
        """The certified (s_i − s_j)/‖(w_i − w_j)'f‖ of every row, all labelled ``code``."""
        mine = np.flatnonzero(self.decision.codes == code)
        rivals = np.flatnonzero(self.decision.codes != code)
        k = self.decision.n_votes
        needed = k // 2 + 1
        spare = k - needed
        if len(rivals) <= spare:
            return np.full(len(embedded), np.inf)
        if len(mine) < needed:
            return np.full(len(embedded), -np.inf)
        own_scores, rival_scores = self._scores(embedded, mine), self._scores(embedded, rivals)
        best = _largest(own_scores, min(OWN if k == 1 else needed, len(mine)))

        def lead(i: NDArray[np.intp]) -> Floats:
            over = own_scores[np.arange(len(i)), i][:, np.newaxis] - rival_scores
            over -= self.doubt
            different, places = np.unique(mine[i], return_inverse=True)
            over *= (1.0 / self._norms(different, rivals))[places]
            return np.asarray(over)

        if k == 1:
            return np.max([lead(i).min(axis=1) for i in best.T], axis=0)
        worst = lead(best[:, 0])
        for i in best.T[1:]:
            np.minimum(worst, lead(i), out=worst)
        return np.asarray(np.partition(worst, spare, axis=1)[:, spare])

    def _scores(self, embedded: Floats, which: NDArray[np.intp]) -> Floats:
        return row_products(embedded, self.decision.weights[which].T) + self.decision.offsets[which]

    def _norms(self, own: NDArray[np.intp], rivals: NDArray[np.intp]) -> Floats:
        """‖(w_i − w_j)'f‖, never less than it is and never zero."""
        A, B = self.images[own], self.images[rivals]
        a, b = np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B)
        norms = complete_squares(row_products(A, B.T), a, b)
        # What the expansion may be wrong by at most, so that what is left is no less than the truth.
        norms += 8.0 * (A.shape[1] + 8) * EPS * max(a.max(), b.max()) + np.finfo(float).tiny
        return np.sqrt(norms, out=norms)


def _blocks_of_a_class(own: NDArray[np.intp], rows: int) -> list[NDArray[np.intp]]:
    """Places of samples with the same label, at most ``rows`` at a time."""
    blocks = []
    for code in np.unique(own):
        members = np.flatnonzero(own == code)
        blocks += [members[start : start + rows] for start in range(0, len(members), rows)]
    return blocks


def _largest(scores: Floats, count: int) -> NDArray[np.intp]:
    """Columns of the `count` largest scores of every row."""
    return np.argpartition(scores, -count, axis=1)[:, -count:]
