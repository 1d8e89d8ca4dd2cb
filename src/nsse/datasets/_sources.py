"""Find data sets by name, with the files of which they consist and how these are read.

A `Place` describes a data set. A function lists its image files with their labels, and `read_tree` reads
them. MNIST consists of four IDX files, and all statements of their headers are checked.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nsse._support.errors import optional
from nsse.datasets._images import ImageSet, Levels, Size, read_images, unreadable
from nsse.datasets._store import cache_home

DataHome = str | os.PathLike[str] | None

ENVIRONMENT_VARIABLE = "NSSE_DATA"


@dataclass(frozen=True)
class Download:
    """Files under one address, with the SHA-256 of each."""

    address: str
    sha256: Mapping[str, str]

    def fetch(self, folder: Path) -> None:
        """Add the files that `folder` lacks, and leave existing files unchanged."""
        missing = [name for name in self.sha256 if not (folder / name).is_file()]
        if not missing:
            return
        pooch = optional("pooch", "Downloading data sets needs pooch", "download")
        for name in missing:
            try:
                # Pooch writes to a temporary file and renames it after the checksum.
                pooch.retrieve(
                    url=self.address + name,
                    known_hash=f"sha256:{self.sha256[name]}",
                    fname=name,
                    path=folder,
                )
            except (OSError, ValueError) as error:
                raise OSError(
                    f"`download` must reach {self.address}{name}, whose SHA-256 is "
                    f"{self.sha256[name]}. Got {error}. Try again, or put the file into "
                    f"{str(folder)!r} yourself."
                ) from error


class DatasetNotFoundError(FileNotFoundError):
    """The folder of a data set does not exist. If it exists and is incomplete, another error is raised.

    See Also
    --------
    nsse.datasets.known_datasets : Which are there, and how to get the others.

    Examples
    --------
    >>> import tempfile
    >>> from nsse.datasets import DatasetNotFoundError, load_dataset
    >>> with tempfile.TemporaryDirectory() as nothing:
    ...     try:
    ...         load_dataset("orl", data_home=nothing)
    ...     except DatasetNotFoundError:
    ...         print("not there")
    not there
    """


@dataclass(frozen=True)
class Place:
    """The published layout of a data set: a folder, the files in it, and the official page."""

    title: str
    folder: str
    files: str
    page: str
    download: Download | None = None

    @property
    def source(self) -> str:
        """The source of the data, without the path on this machine."""
        return f"{self.title}, {self.page} (folder {self.folder})"

    def locate(self, data_home: DataHome) -> Path:
        """Find the folder under `data_home`, or under the environment's folder if that is None.

        If neither is given, a data set that was downloaded before is found in the cache.
        """
        home = _home(data_home)
        if home is None:
            home = _downloads()
            if not (home / self.folder).is_dir():
                raise self._not_found(f"None, and {ENVIRONMENT_VARIABLE} is not set")
        folder = home / self.folder
        if not folder.is_dir():
            origin = f" from {ENVIRONMENT_VARIABLE}" if data_home is None else ""
            raise self._not_found(f"{str(home)!r}{origin}, and {str(folder)!r} is not a folder")
        return folder

    def fetch(self, data_home: DataHome) -> None:
        """Download missing files if there is a source whose files can be verified."""
        if self.download is not None:
            self.download.fetch((_home(data_home) or _downloads()) / self.folder)

    def check_present(self, folder: Path, paths: Sequence[Path]) -> None:
        """Raise an error that names the first of the files that are not there."""
        missing = [path for path in paths if not path.is_file()]
        if missing:
            first = missing[0].relative_to(folder).as_posix()
            count = f"{len(missing)} of {len(paths)} files missing"
            raise self.incomplete(folder, f"{first} ({count})")

    def incomplete(self, folder: Path, what: str) -> FileNotFoundError:
        """Build the error for a data set that is there in part."""
        return FileNotFoundError(
            f"`data_home` must hold the whole of {self.title}: {self.files}. "
            f"Got {str(folder)!r} without {what}. Download it again from {self.page}."
        )

    def _not_found(self, got: str) -> DatasetNotFoundError:
        return DatasetNotFoundError(
            f"`data_home` must be the folder that holds {self.folder!r} with {self.files}. "
            f"Got {got}. Download {self.title} from {self.page}, unpack it as {self.folder!r}, "
            f"and pass the folder around it as `data_home` or set {ENVIRONMENT_VARIABLE} to it"
            f"{', or pass `download=True`' if self.download else ''}."
        )


def _home(data_home: DataHome) -> Path | None:
    home = data_home if data_home is not None else os.environ.get(ENVIRONMENT_VARIABLE) or None
    return None if home is None else Path(home).expanduser()


def _downloads() -> Path:
    return cache_home() / "data"


Labeled: TypeAlias = list[tuple[Path, int]]

# The part of the larger sets that the paper uses. The paper does not name it, so we take the first
# images.
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


_SHA256 = {
    "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}

MNIST = Place(
    title="MNIST",
    folder="mnist",
    files="{train,t10k}-images-idx3-ubyte.gz, {train,t10k}-labels-idx1-ubyte.gz",
    page="http://yann.lecun.com/exdb/mnist/",
    # A copy of the official files, with the checksums of the originals.
    download=Download("https://ossci-datasets.s3.amazonaws.com/mnist/", _SHA256),
)

# The official parts in the order in which they are returned, with their numbers of images.
PARTS = {"train": 60_000, "t10k": 10_000}


def read_mnist(data_home: DataHome, _size: Size) -> ImageSet:
    """Read the training part, then the test part; the images stay 28 x 28."""
    folder = MNIST.locate(data_home)
    images = [_read_idx(folder / _images_file(part), (n, 28, 28)) for part, n in PARTS.items()]
    labels = [_read_idx(folder / f"{part}-labels-idx1-ubyte.gz", (n,)) for part, n in PARTS.items()]
    return ImageSet(
        images=np.concatenate(images) / 255.0,
        y=np.concatenate(labels).astype(np.int64),
        files=[f"{_images_file(part)}, image {i}" for part, n in PARTS.items() for i in range(n)],
        source=MNIST.source,
        n_train=PARTS["train"],
    )


def _images_file(part: str) -> str:
    return f"{part}-images-idx3-ubyte.gz"


def _read_idx(path: Path, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Read unsigned bytes of a known shape: magic number, one length per axis, then the data."""
    data = _unzip(path)
    expected = (0x0800 + len(shape), *shape)  # 0x08 means unsigned bytes, and the number of axes follows
    n_header = 4 * len(expected)
    if len(data) < n_header:
        raise unreadable(path, f"{len(data)} bytes, shorter than its header")
    magic, *lengths = np.frombuffer(data, dtype=">i4", count=len(expected)).tolist()
    if magic != expected[0]:
        raise unreadable(path, f"magic number {magic} instead of {expected[0]}")
    if tuple(lengths) != shape:
        raise unreadable(path, f"its header says {tuple(lengths)} instead of {shape}")
    if len(data) != n_header + np.prod(shape):
        raise unreadable(path, f"{len(data)} bytes instead of {n_header + np.prod(shape)}")
    return np.frombuffer(data, dtype=np.uint8, offset=n_header).reshape(shape)


def _unzip(path: Path) -> bytes:
    MNIST.check_present(path.parent, [path])
    try:
        with gzip.open(path) as stream:
            return stream.read()
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, str(error)) from error
