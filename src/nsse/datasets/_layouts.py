"""Which image files make up a data set, in which order, and which labels their names carry.

A layout is a ``Place`` and a function that lists (file, label) pairs under the folder found; all
the rest is shared by :func:`read_tree`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np

from nsse.datasets._images import ImageSet, Size, read_images
from nsse.datasets._places import DataHome, Place

Labelled: TypeAlias = list[tuple[Path, int]]

YALE_IMAGES_PER_SUBJECT = 59

COIL20 = Place(
    title="COIL-20 (processed)",
    folder="coil-20-proc",
    files="obj{1..20}__{0..71}.png",
    page="https://cave.cs.columbia.edu/repository/COIL-20",
)
ORL = Place(
    title="ORL (AT&T) faces",
    folder="orl_faces",
    files="s{1..40}/{1..10}.pgm",
    page="https://cam-orl.co.uk/facedatabase.html",
)
YALE = Place(
    title=f"Extended Yale B (cropped), first {YALE_IMAGES_PER_SUBJECT} images per subject",
    folder="CroppedYale",
    files="yaleB{01..39, no 14}/yaleBnn_P00A±aaaE±ee.pgm",
    page="http://vision.ucsd.edu/~leekc/ExtYaleDatabase/ExtYaleB.html",
)


def read_tree(
    place: Place, list_images: Callable[[Path], Labelled], data_home: DataHome, size: Size
) -> ImageSet:
    """Find, list, check and read a data set of image files."""
    folder = place.locate(data_home)
    labelled = list_images(folder)
    paths = [path for path, _ in labelled]
    place.check_present(folder, paths)
    return ImageSet(
        images=read_images(paths, size),
        y=np.array([label for _, label in labelled], dtype=np.int64),
        files=[str(path) for path in paths],
        source=place.source,
    )


def list_coil20(folder: Path) -> Labelled:
    """List the 72 views of every object, by object and then by angle."""
    views = [(number, view) for number in range(1, 21) for view in range(72)]
    return [(folder / f"obj{number}__{view}.png", number) for number, view in views]


def list_orl(folder: Path) -> Labelled:
    """List the 10 images of every subject, both in the order of their numbers."""
    images = [(subject, image) for subject in range(1, 41) for image in range(1, 11)]
    return [(folder / f"s{subject}" / f"{image}.pgm", subject) for subject, image in images]


def list_yale(folder: Path) -> Labelled:
    """List the first 59 images of every subject."""
    subjects = [subject for subject in range(1, 40) if subject != 14]
    return [(path, subject) for subject in subjects for path in _first_of(folder, subject)]


def _first_of(folder: Path, subject: int) -> list[Path]:
    name = f"yaleB{subject:02d}"
    # The pattern leaves out what the official archive has besides: *_Ambient.pgm and *.pgm.bad.
    found = sorted((folder / name).glob(f"{name}_P00A[+-]???E[+-]??.pgm"))
    if len(found) < YALE_IMAGES_PER_SUBJECT:
        count = f"only {len(found)} of the {YALE_IMAGES_PER_SUBJECT} images needed"
        raise YALE.incomplete(folder, f"enough images of {name} ({count})")
    return found[:YALE_IMAGES_PER_SUBJECT]
