"""What the invariances of this room have in common: parameters, equality, names of their copies."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from nsse._errors import rule_error

Rows = NDArray[Any]


class Invariance(BaseEstimator):
    """Transformations of rows, by parameters that compare and travel as those of an estimator do.

    See Also
    --------
    nsse.invariances.Images : Rows of pixels.
    nsse.NSSE : Learns from copies by its parameter ``invariances``.

    Examples
    --------
    >>> from nsse.invariances import Invariance, Noise
    >>> isinstance(Noise(0.1), Invariance), Noise(0.1) == Noise(0.1)
    (True, True)
    """

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """What was done to each of the copies, in words; says first what is wrong with a parameter."""

    @abstractmethod
    def __call__(self, X: Rows) -> list[Rows]:
        """The copies of rows: one array of their shape for each of `names`."""

    @property
    def n_copies(self) -> int:
        """How many copies a sample gets."""
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Invariance):
            return NotImplemented
        return type(self) is type(other) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), repr(self._values())))

    def _values(self) -> dict[str, Any]:
        values = self.get_params(deep=False)
        return {name: np.asarray(value).tolist() for name, value in sorted(values.items())}


def amounts(name: str, value: Any, least: float, rule: str, cure: str) -> tuple[float, ...]:
    """One number or several, each above ``least``; None is none at all."""
    if value is None:
        return ()
    several: Sequence[Any] = value if isinstance(value, tuple | list) else [value]
    for one in several:
        number = isinstance(one, Real) and not isinstance(one, bool | np.bool_)
        if not number or not np.isfinite(float(one)) or not float(one) > least:
            raise rule_error(name, rule, value, cure)
    return tuple(float(one) for one in several)


def check_width(X: Any, n_features: int, what: str) -> None:
    """Refuse rows that are no pictures, or no signals, of the shape that was said."""
    if X.ndim != 2 or X.shape[1] != n_features:
        cure = f"X has {X.shape[-1]} features."
        raise rule_error("shape", "have as many values as a sample has features", what, cure)
