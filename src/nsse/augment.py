"""Make more training samples by changes that keep the class of a sample.

- `Images` shifts, rotates, scales and mirrors images, and changes their brightness and illumination.
  Pixels of rotated and scaled images are interpolated (``scipy.ndimage``). Beyond the border, the
  nearest pixel of the border is repeated.
- `Signals` lets series and spectra begin a little earlier or later.
- `Noise` adds normal noise.
- `Copies` contains augmented samples that were made before the fit, for example by a network.

An augmented sample depends on its sample alone, so rows may be augmented block by block.
`SmoothEmbedding(augment=)` takes these classes, your own subclass of `Augmentation`, or any function of
rows that returns a sequence of arrays of their shape.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from sklearn.base import BaseEstimator

from nsse._support.errors import Described, listed, rule_error
from nsse._support.parameters import check_count
from nsse._support.types import SamplesLike

__all__ = ["Augmentation", "Copies", "Images", "Noise", "Signals", "named_images", "usual_sets"]

Rows = NDArray[Any]
# Arrays of shape (n_images, height, width, n_colors), and functions of them.
Pixels = NDArray[Any]
Change = Callable[[Pixels], Pixels]

# The axes of the pixels of one image.
OF_AN_IMAGE = (1, 2, 3)
# The amounts of changes that are given by name. The others are None or False.
AMOUNTS = {"shift": 1, "rotate": 6.0, "scale": 1.1, "mirror": True, "brightness": 0.1, "light": 1.0}
NO_CHANGE: dict[str, Any] = {"shift": None, "rotate": None}
# With and without mirroring, because it is right for some images and wrong for others. With and without
# shifts, because some images are centered. Illumination alone, because it changes faces more.
SETS: tuple[dict[str, Any], ...] = (
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

    A subclass defines ``__call__``. Pass an object of it as the parameter ``augment`` of
    `SmoothEmbedding`. You can also pass a function of rows. As in scikit-learn, parameters are arguments
    of ``__init__`` and are stored under the same names. Two augmentations of the same class and with the
    same parameters are equal. A file cannot contain your own augmentation. Set ``augment`` of the fitted
    model to None before you save it.

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
        """Describe the change of each array for the report. By default, there are no names."""
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
        """Describe the change of each array. Raises an error if a parameter is not valid."""

    @property
    def n_copies(self) -> int:
        """Count the augmented samples of each sample."""
        return len(self.names)


def amounts(
    name: str, value: Any, rule: str, cure: str, *, above: float = 0.0, below: float = np.inf
) -> tuple[float, ...]:
    """Check one number or several against a range, and return a tuple, which is empty for None."""
    if value is None:
        return ()
    several = value if isinstance(value, tuple | list) else (value,)
    for one in several:
        is_number = isinstance(one, Real) and not isinstance(one, bool | np.bool_)
        if not is_number or not above < float(one) < below:
            raise rule_error(name, rule, value, cure)
    return tuple(float(one) for one in several)


def whole_amounts(
    name: str, value: Any, rule: str, cure: str, *, below: float = np.inf
) -> tuple[int, ...]:
    """Return one whole number or several, at least 1, as a tuple, which is empty for None."""
    numbers = amounts(name, value, rule, cure, below=below)
    if any(not number.is_integer() for number in numbers):
        raise rule_error(name, rule, value, cure)
    return tuple(int(number) for number in numbers)


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
        """Describe the change of each array."""
        names = tuple(name for name, _ in self._changes())
        if not self._is_mirrored():
            return names
        return (*names, "mirrored", *(f"{name}, mirrored" for name in names))

    def __call__(self, X: Rows) -> list[Rows]:
        """Return the augmented samples of images, in the order of `names`."""
        shape = self._checked_shape()
        if X.ndim != 2 or X.shape[1] != np.prod(shape):
            rule = "have as many values as a sample has features"
            raise rule_error("shape", rule, self.shape, f"X has {X.shape[-1]} features.")
        images = X.reshape(-1, *shape)
        changed = [change(images) for _, change in self._changes()]
        if self._is_mirrored():
            changed += [mirrored(one) for one in (images, *changed)]
        return [one.reshape(X.shape) for one in changed]

    def _changes(self) -> list[tuple[str, Change]]:
        """Check the parameters, and return the name and the function of every change but the mirror."""
        found: list[tuple[str, Change]] = []
        size = min(self._checked_shape()[:2])
        rule = f"be None or whole numbers of pixels from 1 to {size - 1}"
        for n in whole_amounts("shift", self.shift, rule, "1 is a good start.", below=size):
            found.append((f"shifted left by {n}", partial(shifted, down=0, right=-n)))
            found.append((f"shifted right by {n}", partial(shifted, down=0, right=n)))
            found.append((f"shifted up by {n}", partial(shifted, down=-n, right=0)))
            found.append((f"shifted down by {n}", partial(shifted, down=n, right=0)))
        rule = "be None or degrees between 0 and 180"
        for degrees in amounts("rotate", self.rotate, rule, "6 is a good start.", below=180.0):
            found.append((f"turned by +{degrees:g}°", partial(rotated, degrees=degrees)))
            found.append((f"turned by -{degrees:g}°", partial(rotated, degrees=-degrees)))
        rule = "be None or ratios above 1"
        for ratio in amounts("scale", self.scale, rule, "1.1 enlarges by a tenth.", above=1.0):
            found.append((f"enlarged by {ratio:g}", partial(zoomed, ratio=ratio)))
            found.append((f"shrunk by {ratio:g}", partial(zoomed, ratio=1.0 / ratio)))
        rule = "be None or shares between 0 and 1"
        for share in amounts("brightness", self.brightness, rule, "0.1 is a good start.", below=1.0):
            found.append((f"brighter by {share:g}", partial(moved_toward, end=np.max, share=share)))
            found.append((f"darker by {share:g}", partial(moved_toward, end=np.min, share=share)))
        rule = "be None or positive numbers"
        for strength in amounts("light", self.light, rule, "1 is a good start."):
            found.append((f"lit from the left by {strength:g}", partial(lit, strength=-strength)))
            found.append((f"lit from the right by {strength:g}", partial(lit, strength=strength)))
        return found

    def _checked_shape(self) -> tuple[int, int, int]:
        sizes = tuple(self.shape) if isinstance(self.shape, Sequence | np.ndarray) else ()
        is_whole = all(isinstance(size, Integral) and int(size) > 0 for size in sizes)
        if len(sizes) not in (2, 3) or not is_whole:
            rule = "be height and width, or height, width and colors"
            raise rule_error("shape", rule, self.shape, "Images((28, 28)) is for the images of MNIST.")
        height, width, *colors = (int(size) for size in sizes)
        return height, width, colors[0] if colors else 1

    def _is_mirrored(self) -> bool:
        if not isinstance(self.mirror, bool | np.bool_):
            raise rule_error("mirror", "be True or False", self.mirror, "True exchanges left and right.")
        return bool(self.mirror)


def mirrored(images: Pixels) -> Pixels:
    """Exchange left and right."""
    return images[:, :, ::-1]


def shifted(images: Pixels, down: int, right: int) -> Pixels:
    """Shift images by whole pixels, and repeat the pixels of the border."""
    _, height, width, _ = images.shape
    rows = np.clip(np.arange(height) - down, 0, height - 1)
    columns = np.clip(np.arange(width) - right, 0, width - 1)
    return images[:, rows[:, np.newaxis], columns]


def rotated(images: Pixels, degrees: float) -> Pixels:
    """Rotate images about the center, counterclockwise for the viewer."""
    images = floating(images)
    turned = ndimage.rotate(images, degrees, axes=(2, 1), reshape=False, order=1, mode="nearest")
    return within_range(turned, images)


def zoomed(images: Pixels, ratio: float) -> Pixels:
    """Enlarge images around the center. A ratio below 1 shrinks them."""
    images = floating(images)
    back = np.array([1.0, 1.0 / ratio, 1.0 / ratio, 1.0])
    center = (np.array(images.shape) - 1) / 2
    offset = center - back * center
    # Older versions of SciPy warn of a matrix that is given by its diagonal alone.
    resized = ndimage.affine_transform(images, np.diag(back), offset, order=1, mode="nearest")
    return within_range(resized, images)


def moved_toward(images: Pixels, end: Callable[..., Any], share: float) -> Pixels:
    """Move every pixel by a share toward the ``end`` of its image, the brightest or darkest pixel."""
    images = floating(images)
    moved = images + share * (end(images, axis=OF_AN_IMAGE, keepdims=True) - images)
    return within_range(moved, images)


def lit(images: Pixels, strength: float) -> Pixels:
    """Multiply pixels by e^(strength · u) with u from −1 at the left edge to 1 at the right edge.

    Each image is scaled to its former norm. A black image stays as it is.
    """
    images = floating(images)
    factors = np.exp(strength * np.linspace(-1.0, 1.0, images.shape[2])).astype(images.dtype)
    brightened = images * factors[:, np.newaxis]
    norms = norms_of(brightened)
    return brightened * (norms_of(images) / np.where(norms > 0, norms, 1.0))


def norms_of(images: Pixels) -> Pixels:
    """Return the norm of every image, with axes of length one."""
    return np.sqrt(np.square(images).sum(axis=OF_AN_IMAGE, keepdims=True))


def floating(images: Pixels) -> Pixels:
    """Return integers as float32, or as float64 if float32 cannot represent them."""
    return images.astype(np.result_type(images.dtype, np.float32), copy=False)


def within_range(changed: Pixels, images: Pixels) -> Pixels:
    """Clip changed images to the range of their image, which rounding exceeds in the last bit."""
    least = images.min(axis=OF_AN_IMAGE, keepdims=True)
    return np.clip(changed, least, images.max(axis=OF_AN_IMAGE, keepdims=True))


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
    nsse.datasets.Encoder : Computes the features of mirrored images.

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
        """Describe the change of each array."""
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
        """Describe the change of each array."""
        return tuple(f"{way} by {n}" for n in self._shifts() for way in ("earlier", "later"))

    def __call__(self, X: Rows) -> list[Rows]:
        """Return the augmented samples of signals, in the order of `names`."""
        shifts = self._shifts()
        length, rest = divmod(X.shape[1], int(self.channels))
        if rest or max(shifts) >= length:
            rule = (
                f"be less than the length of signals ({X.shape[1]} values in {self.channels} channels)"
            )
            raise rule_error("shift", rule, self.shift, "Lower it, or see `channels`.")
        signals = X.reshape(len(X), 1, length, int(self.channels))  # images of one line
        moves = (right for shift in shifts for right in (-shift, shift))
        return [shifted(signals, down=0, right=right).reshape(X.shape) for right in moves]

    def _shifts(self) -> tuple[int, ...]:
        rule = "be whole numbers, at least 1"
        shifts = whole_amounts("shift", self.shift, rule, "1 is a good start.")
        if not shifts:
            raise rule_error("shift", rule, self.shift, "1 is a good start.")
        check_count("channels", self.channels, cure="1 is usual.")
        return shifts


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
        """Describe the change of each array."""
        self._scales()
        check_count("copies", self.copies, cure="4 is usual.")
        check_count("random_state", self.random_state, least=0, cure="0 is usual.")
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
    return Images(shape, **NO_CHANGE | {name: AMOUNTS[name] for name in names})


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
    return [None, *(Images(shape, **NO_CHANGE | own) for own in SETS)]


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
