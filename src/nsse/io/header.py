"""What a model file says about itself, read without the model: scikit-learn is not needed for it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from nsse.io.archive import NotAModelError, header_of, opened_archive

# Raised whenever another version could not read, or would misread, what `save` writes.
FORMAT = 3


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
    metadata : dict or None
        What was passed to `save`.
    facts : dict
        Parameters, classes, sizes and kernel width of the model.

    See Also
    --------
    nsse.io.read_header : Reads it without loading the model.

    Examples
    --------
    >>> import nsse
    >>> from nsse.io import read_header
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> nsse.save(nsse.SmoothEmbedding().fit(X, y), "iris.nsse", metadata={"flowers": "iris"})
    >>> header = read_header("iris.nsse")
    >>> header.model, header.metadata
    ('SmoothEmbedding', {'flowers': 'iris'})
    """

    format: int
    model: str
    nsse: str
    sklearn: str
    numpy: str
    metadata: dict[str, Any] | None
    facts: dict[str, Any]


def read_header(path: str | os.PathLike[str]) -> Header:
    """Read what a model file says about itself, without loading the model.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    Header
        Versions, class, metadata and facts.

    Raises
    ------
    ValueError
        If the file is damaged, or no model file of this version.

    See Also
    --------
    nsse.save : Writes the header.
    nsse.load : Reads the model.

    Examples
    --------
    >>> import nsse
    >>> from nsse.io import read_header
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> nsse.save(nsse.SmoothEmbedding().fit(X, y), "iris.nsse", metadata={"flowers": "iris"})
    >>> read_header("iris.nsse").metadata
    {'flowers': 'iris'}
    """
    with opened_archive(path) as archive:
        return checked_header(header_of(archive))


def checked_header(found: dict[str, Any]) -> Header:
    """The header of a file of this format; others are refused."""
    version, wrote = found.get("format"), f"written by nsse {found.get('nsse')!s:.20}"
    if type(version) is not int or version < FORMAT:
        raise NotAModelError(f"of format {version}, {wrote}, which is read no more: fit the model again")
    if version > FORMAT:
        raise NotAModelError(f"of format {version}, {wrote}: upgrade nsse to read it")
    told = {name: found[name] for name in ("model", "nsse", "sklearn", "numpy", "metadata", "facts")}
    if not all(isinstance(part, str | dict | None) for part in told.values()):
        raise ValueError("versions that are no text")
    return Header(version, **told)
