"""Changes to model files: of their bytes, members, JSON trees, arrays and the archives inside them.

A file is an archive of JSON and ``.npy`` members; nothing else about its format is known here.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

import numpy as np

Members = dict[str, bytes]
Generator = np.random.Generator

NUMBERS = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, 1e-308, 1e200, 7.0, 2.0**31, 2.0**62]
WHOLE = [-1, -5, 0, 1, 5, 30, 31, 1000, 10**6, 2**30, -(2**30)]
TYPES = ["f4", ">f8", "i4", "i8", "u1", "c16", "U8", "?", "f2", "S3", "M8[s]"]
SIDES = [0, 1, 3, 30, 2**20, 2**31, 2**40, 2**62]
# What may stand in a tree: numbers, texts that are numbers, names of types and of modules.
LEAVES = [
    *(
        0,
        1,
        -1,
        2,
        3.5,
        1e308,
        -1e308,
        1e-320,
        10**9,
        123456789012345678901,
        None,
        True,
        [],
        {},
        "",
        "x",
    ),
    *(
        "0",
        "-1",
        "1e308",
        "NaN",
        "Infinity",
        "1000000000",
        "null",
        "true",
        '"text"',
        "[1, 2]",
        "not JSON",
    ),
    *("posix", "system", "builtins", "numpy", "ndarray", "float64", "void", "dict", "tuple", "list"),
    *("nsse", "NSSE", "NYS", "Nothing", "scipy.sparse._csr", "csr_matrix", "csr_array", "kd_tree"),
    *("sklearn.svm._classes", "SVC", "sklearn.tree._tree", "Tree", "precomputed", "haversine"),
]


def mutated(content: bytes, rng: Generator) -> tuple[str, bytes]:
    """A file with one to three changes of one kind, and the name of the kind."""
    if rng.random() < 0.15:
        return "bytes", other_bytes(content, rng)
    members = _members(content)
    name = str(rng.choice(list(KINDS), p=[weight for _, weight in KINDS.values()]))
    for _ in range(rng.integers(1, 4)):
        KINDS[name][0](members, rng)
    return name, _zipped(members)


def other_bytes(content: bytes, rng: Generator) -> bytes:
    """Cut, moved, doubled or overwritten."""
    data, way = bytearray(content), rng.integers(5)
    place = int(rng.integers(len(data)))
    if way == 0:
        return bytes(data[:place])
    if way == 1:
        del data[place : place + int(rng.integers(1, 64))]
    elif way == 2:
        data[place:place] = data[: int(rng.integers(1, 64))]
    elif way == 3:  # the directory at the end: sizes, offsets, methods
        place = len(data) - 1 - int(rng.integers(min(len(data), 1500)))
        data[place : place + 4] = rng.bytes(min(4, len(data) - place))
    else:
        for place in rng.integers(len(data), size=rng.integers(1, 6)):
            data[place] = rng.integers(256)
    return bytes(data)


def _change_tree(members: Members, rng: Generator) -> None:
    name = _some(rng, [name for name in members if name.endswith(".json")])
    try:
        tree = json.loads(members[name]) if name else None
    except ValueError:
        return
    places = list(_places(tree))
    if not places:
        return
    holder, key = _some(rng, places)
    other_holder, other_key = _some(rng, places)
    way = rng.integers(5)
    if way == 0:
        del holder[key]
    elif way == 1:  # a copy of another part, which may contain this one
        holder[key] = json.loads(json.dumps(other_holder[other_key]))
    elif way == 2:
        holder[key] = [holder[key]]
    else:
        holder[key] = _some(rng, LEAVES)
    if isinstance(holder, dict) and "__id__" in holder and rng.random() < 0.8:
        holder["__id__"] = int(rng.integers(2**40))  # under its old number the first one would be taken
    members[name] = json.dumps(tree).encode()


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every holder and key of a tree; plain values four times as often as what holds others."""
    keys = tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in list(keys):
        is_plain = not isinstance(tree[key], dict | list)
        yield from [(tree, key)] * (4 if is_plain else 1)
        yield from _places(tree[key])


