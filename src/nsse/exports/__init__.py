"""Taking a fitted model elsewhere: files that load without running code, and ONNX graphs.

``files`` writes and reads models (skops), under the ``names`` that our types have in files, trusting the
types of ``trusted``; ``header`` is what a file says about itself. What is read is bounded (``archive``),
judged as text (``tree``) and as objects (``checks``, ``foreign``), and ``damage`` says in one line what
is wrong; ``search_trees`` stay out of files. ``operations`` says f and the classifier in ONNX
operations, for any interpreter; ``precision`` measures what they lose in float32; ``converter`` teaches
them to skl2onnx.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nsse.exports.header import Header, read_header

if TYPE_CHECKING:
    from nsse.exports.converter import register_converters, to_onnx
    from nsse.exports.files import load, save
    from nsse.exports.precision import PrecisionWarning

__all__ = ["Header", "PrecisionWarning", "load", "read_header", "register_converters", "save", "to_onnx"]

# Found at first use: a header is read without scikit-learn.
_FILE_OF = {
    "PrecisionWarning": "precision",
    "load": "files",
    "register_converters": "converter",
    "save": "files",
    "to_onnx": "converter",
}


def __getattr__(name: str) -> Any:
    if name in _FILE_OF:
        return getattr(import_module(f"nsse.exports.{_FILE_OF[name]}"), name)
    raise AttributeError(f"module 'nsse.exports' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
