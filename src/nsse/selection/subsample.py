"""The samples on which `NSSECV` searches: all of them, or a subsample that stands for them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from nsse.certificates.models import floating
from nsse.estimators._centers import check_indices
from nsse.estimators._settings import Settings
from nsse.landmarks import ArrayRows, RowSource, stratified
from nsse.selection.counting import ONCE, Counted

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Searched:
    """Samples and labels.

    Of a subsample, ``whole`` has the class sizes of all samples, ``places`` says which of them these
    are, and ``source`` gives others: landmarks may be any. ``counted`` says how many times they count.
    """

    X: Any
    y: NDArray[Any]
    whole: Floats | None = None
    places: Ints | None = None
    source: RowSource | None = None
    counted: Counted = ONCE
    _landmarks: dict[bytes, Any] = field(default_factory=dict)

    @property
    def n_counted(self) -> float:
        """All samples, each as many times as it counts in a fit."""
        n = len(self.y) if self.whole is None else float(self.whole.sum())
        codes = np.unique(self.y, return_inverse=True)[1].astype(np.intp)
        weights = self.counted.training(np.arange(len(self.y)), codes)
        return n if weights is None else n * float(weights.mean())

    def settled(self, settings: Settings) -> Settings:
        """Settings that do without the other samples: landmarks that are indices have their rows."""
        plan = settings.centers
        if self.places is None or plan is None or not plan.is_indices:
            return settings
        return replace(settings, centers=replace(plan, rows=self._rows_of(plan.how)))

    def _rows_of(self, given: Any) -> Any:
        """Rows of landmarks, in the order of their indices; read once, whoever asks."""
        assert self.whole is not None
        assert self.source is not None
        key = np.asarray(given, dtype=np.int64).tobytes()
        if key not in self._landmarks:
            indices = check_indices(given, int(self.whole.sum()))
            self._landmarks[key] = _floats(self.source.take(indices))
        return self._landmarks[key]


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
    return Searched(rows, y[chosen], sizes.astype(np.float64), chosen, source)


def _floats(rows: Any) -> Any:
    return rows.astype(floating(rows.dtype), copy=False)
