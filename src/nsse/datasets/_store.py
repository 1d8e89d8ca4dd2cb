"""Store results that were computed from files on disk.

A key is the SHA-256 of the content of a file and of a description of the computation. Files may be
moved, copied and renamed, and a changed file is read again. Everything is in one SQLite file under
:func:`cache_home`.
"""

from __future__ import annotations

import os
import sqlite3
import warnings
from collections.abc import Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

ENVIRONMENT_VARIABLE = "NSSE_CACHE"
FILE = "computed.sqlite"
_TABLE = "CREATE TABLE IF NOT EXISTS computed (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID"
_MOST = 500  # keys in a query, because SQLite may take no more than 999


def cache_home() -> Path:
    """Return the cache folder: ``NSSE_CACHE``, or ``nsse`` in the user's cache folder.

    The user's cache folder is ``XDG_CACHE_HOME``, or ``~/.cache``. Everything in it can be deleted
    at any time.

    See Also
    --------
    nsse.datasets.load_dataset : Stores its downloads there.
    nsse.datasets.Encoder : Stores the features of images there.

    Examples
    --------
    >>> from nsse.datasets import cache_home
    >>> cache_home().is_absolute()
    True
    """
    chosen = os.environ.get(ENVIRONMENT_VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "nsse"


def key_of(how: str, content: bytes) -> bytes:
    """Return the key of a result, which `how` names, that is computed from the content of a file."""
    return sha256(sha256(how.encode()).digest() + content).digest()


def recalled(keys: Sequence[bytes]) -> dict[bytes, NDArray[Any]]:
    """Return the stored arrays by their keys."""
    if not (cache_home() / FILE).is_file():
        return {}
    found: dict[bytes, NDArray[Any]] = {}
    try:
        with closing(sqlite3.connect(cache_home() / FILE)) as store:
            for first in range(0, len(keys), _MOST):
                some = keys[first : first + _MOST]
                marks = ",".join("?" * len(some))
                rows = store.execute(f"SELECT * FROM computed WHERE key IN ({marks})", some)
                # SQLite does not detect a changed bit. Such a value is computed again.
                found |= {
                    key: np.load(BytesIO(value[4:]), allow_pickle=False)
                    for key, value in rows
                    if value[:4] == crc32(value[4:]).to_bytes(4)
                }
    except sqlite3.Error as error:
        _warn("hold what this library wrote", error, "It is made anew.")
        (cache_home() / FILE).unlink(missing_ok=True)
    return found


def keep(arrays: Mapping[bytes, NDArray[Any]]) -> None:
    """Store arrays for later use, or warn if that is impossible."""
    try:
        cache_home().mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(cache_home() / FILE, timeout=60)) as store, store:
            store.execute(_TABLE)
            rows = [(key, _packed(array)) for key, array in arrays.items()]
            store.executemany("INSERT OR REPLACE INTO computed VALUES (?, ?)", rows)
    except (OSError, sqlite3.Error) as error:
        cure = f"It will be computed again next time. Set {ENVIRONMENT_VARIABLE} to another folder."
        _warn("name a folder that can be written", error, cure)


def _packed(array: NDArray[Any]) -> bytes:
    file = BytesIO()
    np.save(file, array, allow_pickle=False)
    return crc32(file.getvalue()).to_bytes(4) + file.getvalue()


def _warn(rule: str, error: Exception, cure: str) -> None:
    got = f"{str(cache_home() / FILE)!r} ({error})"
    warnings.warn(f"{ENVIRONMENT_VARIABLE} must {rule}. Got {got}. {cure}", UserWarning, stacklevel=4)
