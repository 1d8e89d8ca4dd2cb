"""Load a data set by name or a folder of images, and write one as a folder of PNG files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from nsse._support.errors import Described, rule_error
from nsse.datasets._folder import read_folder
from nsse.datasets._images import ImageSet, Levels, Size, checked_size, import_pillow, unit_rows
from nsse.datasets._sources import (
    ENVIRONMENT_VARIABLE,
    LAYOUTS,
    MNIST,
    DataHome,
    DatasetNotFoundError,
    read_mnist,
    read_tree,
)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Images as rows of a matrix, with their labels.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features), float64
        One image per row, row by row from the top, as gray levels in [0, 1], or divided by the Euclidean
        norm of the image.
    y : ndarray of shape (n_samples,), int64
        Class numbers of the data set.
    image_shape : tuple of (int, int) or (int, int, 3)
        Height and width, and 3 in color. ``X[i].reshape(image_shape)`` is an image.
    source : str
        The source of the data: title, official page and folder name.
    name : str
        The name under which it was loaded.
    n_train : int or None
        The number of training samples if there is an official split. They come first, and the official
        test part is ``X[n_train:]``. None if there is no official split.
    class_names : tuple of str or None
        Names of the classes in the order of their numbers, or None if they have none.

    See Also
    --------
    nsse.datasets.load_dataset : Loads one by name.

    Examples
    --------
    >>> from nsse.datasets import load_dataset
    >>> digits = load_dataset("digits")
    >>> digits.X[0].reshape(digits.image_shape).shape
    (8, 8)
    """

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    image_shape: tuple[int, ...]
    source: str
    name: str
    n_train: int | None = None
    class_names: tuple[str, ...] | None = None


def load_dataset(
    name: str | os.PathLike[str],
    *,
    data_home: DataHome = None,
    size: Size = (25, 25),
    unit_norm: bool = False,
) -> Dataset:
    """Load a data set by name, or a folder of images.

    ============ ============================================== ======= ======= ==================
    name         contents, folder under `data_home`             images  classes labels
    ============ ============================================== ======= ======= ==================
    ``digits``   scikit-learn's digits, 8 x 8, no folder           1797      10 0 ... 9
    ``coil20``   COIL-20 (processed), ``coil-20-proc``             1440      20 objects 1 ... 20
    ``orl``      ORL (AT&T) faces, ``orl_faces``                    400      40 subjects 1 ... 40
    ``yale``     Extended Yale B (cropped), ``CroppedYale``        2242      38 subjects 1 ... 39,
                                                                                without 14
    ``fei``      FEI faces, ``FEI``                                 700      50 subjects 1 ... 50
    ``csie``     ROBOTICS-CSIE faces, ``CSIE``                     1480      40 subjects 1 ... 40
    ``mit_cbcl`` MIT-CBCL faces,                                   5240      10 subjects as the
                 ``MIT-CBCL-facerec-database``                                  files name them
    ``mnist``    MNIST, 28 x 28, ``mnist``                        70000      10 0 ... 9
    ============ ============================================== ======= ======= ==================

    Parameters
    ----------
    name : str or path-like
        A name of the table. A path-like object, or a string with a path separator, is a folder of
        images instead and goes to :func:`load_image_folder`.
    data_home : str or path-like, default=None
        The folder that contains the folders of the table. None reads the environment variable
        ``NSSE_DATA``.
    size : tuple of (int, int) or None, default=(25, 25)
        Height and width to which images are averaged. None leaves their size unchanged. It is not
        applied to ``digits`` and ``mnist``.
    unit_norm : bool, default=False
        Divide every image by its Euclidean norm.

    Returns
    -------
    Dataset
        Images, labels and their source.

    Raises
    ------
    FileNotFoundError
        If the folder, or a file of the official layout, is missing. The message names the page with the
        files and the folder to store them in.
    OSError
        If a file is damaged.
    ImportError
        If Pillow is needed to read image files and is not installed.

    See Also
    --------
    nsse.datasets.load_image_folder : A folder of images.
    nsse.datasets.known_datasets : Lists which of them were found.

    Notes
    -----
    The paper uses a part of the larger sets without naming it. We use the first images.

    - Extended Yale B: 38 subjects have 59 to 64 images; the first 59 in the order of their sorted
      file names. Images with ambient light only and files marked ``.bad`` are left out.
    - FEI: the first 50 of the 200 subjects, all 14 images ``1-01.jpg`` ... ``50-14.jpg``, in the
      folder itself or in ``originalimages_part1`` as the first archive unpacks.
    - ROBOTICS-CSIE: the first 40 of the 90 subjects, ``Subject01/A_01_-90.jpg`` ...: the 37
      photographs (letter A) by angle, whose sign and zeros may be written in any way.
    - MIT-CBCL: the first 324 files of ``training-synthetic`` and the first 200 of ``test`` of every
      subject, by name. Names begin with the four digits of the subject, ``0003_...pgm``. These are the
      524 images per subject that the paper counts.

    Averaged images are stored in a cache (:func:`cache_home`). If a file changes, it is read again.

    Examples
    --------
    >>> from nsse.datasets import load_dataset
    >>> digits = load_dataset("digits")
    >>> digits.X.shape, digits.image_shape
    ((1797, 64), (8, 8))
    """
    if _is_path(name):
        if data_home is not None:
            rule = "be None where `name` is a folder of images"
            raise rule_error("data_home", rule, data_home, "Pass the whole path as `name`.")
        return load_image_folder(name, size=size, unit_norm=unit_norm)
    if name not in READERS:
        cure = "Choose one of these names, or pass a folder of images as a path."
        raise rule_error("name", f"be one of {', '.join(map(repr, READERS))}", name, cure)
    found = READERS[name](data_home, checked_size(size))
    return _as_dataset(found, name, unit_norm)


