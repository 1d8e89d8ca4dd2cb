"""What may be done to a sample without changing its class: augmented copies of rows.

- `Images`: pictures that are shifted, turned, zoomed, mirrored, brighter or darker, lit from a side. A
  transformation of the plane takes every pixel of a copy from a place in the picture: a shift and a
  mirror from a pixel, a turn and a zoom from between four of them, whose values are interpolated. What
  would come from outside comes from the nearest pixel of the edge.
- `Signals`: series that may begin a little earlier or later.
- `Noise`: numbers that are known up to noise.
- `Copies`: made beforehand, where making them takes a network.

A copy depends on its sample alone, so that rows may come in any blocks. `SmoothEmbedding(augment=)`
takes these, your own subclass of `Augmentation`, or any function of rows that returns a sequence of
arrays of their shape.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from nsse._support.errors import listed, rule_error
from nsse._support.types import SamplesLike

__all__ = ["Augmentation", "Copies", "Images", "Noise", "Signals", "named_images", "usual_sets"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Rows = NDArray[Any]
Shape = tuple[int, int, int]
Transformation = Callable[[Rows], Rows]
Named = tuple[str, Callable[[], Transformation]]

SCALE_CURE, LIGHT_CURE = "1.1 enlarges by a tenth.", "1 is a good start."
SHIFTS = (("left", 0, -1), ("right", 0, 1), ("up", -1, 0), ("down", 1, 0))
# What each does where nothing else is said: pixels, degrees, a ratio, a share of brightness, a strength.
AMOUNTS: dict[str, dict[str, Any]] = {
    "shift": {"shift": 1},
    "rotate": {"rotate": 6.0},
    "scale": {"scale": 1.1},
    "mirror": {"mirror": True},
    "brightness": {"brightness": 0.1},
    "light": {"light": 1.0},
}
NONE: dict[str, Any] = {"shift": None, "rotate": None}
# With a mirror and without, for it is right or wrong; with shifts and without, for some are centred;
# light alone, which changes faces more than their place does.
SETS: tuple[dict[str, Any], ...] = (
    {},
    {"mirror": True},
    {"shift": 1},
    {"light": 1.0},
    {"light": 1.0, "mirror": True},
    {"rotate": 6.0, "mirror": True},
    {"rotate": (6.0, 12.0), "mirror": True},
    {"shift": 1, "rotate": 6.0},
    {"shift": 1, "rotate": 6.0, "scale": 1.1},
    {"shift": 1, "rotate": 6.0, "mirror": True},
)


class Augmentation(BaseEstimator, ABC):
    """Base class of augmentations, which make more training samples from each training sample.

    A subclass defines ``__call__``. An object of it is then a value of the parameter ``augment`` of
    `SmoothEmbedding`. A function of rows can be passed as well. Parameters are, like those of every
    scikit-learn estimator, the arguments of ``__init__`` and are stored under the same names. Two
    augmentations of the same class and with the same parameters are equal. A file cannot contain an
    augmentation that nsse does not define. Set ``augment`` of the fitted model to None before you save
    it.

    See Also
    --------
    nsse.augment.Images, nsse.augment.Signals, nsse.augment.Noise : The augmentations of nsse.
    nsse.SmoothEmbedding : Learns from augmented samples by its parameter ``augment``.

    Examples
    --------
    Flowers that are a tenth larger and a tenth smaller:

    >>> from nsse import SmoothEmbedding
    >>> from nsse.augment import Augmentation
    >>> from sklearn.datasets import load_iris
    >>> class Sizes(Augmentation):
    ...     def __init__(self, amount=0.1):
    ...         self.amount = amount
    ...
    ...     def __call__(self, X):
    ...         return [X * (1 + self.amount), X * (1 - self.amount)]
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding(augment=Sizes()).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    @abstractmethod
    def __call__(self, X: Rows) -> Sequence[Rows]:
        """Return the augmented samples of rows.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Some of the training samples. A fit calls the augmentation block by block, and with a single
            row to count the arrays.

        Returns
        -------
        sequence of ndarray of shape (n_rows, n_features)
            Arrays of finite numbers. Row i of each array is an augmented sample of row i of X. It must
            depend on this row only, because blocks may contain any rows. The number of arrays is the
            same for all X.
        """

    @property
    def names(self) -> tuple[str, ...]:
        """What each of the arrays shows, in words, for the report. The default is no names."""
        return ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Augmentation):
            return NotImplemented
        return type(self) is type(other) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), repr(self._values())))

    def _values(self) -> dict[str, Any]:
        values = self.get_params(deep=False)
        return {name: np.asarray(value).tolist() for name, value in sorted(values.items())}


