r"""Write a file so that it is complete or does not exist, in the place that its name means.

Links are followed and stay links, and an existing file keeps its mode. A stream, a device, a pipe or the
standard output cannot be replaced, so it is written to when everything else is finished.

Unfinished files are in the same folder and have names like ``model.nsse.unfinished-1a2b3c4d``. If a
process is killed, they remain, and the next write to the same place after an hour removes them.

Names of files and classes are given by users, and may contain anything. Python represents bytes of a
name that are not UTF-8 by lone surrogates, which files and terminals do not accept, and terminals
execute control characters. Both are written as Python's escapes: ``caf\xe9``, ``\x1b``.
"""

from __future__ import annotations

import glob
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nsse._support.errors import rule_message

UNFINISHED = ".unfinished-"
ABANDONED_AFTER = 3600.0  # seconds without a change
_SURROGATES = re.compile("[\ud800-\udfff]")
# Spaces of all widths, private letters, and what joins or keeps apart the letters of many scripts.
_HARMLESS = ("Zs", "Co")
_JOINERS = "\u200c\u200d"


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path to write to, which becomes `path` if the block ends without an error.

    After an interrupt or on a full disk, an existing file is unchanged and no half of a file remains.
    """
    if takes_a_stream(path):
        with tempfile.TemporaryDirectory(prefix="nsse-") as folder:
            temporary = Path(folder) / Path(path).name
            yield temporary
            with temporary.open("rb") as whole, open(path, "wb") as stream:
                shutil.copyfileobj(whole, stream)
        return
    target = Path(os.path.realpath(path))
    if target.is_dir() or not target.parent.is_dir():
        kind = IsADirectoryError if target.is_dir() else FileNotFoundError
        cure = "Add a file name, or make the folder first."
        raise kind(rule_message("path", "name a file in a folder that exists", str(path), cure))
    temporary = _beside(target)
    try:
        mode = _reserved(temporary, target)
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder to fill, which becomes `folder` if the block ends without an error."""
    temporary = _beside(folder)
    temporary.mkdir()
    try:
        yield temporary
        os.rename(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def takes_a_stream(path: str | os.PathLike[str]) -> bool:
    """Return whether a path leads to a device, a pipe or an open stream, and not to a file."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or _is_held_open(path)


def _is_held_open(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is an open stream, such as ``/dev/stdout`` or ``/dev/fd/1``."""
    folder = os.path.realpath(os.path.dirname(os.path.abspath(path)))
    return folder == "/dev" or folder.startswith("/proc/")


def _beside(path: Path) -> Path:
    """Return a name for an unfinished file, and remove unfinished files of processes that have ended."""
    for left in path.parent.glob(f"{glob.escape(path.name)}{UNFINISHED}*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > ABANDONED_AFTER:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
    return path.with_name(f"{path.name}{UNFINISHED}{secrets.token_hex(4)}")


def _reserved(temporary: Path, target: Path) -> int | None:
    """Return the mode of the file that is replaced, so that the new file has the same readers."""
    try:
        mode = stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        return None
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    return mode


def written(text: str) -> str:
    r"""Return text that can be encoded. A byte of a name that is not UTF-8 becomes ``\xe9``."""
    return _SURROGATES.sub(lambda found: _escaped(found[0]), text)


def shown(text: str) -> str:
    """Return text as one line for a terminal, with control characters escaped."""
    if text.isprintable():
        return text
    return "".join(sign if _is_harmless(sign) else _escaped(sign) for sign in text)


def _is_harmless(sign: str) -> bool:
    return sign.isprintable() or sign in _JOINERS or unicodedata.category(sign) in _HARMLESS


def _escaped(sign: str) -> str:
    if "\udc80" <= sign <= "\udcff":  # a byte, as the file system gave it
        return f"\\x{ord(sign) - 0xDC00:02x}"
    return sign.encode("unicode_escape").decode("ascii")
