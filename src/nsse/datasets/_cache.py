"""Images that were read and averaged once, kept on disk for the next time.

One file per folder of images and size, one more for color, outside that folder, under
:func:`cache_home`. It holds a fingerprint of its sources (name, size in bytes and time of change of
every file): where one of them differs the images are read again and the file is replaced. Images in
their own size are not kept, for they would take more room than the files they came from.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from nsse._support.files import replacing
from nsse.datasets._arrays import DAMAGE
from nsse.datasets._images import ReadImages, Size

ENVIRONMENT_VARIABLE = "NSSE_CACHE"

# To be raised whenever reading or averaging gives other numbers than before.
_FORMAT = 2


def cache_home() -> Path:
    """Folder of what the library keeps: ``NSSE_CACHE``, or ``nsse`` in the user's cache folder.

    The user's cache folder is ``XDG_CACHE_HOME``, or ``~/.cache``. Everything in it can be deleted
    at any time.

    See Also
    --------
    nsse.datasets.load_dataset : Keeps there what it downloads.

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


def through_cache(
    folder: Path,
    paths: Sequence[Path],
    size: Size,
    read: Callable[[], ReadImages],
    *,
    color: bool = False,
    skip_broken: bool = False,
) -> ReadImages:
    """Give what ``read()`` gives, from the cache where the files have not changed since."""
    if size is None:
        return read()
    # A cache of grey images keeps the name that it had before there was color.
    kind = [str(folder.resolve()), *size, *["color"] * color]
    place = hashlib.sha256(json.dumps(kind).encode()).hexdigest()
    file = cache_home() / "images" / f"{folder.name}-{place[:16]}.npz"
    fingerprint = _fingerprint(folder, paths, [*size, color, skip_broken])
    found = _recall(file, fingerprint)
    if found is None:
        found = read()
        _keep(file, fingerprint, found)
    return found


def _fingerprint(folder: Path, paths: Sequence[Path], how: list[int]) -> str:
    found = [(path.relative_to(folder).as_posix(), path.stat()) for path in paths]
    sources = [(name, state.st_size, state.st_mtime_ns) for name, state in found]
    return hashlib.sha256(json.dumps([_FORMAT, *how, sources]).encode()).hexdigest()


def _recall(file: Path, fingerprint: str) -> ReadImages | None:
    if not file.is_file():
        return None
    try:
        # Opened here, for NumPy leaves a file open whose end is missing.
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            if str(stored["fingerprint"]) != fingerprint:
                return None
            return ReadImages(stored["images"], stored["kept"])
    except DAMAGE as error:
        warnings.warn(
            f"The cache must hold files that this library wrote. Got {str(file)!r} ({error}). "
            "The images are read again and the file is replaced.",
            UserWarning,
            stacklevel=2,
        )
        return None


def _keep(file: Path, fingerprint: str, found: ReadImages) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as temporary, temporary.open("wb") as stream:
            np.savez(stream, fingerprint=np.array(fingerprint), **found._asdict())
    except OSError as error:
        warnings.warn(
            f"{ENVIRONMENT_VARIABLE} must name a folder that can be written. Got {str(file.parent)!r} "
            f"({error.strerror or error}). The images were read but will have to be read again next "
            f"time: set {ENVIRONMENT_VARIABLE} to another folder.",
            UserWarning,
            stacklevel=2,
        )
