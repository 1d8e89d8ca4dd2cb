"""Augmentation: more training samples by changes that keep the class of a sample.

- `Images` shifts, rotates, scales and mirrors images, and changes their brightness and illumination.
  Pixels of rotated and scaled images are interpolated (``scipy.ndimage``). Beyond the border, the
  nearest pixel of the border is repeated.
- `Signals` lets series and spectra begin a little earlier or later.
- `Noise` adds normal noise.
- `Copies` contains augmented samples that were made before the fit, for example by a network.

An augmented sample depends on its sample alone, so that rows may come in any blocks.
`SmoothEmbedding(augment=)` takes these classes, your own subclass of `Augmentation`, or any function of
rows that returns a sequence of arrays of their shape.
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
from scipy import ndimage
from sklearn.base import BaseEstimator

from nsse._support.errors import Described, listed, rule_error
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
# Default amounts: pixels, degrees, a ratio, a share of brightness, a strength.
AMOUNTS: dict[str, dict[str, Any]] = {
    "shift": {"shift": 1},
    "rotate": {"rotate": 6.0},
    "scale": {"scale": 1.1},
    "mirror": {"mirror": True},
    "brightness": {"brightness": 0.1},
    "light": {"light": 1.0},
}
NONE: dict[str, Any] = {"shift": None, "rotate": None}
# With and without mirroring, because it is right for some images and wrong for others. With and without
# shifts, because some images are centered. Illumination alone, because it changes faces more.
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
        """What each of the arrays shows. Raises an error if a parameter is wrong."""

    @property
    def n_copies(self) -> int:
        """Number of augmented samples of each sample."""
        return len(self.names)


def amounts(name: str, value: Any, least: float, rule: str, cure: str) -> tuple[float, ...]:
    """Return one number or several, each above ``least``. None means no number."""
    if value is None:
        return ()
    several: Sequence[Any] = value if isinstance(value, tuple | list) else [value]
    for one in several:
        number = isinstance(one, Real) and not isinstance(one, bool | np.bool_)
        if not number or not np.isfinite(float(one)) or not float(one) > least:
            raise rule_error(name, rule, value, cure)
    return tuple(float(one) for one in several)


def check_width(X: SamplesLike, n_features: int, what: str) -> None:
    """Raise an error if rows are not images of the given shape."""
    if X.ndim != 2 or X.shape[1] != n_features:
        cure = f"X has {X.shape[-1]} features."
        raise rule_error("shape", "have as many values as a sample has features", what, cure)


class Images(NamedAugmentation):
    """Shift, rotate, scale and mirror images, and change their brightness and illumination.

    Parameters
    ----------
    shape : tuple of (int, int) or (int, int, int)
        Height and width of the images, and the number of colors as the third for color images. Rows are
        images line by line, with the colors of a pixel side by side.
    shift : int, tuple of int or None, default=1
        Pixels by which to shift to the left, to the right, up and down. Each number gives 4 augmented
        samples.
    rotate : float, tuple of float or None, default=6.0
        Degrees by which to rotate about the center in both directions. Each number gives 2.
    scale : float, tuple of float or None, default=None
        Ratio above 1 by which to enlarge and to shrink about the center. Each number gives 2.
    mirror : bool, default=False
        Whether to exchange left and right, of the image and of its augmented samples. This doubles
        their number and adds one. It is wrong for digits, for text and for everything else whose mirror
        image does not occur.
    brightness : float, tuple of float or None, default=None
        Share, below 1, by which every pixel is moved toward the brightest and toward the darkest pixel
        of its image. Each number gives 2.
    light : float, tuple of float or None, default=None
        Illumination from the left and from the right. Pixels at that edge are multiplied by e^light, in
        the center by 1, and at the other edge by e^−light. Then the image is scaled to its former norm.
        Each number gives 2. It assumes that 0 is black.

    See Also
    --------
    nsse.augment.Signals : Shifts series.
    nsse.augment.Noise : Adds noise.
    nsse.augment.usual_sets : Sets of changes to compare.

    Notes
    -----
    Except for `light`, the values of an augmented image lie between the least and the largest value of
    the image. Shifts and mirrors keep the type of the numbers. Integers that are interpolated become
    float32, or float64 if float32 cannot represent them.

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
        """The change that each of the arrays shows."""
        names = tuple(name for name, _ in self._transformations())
        if not self._checked_mirror():
            return names
        return (*names, "mirrored", *(f"{name}, mirrored" for name in names))

    def __call__(self, X: Rows) -> list[Rows]:
        """Return the augmented samples of images, in the order of `names`."""
        shape = self._checked_shape()
        self._checked_mirror()
        check_width(X, int(np.prod(shape)), f"{self.shape!r}")
        augmented = [transform()(X) for _, transform in self._transformations()]
        if not self.mirror:
            return augmented
        mirrored = _mirrored(shape)
        return [*augmented, mirrored(X), *map(mirrored, augmented)]

    def _transformations(self) -> list[Named]:
        """Return the name and a factory of every transformation except for the mirror."""
        shape = self._checked_shape()
        found: list[Named] = []
        for pixels in self._checked_shifts(shape):
            for direction, down, right in SHIFTS:
                shifted = partial(_shifted, shape, pixels * down, pixels * right)
                found.append((f"shifted {direction} by {pixels}", shifted))
        for degrees in self._checked_angles():
            for angle in (degrees, -degrees):
                found.append((f"turned by {angle:+g}°", partial(Resampling.rotation, shape, angle)))
        for ratio in amounts("scale", self.scale, 1.0, "be None or ratios above 1", SCALE_CURE):
            found.append((f"enlarged by {ratio:g}", partial(Resampling.zoom, shape, ratio)))
            found.append((f"shrunk by {ratio:g}", partial(Resampling.zoom, shape, 1.0 / ratio)))
        for share in self._checked_shares():
            found.append((f"brighter by {share:g}", partial(Brightness, share, True)))
            found.append((f"darker by {share:g}", partial(Brightness, share, False)))
        for strength in amounts("light", self.light, 0.0, "be None or positive numbers", LIGHT_CURE):
            for side, sign in (("left", -1.0), ("right", 1.0)):
                across = partial(Illumination.across, shape, sign * strength)
                found.append((f"lit from the {side} by {strength:g}", across))
        return found

    def _checked_shape(self) -> Shape:
        sizes = tuple(self.shape) if isinstance(self.shape, Sequence | np.ndarray) else ()
        whole = [int(size) for size in sizes if isinstance(size, Integral) and int(size) > 0]
        if len(sizes) not in (2, 3) or len(whole) < len(sizes):
            rule = "be height and width, or height, width and colors"
            raise rule_error("shape", rule, self.shape, "Images((28, 28)) is for the images of MNIST.")
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
    """Build augmented images from pixels of the image. Pixel i is the pixel ``source[i]``."""

    source: Ints

    def __call__(self, X: Rows) -> Rows:
        """Return the augmented images."""
        return np.take(X, self.source, axis=1)


