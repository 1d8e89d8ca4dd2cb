"""Read image files as gray or color levels, average over areas, and normalize.

Images are read upright, as every viewer shows them, by the orientation in EXIF.

Pillow's ``BOX`` filter is area averaging only if the ratio of the sizes is a whole number. Otherwise it
assigns each pixel to the output cell that contains its center, which changes pixels of COIL-20 by up to
12 % of the gray scale (128 -> 25). Our averaging divides pixels between cells.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from nsse._support.errors import optional, rule_error
from nsse._support.progress import progress_bar
from nsse._support.types import Floats, Ints
from nsse.datasets._store import keep, key_of, recalled

if TYPE_CHECKING:
    from PIL.Image import Image

Size: TypeAlias = tuple[int, int] | None
Result = TypeVar("Result")
Unusable: TypeAlias = Callable[[Path, str], OSError]

# The level of white by Pillow's image mode. Pillow gives 16-bit PGM (and older versions 16-bit PNG) the
# mode "I". Images with more than 16 bits have no common level of white and raise an error.
_WHITE = dict.fromkeys(("1", "L", "LA", "P", "RGB", "RGBA", "CMYK"), 255.0)
_WHITE |= dict.fromkeys(("I", "I;16", "I;16B"), 65535.0)

# The EXIF tag of the orientation of the camera, and the operations that turn the image upright.
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

# Errors that Pillow raises for damaged files, found by cutting and changing PNG, PGM and JPEG. A damaged
# header may also describe an image of absurd size (DecompressionBombError).
_DAMAGE = (OSError, ValueError, SyntaxError)


@dataclass(frozen=True, eq=False)
class ImageSet:
    """The result of every reader: images in [0, 1], labels, and the source of each image."""

    images: NDArray[Any]  # (n_samples, height, width), and 3 in color, or rows of features
    y: NDArray[np.int64]
    files: Sequence[str]  # one name per image, for error messages
    source: str
    n_train: int | None = None
    class_names: tuple[str, ...] | None = None
    skipped: tuple[str, ...] = ()  # files that are no images
    broken: tuple[str, ...] = ()  # images that could not be read, where they were to be left out


class ReadImages(NamedTuple):
    """Images, the positions of their files in the list, and the positions of unreadable files."""

    images: NDArray[Any]
    kept: Ints
    broken: list[int]


class Reading:
    """Compute something from images: levels of a size, features of a network, or thumbnails."""

    # The name under which results are cached, or None if they are not.
    how: str | None = None
    # Number of images in a block, and a side that is sufficient, because JPEG is decoded no finer.
    batch: int = 64
    draft: int | None = None

    def open(self) -> None:
        """Raise an error if something is missing, before the first image is read."""

    @abstractmethod
    def picture(self, image: Image) -> NDArray[Any]:
        """Return an array for one upright image, or raise ValueError if it is unusable."""

    def finished(self, pictures: list[NDArray[Any]]) -> Sequence[NDArray[Any]]:
        """Return the result of each image, which may be computed for a block of images at once."""
        return pictures


def checked_size(size: Any) -> Size:
    """Return height and width, or None."""
    is_pair = isinstance(size, tuple | list) and len(size) == 2
    if size is not None and not (is_pair and all(isinstance(n, Integral) and int(n) > 0 for n in size)):
        rule = "be None or a pair of positive whole numbers (height, width)"
        raise rule_error("size", rule, size, "Pass for example `size=(25, 25)`.")
    return None if size is None else (int(size[0]), int(size[1]))


class Levels(Reading):
    """Compute levels in [0, 1], gray or with three colors on a third axis, averaged to a given size."""

    def __init__(self, size: Size, color: bool = False) -> None:
        self.size, self.color = checked_size(size), color
        # Increase the number whenever reading or averaging gives other levels than before. Images in
        # their own size are not cached, because they would take more space than their files.
        self.how = None if size is None else f"levels 3 {self.size} {color}"

    def picture(self, image: Image) -> Floats:
        """Return the levels of an image."""
        levels = _color_levels(image) if self.color else _gray_levels(image)
        return levels if self.size is None else area_average(levels, self.size)


class Thumbnails(Reading):
    """Make small JPEG files for the report."""

    how = "thumbnail 1"
    side = 144
    draft = 288

    def picture(self, image: Image) -> NDArray[Any]:
        """Return the bytes of a file that contains the whole image."""
        small, file = eight_bits(image), BytesIO()
        small.thumbnail((self.side, self.side))
        small.save(file, "JPEG", quality=80)
        return np.frombuffer(file.getvalue(), dtype=np.uint8)


def unreadable(path: Path, why: str) -> OSError:
    """Build the error for a file that exists but cannot be used."""
    return OSError(
        f"`data_home` must hold whole, readable files. Got {str(path)!r} ({why}). "
        "Download the file again."
    )


def read_images(
    paths: Sequence[Path],
    reading: Reading,
    unusable: Unusable = unreadable,
    *,
    skip_broken: bool = False,
) -> ReadImages:
    """Read images into one array. Images that were read before come from the cache.

    A file that cannot be read raises an error. If `skip_broken`, it is left out.
    """
    found = read_each(paths, reading, unusable, skip_broken=skip_broken)
    kept = sorted(found)
    for place in kept:
        if found[place].shape != found[kept[0]].shape:
            rule = "be a pair (height, width) where images differ in size"
            sizes = [found[one].shape[:2] for one in (place, kept[0])]
            cure = f"Pass a size: {str(paths[place])!r} is {sizes[0]}, the first image {sizes[1]}."
            raise rule_error("size", rule, None, cure)
    images = np.stack([found.pop(place) for place in kept]) if kept else np.empty((0, 0, 0))
    broken = sorted(set(range(len(paths))) - set(kept))
    return ReadImages(images, np.array(kept, dtype=np.intp), broken)


def read_each(
    paths: Sequence[Path],
    reading: Reading,
    unusable: Unusable = unreadable,
    *,
    skip_broken: bool = False,
) -> dict[int, NDArray[Any]]:
    """Return the result of reading each image, by its place in the list."""
    keys = {}
    if reading.how is not None:  # files that do not exist raise an error when they are opened
        existing = [(place, path) for place, path in enumerate(paths) if path.is_file()]
        keys = {place: key_of(reading.how, path.read_bytes()) for place, path in existing}
    known = recalled(list(keys.values()))
    found = {place: known[key] for place, key in keys.items() if key in known}
    missing = [place for place in range(len(paths)) if place not in found]
    if not missing:
        return found
    reading.open()
    with progress_bar(len(missing), "Reading images", None) as advance:
        for first in range(0, len(missing), reading.batch):
            pictures = {}
            for place in missing[first : first + reading.batch]:
                try:
                    pictures[place] = read_picture(
                        paths[place], reading.picture, unusable, reading.draft
                    )
                except OSError:
                    if not skip_broken:
                        raise
                advance()
            done = dict(zip(pictures, reading.finished(list(pictures.values())), strict=True))
            if keys:
                keep({keys[place]: array for place, array in done.items()})
            found |= done
    return found


def read_levels(path: Path, unusable: Unusable = unreadable, *, color: bool = False) -> Floats:
    """Read one image file upright, as levels in [0, 1], gray, or red, green and blue on a third axis."""
    return read_picture(path, Levels(None, color).picture, unusable)


def read_picture(
    path: Path, use: Callable[[Image], Result], unusable: Unusable, draft: int | None = None
) -> Result:
    """Open one image file, and call a function with the upright image."""
    pillow = import_pillow()
    if path.exists() and not path.is_file():  # opening a pipe would wait for a writer
        raise unusable(path, "not a file")
    try:
        # Opened here, because Pillow maps files that it opens by name, which scrambles turned TIFF.
        with path.open("rb") as stream, pillow.open(stream) as image:
            if draft is not None:
                image.draft(None, (draft, draft))
            return use(upright(image))
    except pillow.UnidentifiedImageError as error:
        raise unusable(path, "cannot identify image file") from error
    except (*_DAMAGE, pillow.DecompressionBombError) as error:
        raise unusable(path, str(error)) from error


def is_image(path: Path) -> bool:
    """Return whether Pillow can read this kind of file, by its first bytes."""
    pillow = import_pillow()
    try:
        with pillow.open(path):
            return True
    except pillow.UnidentifiedImageError:
        return False
    except (*_DAMAGE, pillow.DecompressionBombError):
        return True  # it is one, and broken


def import_pillow() -> Any:
    """Import Pillow, or raise an error that names its extra."""
    return optional("PIL.Image", "Reading image files needs Pillow", "images")


def upright(image: Image) -> Image:
    """Turn the image upright by EXIF, and convert inks to red, green and blue, as browsers do."""
    image.load()
    # Pillow turns TIFF itself, and some of its versions leave the tag unchanged. Other images are not
    # turned by its `exif_transpose`, which writes EXIF again and fails if a camera wrote invalid
    # entries.
    turn = None if image.format == "TIFF" else _TURNS.get(image.getexif().get(_ORIENTATION, 1))
    turned = image if turn is None else image.transpose(import_pillow().Transpose[turn])
    return turned.convert("RGB") if turned.mode == "CMYK" else turned


def _gray_levels(image: Image) -> Floats:
    """Return gray levels, with the weights of ITU-R 601."""
    white = _white(image)
    # "F" keeps fractions of a gray level, which "L" rounds away, and all sixteen bits.
    gray = np.asarray(image.convert("F"), dtype=np.float64) / white
    if gray.min() < 0.0 or gray.max() > 1.0:
        raise ValueError(f"gray levels outside 0..{white:.0f}")
    return gray


def _color_levels(image: Image) -> Floats:
    """Return three channels, which are equal for gray images. Transparency is ignored."""
    if _white(image) != 255.0:  # gray levels with sixteen bits
        return np.repeat(_gray_levels(image)[:, :, np.newaxis], 3, axis=2)
    return np.asarray(image.convert("RGB"), dtype=np.float64) / 255.0


def eight_bits(image: Image) -> Image:
    """Return red, green and blue with eight bits each, whatever the image has.

    Transparency is ignored.
    """
    if _white(image) == 255.0:
        return image.convert("RGB")
    levels = np.rint(255.0 * _gray_levels(image)).astype(np.uint8)
    return import_pillow().fromarray(levels).convert("RGB")


def _white(image: Image) -> float:
    white = _WHITE.get(image.mode)
    if white is None:
        raise ValueError(f"mode {image.mode} has no agreed white level")
    return white


def area_average(image: Floats, size: tuple[int, int]) -> Floats:
    """Return an image of another size, in which every pixel is the mean of the area that it covers."""
    if image.ndim == 3:
        return np.stack([area_average(channel, size) for channel in np.moveaxis(image, 2, 0)], axis=2)
    height, width = image.shape
    means = _overlaps(height, size[0]) @ image @ _overlaps(width, size[1]).T
    # A mean lies between the extremes, but rounding would put white at 1 + 2e-16.
    return np.clip(means, image.min(), image.max())


def _overlaps(n_in: int, n_out: int) -> Floats:
    """Return the share of output cell i (row) that input pixel j (column) covers. Rows sum to one.

    In units of 1/(n_in n_out) of the side, cell i is [i n_in, (i + 1) n_in) and pixel j is [j n_out, (j
    + 1) n_out). These are whole numbers, so no rounding decides which pixels touch a cell.
    """
    cell = n_in * np.arange(n_out)[:, np.newaxis]
    pixel = n_out * np.arange(n_in)
    overlap = np.minimum(cell + n_in, pixel + n_out) - np.maximum(cell, pixel)
    return np.maximum(overlap, 0) / n_in


def unit_rows(X: Floats, files: Sequence[str], cure: str) -> Floats:
    """Divide every row by its norm, in place. An all-black image raises an error."""
    norms: Floats = np.sqrt(np.einsum("ij,ij->i", X, X))  # without a second array the size of X
    black = np.flatnonzero(norms == 0.0)
    if black.size:
        rule = "be False if an image is all black, because its norm is 0"
        raise rule_error("unit_norm", rule, files[black[0]], cure)
    X /= norms[:, np.newaxis]  # in place: MNIST is 0.4 GiB
    return X
