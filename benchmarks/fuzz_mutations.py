"""Changes to model files: of their bytes, their tree, their arrays and their sparse matrices."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np

from fuzz_arrays import other_array, pick

Members = dict[str, bytes]
Generator = np.random.Generator

TREE = "schema.json"
CLASSES = [
    ("scipy.sparse._csr", "csr_array"),
    ("scipy.sparse._csr", "csr_matrix"),
    ("scipy.sparse._csc", "csc_array"),
    ("numpy", "ndarray"),
    ("numpy", "float64"),
    ("numpy", "void"),
    ("builtins", "dict"),
    ("builtins", "tuple"),
    ("sklearn.neighbors._classification", "KNeighborsClassifier"),
    ("sklearn.svm._classes", "SVC"),
    ("sklearn.tree._tree", "Tree"),
    ("sklearn.cluster._kmeans", "KMeans"),
    ("posix", "system"),
    ("nsse", "NSSE"),
    ("nsse", "NYS"),
    ("nsse", "Shifted"),
    ("nsse.estimators._nsse", "NSSE"),
    ("nsse", "Nothing"),
]
LOADERS = [
    "ObjectNode",
    "DictNode",
    "ListNode",
    "TupleNode",
    "NdArrayNode",
    "SparseMatrixNode",
    "JsonNode",
    "TypeNode",
    "ConstructorFromReduceNode",
    "CachedNode",
    "MaskedArrayNode",
    "FunctionNode",
    "BytesNode",
    "Nothing",
]
TEXTS = [
    "0",
    "1",
    "-1",
    "2",
    "3.5",
    "1e308",
    "-1e308",
    "1e-320",
    "NaN",
    "Infinity",
    "1000000000",
    "123456789012345678901",
    "null",
    "true",
    '"text"',
    '"brute"',
    '"kd_tree"',
    '"precomputed"',
    '"haversine"',
    "[]",
    "[1, 2]",
    "{}",
    "not JSON",
]


def mutated(content: bytes, rng: Generator) -> tuple[str, bytes]:
    """A file with one to three changes of one kind, and the name of the kind."""
    if rng.random() < 0.15:
        return "bytes", _other_bytes(content, rng)
    with ZipFile(BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    kinds: list[tuple[str, Callable[[Members, Generator], None], float]] = [
        ("tree", _change_tree, 0.5),
        ("array", _change_array, 0.3),
        ("members", _change_members, 0.1),
        ("header", _change_header, 0.1),
    ]
    if any(name.endswith(".npz") for name in members):
        kinds.append(("sparse", _change_sparse, 1.0))
    weights = np.array([weight for *_, weight in kinds])
    name, change, _ = kinds[rng.choice(len(kinds), p=weights / weights.sum())]
    for _ in range(rng.integers(1, 4)):
        change(members, rng)
    return name, _zipped(members, rng)


def _other_bytes(content: bytes, rng: Generator) -> bytes:
    data, way = bytearray(content), rng.integers(5)
    place = int(rng.integers(len(data)))
    if way == 0:
        return bytes(data[:place])
    if way == 1:
        del data[place : place + int(rng.integers(1, 64))]
    elif way == 2:
        data[place:place] = data[: int(rng.integers(1, 64))]
    elif way == 3:
        # The directory at the end: sizes, offsets, methods.
        place = len(data) - 1 - int(rng.integers(min(len(data), 1500)))
        data[place : place + 4] = rng.bytes(min(4, len(data) - place))
    else:
        for place in rng.integers(len(data), size=rng.integers(1, 6)):
            data[place] = rng.integers(256)
    return bytes(data)


def _change_tree(members: Members, rng: Generator) -> None:
    if TREE not in members:
        return
    try:
        tree = json.loads(members[TREE])
    except ValueError:
        return
    nodes = list(_nodes(tree))
    if nodes:
        pick(rng, TREE_CHANGES)(nodes, rng)
    try:
        members[TREE] = json.dumps(tree).encode()
    except (ValueError, RecursionError):
        return  # it contains itself: JSON has no word for that


def _change_text(nodes: list[dict], rng: Generator) -> None:
    plain = [node for node in nodes if node.get("__loader__") == "JsonNode"]
    if plain:
        pick(rng, plain).update(content=pick(rng, TEXTS), __id__=_new_number(rng))


def _change_class(nodes: list[dict], rng: Generator) -> None:
    node = _solid(nodes, rng)
    node["__module__"], node["__class__"] = pick(rng, CLASSES)
    node["__id__"] = _new_number(rng)


def _change_loader(nodes: list[dict], rng: Generator) -> None:
    _solid(nodes, rng).update(__loader__=pick(rng, LOADERS), __id__=_new_number(rng))


def _drop_key(nodes: list[dict], rng: Generator) -> None:
    node = pick(rng, nodes)
    content = node.get("content")
    place = content if isinstance(content, dict) and content and rng.random() < 0.7 else node
    node["__id__"] = _new_number(rng)
    del place[pick(rng, list(place))]


def _swap_nodes(nodes: list[dict], rng: Generator) -> None:
    a, b = _solid(nodes, rng), _solid(nodes, rng)
    if a is not b:
        old = dict(a)
        a.clear()
        a.update(json.loads(json.dumps(b)))
        if rng.random() < 0.5 and not _inside(a, b):
            b.clear()
            b.update(old)


def _share_number(nodes: list[dict], rng: Generator) -> None:
    pick(rng, nodes)["__id__"] = pick(rng, nodes).get("__id__")


def _refer(nodes: list[dict], rng: Generator) -> None:
    node, number = pick(rng, nodes), pick(rng, nodes).get("__id__")
    keep = rng.random() < 0.5
    old = {key: node[key] for key in ("__class__", "__module__", "__loader__") if key in node and keep}
    node.clear()
    node.update(old, __id__=number)


def _change_file(nodes: list[dict], rng: Generator) -> None:
    with_files = [node for node in nodes if "file" in node]
    if with_files:
        pick(rng, with_files).update(file=pick(rng, with_files)["file"], __id__=_new_number(rng))


def _nest(nodes: list[dict], rng: Generator) -> None:
    node = pick(rng, nodes)
    for _ in range(int(pick(rng, [1, 20, 400]))):
        inner = dict(node)
        node.clear()
        node.update(
            {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": [inner]}
        )


TREE_CHANGES = [
    _change_text,
    _change_text,
    _change_text,
    _change_class,
    _change_loader,
    _drop_key,
    _swap_nodes,
    _share_number,
    _refer,
    _change_file,
    _change_file,
    _nest,
]


def _change_array(members: Members, rng: Generator) -> None:
    names = [name for name in members if name.endswith(".npy")]
    if names:
        name = pick(rng, names)
        members[name] = other_array(members[name], rng)


def _change_sparse(members: Members, rng: Generator) -> None:
    name = pick(rng, [name for name in members if name.endswith(".npz")])
    try:
        with ZipFile(BytesIO(members[name])) as archive:
            inner = {part: archive.read(part) for part in archive.namelist()}
    except ValueError:
        return
    if rng.random() < 0.1:
        _change_members(inner, rng)
    elif inner:
        # Indices are what compiled code follows.
        part = pick(rng, [part for part in inner for _ in range(1 + 3 * part.startswith("ind"))])
        inner[part] = other_array(inner[part], rng)
    members[name] = _zipped(inner, rng)


def _change_members(members: Members, rng: Generator) -> None:
    names = list(members)
    if len(names) < 2:
        return
    a, b = pick(rng, names), pick(rng, names)
    way = rng.integers(4)
    if way == 0:
        members[a], members[b] = members[b], members[a]
    elif way == 1:
        del members[a]
    elif way == 2:
        members[a] = _other_bytes(members[a], rng) if members[a] else b"x"
    else:
        members[a] = members[b]


def _change_header(members: Members, rng: Generator) -> None:
    """An array that says another shape or type than it has, and nothing else."""
    names = [name for name in members if name.endswith(".npy") and members[name][:6] == b"\x93NUMPY"]
    if not names:
        return
    name = pick(rng, names)
    content = members[name]
    length = struct.unpack("<H", content[8:10])[0]
    sides = [int(pick(rng, [0, 1, 3, 30, 2**20, 2**31, 2**40, 2**62])) for _ in range(rng.integers(3))]
    told = {
        "descr": pick(rng, ["<f8", "<i8", "|O", "|V0", "<U1000000", "|S0", "<f4"]),
        "fortran_order": False,
    }
    header = repr(told | {"shape": tuple(sides)}).encode() + b"\n"
    members[name] = content[:8] + struct.pack("<H", len(header)) + header + content[10 + length :]


def _zipped(members: Members, rng: Generator) -> bytes:
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _nodes(tree: Any) -> Iterator[dict]:
    if isinstance(tree, dict):
        if "__loader__" in tree or "__class__" in tree:
            yield tree
        for part in tree.values():
            yield from _nodes(part)
    elif isinstance(tree, list):
        for part in tree:
            yield from _nodes(part)


def _inside(part: Any, whole: Any) -> bool:
    return any(node is part for node in _nodes(whole))


def _new_number(rng: Generator) -> int:
    """Under its old number, an object told twice would be the first of them."""
    return int(rng.integers(2**40))


def _solid(nodes: list[dict], rng: Generator) -> dict:
    """A node that is no plain number or type; of these there are few."""
    few = [node for node in nodes if node.get("__loader__") not in ("JsonNode", "TypeNode")]
    return pick(rng, few or nodes)
