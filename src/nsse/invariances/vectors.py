"""Rows that are no pictures: signals that may begin a little earlier or later, numbers with noise."""

from __future__ import annotations

import zlib
from numbers import Integral
from typing import Any

import numpy as np

from nsse._errors import rule_error
from nsse.invariances.base import Invariance, Rows, amounts


class Signals(Invariance):
    """Rows that are values one after another, whose beginning is not known exactly.

    Parameters
    ----------
    shift : int or tuple of int, default=1
        Places by which to shift to either side, the value at the end repeated: 2 copies for each.
    channels : int, default=1
        Values that belong to one place, side by side.

    See Also
    --------
    nsse.invariances.Images : Rows of pixels.
    nsse.invariances.Noise : Numbers known up to noise.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.invariances import Signals
    >>> Signals(shift=1)(np.array([[1, 2, 3]]))
    [array([[2, 3, 3]]), array([[1, 1, 2]])]
    """

    def __init__(self, shift: Any = 1, channels: int = 1) -> None:
        self.shift = shift
        self.channels = channels

    @property
    def names(self) -> tuple[str, ...]:
        """What was done to each of the copies."""
        return tuple(f"{way} by {n}" for n in self._shifts() for way in ("earlier", "later"))

    def __call__(self, X: Rows) -> list[Rows]:
        """The copies of signals, in the order of `names`."""
        shifts, channels = self._shifts(), int(self.channels)
        length = X.shape[1] // channels
        if length * channels != X.shape[1] or max(shifts, default=0) >= length:
            rule = f"leave something of signals of {X.shape[1]} values in channels of {channels}"
            raise rule_error("shift", rule, self.shift, "Lower it, or see `channels`.")
        places = np.arange(length)
        ways = [np.clip(places + n, 0, length - 1) for shift in shifts for n in (shift, -shift)]
        each = np.arange(channels)
        return [np.take(X, (way[:, np.newaxis] * channels + each).ravel(), axis=1) for way in ways]

    def _shifts(self) -> tuple[int, ...]:
        rule, cure = "be whole numbers from 1 on", "1 is a good start."
        shifts = amounts("shift", self.shift, 0.0, rule, cure)
        if not shifts or any(n != int(n) for n in shifts):
            raise rule_error("shift", rule, self.shift, cure)
        if not isinstance(self.channels, Integral) or self.channels < 1:
            raise rule_error("channels", "be a whole number from 1 on", self.channels, "1 is usual.")
        return tuple(int(n) for n in shifts)


class Noise(Invariance):
    """Rows of numbers that are known up to noise, independent and normal.

    Parameters
    ----------
    scale : float or array-like of shape (n_features,)
        Standard deviation of the noise, in the units of the samples; of every feature its own, or one.
    copies : int, default=4
        How many copies of every sample.
    random_state : int, default=0
        Draws the noise, together with the sample itself: the same sample has the same copies, alone or
        in any block, and other samples have other noise.

    See Also
    --------
    Signals : Signals that shift.
    Images : Pictures.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse import NSSE
    >>> from nsse.invariances import Noise
    >>> X = np.array([[0.0, 0.0], [0.2, 0.1], [1.0, 1.0], [1.1, 0.9]])
    >>> NSSE(invariances=Noise(0.05, copies=2)).fit(X, [0, 0, 1, 1]).n_copies_
    2
    """

    def __init__(self, scale: Any, copies: int = 4, random_state: int = 0) -> None:
        self.scale = scale
        self.copies = copies
        self.random_state = random_state

    @property
    def names(self) -> tuple[str, ...]:
        """What was done to each of the copies."""
        self._scales()
        for name, value, least in (("copies", self.copies, 1), ("random_state", self.random_state, 0)):
            if not isinstance(value, Integral) or value < least:
                raise rule_error(
                    name, f"be a whole number from {least} on", value, "4 copies are usual."
                )
        return tuple(f"with noise {place}" for place in range(1, int(self.copies) + 1))

    def __call__(self, X: Rows) -> list[Rows]:
        """The copies of samples; whole numbers become floating-point ones."""
        n_copies, scales = len(self.names), self._scales()
        if scales.ndim and scales.shape != (X.shape[1],):
            rule = f"be one number or one for each of the {X.shape[1]} features"
            raise rule_error("scale", rule, f"{len(scales)} numbers", "Take one for all.")
        X = X.astype(np.result_type(X.dtype, np.float32), copy=False)
        made = np.empty((n_copies, *X.shape), dtype=X.dtype)
        for place, row in enumerate(np.asarray(X, dtype=np.float64)):
            seed = [int(self.random_state), zlib.crc32(row.tobytes())]
            made[:, place] = row + scales * np.random.default_rng(seed).normal(size=(n_copies, len(row)))
        return list(made)

    def _scales(self) -> Any:
        try:
            scales = np.asarray(self.scale, dtype=np.float64)
        except (TypeError, ValueError):
            scales = np.full((), np.nan)
        if scales.ndim > 1 or not np.isfinite(scales).all() or (scales < 0).any() or not scales.any():
            cure = "It is a standard deviation, in the units of the samples."
            raise rule_error("scale", "be a positive number, or one for each feature", self.scale, cure)
        return scales
