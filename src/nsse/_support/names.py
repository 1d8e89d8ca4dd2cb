r"""Names as plain text: those of files and classes come from elsewhere, and may hold anything.

Bytes of a file name that are no UTF-8 reach Python as lone surrogates, which no file and no terminal
takes; a terminal obeys control characters. Both are written as Python's escapes: ``caf\xe9``, ``\x1b``.
"""

from __future__ import annotations

import re
import unicodedata

_SURROGATES = re.compile("[\ud800-\udfff]")
# Spaces of all widths, private letters, and what joins or keeps apart the letters of many scripts.
_HARMLESS = ("Zs", "Co")
_JOINERS = "\u200c\u200d"


def written(text: str) -> str:
    r"""Text that can be encoded: a byte of a name that is no UTF-8 becomes ``\xe9``."""
    return _SURROGATES.sub(lambda found: _escaped(found[0]), text)


def shown(text: str) -> str:
    """Text that a terminal shows as it is, in one line: whatever it would obey is escaped."""
    if text.isprintable():
        return text
    return "".join(sign if _is_harmless(sign) else _escaped(sign) for sign in text)


def _is_harmless(sign: str) -> bool:
    return sign.isprintable() or sign in _JOINERS or unicodedata.category(sign) in _HARMLESS


def _escaped(sign: str) -> str:
    if "\udc80" <= sign <= "\udcff":  # a byte, as the file system gave it
        return f"\\x{ord(sign) - 0xDC00:02x}"
    return sign.encode("unicode_escape").decode("ascii")
