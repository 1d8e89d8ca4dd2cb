"""Model files, which load without running code, and ONNX graphs.

`nsse.save`, `nsse.load` and `nsse.to_onnx` are in the package itself. This module reads the header of a
file without its model. ``archive`` reads and writes a zip of arrays and one JSON header within bounds,
``values`` turns our objects into JSON and arrays and back, ``checks`` contains the rules that arrays of
every class obey, ``files`` contains `nsse.save` and `nsse.load`, and ``onnx`` contains `nsse.to_onnx`.
"""

from nsse.io.archive import Header, read_header

__all__ = ["Header", "read_header"]
