"""The table of data sets, and the one function that loads any of them by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from nsse._errors import rule_error
from nsse.datasets._images import ImageSet, Size, euclidean_norms
from nsse.datasets._layouts import COIL20, ORL, YALE, list_coil20, list_orl, list_yale, read_tree
from nsse.datasets._mnist import read_mnist
from nsse.datasets._places import DataHome


@dataclass(frozen=True, eq=False)
class Dataset:
    """Images as rows of a matrix, with their labels.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features), float64
        One image per row, row by row from the top; grey levels in [0, 1], or divided by the
        Euclidean norm of the image.
    y : ndarray of shape (n_samples,), int64
        Class numbers as the data set gives them.
    image_shape : tuple of (int, int)
        Height and width: ``X[i].reshape(image_shape)`` is an image.
    source : str
        Where the data came from: title, official page and folder name.
    name : str
        The name under which it was loaded.
    n_train : int or None
        Where there is an official split, the number of training samples: they come first, the
        official test part is ``X[n_train:]``. None where there is no official split.
    """

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    image_shape: tuple[int, int]
    source: str
    name: str
    n_train: int | None = None


def load_dataset(
    name: str,
    *,
    data_home: DataHome = None,
    size: Size = (25, 25),
    unit_norm: bool = False,
) -> Dataset:
    """Load a data set by name.

    =========== ============================================ ======= ======= ==================
    name        what, folder under `data_home`               images  classes labels
    =========== ============================================ ======= ======= ==================
    ``digits``  scikit-learn's digits, 8 x 8, no folder        1797       10 0 ... 9
    ``coil20``  COIL-20 (processed), ``coil-20-proc``          1440       20 objects 1 ... 20
    ``orl``     ORL (AT&T) faces, ``orl_faces``                 400       40 subjects 1 ... 40
    ``yale``    Extended Yale B (cropped), ``CroppedYale``     2242       38 subjects 1 ... 39,
                                                                             without 14
    ``mnist``   MNIST, 28 x 28, ``mnist``                     70000       10 0 ... 9
    =========== ============================================ ======= ======= ==================

    Parameters
    ----------
    name : str
        A name of the table.
    data_home : str or path-like, default=None
        The folder that holds the folders of the table. None takes it from the environment
        variable ``NSSE_DATA``.
    size : tuple of (int, int) or None, default=(25, 25)
        Height and width to which images are brought by area averaging. None keeps their size.
        Not applied to ``digits`` and ``mnist``.
    unit_norm : bool, default=False
        Divide every image by its Euclidean norm.

    Returns
    -------
    Dataset
        Images, labels and where they came from.

    Raises
    ------
    FileNotFoundError
        If the folder, or a file of the official layout, is missing.
    OSError
        If a file is damaged.
    ImportError
        If image files are to be read and Pillow is not installed.

    Notes
    -----
    The 38 subjects of Extended Yale B have 59 to 64 images. The paper uses 59 of each without
    saying which: we take the first 59 in the order of their sorted file names. Images with ambient
    light only and files marked ``.bad`` are left out.

    Examples
    --------
    >>> from nsse.datasets import load_dataset
    >>> digits = load_dataset("digits")
    >>> digits.X.shape, digits.image_shape
    ((1797, 64), (8, 8))
    """
    read = _reader(name)
    found = read(data_home, _checked_size(size))
    n_samples, height, width = found.images.shape
    X = found.images.reshape(n_samples, -1)
    if unit_norm:
        X /= euclidean_norms(X, found.files)[:, np.newaxis]  # in place: MNIST is 0.4 GiB
    return Dataset(X, found.y, (height, width), found.source, name, found.n_train)


def _read_digits(_data_home: DataHome, _size: Size) -> ImageSet:
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
    "coil20": partial(read_tree, COIL20, list_coil20),
    "orl": partial(read_tree, ORL, list_orl),
    "yale": partial(read_tree, YALE, list_yale),
    "mnist": read_mnist,
}


def _reader(name: str) -> Reader:
    if name not in list(READERS):  # a list, so that an unhashable name gets this error too
        names = ", ".join(repr(known) for known in READERS)
        raise rule_error("name", f"be one of {names}", name, "Choose one of these names.")
    return READERS[name]


def _checked_size(size: Size) -> Size:
    if size is None or (
        isinstance(size, tuple | list)
        and len(size) == 2
        and all(isinstance(n, Integral) and not isinstance(n, bool) and n > 0 for n in size)
    ):
        return size
    rule = "be None or a pair of positive whole numbers (height, width)"
    raise rule_error("size", rule, size, "Pass for example `size=(25, 25)`.")