@dataclass(frozen=True, eq=False)
class Resampling:
    """An augmented image whose pixels are interpolated between four pixels of the image.

    Pixel p shows the place m + ``back`` (p − m) of the image, where m is its center.
    """

    shape: Shape
    back: Floats

    @classmethod
    def rotation(cls, shape: Shape, degrees: float) -> Resampling:
        """Rotate about the center, counterclockwise for the viewer."""
        angle = np.deg2rad(degrees)
        cos, sin = np.cos(angle), np.sin(angle)
        return cls(shape, np.array([[cos, sin], [-sin, cos]]))

    @classmethod
    def zoom(cls, shape: Shape, ratio: float) -> Resampling:
        """Enlarge images around the center."""
        return cls(shape, np.eye(2) / ratio)

    def __call__(self, X: Rows) -> Rows:
        """Return the augmented images."""
        X = X.astype(np.result_type(X.dtype, np.float32), copy=False)
        height, width, colors = self.shape
        center = np.array([(height - 1) / 2, (width - 1) / 2])
        images = np.moveaxis(X.reshape(-1, height, width, colors), 3, 1).reshape(-1, height, width)
        found = [
            ndimage.affine_transform(
                image, self.back, center - self.back @ center, order=1, mode="nearest"
            )
            for image in images
        ]
        made = np.reshape(found, (len(X), colors, height, width)).transpose(0, 2, 3, 1).reshape(X.shape)
        # Rounding may exceed the range of an image in the last bit.
        return np.clip(made, X.min(axis=1, keepdims=True), X.max(axis=1, keepdims=True))


