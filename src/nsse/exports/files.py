"""Model files: a skops archive with a header of ours, written whole, read without running code.

A file is a ZIP archive. ``nsse.json`` is the header: the version of the format, of nsse and of what it
stands on, what the model is like, and what the user adds. The rest is written by skops:
``schema.json``, the tree of objects by type, and the arrays as ``.npy``; our types stand in it under the
names of ``names``. On loading, sizes are checked before anything is inflated (``archive``), every type
in the tree is compared with a list before any object is made (``tree``, ``trusted``), and the parts of
the model with each other before it is handed out (``checks``).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from nsse import __version__
from nsse._support.errors import rule_error, rule_message
from nsse._support.files import replacing
from nsse.exports.archive import Archive, packed, stored, stored_inside
from nsse.exports.checks import check_model
from nsse.exports.damage import no_model, told_as_damage
from nsse.exports.facts import checked_metadata, facts_of
from nsse.exports.header import FORMAT, HEADER, Header, read_header
from nsse.exports.names import living_name, rename, written_name
from nsse.exports.search_trees import without_search_trees
from nsse.exports.tree import check_text, types_in
from nsse.exports.trusted import is_blind, only_loaders, trusted_types

TREE = "schema.json"
# Undoes the repetitions of the schema and of images; the highest levels take far longer for little.
COMPRESSION = 5


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    trusted: Iterable[str | type] = (),
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Write a fitted model to a file that `load` reads without running any code of the file.

    The file is written whole or not at all; one that was there before is replaced.

    Parameters
    ----------
    model : estimator
        Fitted: one of ours, a scikit-learn pipeline with one of ours, or a scikit-learn estimator that
        computes in NumPy or whose state `load` can check (see ``docs/deploy.md``).
    path : str or path-like
        The file; ``.nsse`` is the usual ending.
    trusted : iterable of str or type, default=()
        Types of your own in the model, or their full names. `load` will ask for them too.
    metadata : dict, default=None
        Plain data to travel with the model; `read_header` gives it back. The command line keeps here
        how samples are prepared, and reads from it how to prepare new ones::

            {"kind": "images", "size": [25, 25], "unit_norm": True}
            {"kind": "table", "columns": ["length", "width"], "label": "species"}
            {"kind": "array", "n_features": 64}

    Raises
    ------
    ValueError
        If the model holds a type that `load` would refuse; the message names it.
    ImportError
        If skops is missing.

    See Also
    --------
    load : Read the file again.
    nsse.exports.read_header : What a file says of itself.
    to_onnx : A graph that runs without this library.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> from nsse import NSSE
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NSSE().fit(X[::3], y[::3])
    >>> nsse.save(model, "iris.nsse", metadata={"flowers": "iris"})
    >>> bool((nsse.load("iris.nsse").predict(X) == model.predict(X)).all())
    True
    """
    check_is_fitted(model)
    target, told = checked_target(Path(path)), checked_metadata(metadata)
    content = _packed(model, trusted_types(trusted), told)
    with replacing(target) as temporary:
        temporary.write_bytes(content)


