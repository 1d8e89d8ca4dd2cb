"""Write arrays as text that a page can decode: little-endian bytes, deflated, in base 64."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

# "<" could end the element or open a comment, the two separators end lines in older JavaScript, and no
# file can contain lone surrogates.
_UNSAFE = re.compile("[<\u2028\u2029\ud800-\udfff]")
# The keys are the names of the types in ``data.js``.
KINDS = {"f4": "<f4", "f8": "<f8", "u1": "|u1", "u2": "<u2", "u4": "<u4"}


def block(values: ArrayLike, kind: str) -> dict[str, Any]:
    """Return an array in the given type of number, as an entry of the page's data."""
    array = np.ascontiguousarray(np.asarray(values), dtype=KINDS[kind])
    packed = zlib.compress(array.tobytes(), 6)
    return {"kind": kind, "shape": array.shape, "data": base64.b64encode(packed).decode("ascii")}


def script_safe_json(data: Any) -> str:
    """Return JSON that is safe in a script element, whatever the names of the classes are."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
