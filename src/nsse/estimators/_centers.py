"""NSSE with centres: parameters, choice of centres, and the fit as a set of attributes."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_array

from nsse._errors import rule_error
from nsse.estimators._parameters import check_choice, check_count
from nsse.extensions import Contraction
from nsse.landmarks import (
    BLOCK_ROWS,
    CANDIDATES,
    CLUSTERED,
    SELECTORS,
    ArrayRows,
    Centers,
    RowSource,
    distinct_rows,
)

Ints = NDArray[np.intp]

# "auto" is exact up to so many samples, which take about 1 GiB, and takes so many centres beyond.
AUTO_EXACT = 5000
AUTO_CENTERS = 3000


@dataclass(frozen=True)
class CenterPlan:
    """How many centres and which: ``n`` None stands for "auto" or for those given.

    ``how`` is the name of a selector (empty: it depends on the samples), an array of indices, or the
    centres themselves.
    """

    n: int | None
    how: Any

    @property
    def is_auto(self) -> bool:
        """Whether the number of samples decides."""
        return self.n is None and isinstance(self.how, str)

    def is_exact_for(self, n_samples: int) -> bool:
        """Whether "auto" stays exact."""
        return self.is_auto and n_samples <= AUTO_EXACT

    def n_centers(self, n_samples: int) -> int:
        """m for so many samples."""
        if not isinstance(self.how, str):
            return int(self.how.shape[0])
        if self.n is None:
            return min(AUTO_CENTERS, n_samples)
        if self.n > n_samples:
            raise rule_error(
                "n_landmarks",
                f"not exceed the number of training samples, {n_samples}",
                self.n,
                'Lower it, or take "auto".',
            )
        return self.n

    def n_drawn(self, n_samples: int) -> int:
        """Samples among which the centres are looked for."""
        m = self.n_centers(n_samples)
        among = {"": CLUSTERED, "kmeans": CLUSTERED, "kmeans++": CANDIDATES}
        return m * among.get(self.how, 1) if isinstance(self.how, str) else m

    @property
    def is_indices(self) -> bool:
        """Whether the centres are samples that were named."""
        return not isinstance(self.how, str) and self.how.ndim == 1


def check_landmarks(model: Any) -> CenterPlan | None:
    """Check `n_landmarks` and `landmarks` as far as that goes without data; None is exact NSSE."""
    n = model.n_landmarks
    if isinstance(n, str):
        check_choice("n_landmarks", n, ("auto",))
    elif n is not None:
        check_count(
            "n_landmarks", n, least=2, cure='None takes all samples, "auto" decides by their number.'
        )
    how = model.landmarks
    if how is None or isinstance(how, str):
        return _by_selector(n, how)
    given = _given(how)
    if n is not None and n != given.shape[0]:
        raise rule_error(
            "n_landmarks",
            f"be None or the number of `landmarks` given, {given.shape[0]}",
            n,
            "Leave it None.",
        )
    return CenterPlan(None, given)


def _by_selector(n: Any, how: str | None) -> CenterPlan | None:
    if how is not None:
        check_choice("landmarks", how, tuple(SELECTORS))
        if n is None:
            raise rule_error(
                "n_landmarks",
                f"say how many landmarks to choose with landmarks={how!r}",
                n,
                'Give a number, or "auto".',
            )
    if n is None:
        return None
    return CenterPlan(int(n) if isinstance(n, Integral) else None, how or "")


def _given(how: Any) -> Any:
    """Indices (one axis, whole numbers) or centres (two axes)."""
    given: Any = how if sparse.issparse(how) else np.asarray(how)
    if given.ndim == 1 and np.issubdtype(given.dtype, np.integer) and len(given) > 1:
        return given
    if given.ndim == 2 and given.shape[0] > 1:
        return check_array(
            given, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="landmarks"
        )
    names = ", ".join(repr(name) for name in SELECTORS)
    raise rule_error(
        "landmarks",
        f"be None, one of {names}, indices of two samples or more, or a matrix of centres",
        f"an array of shape {given.shape} and type {given.dtype}",
        "See the documentation of NSSE.",
    )


def choose_centers(
    plan: CenterPlan,
    source: RowSource,
    codes: Ints,
    rng: np.random.Generator,
    n_components: int,
    metric: Contraction | None = None,
    *,
    is_weighted: bool = False,
) -> Centers:
    """The rows that become centres, as many as there are components at least; chosen in the metric.

    Weighted samples are chosen from as repeated ones are.
    """
    n_samples, n_features = source.shape
    m = plan.n_centers(n_samples)
    _check_enough(plan, m, n_components)
    if isinstance(plan.how, str):
        selector = SELECTORS[plan.how if plan.how else _default(source)]
        places = _places(source, codes, is_weighted)
        if len(places) < m:  # so many are not to be had without the same ones
            places = np.arange(n_samples)

        def taken(indices: Ints) -> Any:
            at = places[indices]
            ascending = np.argsort(at)
            rows = source.take(at[ascending])[np.argsort(ascending)]
            return rows if metric is None else metric(rows)

        chosen = selector(codes[places], m, rng, taken)
        if chosen.indices is None:  # means of clusters
            return chosen if metric is None else Centers(metric.inverse(chosen.rows), None)
        return Centers.among(np.sort(places[chosen.indices]), source.take)
    if plan.how.ndim == 1:
        return Centers.among(check_indices(plan.how, n_samples), source.take)
    if plan.how.shape[1] != n_features:
        raise rule_error(
            "landmarks",
            f"have the {n_features} features of the training samples",
            plan.how.shape[1],
            "Give the centres in the space of the samples.",
        )
    return Centers(plan.how.copy(), None)


def _places(source: RowSource, codes: Ints, is_weighted: bool) -> Ints:
    """Where to look for centres: of a few samples in memory, one of those that are equal.

    Then, and where samples are weighted, they come in an order that no repetition changes.
    """
    n_samples = source.shape[0]
    held = isinstance(source, ArrayRows) and (source.is_sparse or isinstance(source.X, np.ndarray))
    if n_samples > BLOCK_ROWS or not held:
        return np.arange(n_samples)
    assert isinstance(source, ArrayRows)
    first = distinct_rows(source.X, codes)[0]
    return first if is_weighted or len(first) < n_samples else np.arange(n_samples)


def _check_enough(plan: CenterPlan, m: int, n_components: int) -> None:
    if m >= n_components:
        return
    if isinstance(plan.how, str):
        rule, cure = f"be no less than the number of components, {n_components}", "Raise it"
        raise rule_error("n_landmarks", rule, m, f"{cure}, or lower `n_components`.")
    rule, cure = f"be no fewer than the components, {n_components}", "Name more"
    raise rule_error("landmarks", rule, m, f"{cure}, or lower `n_components`.")


def check_supported(model: Any) -> None:
    """What exact NSSE has and blocks of rows cannot have."""
    if not isinstance(model.affinity, str):
        raise rule_error(
            "affinity",
            'be "gaussian" where there are landmarks',
            type(model.affinity).__name__,
            "Neighbours are found block by block; a matrix of all samples is for n_landmarks=None.",
        )
    if model.solver != "joint":
        raise rule_error(
            "solver",
            'be "joint" where there are landmarks',
            model.solver,
            "Algorithm 1 of the paper is for n_landmarks=None.",
        )


def check_indices(given: Any, n_samples: int) -> Ints:
    """Indices of landmarks among so many samples, in order."""
    indices = np.unique(given)
    if indices[0] < 0 or indices[-1] >= n_samples or len(indices) < len(given):
        raise rule_error(
            "landmarks",
            f"be distinct indices from 0 to {n_samples - 1}",
            f"{len(given)} indices, {len(indices)} distinct, from {indices[0]} to {indices[-1]}",
            "They count the training samples.",
        )
    return indices.astype(np.intp)


def _default(source: RowSource) -> str:
    """The means of clusters; of sparse samples, which have no sparse means, samples of every class."""
    return "per-class" if source.is_sparse else "kmeans"
