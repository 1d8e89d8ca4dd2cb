"""Which image files make up a data set, in which order, and which labels their names carry.

A layout is a ``Place`` and a function that lists (file, label) pairs under the folder found; all
the rest is shared by :func:`read_tree`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np

from nsse.datasets._images import ImageSet, Levels, Size, read_images
from nsse.datasets._places import DataHome, Place

Labeled: TypeAlias = list[tuple[Path, int]]

# What the paper uses of the larger sets. It does not say which: we take the first.
YALE_IMAGES_PER_SUBJECT = 59
FEI_SUBJECTS = 50
CSIE_SUBJECTS = 40
MIT_CBCL_SUBJECTS = 10
MIT_CBCL_IMAGES_PER_SUBJECT = {"training-synthetic": 324, "test": 200}

CSIE_ANGLES = range(-90, 91, 5)

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
FEI = Place(
    title=f"FEI faces, first {FEI_SUBJECTS} subjects",
    folder="FEI",
    files="{1..50}-{01..14}.jpg, there or in originalimages_part1",
    page="https://fei.edu.br/~cet/facedatabase.html",
)
CSIE = Place(
    title=f"ROBOTICS-CSIE faces, first {CSIE_SUBJECTS} subjects",
    folder="CSIE",
    files="Subject{01..40}/A_{01..40}_{-90..90 by 5}.jpg",
    page="http://robotics.csie.ncku.edu.tw/Databases/FaceDetect_PoseEstimate.htm",
)
MIT_CBCL = Place(
    title="MIT-CBCL faces, first 324 synthetic and first 200 test images per subject",
    folder="MIT-CBCL-facerec-database",
    files="training-synthetic/{subject:04d}_*.pgm, test/{subject:04d}_*.pgm of 10 subjects",
    page="http://cbcl.mit.edu/software-datasets/heisele/facerecognition-database.html",
)


def read_tree(
    place: Place, list_images: Callable[[Path], Labeled], data_home: DataHome, size: Size
) -> ImageSet:
    """Find, list, check and read a data set of image files."""
    folder = place.locate(data_home)
    labeled = list_images(folder)
    paths = [path for path, _ in labeled]
    place.check_present(folder, paths)
    return ImageSet(
        images=read_images(paths, Levels(size)).images,
        y=np.array([label for _, label in labeled], dtype=np.int64),
        files=[str(path) for path in paths],
        source=place.source,
    )


def list_coil20(folder: Path) -> Labeled:
    """List the 72 views of every object, by object and then by angle."""
    views = [(number, view) for number in range(1, 21) for view in range(72)]
    return [(folder / f"obj{number}__{view}.png", number) for number, view in views]


def list_orl(folder: Path) -> Labeled:
    """List the 10 images of every subject, both in the order of their numbers."""
    images = [(subject, image) for subject in range(1, 41) for image in range(1, 11)]
    return [(folder / f"s{subject}" / f"{image}.pgm", subject) for subject, image in images]


def list_yale(folder: Path) -> Labeled:
    """List the first 59 images of every subject."""
    subjects = [subject for subject in range(1, 40) if subject != 14]
    return [(path, subject) for subject in subjects for path in _first_of(folder, subject)]


def _first_of(folder: Path, subject: int) -> list[Path]:
    name = f"yaleB{subject:02d}"
    # The pattern leaves out what the official archive has besides: *_Ambient.pgm and *.pgm.bad.
    found = sorted((folder / name).glob(f"{name}_P00A[+-]???E[+-]??.pgm"))
    return _first(YALE, folder, name, found, YALE_IMAGES_PER_SUBJECT)


def _first(place: Place, folder: Path, whose: str, found: list[Path], needed: int) -> list[Path]:
    if len(found) < needed:
        count = f"only {len(found)} of the {needed} images needed"
        raise place.incomplete(folder, f"enough images of {whose} ({count})")
    return found[:needed]


def list_fei(folder: Path) -> Labeled:
    """List the 14 images of the first 50 subjects, which are those of the first archive."""
    part = folder / "originalimages_part1"
    home = part if part.is_dir() else folder
    images = [(subject, image) for subject in range(1, FEI_SUBJECTS + 1) for image in range(1, 15)]
    return [(home / f"{subject}-{image:02d}.jpg", subject) for subject, image in images]


def list_csie(folder: Path) -> Labeled:
    """List the 37 photographs of the first 40 subjects, by angle from -90 to +90 degrees."""
    subjects = range(1, CSIE_SUBJECTS + 1)
    return [(path, subject) for subject in subjects for path in _views_of(folder, subject)]


def _views_of(folder: Path, subject: int) -> list[Path]:
    """Find the views by the angle in their names, however its sign and zeros are written."""
    name = f"Subject{subject:02d}"
    pattern = re.compile(rf"A_0*{subject}_([+-]?\d+)\.jpg", re.IGNORECASE)
    views: dict[int, Path] = {}
    for path in sorted((folder / name).glob("*")):
        angle = pattern.fullmatch(path.name)
        if angle and views.setdefault(int(angle[1]), path) != path:
            twice = f"one image per angle ({views[int(angle[1])].name} and {path.name} in {name})"
            raise CSIE.incomplete(folder, twice)
    missing = [angle for angle in CSIE_ANGLES if angle not in views]
    if missing:
        count = f"{len(missing)} of {len(CSIE_ANGLES)} angles missing"
        raise CSIE.incomplete(folder, f"{name}/A_{subject:02d}_{missing[0]}.jpg ({count})")
    return [views[angle] for angle in CSIE_ANGLES]


def list_mit_cbcl(folder: Path) -> Labeled:
    """List the synthetic and then the test images of every subject, each in the order of names."""
    part = folder / "training-synthetic"
    subjects = sorted({path.name[:4] for path in part.glob("[0-9][0-9][0-9][0-9]_*.pgm")})
    if len(subjects) != MIT_CBCL_SUBJECTS:
        count = f"{len(subjects)} instead of {MIT_CBCL_SUBJECTS} in training-synthetic"
        raise MIT_CBCL.incomplete(folder, f"its subjects ({count})")
    return [(path, int(subject)) for subject in subjects for path in _faces_of(folder, subject)]


def _faces_of(folder: Path, subject: str) -> list[Path]:
    found = []
    for part, needed in MIT_CBCL_IMAGES_PER_SUBJECT.items():
        own = sorted((folder / part).glob(f"{subject}_*.pgm"))
        found += _first(MIT_CBCL, folder, f"{subject} in {part}", own, needed)
    return found


LAYOUTS = {
    "coil20": (COIL20, list_coil20),
    "orl": (ORL, list_orl),
    "yale": (YALE, list_yale),
    "fei": (FEI, list_fei),
    "csie": (CSIE, list_csie),
    "mit_cbcl": (MIT_CBCL, list_mit_cbcl),
}
