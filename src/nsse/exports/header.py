"""What a model file says about itself, read without the model: scikit-learn is not needed for it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nsse._support.errors import rule_message
from nsse.exports.archive import Archive
from nsse.exports.damage import no_model, told_as_damage

# Raised whenever an older nsse could not read, or would misread, what `save` writes.
FORMAT = 2
HEADER = "nsse.json"
_TEXTS = "model", "nsse", "sklearn", "numpy"


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
        Parameters, classes, sizes and kernel scale of the model; empty in files of early versions.

    See Also
    --------
    nsse.exports.read_header : Reads it without loading the model.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import NSSE
    >>> import tempfile
    >>> import nsse
    >>> from nsse.exports import read_header
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NSSE().fit(X[::3], y[::3])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     nsse.save(model, f"{folder}/iris.nsse", metadata={"flowers": "iris"})
    ...     header = read_header(f"{folder}/iris.nsse")
    >>> header.model, header.metadata
    ('NSSE', {'flowers': 'iris'})
    """

    format: int
    model: str
    nsse: str
    sklearn: str
    numpy: str
    metadata: dict[str, Any] | None = None
    facts: dict[str, Any] = field(default_factory=dict)


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

    See Also
    --------
    nsse.save : Writes the header.
    nsse.load : Reads the model.

    Examples
    --------
    >>> import nsse
    >>> from nsse.exports import read_header
    >>> from sklearn.datasets import load_iris
    >>> from nsse import NSSE
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NSSE().fit(X[::3], y[::3])
    >>> nsse.save(model, "iris.nsse", metadata={"flowers": "iris"})
    >>> read_header("iris.nsse").metadata
    {'flowers': 'iris'}
    """
    source = Path(path)
    if not source.exists():
        message = rule_message("path", "name a file that exists", str(source), "Check its spelling.")
        raise FileNotFoundError(message)
    with told_as_damage(source):
        archive = Archive(source.read_bytes())
        if HEADER not in archive:
            raise no_model(source, f"an archive without {HEADER}")
        fields = json.loads(archive.read(HEADER))
        metadata, facts = fields.get("metadata"), fields.get("facts", {})
        if not isinstance(metadata, dict | None) or not isinstance(facts, dict):
            raise ValueError(f"{HEADER} with metadata or facts that are no dict")
        # A later format may say more about itself.
        told: dict[str, Any] = {name: str(fields[name]) for name in _TEXTS}
        return Header(int(fields["format"]), **told, metadata=metadata, facts=facts)
