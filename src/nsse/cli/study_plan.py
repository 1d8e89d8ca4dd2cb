"""The study of ``nsse bench study`` as data: its methods, its sets, the kinds of data it tells apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nsse.datasets import DatasetNotFoundError, keel_tables, load_dataset, load_keel
from nsse.estimators import NSSE
from nsse.evaluation import rivals
from nsse.evaluation.reading import Case
from nsse.evaluation.study import Samples, StudyMethod, StudySet
from nsse.report.study_page import is_ours
from nsse.selection import NSSECV

# scikit-learn brings them, and KEEL's copies are left out; of `optdigits` the digits are a part.
BUNDLED = ("breast_cancer", "iris", "wine")
COPIES = ("iris", "optdigits", "wdbc", "wine")
IMAGES = ("coil20", "orl", "yale")
PICTURE_SETS = ("digits", *IMAGES, "mnist")
MNIST_PART = 6000


def euclidean(shape: rivals.Shape) -> Any:
    """NSSE without tuning and without its metric."""
    return NSSE(metric="euclidean")


def within(shape: rivals.Shape) -> Any:
    """NSSE as it comes."""
    return NSSE()


def tuned(shape: rivals.Shape) -> Any:
    """The quick search, as it comes."""
    return NSSECV()


METHODS = (
    StudyMethod("NSSECV", tuned),
    StudyMethod("NSSE", within),
    StudyMethod("NSSE, Euclidean", euclidean),
    StudyMethod("SVC", rivals.svc),
    StudyMethod("shrinkage LDA", rivals.shrinkage_lda),
    StudyMethod("logistic regression", rivals.logistic),
    StudyMethod("k-NN", rivals.neighbors),
    StudyMethod("random forest", rivals.forest),
    StudyMethod("boosting", rivals.boosting),
    StudyMethod("NCA", rivals.nca),
    StudyMethod("kernel PCA + LDA", rivals.kernel_pca_lda),
    StudyMethod("supervised UMAP", rivals.supervised_umap, apart=True),
)


def _is_picture(case: Case) -> bool:
    return case.name in PICTURE_SETS


def _is_table(case: Case, least: float, most: float) -> bool:
    """A table with so many training samples per feature."""
    return not _is_picture(case) and least < case.n_train / case.n_features <= most


# As a user would name them; the cuts were set before the study was run.
KINDS: Mapping[str, Callable[[Case], bool]] = {
    "pictures": _is_picture,
    "tables, at most 1 training sample per feature": partial(_is_table, least=0, most=1),
    "tables, 1 to 10 training samples per feature": partial(_is_table, least=1, most=10),
    "tables, more than 10 training samples per feature": partial(_is_table, least=10, most=float("inf")),
    "all kinds, 5 per class": lambda case: case.size == 5,
    "all kinds, 10 per class": lambda case: case.size == 10,
    "all kinds, 20 per class": lambda case: case.size == 20,
    "all kinds, 50 per class": lambda case: case.size == 50,
}


def methods() -> tuple[StudyMethod, ...]:
    """Those that can be had here: UMAP is an optional part."""
    return METHODS if find_spec("umap") else METHODS[:-1]


def compared(names: Sequence[str]) -> bool:
    """Whether there is something of ours to compare, and something to compare it with."""
    return {"NSSECV", "NSSE"} <= set(names) and any(not is_ours(name) for name in names)


def sets(data_home: Path | None, names: Sequence[str] = ()) -> tuple[list[StudySet], list[str]]:
    """Those that can be had here, and what to do about the others.

    What scikit-learn brings is always there; nothing is looked for where `names` are all of these.
    """
    found = [StudySet(name, read_bundled, (name,)) for name in BUNDLED]
    found.append(StudySet("digits", read_images, ("digits",)))
    if names and set(names) <= {one.name for one in found}:
        return found, []
    missing = []
    for look in (_tables, _images, _mnist):
        more, problems = look(data_home)
        found += more
        missing += problems
    return found, missing


def _tables(data_home: Path | None) -> tuple[list[StudySet], list[str]]:
    try:
        names = [name for name in keel_tables(data_home) if name not in COPIES]
    except DatasetNotFoundError as error:
        return [], [str(error)]
    return [StudySet(name, load_keel, (name, data_home)) for name in names], []


def _images(data_home: Path | None) -> tuple[list[StudySet], list[str]]:
    found, missing = [], []
    for name in IMAGES:
        try:
            read_images(name, data_home)
            found.append(StudySet(name, read_images, (name, data_home)))
        except DatasetNotFoundError as error:
            missing.append(str(error))
    return found, missing


def _mnist(data_home: Path | None) -> tuple[list[StudySet], list[str]]:
    try:
        read_mnist(data_home)
    except DatasetNotFoundError as error:
        return [], [str(error)]
    return [StudySet("mnist", read_mnist, (data_home,))], []


def read_bundled(name: str) -> Samples:
    """A table of scikit-learn."""
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return X, y


def read_images(name: str, data_home: Path | None = None) -> Samples:
    """Pictures as the paper takes them, 25 × 25 and divided by their norms; digits as they are."""
    found = load_dataset(name, data_home=data_home, unit_norm=name != "digits")
    return found.X, found.y


def read_mnist(data_home: Path | None = None) -> Samples:
    """The first pictures of MNIST."""
    found = load_dataset("mnist", data_home=data_home, unit_norm=True)
    return found.X[:MNIST_PART].copy(), found.y[:MNIST_PART]
