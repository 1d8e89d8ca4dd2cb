"""Steps before a model that scale every feature by itself, folded into one: z = x · factor + offset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Affine:
    """z = x · factor + offset, feature by feature."""

    factor: Floats
    offset: Floats

    @property
    def is_identity(self) -> bool:
        """Whether it leaves everything as it is."""
        return bool(np.all(self.factor == 1.0) and np.all(self.offset == 0.0))

    def then(self, factor: Floats, offset: Floats) -> Affine:
        """Both steps, this one first."""
        return Affine(self.factor * factor, self.offset * factor + offset)

    def undone(self, Z: Any) -> Any:
        """The x of every row z; a sparse Z that was not scaled stays sparse."""
        if self.is_identity:
            return Z
        return np.asarray((dense(Z) - self.offset) / self.factor)


def dense(X: Any) -> Floats:
    """A dense array of a dense or sparse matrix."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def affine_of(before: list[Any], core: Any) -> Affine | None:
    """The steps before a model as one; None where one of them does more than scale features."""
    n_features = int(core.n_features_in_)
    folded = Affine(np.ones(n_features), np.zeros(n_features))
    for step in before:
        parts = _KNOWN.get(type(step).__name__)
        if parts is None or not type(step).__module__.startswith("sklearn.preprocessing"):
            return None
        found = parts(step)
        if found is None:
            return None
        folded = folded.then(*found)
    return folded


def _standard(step: Any) -> tuple[Floats, Floats]:
    factor = 1.0 / step.scale_ if step.with_std else 1.0
    mean = step.mean_ if step.with_mean else 0.0  # without, it keeps a mean that it does not use
    return np.asarray(factor), np.asarray(-mean * factor)


def _min_max(step: Any) -> tuple[Floats, Floats] | None:
    return None if step.clip else (np.asarray(step.scale_), np.asarray(step.min_))


def _max_abs(step: Any) -> tuple[Floats, Floats] | None:
    return None if getattr(step, "clip", False) else (1.0 / step.scale_, np.zeros(1))


_KNOWN: dict[str, Callable[[Any], tuple[Floats, Floats] | None]] = {
    "StandardScaler": _standard,
    "MinMaxScaler": _min_max,
    "MaxAbsScaler": _max_abs,
}