def _change_array(members: Members, rng: Generator) -> None:
    name = _some(rng, [name for name in members if name.endswith(".npy")])
    try:
        array = np.load(BytesIO(members[name]), allow_pickle=False) if name else None
        if array is None:
            return
        buffer = BytesIO()
        np.save(buffer, np.array(_some(rng, ARRAY_CHANGES)(array, rng)), allow_pickle=False)
    except (ValueError, TypeError, IndexError, OverflowError, RuntimeError, EOFError, OSError):
        return  # no array any more, or one that this cannot be done to
    members[name] = buffer.getvalue()


def _change_value(array: Any, rng: Generator) -> Any:
    if not array.size or array.dtype.kind not in "fiu":
        return array[::-1]
    array = array.copy()
    value = _some(rng, NUMBERS if array.dtype.kind == "f" else WHOLE)
    array.reshape(-1)[rng.integers(array.size)] = value
    return array


def _change_type(array: Any, rng: Generator) -> Any:
    return array.astype(_some(rng, TYPES))


def _change_shape(array: Any, rng: Generator) -> Any:
    ways: list[Callable[[Any], Any]] = [
        np.ravel,
        np.transpose,
        lambda a: a[:-1],
        lambda a: a[:0],
        lambda a: a[np.newaxis],
        lambda a: a[..., :-1],
        lambda a: np.concatenate([a, a]),
        lambda a: a.reshape(-1)[:1].reshape(()),
    ]
    return _some(rng, ways)(array)


ARRAY_CHANGES = [_change_value, _change_value, _change_type, _change_shape]


def _change_header(members: Members, rng: Generator) -> None:
    """An array that says another shape or type than it has, and nothing else."""
    name = _some(rng, [name for name in members if members[name][:6] == b"\x93NUMPY"])
    if not name:
        return
    content = members[name]
    length = struct.unpack("<H", content[8:10])[0]
    told = {
        "descr": _some(rng, ["<f8", "<i8", "|O", "|V0", "<U1000000", "|S0", "<f4"]),
        "fortran_order": False,
        "shape": tuple(int(_some(rng, SIDES)) for _ in range(rng.integers(3))),
    }
    header = repr(told).encode() + b"\n"
    members[name] = content[:8] + struct.pack("<H", len(header)) + header + content[10 + length :]


def _change_members(members: Members, rng: Generator) -> None:
    if len(members) < 2:
        return
    a, b = _some(rng, list(members)), _some(rng, list(members))
    way = rng.integers(4)
    if way == 0:
        members[a], members[b] = members[b], members[a]
    elif way == 1:
        del members[a]
    elif way == 2:
        members[a] = other_bytes(members[a], rng) if members[a] else b"x"
    else:
        members[a] = members[b]


def _change_inner(members: Members, rng: Generator) -> None:
    """An archive inside, as sparse matrices are: its indices are what compiled code follows."""
    name = _some(rng, [name for name in members if name.endswith(".npz")])
    try:
        inner = _members(members[name]) if name else {}
    except (BadZipFile, ValueError):
        return
    if inner:
        _some(rng, [_change_array, _change_array, _change_header, _change_members])(inner, rng)
        members[name] = _zipped(inner)


KINDS: dict[str, tuple[Callable[[Members, Generator], None], float]] = {
    "tree": (_change_tree, 0.4),
    "array": (_change_array, 0.25),
    "header": (_change_header, 0.1),
    "members": (_change_members, 0.1),
    "inner archive": (_change_inner, 0.15),
}


def _members(content: bytes) -> Members:
    with ZipFile(BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _zipped(members: Members) -> bytes:
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _some(rng: Generator, things: list) -> Any:
    """One of them, None of none."""
    return things[int(rng.integers(len(things)))] if things else None
