"""The samples on which `NSSECV` searches: all of them, or a subsample that stands for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from nsse.estimators._centers import check_indices
from nsse.estimators._landmarks import floating
from nsse.estimators._settings import Settings
from nsse.scaling import ArrayRows, RowSource, stratified

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Searched:
    """Samples and labels.

    Of a subsample, ``whole`` has the class sizes of all samples, and ``params`` are parameters that
    must be put otherwise: landmarks that were indices into all samples.
    """

    X: Any
    y: NDArray[Any]
    whole: Floats | None = None
    params: dict[str, Any] = field(default_factory=dict)


def searched_samples(
    source: RowSource, y: NDArray[Any], settings: Settings, n_rows: int, random_state: Any
) -> Searched:
    """A stratified subsample of a source, in floating point, where there are landmarks and more rows."""
    plan = settings.centers
    if plan is None or plan.is_exact_for(len(y)) or len(y) <= n_rows:
        everything = source.X if isinstance(source, ArrayRows) else source.take(np.arange(len(y)))
        return Searched(_floats(everything), y)
    _, codes, sizes = np.unique(y, return_inverse=True, return_counts=True)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    chosen = stratified(codes.astype(np.intp), n_rows, rng)
    params = {}
    if not isinstance(plan.how, str) and plan.how.ndim == 1:
        params["landmarks"] = _floats(source.take(check_indices(plan.how, len(y))))
    return Searched(_floats(source.take(chosen)), y[chosen], sizes.astype(np.float64), params)


def _floats(rows: Any) -> Any:
    return rows.astype(floating(rows.dtype), copy=False)
