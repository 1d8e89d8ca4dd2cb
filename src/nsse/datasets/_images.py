"""From image files to grey levels: reading, area averaging and Euclidean norms.

The averaging is ours and not Pillow's ``BOX`` filter, which is area averaging only where the ratio
of the sizes is a whole number: elsewhere it gives a pixel to an output cell wholly or not at all,
by its centre (at 128 -> 25 a pixel of COIL-20 is then off by up to 12 % of the grey scale).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nsse._errors import optional, rule_error

if TYPE_CHECKING:
    from PIL.Image import Image

Floats: TypeAlias = NDArray[np.float64]
Size: TypeAlias = tuple[int, int] | None

# The level of white by Pillow's image mode. "I" is what Pillow makes of a 16-bit PGM (and older
# versions of a 16-bit PNG); images with more than 16 bits have no agreed white and are refused.
_WHITE = dict.fromkeys(("1", "L", "LA", "P", "RGB", "RGBA"), 255.0)
_WHITE |= dict.fromkeys(("I", "I;16", "I;16B"), 65535.0)

# What Pillow raises on damaged files, as found by cutting and flipping bytes of PNG, PGM and JPEG.
# A damaged header may also promise an image of absurd size, Pillow's DecompressionBombError.
_DAMAGE = (OSError, ValueError, SyntaxError)


@dataclass(frozen=True, eq=False)
class ImageSet:
    """What every reader returns: images in [0, 1], labels, and where each image came from."""

    images: Floats  # (n_samples, height, width)
    y: NDArray[np.int64]
    files: Sequence[str]  # one name per image, for error messages
    source: str
    n_train: int | None = None
    class_names: tuple[str, ...] | None = None


def unreadable(path: Path, why: str) -> OSError:
    """Build the error for a file that is there but cannot be used."""
    return OSError(
        f"`data_home` must hold whole, readable files. Got {str(path)!r} ({why}). "
        "Download the file again."
    )


def read_images(
    paths: Sequence[Path], size: Size, unusable: Callable[[Path, str], OSError] = unreadable
) -> Floats:
    """Read images, each brought to `size` at once so that the originals are not all in memory."""
    images = [_resized(read_grey(path, unusable), size) for path in paths]
    for path, image in zip(paths, images, strict=True):
        if image.shape != images[0].shape:
            rule = "be a pair (height, width) where images differ in size"
            sizes = f"{str(path)!r} is {image.shape}, the first image {images[0].shape}"
            raise rule_error("size", rule, size, f"Pass a size: {sizes}.")
    return np.stack(images)


def read_grey(path: Path, unusable: Callable[[Path, str], OSError] = unreadable) -> Floats:
    """Read one image file as grey levels in [0, 1]; colour is weighted as in ITU-R 601."""
    pillow = import_pillow()
    try:
        with pillow.open(path) as image:
            return _grey_levels(image)
    except (*_DAMAGE, pillow.DecompressionBombError) as error:
        raise unusable(path, str(error)) from error


def import_pillow() -> Any:
    """Pillow, or an error that names its extra."""
    return optional("PIL.Image", "Reading image files needs Pillow", "images")


def _grey_levels(image: Image) -> Floats:
    white = _WHITE.get(image.mode)
    if white is None:
        raise ValueError(f"mode {image.mode} has no agreed white level")
    # "F" keeps fractions of a grey level, which "L" rounds away, and all sixteen bits.
    grey = np.asarray(image.convert("F"), dtype=np.float64) / white
    if grey.min() < 0.0 or grey.max() > 1.0:
        raise ValueError(f"grey levels outside 0..{white:.0f}")
    return grey


def _resized(image: Floats, size: Size) -> Floats:
    return image if size is None else area_average(image, size)


def area_average(image: Floats, size: tuple[int, int]) -> Floats:
    """Give every output cell the mean of the area that it covers, fractions of pixels included."""
    height, width = image.shape
    means = _overlaps(height, size[0]) @ image @ _overlaps(width, size[1]).T
    # A mean lies between the extremes; rounding would put white at 1 + 2e-16.
    return np.clip(means, image.min(), image.max())


def _overlaps(n_in: int, n_out: int) -> Floats:
    """Share of output cell i (row) that input pixel j (column) covers; rows sum to one.

    In units of 1/(n_in n_out) of the side, cell i is [i n_in, (i + 1) n_in) and pixel j is
    [j n_out, (j + 1) n_out): whole numbers, so that no rounding decides which pixels touch a cell.
    """
    cell = n_in * np.arange(n_out)[:, np.newaxis]
    pixel = n_out * np.arange(n_in)
    overlap = np.minimum(cell + n_in, pixel + n_out) - np.maximum(cell, pixel)
    shares: Floats = np.maximum(overlap, 0) / n_in
    return shares


def unit_rows(X: Floats, files: Sequence[str], cure: str) -> Floats:
    """Divide every row by its norm, in place; an all-black image has no direction, so it is an error."""
    norms: Floats = np.sqrt(np.einsum("ij,ij->i", X, X))  # without a second array the size of X
    black = np.flatnonzero(norms == 0.0)
    if black.size:
        rule = "be False where an image is all black, for its norm is 0"
        raise rule_error("unit_norm", rule, files[black[0]], cure)
    X /= norms[:, np.newaxis]  # in place: MNIST is 0.4 GiB
    return X
