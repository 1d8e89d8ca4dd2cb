"""Fitted models on disk: files that load without running code, and ONNX graphs.

``archive`` reads and writes a zip of arrays and one JSON header within bounds; ``values`` turns objects
of ours into JSON and arrays and back; ``checks`` are the rules that arrays of every class obey;
``files`` is `save` and `load`; ``onnx`` is `to_onnx`.
"""

from importlib import import_module
from typing import Any

from nsse.io.archive import Header, read_header

__all__ = ["Header", "load", "read_header", "save", "to_onnx"]

# Found at first use: a header is read without scikit-learn.
_FILE_OF = {"load": "files", "save": "files", "to_onnx": "onnx"}


def __getattr__(name: str) -> Any:
    if name in _FILE_OF:
        return getattr(import_module(f"nsse.io.{_FILE_OF[name]}"), name)
    raise AttributeError(f"module 'nsse.io' has no attribute {name!r}")
