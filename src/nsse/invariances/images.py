"""Pictures that show the same: shifted, turned, zoomed, mirrored, brighter or darker.

A transformation of the plane takes every pixel of a copy from a place in the picture: a shift and a
mirror from a pixel, a turn and a zoom from between four of them, whose values are interpolated. What
would come from outside comes from the nearest pixel of the edge. All are linear in the pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._errors import rule_error
from nsse.invariances.base import Invariance, Rows, amounts, check_width

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Shape = tuple[int, int, int]

Transformation = Callable[[Rows], Rows]
Named = tuple[str, Callable[[], Transformation]]

SCALE_CURE = "1.1 enlarges by a tenth."
SHIFTS = (("left", 0, -1), ("right", 0, 1), ("up", -1, 0), ("down", 1, 0))


class Images(Invariance):
    """Pictures as rows of pixels; their copies show the same, a little otherwise.

    Parameters
    ----------
    shape : tuple of (int, int) or (int, int, int)
        Height and width of the pictures; with colours, their number as the third. Rows are pictures
        line by line, the colours of a pixel side by side.
    shift : int, tuple of int or None, default=1
        Pixels by which to shift to the left, to the right, up and down: 4 copies for each number.
    rotate : float, tuple of float or None, default=6.0
        Degrees by which to turn about the middle, either way: 2 copies for each number.
    scale : float, tuple of float or None, default=None
        Ratio, above 1, by which to enlarge and to shrink about the middle: 2 copies for each number.
    mirror : bool, default=False
        Exchange left and right, of the picture and of its copies: twice as many and one. Wrong for
        digits, for text, for whatever has a right way round.
    brightness : float, tuple of float or None, default=None
        Share, below 1, of the way to its own brightest and to its own darkest pixel that every pixel
        goes: 2 copies for each number.

    See Also
    --------
    nsse.invariances.Signals : Rows of values one after another.
    nsse.invariances.Noise : Numbers known up to noise.
    nsse.invariances.usual_sets : Which of them to try.

    Notes
    -----
    The values of a copy lie between the least and the largest value of its picture. Shifts and mirrors
    keep the type of the numbers; whole numbers that are interpolated become float32, or float64 where
    that does not hold them.

    Examples
    --------
    >>> from nsse.invariances import Images
    >>> Images((25, 25), shift=None, rotate=6, mirror=True).names
    ('turned by +6°', 'turned by -6°', 'mirrored', 'turned by +6°, mirrored', 'turned by -6°, mirrored')
    """

    def __init__(
        self,
        shape: Any,
        shift: Any = 1,
        rotate: Any = 6.0,
        scale: Any = None,
        mirror: bool = False,
        brightness: Any = None,
    ) -> None:
        self.shape = shape
        self.shift = shift
        self.rotate = rotate
        self.scale = scale
        self.mirror = mirror
        self.brightness = brightness

    @property
    def names(self) -> tuple[str, ...]:
        """What was done to each of the copies."""
        names = tuple(name for name, _ in self._transformations())
        if not self._checked_mirror():
            return names
        return (*names, "mirrored", *(f"{name}, mirrored" for name in names))

    def __call__(self, X: Rows) -> list[Rows]:
        """The copies of pictures, in the order of `names`."""
        shape = self._checked_shape()
        self._checked_mirror()
        check_width(X, int(np.prod(shape)), f"{self.shape!r}")
        copies = [transform()(X) for _, transform in self._transformations()]
        if not self.mirror:
            return copies
        mirrored = _mirrored(shape)
        return [*copies, mirrored(X), *map(mirrored, copies)]

    def _transformations(self) -> list[Named]:
        """All but the mirror: names, and what makes a transformation where it is wanted."""
        shape = self._checked_shape()
        found: list[Named] = []
        for pixels in self._checked_shifts(shape):
            for way, down, right in SHIFTS:
                moved = partial(_moved, shape, pixels * down, pixels * right)
                found.append((f"shifted {way} by {pixels}", moved))
        for degrees in self._checked_angles():
            for angle in (degrees, -degrees):
                found.append((f"turned by {angle:+g}°", partial(Interpolation.turned, shape, angle)))
        for ratio in amounts("scale", self.scale, 1.0, "be None or ratios above 1", SCALE_CURE):
            found.append((f"enlarged by {ratio:g}", partial(Interpolation.zoomed, shape, ratio)))
            found.append((f"shrunk by {ratio:g}", partial(Interpolation.zoomed, shape, 1.0 / ratio)))
        for share in self._checked_shares():
            found.append((f"brighter by {share:g}", partial(Towards, share, True)))
            found.append((f"darker by {share:g}", partial(Towards, share, False)))
        return found

    def _checked_shape(self) -> Shape:
        sizes = tuple(self.shape) if isinstance(self.shape, Sequence | np.ndarray) else ()
        whole = [int(size) for size in sizes if isinstance(size, Integral) and int(size) > 0]
        if len(sizes) not in (2, 3) or len(whole) < len(sizes):
            rule = "be height and width, or height, width and colours"
            raise rule_error("shape", rule, self.shape, "Images((28, 28)) is for pictures of MNIST.")
        height, width, *colours = whole
        return height, width, colours[0] if colours else 1

    def _checked_shifts(self, shape: Shape) -> tuple[int, ...]:
        least = min(shape[:2])
        rule = f"be None or whole numbers of pixels from 1 to {least - 1}"
        shifts = amounts("shift", self.shift, 0.0, rule, "1 is a good start.")
        if any(pixels != int(pixels) or pixels >= least for pixels in shifts):
            raise rule_error("shift", rule, self.shift, "1 is a good start.")
        return tuple(int(pixels) for pixels in shifts)

    def _checked_angles(self) -> tuple[float, ...]:
        rule, cure = "be None or degrees between 0 and 180", "6 is a good start."
        angles = amounts("rotate", self.rotate, 0.0, rule, cure)
        if any(degrees >= 180 for degrees in angles):
            raise rule_error("rotate", rule, self.rotate, cure)
        return angles

    def _checked_shares(self) -> tuple[float, ...]:
        rule, cure = "be None or shares between 0 and 1", "0.1 is a good start."
        shares = amounts("brightness", self.brightness, 0.0, rule, cure)
        if any(share >= 1 for share in shares):
            raise rule_error("brightness", rule, self.brightness, cure)
        return shares

    def _checked_mirror(self) -> bool:
        if not isinstance(self.mirror, bool | np.bool_):
            raise rule_error("mirror", "be True or False", self.mirror, "True exchanges left and right.")
        return bool(self.mirror)


@dataclass(frozen=True, eq=False)
class Selection:
    """A copy whose pixels are pixels of the picture: ``source[i]`` is the one that pixel i shows."""

    source: Ints

    def __call__(self, X: Rows) -> Rows:
        """Of rows of pixels."""
        return np.take(X, self.source, axis=1)


@dataclass(frozen=True, eq=False)
class Interpolation:
    """A copy whose pixels lie between four of the picture.

    ``corners`` are upper left, upper right, lower left and lower right; ``right`` and ``down`` are the
    shares of the way from the first of them.
    """

    corners: tuple[Ints, Ints, Ints, Ints]
    right: Floats
    down: Floats

    @classmethod
    @lru_cache(maxsize=64)
    def turned(cls, shape: Shape, degrees: float) -> Interpolation:
        """Turned about the middle, counter-clockwise as one sees it."""
        angle = np.deg2rad(degrees)
        cos, sin = np.cos(angle), np.sin(angle)
        return cls._of(shape, np.array([[cos, sin], [-sin, cos]]))

    @classmethod
    @lru_cache(maxsize=64)
    def zoomed(cls, shape: Shape, ratio: float) -> Interpolation:
        """Enlarged about the middle."""
        return cls._of(shape, np.eye(2) / ratio)

    @classmethod
    def _of(cls, shape: Shape, back: Floats) -> Interpolation:
        """Pixel p of the copy shows the place m + back (p − m) of the picture, m its middle."""
        height, width, _ = shape
        middle = np.array([(height - 1) / 2, (width - 1) / 2])
        places = np.indices((height, width)).reshape(2, -1) - middle[:, np.newaxis]
        last = np.array([[height - 1.0], [width - 1.0]])
        places = np.clip(back @ places + middle[:, np.newaxis], 0.0, last)
        first = np.minimum(places.astype(np.intp), np.maximum(last.astype(np.intp) - 1, 0))
        after = np.minimum(first + 1, last.astype(np.intp))
        down, right = places - first
        corners = tuple(
            _pixels(shape, rows, columns)
            for rows in (first[0], after[0])
            for columns in (first[1], after[1])
        )
        colours = shape[2]
        return cls(corners, np.repeat(right, colours), np.repeat(down, colours))  # type: ignore[arg-type]

    def __call__(self, X: Rows) -> Rows:
        """Of rows of pixels; a place between equal values has that value, to the bit."""
        X = X.astype(np.result_type(X.dtype, np.float32), copy=False)
        right, down = self.right.astype(X.dtype), self.down.astype(X.dtype)
        upper_left, upper_right, lower_left, lower_right = self.corners
        upper = _between(X, upper_left, upper_right, right)
        lower = _between(X, lower_left, lower_right, right)
        lower -= upper
        lower *= down
        lower += upper
        # Rounding may lead past a value by its last bit: no copy leaves the range of its picture.
        return np.clip(lower, X.min(axis=1, keepdims=True), X.max(axis=1, keepdims=True), out=lower)


@dataclass(frozen=True)
class Towards:
    """Every pixel goes a share of the way to the brightest one of its picture, or to the darkest."""

    share: float
    brightest: bool

    def __call__(self, X: Rows) -> Rows:
        """Of rows of pixels."""
        X = X.astype(np.result_type(X.dtype, np.float32), copy=False)
        end = (X.max if self.brightest else X.min)(axis=1, keepdims=True)
        moved = X + X.dtype.type(self.share) * (end - X)
        return np.minimum(moved, end) if self.brightest else np.maximum(moved, end)


def _between(X: Rows, first: Ints, second: Ints, share: Rows) -> Rows:
    start = np.take(X, first, axis=1)
    step = np.take(X, second, axis=1)
    step -= start
    step *= share
    step += start
    return step


@lru_cache(maxsize=64)
def _moved(shape: Shape, down: int, right: int) -> Selection:
    """Shifted by so many pixels; the edge is repeated."""
    rows, columns = np.indices(shape[:2]).reshape(2, -1)
    rows, columns = np.clip(rows - down, 0, shape[0] - 1), np.clip(columns - right, 0, shape[1] - 1)
    return Selection(_pixels(shape, rows, columns))


@lru_cache(maxsize=64)
def _mirrored(shape: Shape) -> Selection:
    rows, columns = np.indices(shape[:2]).reshape(2, -1)
    return Selection(_pixels(shape, rows, shape[1] - 1 - columns))


def _pixels(shape: Shape, rows: Ints, columns: Ints) -> Ints:
    """Places in a row of the pixels at these lines and columns, all colours of each."""
    _, width, colours = shape
    first = (rows * width + columns) * colours
    return (first[:, np.newaxis] + np.arange(colours)).ravel().astype(np.intp)
