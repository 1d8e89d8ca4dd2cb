"""A folder of one's own images, one sub-folder per class; or images without classes, to be labelled."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nsse._names import written
from nsse.datasets._cache import through_cache
from nsse.datasets._images import ImageSet, Size, read_images

# One image to learn from and one to be tested on.
FEWEST_IMAGES, FEWEST_CLASSES = 2, 2

# Endings by which a single file is taken for an image; in folders every file must be one.
PICTURES = (".png", ".jpg", ".jpeg", ".pgm", ".ppm", ".bmp", ".gif", ".tif", ".tiff", ".webp")

_RULE = "`path` must be a folder with one sub-folder per class and nothing but images in these"


def read_folder(
    folder: Path, size: Size, *, fewest_images: int = FEWEST_IMAGES, fewest_classes: int = FEWEST_CLASSES
) -> ImageSet:
    """Read every image of every sub-folder; classes and images in the order of their names."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{_RULE}. Got {str(folder)!r}, which is not a folder. Check the path.")
    classes = _entries_of(folder, only_folders=True)
    if len(classes) < fewest_classes:
        raise ValueError(
            f"{_RULE}, for at least {fewest_classes} classes. Got {str(folder)!r} with {len(classes)}. "
            "Make a sub-folder for every class and put its images there."
        )
    images = [_images_of(folder_of_class, fewest_images) for folder_of_class in classes]
    paths = [path for of_class in images for path in of_class]
    return ImageSet(
        images=through_cache(folder, paths, size, lambda: read_images(paths, size, _unusable)),
        y=np.repeat(np.arange(len(classes), dtype=np.int64), [len(of_class) for of_class in images]),
        files=[str(path) for path in paths],
        source=f"images of folder {written(folder.resolve().name)}, one sub-folder per class",
        class_names=_class_names(classes),
    )


def _class_names(classes: list[Path]) -> tuple[str, ...]:
    names = tuple(written(path.name) for path in classes)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"`path` must have sub-folders whose names differ once bytes that are no UTF-8 are escaped. "
            f"Got two {twice[0]!r}. Rename one of them."
        )
    return names


def read_pictures(path: Path, size: Size) -> ImageSet:
    """Read one image, or every image of a folder without sub-folders, in the order of their names."""
    paths = _entries_of(path) if path.is_dir() else [path]
    if not paths:
        raise ValueError(f"`path` must be an image or a folder of images. Got {str(path)!r}, empty.")
    home = path if path.is_dir() else path.parent
    return ImageSet(
        images=through_cache(home, paths, size, lambda: read_images(paths, size, _no_picture)),
        y=np.zeros(len(paths), dtype=np.int64),
        files=[str(file) for file in paths],
        source=f"images of {written(path.name)}",
    )


def _no_picture(path: Path, why: str) -> OSError:
    return OSError(f"`path` must hold whole images. Got {str(path)!r} ({why}). Replace or remove it.")


def _entries_of(folder: Path, *, only_folders: bool = False) -> list[Path]:
    """What a folder shows, by name; names that begin with a dot are hidden, as everywhere."""
    shown = [path for path in folder.iterdir() if not path.name.startswith(".")]
    return sorted(path for path in shown if path.is_dir() or not only_folders)


def _images_of(folder: Path, fewest: int) -> list[Path]:
    found = _entries_of(folder)
    for path in found:
        if not path.is_file():
            raise _unusable(path, "not a file")
    if len(found) < fewest:
        raise ValueError(
            f"{_RULE}, at least {fewest} in each. Got {str(folder)!r} with {len(found)}. "
            "Add images or remove the sub-folder."
        )
    return found


def _unusable(path: Path, why: str) -> OSError:
    return OSError(f"{_RULE}. Got {str(path)!r} ({why}). Replace or remove it.")
