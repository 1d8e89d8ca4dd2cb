"""The samples on which `NSSECV` searches: all of them, or a subsample that stands for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from nsse.certificates.models import floating
from nsse.estimators._settings import Settings
from nsse.landmarks import ArrayRows, RowSource, stratified
from nsse.selection.counting import ONCE, Counted

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Searched:
    """Samples and labels.

    Of a subsample, ``whole`` has the class sizes of all samples and ``places`` says which of them these
    are. ``counted`` says how many times they count.
    """

    X: Any
    y: NDArray[Any]
    whole: Floats | None = None
    places: Ints | None = None
    counted: Counted = ONCE

    @property
    def n_counted(self) -> float:
        """All samples, each as many times as it counts in a fit."""
        n = len(self.y) if self.whole is None else float(self.whole.sum())
        codes = np.unique(self.y, return_inverse=True)[1].astype(np.intp)
        weights = self.counted.training(np.arange(len(self.y)), codes)
        return n if weights is None else n * float(weights.mean())


def searched_samples(
    source: RowSource,
    y: NDArray[Any],
    settings: Settings,
    n_rows: int,
    random_state: Any,
    per_sample: int = 1,
) -> Searched:
    """A stratified subsample of a source, in floating point, where there are landmarks and more rows.

    ``per_sample`` rows are made of every sample, where it has copies.
    """
    plan = settings.centers
    if plan is None or plan.is_exact_for(per_sample * len(y)) or per_sample * len(y) <= n_rows:
        everything = source.X if isinstance(source, ArrayRows) else source.take(np.arange(len(y)))
        return Searched(_floats(everything), y)
    _, codes, sizes = np.unique(y, return_inverse=True, return_counts=True)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    chosen = stratified(codes.astype(np.intp), max(2, n_rows // per_sample), rng)
    rows = _floats(source.take(chosen))
    return Searched(rows, y[chosen], sizes.astype(np.float64), chosen)


def _floats(rows: Any) -> Any:
    return rows.astype(floating(rows.dtype), copy=False)