@dataclass(frozen=True)
class Brightness:
    """Move every pixel by a share toward the brightest or the darkest pixel of its image."""

    share: float
    brightest: bool

    def __call__(self, X: Rows) -> Rows:
        """Return the augmented images."""
        X = X.astype(np.result_type(X.dtype, np.float32), copy=False)
        end = (X.max if self.brightest else X.min)(axis=1, keepdims=True)
        moved = X + X.dtype.type(self.share) * (end - X)
        return np.minimum(moved, end) if self.brightest else np.maximum(moved, end)


@dataclass(frozen=True, eq=False)
class Illumination:
    """Multiply every pixel by a factor, and scale the image to its former norm."""

    factors: Floats

    @classmethod
    @lru_cache(maxsize=64)
    def across(cls, shape: Shape, strength: float) -> Illumination:
        """Use the factors e^(strength · u), where u is −1 at the left edge and 1 at the right edge."""
        height, width, colors = shape
        factors = np.exp(strength * np.linspace(-1.0, 1.0, width))
        return cls(np.tile(np.repeat(factors, colors), height))

    def __call__(self, X: Rows) -> Rows:
        """Return the augmented images. A black image stays as it is."""
        X = X.astype(np.result_type(X.dtype, np.float32), copy=False)
        lit = X * self.factors.astype(X.dtype)
        norms = np.linalg.norm(lit, axis=1, keepdims=True)
        return lit * (np.linalg.norm(X, axis=1, keepdims=True) / np.where(norms > 0, norms, 1.0))


@lru_cache(maxsize=64)
def _shifted(shape: Shape, down: int, right: int) -> Selection:
    """Shift by a number of pixels and repeat the border."""
    rows, columns = np.indices(shape[:2]).reshape(2, -1)
    rows, columns = np.clip(rows - down, 0, shape[0] - 1), np.clip(columns - right, 0, shape[1] - 1)
    return Selection(_pixels(shape, rows, columns))


@lru_cache(maxsize=64)
def _mirrored(shape: Shape) -> Selection:
    rows, columns = np.indices(shape[:2]).reshape(2, -1)
    return Selection(_pixels(shape, rows, shape[1] - 1 - columns))


def _pixels(shape: Shape, rows: Ints, columns: Ints) -> Ints:
    """Return where the pixels of these lines and columns are in a row, all colors of each."""
    _, width, colors = shape
    first = (rows * width + columns) * colors
    return (first[:, np.newaxis] + np.arange(colors)).ravel().astype(np.intp)


class Copies(NamedAugmentation):
    """Augmented samples that were made before the fit, and are found by the rows they belong to.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows.
    copies : sequence of ndarray of shape (n_samples, n_features)
        Their augmented samples, one array for each kind of change.
    ways : sequence of str
        The change that each of the arrays shows.

    See Also
    --------
    nsse.datasets.Encoder : Augments images before a network sees them.

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
        """The change that each of the arrays shows."""
        return tuple(self.ways)

    def __call__(self, X: Rows) -> list[Rows]:
        """Return the augmented samples of some of the rows."""
        place = {row.tobytes(): k for k, row in enumerate(np.asarray(self.X, dtype=np.float64))}
        places = [place.get(row.tobytes(), -1) for row in np.asarray(X, dtype=np.float64)]
        if -1 in places:
            cure = "Augment all rows, and do not change the rows afterwards."
            raise rule_error(
                "X", "have rows with known augmented samples", Described(f"row {places.index(-1)}"), cure
            )
        return [np.asarray(copy)[places] for copy in self.copies]

    def forgotten(self) -> Copies:
        """Return the names alone, for a fitted model."""
        return Copies((), (), tuple(self.ways))


class Signals(NamedAugmentation):
    """Shift series and spectra, so that they begin a few places earlier or later.

    Parameters
    ----------
    shift : int or tuple of int, default=1
        Places by which to shift in both directions. The value at the end is repeated. Each number gives
        2 augmented samples.
    channels : int, default=1
        Number of values at each place, side by side.

    See Also
    --------
    nsse.augment.Images : Augments images.
    nsse.augment.Noise : Adds noise.

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
        """The change that each of the arrays shows."""
        return tuple(f"{way} by {n}" for n in self._shifts() for way in ("earlier", "later"))

    def __call__(self, X: Rows) -> list[Rows]:
        """Return the augmented samples of signals, in the order of `names`."""
        shifts, channels = self._shifts(), int(self.channels)
        length = X.shape[1] // channels
        if length * channels != X.shape[1] or max(shifts, default=0) >= length:
            rule = f"be less than the length of signals ({X.shape[1]} values in {channels} channels)"
            raise rule_error("shift", rule, self.shift, "Lower it, or see `channels`.")
        places = np.arange(length)
        sources = [np.clip(places + n, 0, length - 1) for shift in shifts for n in (shift, -shift)]
        each = np.arange(channels)
        return [np.take(X, (s[:, np.newaxis] * channels + each).ravel(), axis=1) for s in sources]

    def _shifts(self) -> tuple[int, ...]:
        rule, cure = "be whole numbers, at least 1", "1 is a good start."
        shifts = amounts("shift", self.shift, 0.0, rule, cure)
        if not shifts or any(n != int(n) for n in shifts):
            raise rule_error("shift", rule, self.shift, cure)
        if not isinstance(self.channels, Integral) or self.channels < 1:
            raise rule_error("channels", "be a whole number, at least 1", self.channels, "1 is usual.")
        return tuple(int(n) for n in shifts)


