"""A zip archive of ``.npy`` arrays and one JSON header, read within bounds.

The header declares type and shape of every array. Members, their names and sizes are compared with it
before anything is inflated, so that a few bytes cannot claim gigabytes, and nothing else is read. The
header also describes the model, so that it can be read without scikit-learn.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np

from nsse._support.errors import Described, rule_error, rule_message
from nsse._support.machine import available_memory

Place = str | os.PathLike[str]
Metadata = dict[str, Any] | None
# The version of the format. It changes if older versions of nsse could not read new files correctly.
FORMAT = 4
# A table of genes has tens of thousands of columns, each with some hundred bytes of names and medians.
HEADER, LARGEST_HEADER = "nsse.json", 16 * 2**20
# The largest number of bytes before the values of an array.
ARRAY_HEADER = 10_000
# A file may contain this many bytes of arrays, plus a multiple of its own size. `write` does not
# compress arrays that would exceed this.
FREE, RATIO = 64 * 2**20, 100
LEVEL = 2  # higher levels take far longer and save little
# Numbers, booleans, strings and dates, which labels may be; no objects.
TYPES = re.compile(r"[<>|][biufU][1-9]\d{0,6}|[<>][mM]8\[\d{0,4}[a-zA-Z]{1,2}\]")


@dataclass(frozen=True)
class Header:
    """The description of a model in its file.

    Attributes
    ----------
    format : int
        Version of the format.
    model : str
        Class of the model.
    nsse, sklearn, numpy : str
        Versions of the libraries that wrote the file.
    metadata : dict or None
        The metadata that were passed to `save`.
    facts : dict
        Parameters, classes, sizes and kernel width of the model.

    See Also
    --------
    nsse.io.read_header : Reads the header without loading the model.

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


class NotAModelError(ValueError):
    """The error for a file that is not a model file of this version. `cure` contains the advice."""

    def __init__(self, got: str, cure: str = "`nsse.save` writes them.") -> None:
        super().__init__(got)
        self.cure = cure


@contextmanager
def opened_archive(path: Place) -> Iterator[ZipFile]:
    """Open a model file, and raise a one-line error if its content is invalid."""
    source = Path(path)
    if not source.is_file():  # a device need not end
        kind = IsADirectoryError if source.is_dir() else FileNotFoundError
        is_stream = source.exists() and not source.is_dir()
        cure = "Copy a device or a pipe to a file first." if is_stream else "Check its spelling."
        raise kind(rule_message("path", "name a file", str(source), cure))
    try:
        with ZipFile(source) as archive:
            if {entry.compress_type for entry in archive.infolist()} - {ZIP_STORED, ZIP_DEFLATED}:
                raise ValueError("a member that is neither stored nor deflated")
            yield archive
    except Exception as error:
        if isinstance(error, MemoryError) or getattr(error, "filename", None) is not None:
            raise  # the machine or its disk failed, and the content may be valid
        with source.open("rb") as file:
            is_zip = file.read(2) == b"PK"
        found = error if is_zip else NotAModelError("another kind of file")
        if not isinstance(found, NotAModelError):
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            found = NotAModelError(f"cut short or damaged ({reason})", "Save or copy it again.")
        rule, got = f"name a model file of nsse, format {FORMAT}", Described(f"{source}, {found}")
        raise rule_error("path", rule, got, found.cure) from error


