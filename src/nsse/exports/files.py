"""Model files: a skops archive with a header of ours, written whole, read without running code.

A file is a ZIP archive. ``nsse.json`` is the header: the version of the format, of nsse and of what it
stands on. The rest is written by skops: ``schema.json``, the tree of objects by type, and the arrays as
``.npy``. On loading, every type in the tree is compared with a list before any object is made.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from nsse import __version__
from nsse._errors import rule_error, rule_message
from nsse._files import replacing
from nsse.exports.search_trees import plant_search_trees, without_search_trees
from nsse.exports.trusted import trusted_types

# Raised whenever an older nsse could not read, or would misread, what `save` writes.
FORMAT = 1
HEADER = "nsse.json"
# Undoes the repetitions of the schema and of images; the highest levels take far longer for little.
COMPRESSION = 5


@dataclass(frozen=True)
class Header:
    """What a model file says about itself.

    Attributes
    ----------
    format : int
        Version of the format.
    model : str
        Class of the model.
    nsse, sklearn, numpy : str
        Versions that wrote the file.
    """

    format: int
    model: str
    nsse: str
    sklearn: str
    numpy: str


def save(model: Any, path: str | os.PathLike[str], *, trusted: Iterable[str | type] = ()) -> None:
    """Write a fitted model to a file that `load` reads without running any code of the file.

    The file is written whole or not at all; one that was there before is replaced.

    Parameters
    ----------
    model : estimator
        Fitted: one of ours, a scikit-learn pipeline with one of ours, or any scikit-learn estimator.
    path : str or path-like
        The file; ``.nsse`` is the usual ending.
    trusted : iterable of str or type, default=()
        Types of your own in the model, or their full names. `load` will ask for them too.

    Raises
    ------
    ValueError
        If the model holds a type that `load` would refuse; the message names it.
    ImportError
        If skops is missing.
    """
    check_is_fitted(model)
    target = _checked_target(Path(path))
    content = _packed(model, trusted_types(trusted))
    with replacing(target) as temporary:
        temporary.write_bytes(content)


def load(path: str | os.PathLike[str], *, trusted: Iterable[str | type] = ()) -> Any:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : str or path-like
        The file.
    trusted : iterable of str or type, default=()
        Types to accept beside ours, NumPy's, SciPy's sparse matrices and scikit-learn's estimators. Name
        only what you know: making an object of such a type may run its code.

    Returns
    -------
    estimator
        The model: `transform`, `predict` and `certified_radius` give the same bits as before.

    Raises
    ------
    ValueError
        If the file is cut short, damaged, no model file, of a newer format, or holds a type that is
        not trusted; the message names it.
    FileNotFoundError
        If there is no such file.
    ImportError
        If skops is missing.
    """
    source, names, io_of_skops = Path(path), trusted_types(trusted), _skops()
    header = read_header(source)
    if header.format > FORMAT:
        raise rule_error(
            "path", f"name a model file of format {FORMAT} or older",
            f"{source}, format {header.format}, written by nsse {header.nsse}",
            f"Upgrade nsse: this is {__version__}.",
        )  # fmt: skip
    with _told_as_damage(source):
        content = source.read_bytes()
        unknown = sorted(set(io_of_skops.get_untrusted_types(data=content)) - set(names))
    if unknown:
        raise rule_error(
            "path", "name a model file that holds trusted types only",
            f"{source} with {_listed(unknown)}",
            f"If you know the file and them, load it with trusted={unknown}; if not, leave it alone.",
        )  # fmt: skip
    with _told_as_damage(source):
        model = io_of_skops.loads(content, trusted=names)
        plant_search_trees(model)
    if not isinstance(model, BaseEstimator):
        raise _no_model(source, f"a {type(model).__name__} in it")
    return model


def read_header(path: str | os.PathLike[str]) -> Header:
    """Read what a model file says about itself, without loading the model.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    Header
        Versions and class.
    """
    source = Path(path)
    if not source.exists():
        message = rule_message("path", "name a file that exists", str(source), "Check its spelling.")
        raise FileNotFoundError(message)
    with _told_as_damage(source), ZipFile(source) as archive:
        if HEADER not in archive.namelist():
            raise _no_model(source, f"an archive without {HEADER}")
        fields = json.loads(archive.read(HEADER))
        # A later format may say more about itself.
        return Header(
            int(fields["format"]), *(str(fields[name]) for name in ("model", "nsse", "sklearn", "numpy"))
        )


def _packed(model: Any, names: list[str]) -> bytes:
    io_of_skops = _skops()
    from skops.io.exceptions import UnsupportedTypeException

    try:
        content = io_of_skops.dumps(
            without_search_trees(model), compression=ZIP_DEFLATED, compresslevel=COMPRESSION
        )
    except UnsupportedTypeException as error:
        message = rule_message(
            "model", "be made of types that skops can write", str(error), "Replace that part of it."
        )
        raise TypeError(message) from error
    unknown = sorted(set(io_of_skops.get_untrusted_types(data=content)) - set(names))
    if unknown:
        raise rule_error(
            "model", "hold types only that `nsse.load` trusts", _listed(unknown),
            f"Leave them out (a callback: model.set_params(callback=None)), or pass trusted={unknown} "
            "here and to `nsse.load`.",
        )  # fmt: skip
    buffer = io.BytesIO(content)
    header = Header(FORMAT, type(model).__name__, __version__, sklearn.__version__, np.__version__)
    with ZipFile(buffer, "a", ZIP_DEFLATED) as archive:
        archive.writestr(HEADER, json.dumps(asdict(header)))
    return buffer.getvalue()


def _checked_target(path: Path) -> Path:
    if path.is_dir():
        raise IsADirectoryError(
            rule_message("path", "name a file", f"{path}, a folder", "Add a file name.")
        )
    if not path.parent.is_dir():
        raise FileNotFoundError(
            rule_message("path", "lie in a folder that exists", str(path), f"Make {path.parent} first.")
        )
    return path


@contextmanager
def _told_as_damage(path: Path) -> Iterator[None]:
    """Say in one line that a file is damaged, whatever tripped over it."""
    try:
        yield
    except (_NotAModelError, MemoryError):
        raise
    except OSError as error:
        # Without a file name it is no trouble with the disk: a wrong offset led out of the file.
        if error.filename is not None:
            raise
        raise _damaged(path, error) from error
    except BadZipFile as error:
        with path.open("rb") as file:
            began_well = file.read(2) == b"PK"
        if not began_well:
            raise _no_model(path, "another kind of file, or an empty one") from error
        raise _damaged(path, error) from error
    except Exception as error:
        # What skops, NumPy and scikit-learn raise on contents that no `save` wrote is not documented.
        raise _damaged(path, error) from error


class _NotAModelError(ValueError):
    """The file is whole, but no model."""


def _no_model(path: Path, found: str) -> _NotAModelError:
    cure = "`nsse.save` writes them."
    return _NotAModelError(rule_message("path", "name a model file of nsse", f"{path}, {found}", cure))


def _damaged(path: Path, error: Exception) -> ValueError:
    return rule_error(
        "path", "name a model file that is whole",
        f"{path}, cut short or damaged ({type(error).__name__}: {error})", "Save or copy it again.",
    )  # fmt: skip


def _listed(names: list[str]) -> str:
    return ", ".join(names)


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        message = "Model files need skops. Install it: pip install 'nsse[files]'"
        raise ImportError(message) from error
    return skops.io
