"""A folder of one's own images, one sub-folder per class."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nsse.datasets._cache import through_cache
from nsse.datasets._images import ImageSet, Size, read_images

# One image to learn from and one to be tested on.
FEWEST_IMAGES, FEWEST_CLASSES = 2, 2

_RULE = "`path` must be a folder with one sub-folder per class and nothing but images in these"


def read_folder(folder: Path, size: Size) -> ImageSet:
    """Read every image of every sub-folder; classes and images in the order of their names."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{_RULE}. Got {str(folder)!r}, which is not a folder. Check the path.")
    classes = _listed(folder, only_folders=True)
    if len(classes) < FEWEST_CLASSES:
        raise ValueError(
            f"{_RULE}, for at least {FEWEST_CLASSES} classes. Got {str(folder)!r} with {len(classes)}. "
            "Make a sub-folder for every class and put its images there."
        )
    images = [_images_of(folder_of_class) for folder_of_class in classes]
    paths = [path for of_class in images for path in of_class]
    return ImageSet(
        images=through_cache(folder, paths, size, lambda: read_images(paths, size, _unusable)),
        y=np.repeat(np.arange(len(classes), dtype=np.int64), [len(of_class) for of_class in images]),
        files=[str(path) for path in paths],
        source=f"images of folder {folder.resolve().name}, one sub-folder per class",
        class_names=tuple(path.name for path in classes),
    )


def _listed(folder: Path, *, only_folders: bool = False) -> list[Path]:
    """What a folder shows, by name; names that begin with a dot are hidden, as everywhere."""
    shown = [path for path in folder.iterdir() if not path.name.startswith(".")]
    return sorted(path for path in shown if path.is_dir() or not only_folders)


def _images_of(folder: Path) -> list[Path]:
    found = _listed(folder)
    for path in found:
        if not path.is_file():
            raise _unusable(path, "not a file")
    if len(found) < FEWEST_IMAGES:
        raise ValueError(
            f"{_RULE}, at least {FEWEST_IMAGES} in each. Got {str(folder)!r} with {len(found)}. "
            "Add images or remove the sub-folder."
        )
    return found


def _unusable(path: Path, why: str) -> OSError:
    return OSError(f"{_RULE}. Got {str(path)!r} ({why}). Replace or remove it.")
