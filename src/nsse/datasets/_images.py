"""From image files to grey or color levels: reading, area averaging and Euclidean norms.

Images are read upright, as every viewer shows them: a camera that was turned says so in EXIF.

The averaging is ours and not Pillow's ``BOX`` filter, which is area averaging only where the ratio
of the sizes is a whole number: elsewhere it gives a pixel to an output cell wholly or not at all,
by its centre (at 128 -> 25 a pixel of COIL-20 is then off by up to 12 % of the grey scale).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nsse._support.errors import optional, rule_error

if TYPE_CHECKING:
    from PIL.Image import Image

Floats: TypeAlias = NDArray[np.float64]
Size: TypeAlias = tuple[int, int] | None

# The level of white by Pillow's image mode. "I" is what Pillow makes of a 16-bit PGM (and older
# versions of a 16-bit PNG); images with more than 16 bits have no agreed white and are refused.
_WHITE = dict.fromkeys(("1", "L", "LA", "P", "RGB", "RGBA", "CMYK"), 255.0)
_WHITE |= dict.fromkeys(("I", "I;16", "I;16B"), 65535.0)

# The tag of EXIF that tells how a camera was held, and what makes the image upright again.
_ORIENTATION = 0x0112
_TURNS = {
    2: "FLIP_LEFT_RIGHT",
    3: "ROTATE_180",
    4: "FLIP_TOP_BOTTOM",
    5: "TRANSPOSE",
    6: "ROTATE_270",
    7: "TRANSVERSE",
    8: "ROTATE_90",
}

# What Pillow raises on damaged files, as found by cutting and flipping bytes of PNG, PGM and JPEG.
# A damaged header may also promise an image of absurd size, Pillow's DecompressionBombError.
_DAMAGE = (OSError, ValueError, SyntaxError)


@dataclass(frozen=True, eq=False)
class ImageSet:
    """What every reader returns: images in [0, 1], labels, and where each image came from."""

    images: Floats  # (n_samples, height, width), and 3 in color
    y: NDArray[np.int64]
    files: Sequence[str]  # one name per image, for error messages
    source: str
    n_train: int | None = None
    class_names: tuple[str, ...] | None = None
    skipped: tuple[str, ...] = ()  # files that are no images
    broken: tuple[str, ...] = ()  # images that could not be read, where they were to be left out


class ReadImages(NamedTuple):
    """Images, and the places of their files in the list that was to be read."""

    images: Floats
    kept: NDArray[np.intp]


def unreadable(path: Path, why: str) -> OSError:
    """Build the error for a file that is there but cannot be used."""
    return OSError(
        f"`data_home` must hold whole, readable files. Got {str(path)!r} ({why}). "
        "Download the file again."
    )


def read_images(
    paths: Sequence[Path],
    size: Size,
    unusable: Callable[[Path, str], OSError] = unreadable,
    *,
    color: bool = False,
    skip_broken: bool = False,
) -> ReadImages:
    """Read images, each brought to `size` at once so that the originals are not all in memory.

    A file that cannot be read is an error, or is left out if `skip_broken`.
    """
    images, kept = [], []
    for place, path in enumerate(paths):
        try:
            images.append(_resized(read_levels(path, unusable, color=color), size))
        except OSError:
            if not skip_broken:
                raise
            continue
        kept.append(place)
        if images[-1].shape != images[0].shape:
            rule = "be a pair (height, width) where images differ in size"
            sizes = f"{str(path)!r} is {images[-1].shape[:2]}, the first image {images[0].shape[:2]}"
            raise rule_error("size", rule, size, f"Pass a size: {sizes}.")
    stacked = np.stack(images) if images else np.empty((0, 0, 0))
    return ReadImages(stacked, np.array(kept, dtype=np.intp))


def read_levels(
    path: Path, unusable: Callable[[Path, str], OSError] = unreadable, *, color: bool = False
) -> Floats:
    """Read one image file upright: levels in [0, 1], grey, or red, green and blue on a third axis."""
    pillow = import_pillow()
    try:
        # Opened here: where Pillow has a name, it maps the file into memory, and scrambles turned TIFF.
        with path.open("rb") as stream, pillow.open(stream) as image:
            return _color_levels(upright(image)) if color else _grey_levels(upright(image))
    except pillow.UnidentifiedImageError as error:
        raise unusable(path, "cannot identify image file") from error
    except (*_DAMAGE, pillow.DecompressionBombError) as error:
        raise unusable(path, str(error)) from error


def is_image(path: Path) -> bool:
    """Whether Pillow knows the kind of a file, by its first bytes."""
    pillow = import_pillow()
    try:
        with pillow.open(path):
            return True
    except pillow.UnidentifiedImageError:
        return False
    except (*_DAMAGE, pillow.DecompressionBombError):
        return True  # it is one, and broken


def import_pillow() -> Any:
    """Pillow, or an error that names its extra."""
    return optional("PIL.Image", "Reading image files needs Pillow", "images")


def upright(image: Image) -> Image:
    """Turned as EXIF says, which browsers obey; inks become red, green and blue as they do there."""
    image.load()
    # Pillow turns TIFF by itself; some of its versions forget to say that they did. Others are not
    # turned by its `exif_transpose`, which writes EXIF anew and fails where a camera wrote nonsense.
    turn = None if image.format == "TIFF" else _TURNS.get(image.getexif().get(_ORIENTATION, 1))
    turned = image if turn is None else image.transpose(import_pillow().Transpose[turn])
    return turned.convert("RGB") if turned.mode == "CMYK" else turned


def _grey_levels(image: Image) -> Floats:
    """Color is weighted as in ITU-R 601."""
    white = _white(image)
    # "F" keeps fractions of a grey level, which "L" rounds away, and all sixteen bits.
    grey = np.asarray(image.convert("F"), dtype=np.float64) / white
    if grey.min() < 0.0 or grey.max() > 1.0:
        raise ValueError(f"grey levels outside 0..{white:.0f}")
    return grey


def _color_levels(image: Image) -> Floats:
    """Grey images have three equal channels; transparency is left out, as in grey."""
    if _white(image) != 255.0:  # grey of sixteen bits, all of which are kept
        return np.repeat(_grey_levels(image)[:, :, np.newaxis], 3, axis=2)
    return np.asarray(image.convert("RGB"), dtype=np.float64) / 255.0


def _white(image: Image) -> float:
    white = _WHITE.get(image.mode)
    if white is None:
        raise ValueError(f"mode {image.mode} has no agreed white level")
    return white


def _resized(image: Floats, size: Size) -> Floats:
    return image if size is None else area_average(image, size)


def area_average(image: Floats, size: tuple[int, int]) -> Floats:
    """Give every output cell the mean of the area that it covers, fractions of pixels included.

    Parameters
    ----------
    image : ndarray of shape (height, width) or (height, width, n_channels)
        Levels; every channel is averaged by itself.
    size : tuple of (int, int)
        Height and width of the result.

    Returns
    -------
    ndarray of shape `size` or `size` and n_channels
        Means.

    See Also
    --------
    nsse.datasets.load_image_folder : Brings pictures to one size by it.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.datasets import area_average
    >>> area_average(np.array([[0.0, 1.0], [2.0, 3.0]]), (1, 2))
    array([[1., 2.]])
    """
    if image.ndim == 3:
        return np.stack([area_average(channel, size) for channel in np.moveaxis(image, 2, 0)], axis=2)
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
        rule = "not be taken where an image is all black, for its norm is 0"
        raise rule_error("unit_norm", rule, files[black[0]], cure)
    X /= norms[:, np.newaxis]  # in place: MNIST is 0.4 GiB
    return X