class NamedAugmentation(Augmentation):
    """Base class of augmentations whose arrays all have names, so that their number is known."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """What each of the arrays shows. Raises the error if a parameter is wrong."""

    @property
    def n_copies(self) -> int:
        """Number of augmented samples of each sample."""
        return len(self.names)


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


def check_width(X: SamplesLike, n_features: int, what: str) -> None:
    """Refuse rows that are no pictures, or no signals, of the shape that was said."""
    if X.ndim != 2 or X.shape[1] != n_features:
        cure = f"X has {X.shape[-1]} features."
        raise rule_error("shape", "have as many values as a sample has features", what, cure)


class Images(NamedAugmentation):
    """Augmentation of pictures: shifted, rotated, scaled, mirrored, lit in other ways; rows of pixels.

    Parameters
    ----------
    shape : tuple of (int, int) or (int, int, int)
        Height and width of the pictures; with colors, their number as the third. Rows are pictures
        line by line, the colors of a pixel side by side.
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
    light : float, tuple of float or None, default=None
        How far the light moves to the left and to the right: pixels at that edge are multiplied by
        e^light, in the middle by 1, at the other edge by e^−light, and the picture by what keeps its
        norm: 2 copies for each number. For pixels whose 0 is black.

    See Also
    --------
    nsse.augment.Signals : Rows of values one after another.
    nsse.augment.Noise : Numbers known up to noise.
    nsse.augment.usual_sets : Which of them to try.

    Notes
    -----
    The values of a copy lie between the least and the largest value of its picture, but for `light`.
    Shifts and mirrors keep the type of the numbers; whole numbers that are interpolated become float32,
    or float64 where that does not hold them.

    Examples
    --------
    >>> from nsse.augment import Images
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
        light: Any = None,
    ) -> None:
        self.shape = shape
        self.shift = shift
        self.rotate = rotate
        self.scale = scale
        self.mirror = mirror
        self.brightness = brightness
        self.light = light

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
        for strength in amounts("light", self.light, 0.0, "be None or positive numbers", LIGHT_CURE):
            for way, sign in (("left", -1.0), ("right", 1.0)):
                lit = partial(Lit.across, shape, sign * strength)
                found.append((f"lit from the {way} by {strength:g}", lit))
        return found

    def _checked_shape(self) -> Shape:
        sizes = tuple(self.shape) if isinstance(self.shape, Sequence | np.ndarray) else ()
        whole = [int(size) for size in sizes if isinstance(size, Integral) and int(size) > 0]
        if len(sizes) not in (2, 3) or len(whole) < len(sizes):
            rule = "be height and width, or height, width and colors"
            raise rule_error("shape", rule, self.shape, "Images((28, 28)) is for pictures of MNIST.")
        height, width, *colors = whole
        return height, width, colors[0] if colors else 1

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
        colors = shape[2]
        return cls(corners, np.repeat(right, colors), np.repeat(down, colors))  # type: ignore[arg-type]

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


@dataclass(frozen=True, eq=False)
class Lit:
    """Light from a side: every pixel is multiplied by a factor, the picture by what keeps its norm."""

    factors: Floats

    @classmethod
    @lru_cache(maxsize=64)
    def across(cls, shape: Shape, strength: float) -> Lit:
        """Factors e^(strength · u), u from −1 at the left edge to 1 at the right one."""
        height, width, colors = shape
        factors = np.exp(strength * np.linspace(-1.0, 1.0, width))
        return cls(np.tile(np.repeat(factors, colors), height))

    def __call__(self, X: Rows) -> Rows:
        """Of rows of pixels; a picture without any light stays as it is."""
        X = X.astype(np.result_type(X.dtype, np.float32), copy=False)
        lit = X * self.factors.astype(X.dtype)
        norms = np.linalg.norm(lit, axis=1, keepdims=True)
        return lit * (np.linalg.norm(X, axis=1, keepdims=True) / np.where(norms > 0, norms, 1.0))


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
    """Places in a row of the pixels at these lines and columns, all colors of each."""
    _, width, colors = shape
    first = (rows * width + columns) * colors
    return (first[:, np.newaxis] + np.arange(colors)).ravel().astype(np.intp)


