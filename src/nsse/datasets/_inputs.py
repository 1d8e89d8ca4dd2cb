"""Samples from a table, from arrays or from a folder of images, and more samples of the same kind."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nsse._support.errors import Described, listed, rule_error, rule_message
from nsse._support.files import written
from nsse._support.types import Bools
from nsse.datasets._files import PARQUET, TEXT, Table, read_arrays, read_table
from nsse.datasets._folder import IMAGE_ENDINGS, has_folders, read_folder, read_unlabeled
from nsse.datasets._images import ImageSet, Levels, Reading, Size, Thumbnails, read_each, unit_rows
from nsse.datasets._preparation import (
    ArrayPreparation,
    EncodedPreparation,
    ImagePreparation,
    Preparation,
    TablePreparation,
)
from nsse.datasets._store import key_of, recalled

if TYPE_CHECKING:
    from nsse.datasets._encoder import Encoder
    from nsse.datasets._table_encoder import Encoded, TableEncoder


# More than these are not stored for a report, because their keys are in the header of a model file.
MOST_THUMBNAILS = 5000
KINDS: dict[str, type[Preparation]] = (
    dict.fromkeys((*TEXT, *PARQUET), TablePreparation)
    | dict.fromkeys((".npz", ".npy"), ArrayPreparation)
    | dict.fromkeys(IMAGE_ENDINGS, ImagePreparation)
)


@dataclass(frozen=True, eq=False)
class Inputs:
    """Samples ready for a model.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Samples.
    y : ndarray of shape (n_samples,) or None
        Labels, which are whole numbers or text. The labels of images are the names of their sub-folders.
    names : list of str or None
        Paths of images within the folder, or the entries of the column `id` of a table. It is None if
        rows have no names.
    preparation : Preparation
        How the samples were prepared, for `load_inputs_like`. It is a mapping of plain data.
    notes : tuple of str
        Sentences about the file: its encoding, which files were left out, which columns hold categories,
        which entries were filled in.
    unlabeled : int, str or None
        The value of ``y`` in rows without a label, if there are any. No label has this value.
    files : tuple of Path
        The files of images.
    unknown_categories : ndarray of shape (n_samples,) or None
        For a table, the number of categories in each row that the training table does not have.

    See Also
    --------
    nsse.datasets.load_inputs : Reads a table, arrays or a folder of images.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.datasets import ArrayPreparation, Inputs
    >>> inputs = Inputs(np.eye(3), np.array(["a", "b", "a"]), None, ArrayPreparation(3))
    >>> inputs.is_labeled
    array([ True,  True,  True])
    """

    X: NDArray[Any]
    y: NDArray[Any] | None
    names: list[str] | None
    preparation: Preparation
    notes: tuple[str, ...] = ()
    unlabeled: Any = None
    files: tuple[Path, ...] = ()
    unknown_categories: NDArray[np.intp] | None = None

    @property
    def is_labeled(self) -> NDArray[np.bool_]:
        """Which rows have a label."""
        if self.unlabeled is None:
            return np.full(len(self.X), self.y is not None)
        return np.asarray(self.y != self.unlabeled)


def load_inputs(
    path: str | os.PathLike[str],
    label: str | None = None,
    *,
    id: str | None = None,
    table: TableEncoder | None = None,
    size: Size = (25, 25),
    unit_norm: bool = True,
    color: bool = False,
    encoder: Encoder | str | os.PathLike[str] | None = None,
    skip_broken: bool = False,
    unlabeled: str | None = None,
) -> Inputs:
    r"""Load labeled samples to learn from.

    Parameters
    ----------
    path : str or path-like
        A table (``.csv``, ``.tsv``, ``.parquet``), arrays (``.npz`` with X and y, ``.npy``), or a folder
        of images with one sub-folder per class. A CSV may be written in UTF-8, UTF-16 or Latin-1, with
        commas, semicolons or tabs between its columns. Images are turned upright by EXIF, and other
        files are left out. The notes of the result describe this.
    label : str, default=None
        The column of labels in a table, the array of labels in an ``.npz`` file (None is y), or the file
        of labels next to an ``.npy`` file. The labels of images are their sub-folders.
    id : str, default=None
        The column of a table that names its rows. It is not a feature.
    table : TableEncoder, default=None
        How the columns of a table become features. None is ``TableEncoder()``. It is not changed.
    size : tuple of (int, int) or None, default=(25, 25)
        Height and width to which images are averaged. None leaves their size unchanged, which must then
        be the same for all.
    unit_norm : bool, default=True
        Divide every image by its Euclidean norm.
    color : bool, default=False
        Whether images have red, green and blue, next to each other for every pixel. Otherwise they
        become gray. (``nsse fit`` chooses this and the size, by some of the images.)
    encoder : Encoder or path-like, default=None
        A pretrained network, whose features of the images are the samples. It determines size, norm and
        color.
    skip_broken : bool, default=False
        Leave out images that cannot be read. Otherwise they raise an error.
    unlabeled : str, default=None
        The text in place of a label for rows without a label, such as "" for an empty entry of a table.
        For images, the sub-folder of the unlabeled ones. None means that every row has a label, and an
        empty one raises an error.

    Returns
    -------
    Inputs
        Samples, labels, names and how they were prepared.

    See Also
    --------
    nsse.datasets.load_inputs_like : Reads more samples, prepared in the same way.
    nsse.datasets.load_image_folder : Reads folders of images only.

    Examples
    --------
    >>> from pathlib import Path
    >>> from nsse.datasets import load_inputs
    >>> _ = Path("seeds.csv").write_text("length,width,kind\n1.5,2,a\n1.4,2.1,a\n3,4.5,b\n3.2,4,b\n")
    >>> inputs = load_inputs("seeds.csv", label="kind")
    >>> inputs.X.shape, inputs.y
    ((4, 2), array(['a', 'a', 'b', 'b'], dtype='<U1'))
    """
    source, kind = _source(path)
    if kind is ImagePreparation:
        inputs = _folder_of_images(source, label, size, unit_norm, color, encoder, skip_broken)
    else:
        _check_no_encoder(encoder, kind)
        if kind is TablePreparation:
            return _checked(_table(source, label, id, table, unlabeled), source)
        X, y = read_arrays(source, label)
        inputs = Inputs(X, y, None, ArrayPreparation(X.shape[1]))
    return _checked(inputs if unlabeled is None else _marked(inputs, unlabeled), source)


def load_inputs_like(
    path: str | os.PathLike[str],
    preparation: Mapping[str, Any],
    label: str | None = None,
    *,
    labeled: bool | None = False,
    drop: Iterable[str] = (),
    id: str | None = None,
    encoder: str | os.PathLike[str] | None = None,
    skip_broken: bool = False,
) -> Inputs:
    r"""Load more samples, and prepare them as the training samples of a model.

    Parameters
    ----------
    path : str or path-like
        As in `load_inputs`. It may also be a folder of images without sub-folders, or a single image. A
        table must have the same columns in any order, and may have the column of labels. For a model of
        arrays, the columns of a table are used in their order.
    preparation : mapping
        The preparation of the `Inputs` of the model, which its file contains.
    label : str, default=None
        As in `load_inputs`. None is the column of labels in the training data.
    labeled : bool or None, default=False
        Whether labels are required. None uses them if they are present.
    drop : iterable of str, default=()
        More columns to leave out.
    id : str, default=None
        The column that names the rows. None is the one of the training data, if the table has it.
    encoder : path-like, default=None
        The network in front of the model. None looks for it at its former path.
    skip_broken : bool, default=False
        Leave out images that cannot be read. Otherwise they raise an error.

    Returns
    -------
    Inputs
        Samples, and labels if they were requested.

    See Also
    --------
    nsse.datasets.load_inputs : Reads the samples to learn from.

    Examples
    --------
    >>> from pathlib import Path
    >>> from nsse.datasets import load_inputs, load_inputs_like
    >>> _ = Path("seeds.csv").write_text("length,width,kind\n1.5,2,a\n1.4,2.1,a\n3,4.5,b\n3.2,4,b\n")
    >>> known = load_inputs("seeds.csv", label="kind")
    >>> _ = Path("new.csv").write_text("width,length\n2,1.6\n")
    >>> load_inputs_like("new.csv", known.preparation).X
    array([[1.6, 2. ]])
    """
    source, kind = _source(path)
    known = Preparation.from_dict(preparation)
    _check_kind(source, kind, known)
    if isinstance(known, EncodedPreparation):
        from nsse.datasets._encoder import encoder_of

        _check_no_label(label)
        network = encoder_of(known, encoder)
        found = _new_images(source, network.reading(), labeled, skip_broken)
        return _images(source, found, network=network)
    _check_no_encoder(encoder, type(known))
    if isinstance(known, ImagePreparation):
        _check_no_label(label)
        found = _new_images(source, Levels(known.size, known.color), labeled, skip_broken)
        return _images(source, found, known.unit_norm)
    if isinstance(known, TablePreparation):
        label, id = known.label if label is None else label, known.id if id is None else id
        return _rows(read_table(source), known.renamed(label, id, drop), labeled=labeled)
    if kind is TablePreparation:
        table, left_out = read_table(source), {label, id, *drop}
        stored = {"columns": [name for name in table.names if name not in left_out], "ignored": drop}
        columns = TablePreparation.of({"label": label, "id": id, **stored})
        rows = _rows(table, columns, labeled=labeled)
    else:
        X, y = read_arrays(source, label, labeled=labeled)
        rows = Inputs(X, y, None, known)
    if not known.fits(rows.X.shape[1]):
        rule, cure = f"have {known}, as the model was fitted to", "Pass data of the same kind."
        raise rule_error("path", rule, Described(f"{source} with {rows.X.shape[1]}"), cure)
    return replace(rows, preparation=known)


def _table(
    source: Path, label: str | None, id: str | None, given: TableEncoder | None, unlabeled: str | None
) -> Inputs:
    """Read a table to learn from."""
    from sklearn.base import clone

    from nsse.datasets._table_encoder import TableEncoder

    table, encoder = read_table(source), TableEncoder() if given is None else clone(given)
    table.check_label(label)
    table.check_named("id", () if id is None else (id,))
    table.check_named("drop", encoder.drop)
    known = TablePreparation(encoder).renamed(label, id)
    hint = " If a column names the rows, pass it as `id`." if id is None else ""
    with _in_file(source, hint):
        known.encoder.fit(table.features(known.encoder.drop, encoder.categorical))
    # The stored encoder does not need the constant columns, and accepts arrays without a warning.
    stored = TablePreparation.of(known.to_dict())
    rows = _rows(table, stored, labeled=True, unlabeled=unlabeled)
    return replace(rows, notes=rows.notes + _about_columns(known.encoder))


def _rows(
    table: Table, known: TablePreparation, *, labeled: bool | None, unlabeled: str | None = None
) -> Inputs:
    """Return the rows of a table. Labels are required (True), optional (None) or not read (False)."""
    if labeled:
        table.check_label(known.label)
    encoder = known.encoder
    with _in_file(table.path):
        encoded = encoder.encoded(table.features(encoder.drop, encoder.categories_))
    ids = None if known.id is None or known.id not in table.names else table.texts(known.id)
    notes = (table.note,) * bool(table.note) + _about_gaps(encoded)
    rows = Inputs(encoded.X, None, ids, known, notes, unknown_categories=encoded.unknown)
    if labeled is False or known.label is None or known.label not in table.names:
        return rows
    labels, hidden = table.labels(known.label, unlabeled)
    return replace(rows, y=labels) if unlabeled is None else _with_marks(rows, unlabeled, labels, hidden)


@contextmanager
def _in_file(path: Path, hint: str = "") -> Iterator[None]:
    """Put the name of a file before the messages of a `TableEncoder`, which has no access to the name.

    The hint follows messages about columns that may name the rows.
    """
    try:
        yield
    except ValueError as error:
        more = hint if any(words in str(error) for words in ("row id", "different texts")) else ""
        raise ValueError(f"{path}: {error}{more}") from error


def _about_columns(encoder: TableEncoder) -> tuple[str, ...]:
    """Describe columns that are no plain numbers."""
    each = "; ".join(f"{name}: {listed(known, 6)}" for name, known in encoder.categories_.items())
    sentences = {
        f"Categories, a feature each: {each}.": encoder.categories_,
        f"Dates, as days since 1970: {listed(list(encoder.dates_))}.": encoder.dates_,
        f"Left out, the same in every row: {listed(encoder.constant_)}.": encoder.constant_,
    }
    return tuple(line for line, found in sentences.items() if found)


def _about_gaps(encoded: Encoded) -> tuple[str, ...]:
    """Describe what was missing or unknown, and how it was replaced."""
    sentences = []
    for counts, what in (
        (encoded.missing_numbers, "numbers, filled in with the medians of their columns"),
        (encoded.missing_categories, "categories, treated as none of the known ones"),
    ):
        if counts:
            each = listed([f"{name} {count}" for name, count in counts.items()])
            sentences.append(f"Missing {what}: {each}.")
    n_rows = int((encoded.unknown > 0).sum())
    if n_rows:
        rows = "1 row" if n_rows == 1 else f"{n_rows} rows"
        sentences.append(f"Unknown categories in {rows}, treated as none of the known ones.")
    return tuple(sentences)


def _source(path: str | os.PathLike[str]) -> tuple[Path, type[Preparation]]:
    if not isinstance(path, str | os.PathLike):
        cure = (
            "For tables and arrays in memory, use nsse.datasets.TableEncoder, for example "
            "make_pipeline(TableEncoder(), SmoothEmbedding()).fit(table, labels)."
        )
        got = Described(f"a {type(path).__name__}")
        raise TypeError(rule_message("path", "name a file or a folder", got, cure))
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
        cure = "Leave it out, because the sub-folders of images are their labels."
        raise rule_error("label", "be left out for images", label, cure)


def _check_no_encoder(encoder: Any, kind: type[Preparation]) -> None:
    if encoder is not None:
        rule = f"be left out for {kind.noun}" if kind is not ImagePreparation else "be left out here"
        cure = "Only models that were fitted with an encoder can use one."
        raise rule_error("encoder", rule, str(encoder), cure)


def _check_kind(source: Path, kind: type[Preparation], known: Preparation) -> None:
    """Raise an error for data of another kind. A table may be read for a model of arrays."""
    is_table_of_numbers = kind is TablePreparation and isinstance(known, ArrayPreparation)
    if kind.noun != known.noun and not is_table_of_numbers:
        rule, cure = f"hold {known.noun}, as the model was fitted to", "Pass data of the same kind."
        raise rule_error("path", rule, Described(f"{source}, {kind.noun}"), cure)


def _folder_of_images(
    source: Path,
    label: str | None,
    size: Size,
    unit_norm: bool,
    color: bool,
    encoder: Encoder | str | os.PathLike[str] | None,
    skip_broken: bool,
) -> Inputs:
    """Read images to learn from."""
    _check_no_label(label)
    if encoder is None:
        return _images(
            source, read_folder(source, Levels(size, color), skip_broken=skip_broken), unit_norm
        )
    if isinstance(encoder, str | os.PathLike):
        from nsse.datasets._encoder import Encoder  # imports scikit-learn

        encoder = Encoder(encoder)
    return _images(
        source, read_folder(source, encoder.reading(), skip_broken=skip_broken), network=encoder
    )


def _new_images(source: Path, reading: Reading, labeled: bool | None, skip_broken: bool) -> ImageSet:
    if source.is_dir() and (labeled or has_folders(source)):
        return read_folder(source, reading, fewest_images=1, fewest_classes=1, skip_broken=skip_broken)
    if labeled:
        cure = "Put the image into a sub-folder with the name of its class."
        raise rule_error("path", "be a folder with one sub-folder per class", str(source), cure)
    return read_unlabeled(source, reading, skip_broken=skip_broken)


def _images(
    source: Path, found: ImageSet, unit_norm: bool = False, network: Encoder | None = None
) -> Inputs:
    """Return images as rows, or their features if there is a network."""
    y = None if found.class_names is None else np.array(found.class_names)[found.y]
    home, files = source if source.is_dir() else source.parent, tuple(map(Path, found.files))
    X = found.images.reshape(len(files), -1)
    preparation: Preparation
    if network is not None:
        X = X.astype(np.float64)
        keys = "".join(key.hex() for key in _thumbnail_keys(files))
        about = str(network.path), network.fingerprint, X.shape[1], network.settings
        preparation = EncodedPreparation(*about, keys)
    else:
        if unit_norm:
            X = unit_rows(X, found.files, "Leave the image out, or fit with `unit_norm=False`.")
        height, width, *channels = found.images.shape[1:]
        preparation = ImagePreparation((height, width), unit_norm, bool(channels))
    notes = _about_left_out(home, found)
    return Inputs(X, y, _within(home, found.files), preparation, notes, files=files)


def _thumbnail_keys(files: Sequence[Path]) -> list[bytes]:
    """Make thumbnails of some images, and return the keys under which they are stored."""
    if len(files) > MOST_THUMBNAILS:
        return []
    read_each(files, Thumbnails(), skip_broken=True)
    return [key_of(Thumbnails().how, file.read_bytes()) for file in files]


def thumbnails(preparation: Preparation, files: Sequence[Path] = ()) -> list[bytes | None] | None:
    """Return small JPEG files of images: training images of a model, or others.

    None stands for an image that the cache does not have. If samples are no encoded images, the result
    is None.
    """
    if not isinstance(preparation, EncodedPreparation):
        return None
    if files:
        found = read_each(files, Thumbnails(), skip_broken=True)
        return [found[place].tobytes() if place in found else None for place in range(len(files))]
    text = preparation.pictures
    keys = [bytes.fromhex(text[first : first + 64]) for first in range(0, len(text), 64)]
    known = recalled(keys)
    return [known[key].tobytes() if key in known else None for key in keys]


def _within(home: Path, files: Iterable[str]) -> list[str]:
    return [written(Path(file).relative_to(home).as_posix()) for file in files]


def _about_left_out(home: Path, found: ImageSet) -> tuple[str, ...]:
    sentences = []
    for files, what in ((found.skipped, "no image"), (found.broken, "a broken image")):
        if files:
            are = f"{len(files)} files, each {what}" if len(files) > 1 else f"1 file, {what}"
            sentences.append(f"Left out {are}: {listed(_within(home, files), 6)}.")
    return tuple(sentences)


def _checked(inputs: Inputs, source: Path) -> Inputs:
    """Return the labels that can be used for training."""
    labels = np.asarray(inputs.y)[inputs.is_labeled]
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) < 2:
        got = Described(f"{classes[0]!s} for all {counts[0]} samples of {source}")
        cure = "Name another column, or add classes."
        raise rule_error("label", "hold at least two classes", got, cure)
    if counts.max() == 1:
        got = Described(f"{len(classes)} different labels for {len(classes)} samples of {source}")
        raise rule_error("label", "hold classes with several samples", got, "Name a column of classes.")
    return inputs


def _marker_for(labels: NDArray[Any]) -> Any:
    """Return the mark of rows without a label: −1 or less for whole numbers, "" for text."""
    if labels.dtype.kind in "biu":
        least = int(labels.min(initial=0))
        return -1 if least >= 0 or -1 not in labels else least - 1
    if labels.dtype.kind == "f":
        return float(min(labels.min(initial=0.0), 0.0) - 1.0)
    return ""


def _marked(inputs: Inputs, name: str) -> Inputs:
    """Return inputs in which rows with one label, as it is written, count as rows without a label."""
    assert inputs.y is not None
    hidden = inputs.y.astype(str) == name
    return _with_marks(inputs, name, inputs.y[~hidden], hidden)


def _with_marks(inputs: Inputs, name: str, labels: NDArray[Any], hidden: Bools) -> Inputs:
    """Return inputs with these labels, and the mark in rows that have ``name`` instead of a label."""
    if hidden.all() or not hidden.any():
        got = Described(f"{name!r}, which {'every row' if hidden.all() else 'no row'} has")
        cure = 'Write it like the labels. "" is an empty entry.'
        raise rule_error("unlabeled", "be the entry of some rows in the place of a label", got, cure)

    marker = _marker_for(labels)
    y = np.empty(len(hidden), dtype=np.result_type(labels, np.asarray(marker)))
    y[hidden], y[~hidden] = marker, labels
    return replace(inputs, y=y, unlabeled=marker)


def joined(labeled: Inputs, others: Inputs) -> Inputs:
    """Return labeled rows, some of which may lack their label, and below them rows without labels."""
    assert labeled.y is not None
    marker = _marker_for(labeled.y) if labeled.unlabeled is None else labeled.unlabeled
    more = np.full(len(others.X), marker)
    names = None
    if labeled.names is not None and others.names is not None:
        names = [*labeled.names, *others.names]
    return replace(
        labeled,
        X=np.concatenate([labeled.X, others.X]),
        y=np.concatenate([labeled.y, more]),
        names=names,
        unlabeled=marker,
    )
