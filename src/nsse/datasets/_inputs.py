"""Samples from whatever a user has: a table, arrays, a folder of images; and more of the same kind."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._errors import rule_error, rule_message
from nsse._names import written
from nsse.datasets._arrays import read_arrays
from nsse.datasets._folder import PICTURES, read_folder, read_pictures
from nsse.datasets._images import ImageSet, Size, unit_rows
from nsse.datasets._load import checked_size
from nsse.datasets._preparation import ArrayPreparation, ImagePreparation, Preparation, TablePreparation
from nsse.datasets._tables import PARQUET, SEPARATORS, read_table

KINDS: dict[str, type[Preparation]] = (
    dict.fromkeys((*SEPARATORS, *PARQUET), TablePreparation)
    | dict.fromkeys((".npz", ".npy"), ArrayPreparation)
    | dict.fromkeys(PICTURES, ImagePreparation)
)


@dataclass(frozen=True, eq=False)
class Inputs:
    """Samples ready for a model.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Samples.
    y : ndarray of shape (n_samples,) or None
        Labels: whole numbers or text; of images the names of their sub-folders.
    names : list of str or None
        Of images, their paths within the folder; None where rows have no names.
    preparation : Preparation
        What was done to them, for `load_inputs_like`; a mapping of plain data.
    """

    X: NDArray[Any]
    y: NDArray[Any] | None
    names: list[str] | None
    preparation: Preparation


def load_inputs(
    path: str | os.PathLike[str],
    label: str | None = None,
    *,
    ignore: Iterable[str] = (),
    size: Size = (25, 25),
    unit_norm: bool = True,
) -> Inputs:
    """Load labelled samples to learn from.

    Parameters
    ----------
    path : str or path-like
        A table (``.csv``, ``.tsv``, ``.parquet``), arrays (``.npz`` with X and y, ``.npy``), or a folder
        of images with one sub-folder per class.
    label : str, default=None
        The column of labels in a table; the array of labels in an ``.npz`` file (None: y); the file of
        labels beside an ``.npy`` file. Images have their labels from their sub-folders.
    ignore : iterable of str, default=()
        Columns of a table to leave out.
    size : tuple of (int, int) or None, default=(25, 25)
        Height and width to which images are brought by area averaging, whatever their own; None keeps
        their size, which must then be the same for all.
    unit_norm : bool, default=True
        Divide every image by its Euclidean norm.

    Returns
    -------
    Inputs
        Samples, labels, names and how they were prepared.
    """
    source, kind = _source(path)
    if kind is ImagePreparation:
        _check_no_label(label)
        return _images(source, read_folder(source, checked_size(size)), unit_norm)
    if kind is ArrayPreparation:
        X, y = read_arrays(source, label)
        return _checked(Inputs(X, y, None, ArrayPreparation(X.shape[1])), source)
    ignored = tuple(ignore)
    table = read_table(source, label, ignore=ignored)
    done = TablePreparation(table.columns, label, ignored)
    return _checked(Inputs(table.X, table.y, None, done), source)


def load_inputs_like(
    path: str | os.PathLike[str],
    preparation: Mapping[str, Any],
    label: str | None = None,
    *,
    labelled: bool | None = False,
    ignore: Iterable[str] = (),
) -> Inputs:
    """Load more samples, prepared as those that a model was fitted to.

    Parameters
    ----------
    path : str or path-like
        As in `load_inputs`; of images also a folder of them without sub-folders, or a single one. A
        table must have the same columns, in any order; it may have that of the labels too. For
        a model of arrays, the columns of a table are taken in their order.
    preparation : mapping
        Of the `Inputs` that the model was fitted to, or as a model file holds it.
    label : str, default=None
        As in `load_inputs`; None is the column that the model was fitted to.
    labelled : bool or None, default=False
        Whether labels must be there; None takes them where they are.
    ignore : iterable of str, default=()
        Columns to leave out beside those that were left out before.

    Returns
    -------
    Inputs
        Samples, and labels if they were asked for.
    """
    source, kind = _source(path)
    known, cure = Preparation.from_dict(preparation), "Take data of the same kind."
    takes_tables = isinstance(known, ArrayPreparation) and kind is TablePreparation
    if not isinstance(known, kind) and not takes_tables:
        rule = f"hold {known.noun}, as the model was fitted to"
        raise rule_error("path", rule, f"{source}, {kind.noun}", cure)
    if isinstance(known, ImagePreparation):
        _check_no_label(label)
        return _images(source, _pictures(source, known.size, labelled), known.unit_norm)
    if isinstance(known, TablePreparation):
        label, ignored = known.label if label is None else label, (*ignore, *known.ignored)
        table = read_table(source, label, labelled=labelled, ignore=ignored, columns=known.columns)
        return Inputs(table.X, table.y, None, known)
    if takes_tables:
        table = read_table(source, label, labelled=labelled, ignore=tuple(ignore))
        X, y = table.X, table.y
    else:
        X, y = read_arrays(source, label, labelled=labelled)
    if not known.fits(X.shape[1]):
        rule = f"have {known}, as the model was fitted to"
        raise rule_error("path", rule, f"{source} with {X.shape[1]}", cure)
    return Inputs(X, y, None, known)


def _source(path: str | os.PathLike[str]) -> tuple[Path, type[Preparation]]:
    source = Path(path).expanduser()
    if not source.exists():
        cure = "Check its spelling."
        message = rule_message("path", "name a file or folder that exists", str(source), cure)
        raise FileNotFoundError(message)
    kind = ImagePreparation if source.is_dir() else KINDS.get(source.suffix.lower())
    if kind is None:
        rule = "be a folder of images, or a file that ends in " + ", ".join(KINDS)
        raise rule_error("path", rule, str(source), "Convert it, or give it the right ending.")
    return source, kind


def _check_no_label(label: str | None) -> None:
    if label is not None:
        cure = "Leave it out: images have their labels from their sub-folders."
        raise rule_error("label", "be left out for images", label, cure)


def _pictures(source: Path, size: Any, labelled: bool | None) -> ImageSet:
    if source.is_dir() and (labelled or any(path.is_dir() for path in source.iterdir())):
        return read_folder(source, size, fewest_images=1, fewest_classes=1)
    if labelled:
        cure = "Put the image into a sub-folder with the name of its class."
        raise rule_error("path", "be a folder with one sub-folder per class", str(source), cure)
    return read_pictures(source, size)


def _images(source: Path, found: ImageSet, unit_norm: bool) -> Inputs:
    n, height, width = found.images.shape
    X = found.images.reshape(n, -1)
    if unit_norm:
        X = unit_rows(X, found.files, "Leave it out, or fit a model without unit norms (--raw).")
    y = None if found.class_names is None else np.array(found.class_names)[found.y]
    home = source if source.is_dir() else source.parent
    names = [written(Path(file).relative_to(home).as_posix()) for file in found.files]
    return Inputs(X, y, names, ImagePreparation((height, width), unit_norm))


def _checked(inputs: Inputs, source: Path) -> Inputs:
    """Labels that can be learned from."""
    classes, counts = np.unique(np.asarray(inputs.y), return_counts=True)
    if len(classes) < 2:
        got = f"{classes[0]!s} for all {counts[0]} samples of {source}"
        cure = "Name another column, or add classes."
        raise rule_error("label", "hold at least two classes", got, cure)
    if counts.max() == 1:
        got = f"{len(classes)} different labels for {len(classes)} samples of {source}"
        raise rule_error("label", "hold classes with several samples", got, "Name a column of classes.")
    return inputs