class Copies(NamedAugmentation):
    """Copies that were made beforehand, found by their rows.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows.
    copies : sequence of ndarray of shape (n_samples, n_features)
        Their copies, an array for each way of making them.
    ways : sequence of str
        What was done to each of the copies.

    See Also
    --------
    nsse.datasets.Encoder : Makes copies of pictures before a network sees them.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.augment import Copies
    >>> known = Copies(np.eye(2), [2 * np.eye(2)], ["doubled"])
    >>> known(np.array([[0.0, 1.0]]))
    [array([[0., 2.]])]
    """

    def __init__(self, X: SamplesLike, copies: Any, ways: Sequence[str]) -> None:
        self.X = X
        self.copies = copies
        self.ways = ways

    @property
    def names(self) -> tuple[str, ...]:
        """What was done to each of the copies."""
        return tuple(self.ways)

    def __call__(self, X: Rows) -> list[Rows]:
        """The copies of some of the rows."""
        place = {row.tobytes(): k for k, row in enumerate(np.asarray(self.X, dtype=np.float64))}
        places = [place.get(row.tobytes(), -1) for row in np.asarray(X, dtype=np.float64)]
        if -1 in places:
            cure = "Make copies of all rows, and do not change these afterwards."
            raise rule_error("X", "have rows whose copies are known", f"row {places.index(-1)}", cure)
        return [np.asarray(copy)[places] for copy in self.copies]

    def forgotten(self) -> Copies:
        """The names of the copies alone, for a model that is fitted."""
        return Copies((), (), tuple(self.ways))


class Signals(NamedAugmentation):
    """Augmentation of series and spectra: the same values, a few places earlier or later.

    Parameters
    ----------
    shift : int or tuple of int, default=1
        Places by which to shift to either side, the value at the end repeated: 2 copies for each.
    channels : int, default=1
        Values that belong to one place, side by side.

    See Also
    --------
    nsse.augment.Images : Rows of pixels.
    nsse.augment.Noise : Numbers known up to noise.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.augment import Signals
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


class Noise(NamedAugmentation):
    """Augmentation of rows that are known up to noise, independent and normal.

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
    >>> from nsse import SmoothEmbedding
    >>> from nsse.augment import Noise
    >>> X = np.array([[0.0, 0.0], [0.2, 0.1], [1.0, 1.0], [1.1, 0.9]])
    >>> SmoothEmbedding(augment=Noise(0.05, copies=2)).fit(X, [0, 0, 1, 1]).coef_.shape
    (12, 1)
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


def named_images(names: Sequence[str], shape: Any) -> Images | None:
    """Copies of pictures by the names of what is done to them; None where there are none.

    Parameters
    ----------
    names : sequence of {"shift", "rotate", "scale", "mirror", "brightness", "light"}
        By one pixel, 6 degrees, a tenth, left and right, a tenth, a light of 1.
    shape : tuple
        As in `Images`.

    Returns
    -------
    Images or None
        With these and no others.

    See Also
    --------
    nsse.augment.Images : Amounts of your own.
    nsse.augment.usual_sets : Sets to choose among.

    Examples
    --------
    >>> from nsse.augment import named_images
    >>> named_images(["shift", "mirror"], (8, 8))
    Images(mirror=True, rotate=None, shape=(8, 8))
    """
    unknown = [name for name in names if name not in AMOUNTS]
    if unknown:
        rule = f"be among {listed(list(AMOUNTS))}"
        raise rule_error("names", rule, unknown[0], "Each is a transformation of pictures.")
    if not names:
        return None
    amounts = [AMOUNTS[name].items() for name in names]
    return Images(shape, **NONE | {key: value for pairs in amounts for key, value in pairs})


def usual_sets(shape: Any) -> list[Images | None]:
    """Sets of augmentations of pictures to choose among, none at all first.

    See Also
    --------
    nsse.SmoothEmbeddingCV : Chooses among them.
    nsse.augment.named_images : One set by names.

    Examples
    --------
    >>> from nsse.augment import usual_sets
    >>> usual_sets((8, 8))[0] is None
    True
    """
    return [Images(shape, **NONE | own) if own else None for own in SETS]


def names_of(augment: Any) -> list[str]:
    """What is done to pictures, by name.

    Parameters
    ----------
    augment : Images, another augmentation or None
        What is done to pictures.

    Returns
    -------
    list of str
        As `named_images` takes them; of others, what was done for every copy.

    See Also
    --------
    nsse.augment.named_images : The way back.

    Examples
    --------
    >>> from nsse.augment import Images, names_of
    >>> names_of(Images((25, 25), shift=None, mirror=True))
    ['rotate', 'mirror']
    """
    if not isinstance(augment, Images):
        return list(getattr(augment, "names", ()))
    values = augment.get_params(deep=False)
    return [name for name in AMOUNTS if values[name] not in (None, False)]
