"""Provide names of other libraries to intersphinx from text files, so that builds need no network."""

from __future__ import annotations

import zlib
from pathlib import Path

_HEADER = (
    "# Sphinx inventory version 2\n# Project: {0}\n# Version: \n"
    "# The remainder of this file is compressed using zlib.\n"
)


def packed(folder: Path, out: Path) -> dict[str, tuple[str, str]]:
    """Write an inventory for every text file, and return the mapping for intersphinx.

    The first line of a file is the address of the site. The other lines are ``name domain:role priority
    uri title``, as ``python -m sphinx.ext.intersphinx`` shows them.
    """
    out.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for file in sorted(folder.glob("*.txt")):
        address, _, names = file.read_text(encoding="utf-8").partition("\n")
        inventory = out / f"{file.stem}.inv"
        inventory.write_bytes(_HEADER.format(file.stem).encode() + zlib.compress(names.encode()))
        mapping[file.stem] = (address, str(inventory))
    return mapping