def load_image_folder(
    path: str | os.PathLike[str],
    *,
    size: Size = (25, 25),
    unit_norm: bool = False,
    color: bool = False,
    skip_broken: bool = False,
) -> Dataset:
    """Load a folder of images, one sub-folder per class.

    Parameters
    ----------
    path : str or path-like
        The folder. Its sub-folders, in the order of their names, are the classes 0, 1, ..., each with at
        least two images that Pillow can read. They are turned upright by EXIF, and 16 bits keep all
        their levels. Files next to the sub-folders and names that begin with a dot are ignored. Other
        files in the sub-folders are left out, and ``source`` counts them.
    size : tuple of (int, int) or None, default=(25, 25)
        Height and width to which every image is averaged. None leaves their size unchanged, which must
        then be the same for all.
    unit_norm : bool, default=False
        Divide every image by its Euclidean norm.
    color : bool, default=False
        Whether images have red, green and blue, next to each other for every pixel, so that
        ``image_shape`` is (height, width, 3). Otherwise color becomes gray.
    skip_broken : bool, default=False
        Leave out images that cannot be read, which raise an error otherwise. ``source`` counts them.

    Returns
    -------
    Dataset
        Images and labels. ``class_names`` are the names of the sub-folders.

    Raises
    ------
    FileNotFoundError
        If `path` is not a folder.
    OSError
        If a file cannot be read as an image.
    ValueError
        If there are fewer than two classes, or fewer than two images in one of them.

    See Also
    --------
    nsse.datasets.load_inputs : Reads folders, tables and arrays.
    nsse.datasets.load_dataset : Reads data sets by name.

    Examples
    --------
    >>> from pathlib import Path
    >>> from nsse.datasets import load_dataset, load_image_folder, write_images
    >>> write_images(load_dataset("digits"), range(40), Path("pictures"))
    40
    >>> load_image_folder("pictures", size=(16, 16)).X.shape
    (40, 256)
    """
    folder = Path(path).expanduser()
    found = read_folder(folder, Levels(size, color), skip_broken=skip_broken)
    return _as_dataset(found, folder.resolve().name, unit_norm)


def _as_dataset(found: ImageSet, name: str, unit_norm: bool) -> Dataset:
    n_samples, *shape = found.images.shape
    X = found.images.reshape(n_samples, -1)
    if unit_norm:
        X = unit_rows(X, found.files, "Replace the image or pass `unit_norm=False`.")
    left_out = found.skipped + found.broken
    source = f"{found.source}, {len(left_out)} files left out" if left_out else found.source
    return Dataset(X, found.y, tuple(shape), source, name, found.n_train, found.class_names)


def _read_digits(_data_home: DataHome, _size: Size) -> ImageSet:
    from sklearn.datasets import load_digits

    bunch = load_digits()
    return ImageSet(
        images=bunch.images / 16.0,
        y=bunch.target.astype(np.int64),
        files=[f"digits, image {i}" for i in range(len(bunch.target))],
        source="scikit-learn's load_digits (UCI optical recognition of handwritten digits)",
    )


Reader = Callable[[DataHome, Size], ImageSet]

READERS: dict[str, Reader] = {
    "digits": _read_digits,
    **{name: partial(read_tree, *layout) for name, layout in LAYOUTS.items()},
    "mnist": read_mnist,
}


