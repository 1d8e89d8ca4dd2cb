"""What the linear methods share: the map, the principal axes in front of it, the ridge."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._errors import rule_error
from nsse._threads import one_blas_thread
from nsse.estimators._base import EmbeddingClassifier
from nsse.estimators._parameters import check_number, check_optional_count, is_auto
from nsse.extensions import linear_map
from nsse.kernels import as_dense, check_distinct
from nsse.solvers import fix_signs
from nsse.solvers.scatter import (
    Principal,
    ScatterSolution,
    no_within_scatter,
    principal_coordinates,
    share_for_few,
    solve_scatter,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


class LinearEmbeddingClassifier(EmbeddingClassifier):
    """An `EmbeddingClassifier` with the map (x − mean_) @ components_.T, made of two scatters.

    A subclass has the parameters ``n_components``, ``pca``, ``reg`` and ``classifier``.
    """

    n_components: Any
    pca: str | int | float | None
    reg: str | float | None

    def _map(self, X: Any) -> NDArray[Any]:
        return linear_map(X, self.mean_, self.components_)

    def _check_shared(self, n_components: Any) -> None:
        """Judge the shared parameters as far as that is possible without the data."""
        check_optional_count("n_components", n_components, cure="Leave it None for all there are.")
        check_pca(self.pca)
        if self.reg is not None and not is_auto(self.reg):
            check_number("reg", self.reg, cure='Leave it "auto" to add a ridge where samples are few.')

    def _n_components(self, available: int) -> int:
        """The dimension asked for, not judged yet."""
        return available if self.n_components is None else int(self.n_components)

    def _principal(self, X: Floats, within_rank: int) -> tuple[Principal, int]:
        """The coordinates to solve in, and the number of components, at most as many."""
        if within_rank == 0:
            raise no_within_scatter()
        principal = principal_coordinates(X, check_pca(self.pca), within_rank)
        available = len(principal.axes)
        d = self._n_components(available)
        if d > available:
            raise rule_error(
                "n_components",
                f"not exceed the number of principal axes in use, {available}",
                d,
                f"Lower it, or change pca={self.pca!r}; None takes all {available}.",
            )
        return principal, d

    def _solved(
        self, between: Floats, within: Floats, principal: Principal, d: int, within_rank: int
    ) -> ScatterSolution:
        """The problem of the two scatters, with the ridge that `reg` means for these samples."""
        reg: Any = self.reg
        if is_auto(reg):
            reg = share_for_few(len(principal.axes), within_rank)
        return solve_scatter(between, within, principal, d, reg)

    @one_blas_thread()
    def _keep_map(
        self, X: Any, codes: Ints, principal: Principal, solution: ScatterSolution, V: Floats
    ) -> None:
        """Take the columns of ``V``, directions in the principal coordinates, as the map."""
        self.mean_ = principal.mean
        # A column and its map change signs together, to the bit.
        self.components_ = (principal.axes.T @ V).T
        embedding = self._map(X)
        signs = fix_signs(embedding, codes)
        self.components_ *= signs[:, np.newaxis]
        embedding *= signs
        self.eigenvalues_ = solution.eigenvalues
        self.n_pca_components_ = len(principal.axes)
        self.reg_ = solution.ridge
        self.embedding_ = embedding.astype(X.dtype, copy=False)


def check_pca(value: Any) -> str | int | float | None:
    """One of "auto", None, a whole number of axes, a share of the variance between 0 and 1."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return value
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1:
        return int(value)
    if isinstance(value, Real) and not isinstance(value, Integral) and 0 < float(value) < 1:
        return float(value)
    raise rule_error(
        "pca",
        "be 'auto', None, a whole number from 1 up or a share between 0 and 1",
        value,
        "None takes all axes along which the samples vary.",
    )


def dense_samples(X: Any) -> Floats:
    """The samples as a dense float64 array: centring leaves no zeros of a sparse one. Not all equal."""
    check_distinct(X)
    return as_dense(X).astype(np.float64, copy=False)
