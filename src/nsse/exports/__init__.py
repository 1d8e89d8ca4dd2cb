"""Taking a fitted model elsewhere: files that load without running code, and ONNX graphs.

``files`` writes and reads models (skops), under the ``names`` that our types have in files, trusting the
types of ``trusted``. What is read is bounded (``archive``), judged as text (``tree``) and as objects
(``checks``, ``foreign``), and ``damage`` says in one line what is wrong; ``search_trees`` stay out of
files. ``operations`` says f and the classifier in ONNX operations, for any interpreter; ``precision``
measures what they lose in float32; ``converter`` teaches them to skl2onnx.
"""

from nsse.exports.converter import register_converters, to_onnx
from nsse.exports.files import Header, load, read_header, save
from nsse.exports.precision import PrecisionWarning

__all__ = ["Header", "PrecisionWarning", "load", "read_header", "register_converters", "save", "to_onnx"]