def _is_path(name: object) -> TypeGuard[str | os.PathLike[str]]:
    separators = {os.sep, os.altsep or os.sep, "/"}
    is_text = isinstance(name, str) and any(separator in name for separator in separators)
    return is_text or isinstance(name, os.PathLike)


PLACES = {**{name: place for name, (place, _) in LAYOUTS.items()}, "mnist": MNIST}
WITHOUT_FILES = {"digits": "scikit-learn's handwritten digits, 8 x 8"}


@dataclass(frozen=True)
class KnownDataset:
    """A name that `load_dataset` accepts.

    Attributes
    ----------
    name, title : str
        The name, and a description.
    found : str or None
        Its folder. It is empty if no files are needed, and None if it was not found.
    cure : str
        How to get the data set. It is empty if the data set was found.

    See Also
    --------
    nsse.datasets.known_datasets : Lists them.

    Examples
    --------
    >>> from nsse.datasets import known_datasets
    >>> [known.name for known in known_datasets() if known.found == ""]
    ['digits']
    """

    name: str
    title: str
    found: str | None
    cure: str


def known_datasets(data_home: DataHome = None) -> list[KnownDataset]:
    """Return every name with the folder that contains it, without reading the files.

    Parameters
    ----------
    data_home : str or path-like, default=None
        The folder that contains the sets. None reads the environment variable ``NSSE_DATA``.

    See Also
    --------
    nsse.datasets.load_dataset : Loads one.

    Examples
    --------
    >>> from nsse.datasets import known_datasets
    >>> "digits" in [known.name for known in known_datasets()]
    True
    """
    known = [KnownDataset(name, title, "", "") for name, title in WITHOUT_FILES.items()]
    for name, place in PLACES.items():
        try:
            known.append(KnownDataset(name, place.title, str(place.locate(data_home)), ""))
        except DatasetNotFoundError:
            cure = f"{place.page} → ${ENVIRONMENT_VARIABLE}/{place.folder}"
            known.append(KnownDataset(name, place.title, None, cure))
    return known


def per_class_split(
    y: NDArray[Any], n_per_class: int, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the places of `n_per_class` random samples of each class, and of the other samples.

    See Also
    --------
    nsse.datasets.write_images : Writes both as folders.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.datasets import per_class_split
    >>> train, test = per_class_split(np.repeat([0, 1], 5), 2, seed=0)
    >>> len(train), len(test)
    (4, 6)
    """
    classes, codes, sizes = np.unique(y, return_inverse=True, return_counts=True)
    if n_per_class >= sizes.min():
        got = Described(
            f"{n_per_class} of class {classes[sizes.argmin()]}, which has {sizes.min()} samples"
        )
        rule = "be smaller than the number of samples of every class"
        raise rule_error("n_per_class", rule, got, "Take fewer.")
    # One random priority per sample, drawn without the labels, so that names of classes have no
    # influence.
    priority = np.random.default_rng(seed).permutation(len(codes))
    order = np.lexsort((priority, codes))
    rank_in_class = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    chosen = np.zeros(len(codes), dtype=bool)
    chosen[order] = rank_in_class < n_per_class
    return np.flatnonzero(chosen), np.flatnonzero(~chosen)


def write_images(dataset: Dataset, samples: Sequence[int], folder: Path) -> int:
    """Write samples as ``<class>/<number within the class>.png``, and return how many there are.

    Images have 256 gray levels. The data set must be loaded without unit norms. Existing files are not
    checked, so pass a new folder.

    See Also
    --------
    nsse.datasets.load_image_folder : Reads such a folder.

    Examples
    --------
    >>> from pathlib import Path
    >>> from nsse.datasets import load_dataset, write_images
    >>> write_images(load_dataset("digits"), range(3), Path("pictures"))
    3
    """
    pillow = import_pillow()
    classes, codes = np.unique(dataset.y, return_inverse=True)
    names = dataset.class_names or tuple(str(label) for label in classes.tolist())
    order = np.empty(len(codes), dtype=int)
    for code in range(len(classes)):
        members = np.flatnonzero(codes == code)
        order[members] = np.arange(len(members))
    for sample in samples:
        home = folder / names[codes[sample]]
        home.mkdir(parents=True, exist_ok=True)
        levels = np.rint(255 * dataset.X[sample].reshape(dataset.image_shape)).astype(np.uint8)
        pillow.fromarray(levels).save(home / f"{order[sample]:04d}.png")
    return len(samples)