def load(path: str | os.PathLike[str], *, trusted: Iterable[str | type] = ()) -> Any:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : str or path-like
        The file.
    trusted : iterable of str or type, default=()
        Types to accept beside ours, NumPy's, SciPy's sparse matrices and the scikit-learn estimators of
        which every part can be checked. Name only what you know: making an object of such a type may run
        its code.

    Returns
    -------
    estimator
        The model: `transform`, `predict` and `certified_radius` give the same bits as before.

    Raises
    ------
    ValueError
        If the file is cut short, damaged, no model file, of a newer format, larger inside than it can
        be, of parts that do not fit each other, or holds a type that is not trusted; the message says
        which.
    FileNotFoundError
        If there is no such file.
    ImportError
        If skops is missing.

    See Also
    --------
    save : Write such a file.
    nsse.exports.read_header : What a file says of itself, without loading it.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> from nsse import NSSE
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NSSE().fit(X[::3], y[::3])
    >>> nsse.save(model, "iris.nsse")
    >>> nsse.load("iris.nsse").classes_
    array([0, 1, 2])
    """
    source, names, io_of_skops = Path(path), trusted_types(trusted), _skops()
    header = read_header(source)
    if header.format > FORMAT:
        raise rule_error(
            "path",
            f"name a model file of format {FORMAT} or older",
            f"{source}, format {header.format}, written by nsse {header.nsse}",
            f"Upgrade nsse: this is {__version__}.",
        )
    with told_as_damage(source):
        content, unknown = _audited(source.read_bytes(), names)
    if unknown:
        raise rule_error(
            "path",
            "name a model file that holds trusted types only",
            f"{source} with {_named(unknown)}",
            f"If you know the file and them, load it with trusted={unknown}; if not, leave it alone.",
        )
    with told_as_damage(source):
        model = io_of_skops.loads(content, trusted=names)
        if not isinstance(model, BaseEstimator):
            raise no_model(source, f"a {type(model).__name__} in it")
        check_model(model)
    return model


def _audited(content: bytes, names: list[str]) -> tuple[bytes, list[str]]:
    """The archive as skops takes it, every array and the tree checked; types that are not trusted."""
    archive = Archive(content)
    text = archive.read(TREE)
    check_text(text, len(content))
    tree = json.loads(text)
    kinds = types_in(tree, archive, only_loaders(), len(content))
    rename(tree, living_name)
    arrays = {name: archive.read(name) for name in archive.names() if name not in (TREE, HEADER)}
    clean = stored({TREE: json.dumps(tree).encode(), **arrays})
    blind = {kind for kind, loader in kinds if is_blind(kind, loader)}
    return clean, sorted((blind | set(_skops().get_untrusted_types(data=clean))) - set(names))


def _packed(model: Any, names: list[str], metadata: dict[str, Any] | None) -> bytes:
    io_of_skops = _skops()
    from skops.io.exceptions import UnsupportedTypeException

    try:
        archive = Archive(io_of_skops.dumps(without_search_trees(model)))
    except UnsupportedTypeException as error:
        message = rule_message(
            "model", "be made of types that skops can write", str(error), "Replace that part of it."
        )
        raise TypeError(message) from error
    versions = __version__, sklearn.__version__, np.__version__
    header = Header(FORMAT, type(model).__name__, *versions, metadata, facts_of(model))
    content = packed(_members(archive) | {HEADER: json.dumps(asdict(header)).encode()}, COMPRESSION)
    _, unknown = _audited(content, names)
    if unknown:
        raise rule_error(
            "model",
            "hold types only that `nsse.load` trusts",
            _named(unknown),
            f"Leave them out (a callback: model.set_params(callback=None)), or pass trusted={unknown} "
            "here and to `nsse.load`.",
        )
    return content


def _members(archive: Archive) -> dict[str, bytes]:
    """What skops wrote, with our names for our types; arrays are deflated once, not twice."""
    members = {name: archive.read(name) for name in archive.names()}
    tree = json.loads(members[TREE])
    rename(tree, written_name)
    members[TREE] = json.dumps(tree, separators=(",", ":")).encode()
    return {
        name: stored_inside(content) if name.endswith(".npz") else content
        for name, content in members.items()
    }


def checked_target(path: Path) -> Path:
    """A path where a file can be put."""
    if path.is_dir():
        raise IsADirectoryError(
            rule_message("path", "name a file", f"{path}, a folder", "Add a file name.")
        )
    if not path.parent.is_dir():
        raise FileNotFoundError(
            rule_message("path", "lie in a folder that exists", str(path), f"Make {path.parent} first.")
        )
    return path


def _named(names: list[str]) -> str:
    return ", ".join(names)


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        message = "Model files need skops. Install it: pip install 'nsse[files]'"
        raise ImportError(message) from error
    return skops.io
