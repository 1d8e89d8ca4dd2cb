"""Find data sets by name, with the files of which they consist.

A `Place` describes a data set. A function lists its image files with their labels, and `read_tree` reads
them. MNIST consists of four IDX files, whose headers are checked.
"""

from __future__ import annotations

import gzip
import os
import re
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nsse.datasets._images import ImageSet, Levels, Size, read_images, unreadable

DataHome = str | os.PathLike[str] | None

ENVIRONMENT_VARIABLE = "NSSE_DATA"


class DatasetNotFoundError(FileNotFoundError):
    """The folder of a data set does not exist. If it exists and is incomplete, another error is raised.

    See Also
    --------
    nsse.datasets.known_datasets : Lists which data sets were found, and how to get the others.

    Examples
    --------
    >>> import tempfile
    >>> from nsse.datasets import DatasetNotFoundError, load_dataset
    >>> with tempfile.TemporaryDirectory() as nothing:
    ...     try:
    ...         load_dataset("orl", data_home=nothing)
    ...     except DatasetNotFoundError:
    ...         print("not found")
    not found
    """


@dataclass(frozen=True)
class Place:
    """The published layout of a data set: a folder, the files in it, and the official page."""

    title: str
    folder: str
    files: str
    page: str

    @property
    def source(self) -> str:
        """The source of the data, without the path on this machine."""
        return f"{self.title}, {self.page} (folder {self.folder})"

    def locate(self, data_home: DataHome) -> Path:
        """Find the folder under `data_home`, or under the environment's folder if that is None."""
        home = data_home if data_home is not None else os.environ.get(ENVIRONMENT_VARIABLE) or None
        if home is None:
            raise self._not_found(f"None, and {ENVIRONMENT_VARIABLE} is not set")
        folder = Path(home).expanduser() / self.folder
        if not folder.is_dir():
            origin = f" from {ENVIRONMENT_VARIABLE}" if data_home is None else ""
            raise self._not_found(f"{str(home)!r}{origin}, and {str(folder)!r} is not a folder")
        return folder

    def check_present(self, folder: Path, paths: Sequence[Path]) -> None:
        """Raise an error that names the first missing file."""
        missing = [path for path in paths if not path.is_file()]
        if missing:
            first = missing[0].relative_to(folder).as_posix()
            raise self.incomplete(folder, f"{first} ({len(missing)} of {len(paths)} files missing)")

    def incomplete(self, folder: Path, what: str) -> FileNotFoundError:
        """Build the error for a data set of which some files are missing."""
        return FileNotFoundError(
            f"`data_home` must hold the whole of {self.title}: {self.files}. "
            f"Got {str(folder)!r} without {what}. Download it again from {self.page}."
        )

    def _not_found(self, got: str) -> DatasetNotFoundError:
        return DatasetNotFoundError(
            f"`data_home` must be the folder that holds {self.folder!r} with {self.files}. "
            f"Got {got}. Download {self.title} from {self.page}, store it as {self.folder!r}, "
            f"and pass the folder around it as `data_home` or set {ENVIRONMENT_VARIABLE} to it."
        )


Labeled: TypeAlias = list[tuple[Path, int]]

# The part of the larger sets that the paper uses. The paper does not name it, so we use the first
# images.
YALE_SUBJECTS, YALE_IMAGES = [subject for subject in range(1, 40) if subject != 14], 59
FEI_SUBJECTS = 50
CSIE_SUBJECTS, CSIE_ANGLES = 40, range(-90, 91, 5)
MIT_CBCL_SUBJECTS = 10
MIT_CBCL_IMAGES_PER_SUBJECT = {"training-synthetic": 324, "test": 200}

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
    title=f"Extended Yale B (cropped), first {YALE_IMAGES} images per subject",
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


def list_fei(folder: Path) -> Labeled:
    """List the 14 images of the first 50 subjects, which the first archive contains."""
    part = folder / "originalimages_part1"
    home = part if part.is_dir() else folder
    images = [(subject, image) for subject in range(1, FEI_SUBJECTS + 1) for image in range(1, 15)]
    return [(home / f"{subject}-{image:02d}.jpg", subject) for subject, image in images]


def list_yale(folder: Path) -> Labeled:
    """List the first 59 images of every subject."""
    # The pattern leaves out the other files of the official archive, *_Ambient.pgm and *.pgm.bad.
    names = [(f"yaleB{subject:02d}", subject) for subject in YALE_SUBJECTS]
    patterns = [(f"{name}/{name}_P00A[+-]???E[+-]??.pgm", subject) for name, subject in names]
    return [
        (path, subject)
        for pattern, subject in patterns
        for path in _first(YALE, folder, pattern, YALE_IMAGES)
    ]