def read_header(path: Place) -> Header:
    """Read the header of a model file without loading the model.

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
        If the file is damaged, or is not a model file of this version.

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
    """Return the header of a file of this format, and raise an error for other files."""
    version, wrote = found.get("format"), f"written by nsse {found.get('nsse')!s:.20}"
    if type(version) is not int or version != FORMAT:
        is_newer = type(version) is int and version > FORMAT
        cure = "Upgrade nsse." if is_newer else "Fit the model again and save it with this version."
        raise NotAModelError(f"of format {version}, {wrote}", cure)
    names = ("model", "nsse", "sklearn", "numpy", "metadata", "facts")
    header = Header(version, *(found[name] for name in names))
    right = isinstance(header.metadata, dict | None) and isinstance(header.facts, dict)
    if not right or not all(isinstance(found[name], str) for name in names[:4]):
        raise ValueError("an invalid header")
    return header


def header_of(archive: ZipFile) -> dict[str, Any]:
    """Return the JSON object of a model file."""
    if HEADER not in archive.namelist():
        raise NotAModelError(f"an archive without {HEADER}")
    with archive.open(HEADER) as file:
        content = file.read(LARGEST_HEADER + 1)
    if len(content) > LARGEST_HEADER:
        raise ValueError(f"{HEADER} of more than {LARGEST_HEADER} bytes")
    return dict(json.loads(content))


def arrays_of(archive: ZipFile, declared: dict[str, Any]) -> dict[str, Any]:
    """Return all arrays of a model file, each with the type and shape that its header declares."""
    kinds = {f"{name}.npy": _kind(**fields) for name, fields in declared.items()}
    if sorted(archive.namelist()) != sorted([HEADER, *kinds]):
        raise ValueError("other members than the header names")
    total, left = sum(size for *_, size in kinds.values()), available_memory()
    if total > FREE + RATIO * os.path.getsize(str(archive.filename)):
        raise ValueError(f"{total} bytes declared, too many for a file of this size")
    if left is not None and total > left:
        raise MemoryError(f"The arrays of the model take {total} bytes, and {left} are left.")
    return {name.removesuffix(".npy"): _array(archive, name, *kind) for name, kind in kinds.items()}


def write(path: Path, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write an archive. Types and shapes of the arrays are added to the header."""
    declared = {name: {"dtype": a.dtype.str, "shape": list(a.shape)} for name, a in arrays.items()}
    content = json.dumps({**header, "arrays": declared}, allow_nan=False).encode()
    if len(content) > LARGEST_HEADER:
        rule = f"have names and metadata of at most {LARGEST_HEADER // 2**20} MiB"
        cure = "Shorten the names of columns and classes, or `metadata`."
        raise rule_error("model", rule, Described(f"{len(content)} bytes"), cure)
    for method in (ZIP_DEFLATED, ZIP_STORED):
        with ZipFile(path, "w", method, compresslevel=LEVEL) as archive:
            archive.writestr(HEADER, content)
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=array.nbytes >= 2**31) as file:
                    np.lib.format.write_array(file, array, version=(1, 0), allow_pickle=False)
        if sum(array.nbytes for array in arrays.values()) <= FREE + RATIO * os.path.getsize(path):
            return


def _array(archive: ZipFile, name: str, dtype: Any, shape: tuple[int, ...], size: int) -> Any:
    if not 0 <= archive.getinfo(name).file_size - size <= ARRAY_HEADER:
        raise ValueError(f"{archive.getinfo(name).file_size} bytes of {name} for {dtype} {shape}")
    with archive.open(name) as file:
        found = np.lib.format.read_magic(file), *np.lib.format.read_array_header_1_0(file)
        if (found[0], found[3], found[1]) != ((1, 0), dtype, shape):
            raise ValueError(f"{name} is {found}, not {dtype} {shape}")
        file.seek(0)
        array = np.lib.format.read_array(file, allow_pickle=False)
        if file.read(1):  # reading to the end also compares the checksum
            raise ValueError(f"{name} is longer than its shape")
    return array


def _kind(dtype: str, shape: list[int]) -> tuple[np.dtype[Any], tuple[int, ...], int]:
    """Return the type, shape and bytes of an array that a header declares."""
    whole = all(type(side) is int and 0 <= side < 2**40 for side in shape)
    if not TYPES.fullmatch(dtype) or not whole or len(shape) > 4:
        raise ValueError(f"an array of type {dtype!r:.20} and shape {shape!r:.80}")
    return np.dtype(dtype), tuple(shape), math.prod(shape) * np.dtype(dtype).itemsize