class Noise(NamedAugmentation):
    """Add independent normal noise.

    Parameters
    ----------
    scale : float or array-like of shape (n_features,)
        Standard deviation of the noise in the units of the samples, for all features or for each.
    copies : int, default=4
        Number of augmented samples of each sample.
    random_state : int, default=0
        Seed of the noise, together with the sample itself. A sample therefore has the same noise in
        every block, and different samples have different noise.

    See Also
    --------
    nsse.augment.Signals : Shifts series.
    nsse.augment.Images : Augments images.

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
        """The change that each of the arrays shows."""
        self._scales()
        for name, value, least in (("copies", self.copies, 1), ("random_state", self.random_state, 0)):
            if not isinstance(value, Integral) or value < least:
                raise rule_error(
                    name, f"be a whole number, at least {least}", value, "4 copies are usual."
                )
        return tuple(f"with noise {place}" for place in range(1, int(self.copies) + 1))

    def __call__(self, X: Rows) -> list[Rows]:
        """Return the augmented samples. Integers become floating-point numbers."""
        n_copies, scales = len(self.names), self._scales()
        if scales.ndim and scales.shape != (X.shape[1],):
            rule = f"be one number or one for each of the {X.shape[1]} features"
            raise rule_error("scale", rule, Described(f"{len(scales)} numbers"), "Take one for all.")
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
    """Return an augmentation of images by the names of its changes.

    Parameters
    ----------
    names : sequence of {"shift", "rotate", "scale", "mirror", "brightness", "light"}
        The changes, by one pixel, 6 degrees, a tenth, left and right, a tenth, and an illumination of 1.
    shape : tuple
        As in `Images`.

    Returns
    -------
    Images or None
        The augmentation with these changes and no others. None if there are no names.

    See Also
    --------
    nsse.augment.Images : Takes the amounts.
    nsse.augment.usual_sets : Sets of changes to compare.

    Examples
    --------
    >>> from nsse.augment import named_images
    >>> named_images(["shift", "mirror"], (8, 8))
    Images(mirror=True, rotate=None, shape=(8, 8))
    """
    unknown = [name for name in names if name not in AMOUNTS]
    if unknown:
        rule = f"be among {listed(list(AMOUNTS))}"
        raise rule_error("names", rule, unknown[0], "Each is a change of images.")
    if not names:
        return None
    amounts = [AMOUNTS[name].items() for name in names]
    return Images(shape, **NONE | {key: value for pairs in amounts for key, value in pairs})


def usual_sets(shape: Any) -> list[Images | None]:
    """Return augmentations of images to compare. The first one is None, for no augmentation.

    See Also
    --------
    nsse.SmoothEmbeddingCV : Compares them.
    nsse.augment.named_images : One set by names.

    Examples
    --------
    >>> from nsse.augment import usual_sets
    >>> usual_sets((8, 8))[0] is None
    True
    """
    return [Images(shape, **NONE | own) if own else None for own in SETS]


def names_of(augment: Any) -> list[str]:
    """Return the names of the changes that an augmentation makes.

    Parameters
    ----------
    augment : Images, another augmentation or None
        The augmentation.

    Returns
    -------
    list of str
        The names that `named_images` takes for images, and ``names`` for other augmentations.

    See Also
    --------
    nsse.augment.named_images : The inverse.

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