def list_mit_cbcl(folder: Path) -> Labeled:
    """List the synthetic and then the test images of every subject, each in the order of names."""
    synthetic = (folder / "training-synthetic").glob("[0-9][0-9][0-9][0-9]_*.pgm")
    subjects = sorted({path.name[:4] for path in synthetic})
    if len(subjects) != MIT_CBCL_SUBJECTS:
        count = f"{len(subjects)} instead of {MIT_CBCL_SUBJECTS} in training-synthetic"
        raise MIT_CBCL.incomplete(folder, f"its subjects ({count})")
    return [
        (path, int(subject))
        for subject in subjects
        for part, needed in MIT_CBCL_IMAGES_PER_SUBJECT.items()
        for path in _first(MIT_CBCL, folder, f"{part}/{subject}_*.pgm", needed)
    ]


def _first(place: Place, folder: Path, pattern: str, needed: int) -> list[Path]:
    """Return the first files that match a pattern, in the order of their names."""
    found = sorted(folder.glob(pattern))
    if len(found) < needed:
        raise place.incomplete(folder, f"enough images {pattern} (only {len(found)} of the {needed})")
    return found[:needed]


def list_csie(folder: Path) -> Labeled:
    """List the 37 photographs of the first 40 subjects, by angle from -90 to +90 degrees."""
    subjects = range(1, CSIE_SUBJECTS + 1)
    return [(path, subject) for subject in subjects for path in _views_of(folder, subject)]


def _views_of(folder: Path, subject: int) -> list[Path]:
    """Find the views by the angle in their names, however its sign and zeros are written."""
    name = f"Subject{subject:02d}"
    pattern = re.compile(rf"A_0*{subject}_([+-]?\d+)\.jpg", re.IGNORECASE)
    matches = [(pattern.fullmatch(path.name), path) for path in (folder / name).glob("*")]
    views = [(int(match[1]), path) for match, path in matches if match]
    angles = [angle for angle, _ in views]
    wrong = [angle for angle in CSIE_ANGLES if angles.count(angle) != 1]
    if wrong:
        count = f"{len(wrong)} of {len(CSIE_ANGLES)} angles are missing or there twice"
        raise CSIE.incomplete(folder, f"one {name}/A_{subject:02d}_{wrong[0]}.jpg ({count})")
    return [path for angle, path in sorted(views) if angle in CSIE_ANGLES]


LAYOUTS = {
    "coil20": (COIL20, list_coil20),
    "orl": (ORL, list_orl),
    "yale": (YALE, list_yale),
    "fei": (FEI, list_fei),
    "csie": (CSIE, list_csie),
    "mit_cbcl": (MIT_CBCL, list_mit_cbcl),
}


MNIST = Place(
    title="MNIST",
    folder="mnist",
    files="{train,t10k}-images-idx3-ubyte.gz, {train,t10k}-labels-idx1-ubyte.gz",
    page="https://ossci-datasets.s3.amazonaws.com/mnist/",
)

# The official parts in the order in which they are returned, with their numbers of images.
PARTS = {"train": 60_000, "t10k": 10_000}


def read_mnist(data_home: DataHome, _size: Size) -> ImageSet:
    """Read the training part, then the test part. The images stay 28 x 28."""
    folder = MNIST.locate(data_home)
    images = [_read_idx(folder / f"{part}-images-idx3-ubyte.gz", n, 28, 28) for part, n in PARTS.items()]
    labels = [_read_idx(folder / f"{part}-labels-idx1-ubyte.gz", n) for part, n in PARTS.items()]
    return ImageSet(
        images=np.concatenate(images) / 255.0,
        y=np.concatenate(labels).astype(np.int64),
        files=[f"{part}, image {i}" for part, n in PARTS.items() for i in range(n)],
        source=MNIST.source,
        n_train=PARTS["train"],
    )


def _read_idx(path: Path, *shape: int) -> NDArray[np.uint8]:
    """Read unsigned bytes of a known shape: magic number, one length per axis, then the data."""
    MNIST.check_present(path.parent, [path])
    try:
        data = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, str(error)) from error
    # 0x08 means unsigned bytes, and the number of axes follows.
    header = struct.pack(f">{1 + len(shape)}i", 0x0800 + len(shape), *shape)
    if not data.startswith(header):
        raise unreadable(path, f"its header is not that of bytes of shape {shape}")
    if len(data) != len(header) + np.prod(shape):
        raise unreadable(path, f"{len(data)} bytes instead of {len(header) + np.prod(shape)}")
    return np.frombuffer(data, dtype=np.uint8, offset=len(header)).reshape(shape)
