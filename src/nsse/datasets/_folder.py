"""Read a folder of images with one sub-folder per class, or images without classes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nsse._support.files import written
from nsse.datasets._images import ImageSet, Levels, ReadImages, Reading, is_image, read_images

# One image to learn from and one to test.
FEWEST_IMAGES, FEWEST_CLASSES = 2, 2

# Endings of files that must be images. Other files are opened, and left out if they are no images.
IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".pgm", ".ppm", ".bmp", ".gif", ".tif", ".tiff", ".webp")

SAME_CHANNELS = 0.05  # levels by which the channels of a gray JPEG may differ
MOST_COLORS = 200  # images that are compared with gray

_RULE = "`path` must be a folder with one sub-folder per class and whole images in these"
_CURE = "Replace or remove it, or leave broken images out with `skip_broken`."


def read_folder(
    folder: Path,
    reading: Reading,
    *,
    fewest_images: int = FEWEST_IMAGES,
    fewest_classes: int = FEWEST_CLASSES,
    skip_broken: bool = False,
) -> ImageSet:
    """Read every image of every sub-folder. Classes and images are ordered by their names."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{_RULE}. Got {str(folder)!r}, which is not a folder. Check the path.")
    classes = _entries_of(folder, only_folders=True)
    _check_depth(folder, classes)
    if len(classes) < fewest_classes:
        raise ValueError(
            f"{_RULE}, for at least {fewest_classes} classes. Got {str(folder)!r} with {len(classes)}. "
            "Make a sub-folder for every class and put its images there."
        )
    images, skipped = [], []
    for folder_of_class in classes:
        found, others = _images_and_others(_entries_of(folder_of_class))
        if len(found) < fewest_images:
            raise _too_few(folder_of_class, len(found), fewest_images)
        images.append(found)
        skipped += others
    paths = [path for of_class in images for path in of_class]
    codes = np.repeat(np.arange(len(classes), dtype=np.int64), [len(of_class) for of_class in images])
    read = read_images(paths, reading, _unusable, skip_broken=skip_broken)
    for code in np.flatnonzero(np.bincount(codes[read.kept], minlength=len(classes)) < fewest_images):
        raise _too_few(classes[code], int(np.sum(codes[read.kept] == code)), fewest_images)
    source = f"images of folder {written(folder.resolve().name)}, one sub-folder per class"
    return _image_set(read, paths, skipped, codes, source, _class_names(classes))


def _image_set(
    read: ReadImages,
    paths: list[Path],
    skipped: list[Path],
    codes: NDArray[np.int64],
    source: str,
    class_names: tuple[str, ...] | None = None,
) -> ImageSet:
    """Return the images of some files, without those that could not be read."""
    files = [str(path) for path in paths]
    kept, broken = [files[place] for place in read.kept], tuple(files[place] for place in read.broken)
    others = tuple(map(str, skipped))
    return ImageSet(read.images, codes[read.kept], kept, source, None, class_names, others, broken)


def _class_names(classes: list[Path]) -> tuple[str, ...]:
    names = tuple(written(path.name) for path in classes)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"`path` must have sub-folders whose names differ once bytes that are no UTF-8 are escaped. "
            f"Got two {twice[0]!r}. Rename one of them."
        )
    return names


def read_unlabeled(path: Path, reading: Reading, *, skip_broken: bool = False) -> ImageSet:
    """Read one image, or every image of a folder without sub-folders, in the order of their names."""
    paths, skipped = _images_and_others(_entries_of(path)) if path.is_dir() else ([path], [])
    read = read_images(paths, reading, _no_image, skip_broken=skip_broken)
    if not len(read.kept):
        raise ValueError(
            f"`path` must be an image or a folder of images. Got {str(path)!r}, without any."
        )
    codes = np.zeros(len(paths), dtype=np.int64)
    return _image_set(read, paths, skipped, codes, f"images of {written(path.name)}")


def _no_image(path: Path, why: str) -> OSError:
    return OSError(f"`path` must hold whole images. Got {str(path)!r} ({why}). {_CURE}")


def _images_and_others(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Return images and other files, such as notes. A file with the ending of an image must be one."""
    for path in paths:
        if not path.is_file():
            raise _unusable(path, "not a file")
    images = [path for path in paths if path.suffix.lower() in IMAGE_ENDINGS or is_image(path)]
    return images, [path for path in paths if path not in set(images)]


def has_color(folder: Path) -> bool:
    """Return whether at least one of some images of a folder has color. Broken images are left out."""
    files = [file for own in _entries_of(folder, only_folders=True) for file in sorted(own.iterdir())]
    files = [file for file in files if file.suffix.lower() in IMAGE_ENDINGS and file.is_file()]
    some = files[:: 1 + len(files) // MOST_COLORS]
    images = read_images(some, Levels((25, 25), color=True), skip_broken=True).images
    return bool(np.abs(images - images[..., :1]).max(initial=0.0) > SAME_CHANNELS)


def has_folders(folder: Path) -> bool:
    """Return whether a folder contains visible folders."""
    return bool(_entries_of(folder, only_folders=True))


def _check_depth(folder: Path, classes: list[Path]) -> None:
    """Raise an error for a folder whose sub-folders contain the classes, and name the one to take."""
    for own in sorted(classes, key=lambda path: path.name != "train"):
        inner = _entries_of(own, only_folders=True)
        if inner and not any(path.suffix.lower() in IMAGE_ENDINGS for path in own.iterdir()):
            more = "one more folder" if len(inner) == 1 else f"{len(inner)} more folders"
            raise ValueError(
                f"{_RULE}. Got {str(folder)!r}, where {own.name!r} holds {more}. "
                f"Pass {str(own)!r}, if those are the classes."
            )


def _entries_of(folder: Path, *, only_folders: bool = False) -> list[Path]:
    """Return the visible files of a folder by name, without those that macOS adds to archives."""
    shown = [path for path in folder.iterdir() if not path.name.startswith((".", "__MACOSX"))]
    return sorted(path for path in shown if path.is_dir() or not only_folders)


def _too_few(folder: Path, n_images: int, fewest: int) -> ValueError:
    return ValueError(
        f"{_RULE}, at least {fewest} in each. Got {str(folder)!r} with {n_images}. "
        "Add images or remove the sub-folder."
    )


def _unusable(path: Path, why: str) -> OSError:
    return OSError(f"{_RULE}. Got {str(path)!r} ({why}). {_CURE}")
