"""The tree of objects in a file, judged as text before any object is made.

skops compares types with a list. It does not ask whether a type is built in the way it was written (a
sparse matrix put together from loose arrays is checked by nobody), whether a part contains itself, or
how often one part is told again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from nsse.exports.archive import Archive, check_array, check_sparse
from nsse.exports.names import living_name

# Levels of JSON; a pipeline of searches of pipelines has sixty.
DEEPEST = 200
# Objects whatever the size of the file, and for every byte of it.
FREE_OBJECTS, OBJECTS_PER_BYTE = 100_000, 0.1
# Bytes of the tree, likewise: a byte of text becomes twenty of Python.
FREE_TEXT, TEXT_PER_BYTE = 16 * 2**20, 20
# Ways in which skops writes an object.
LOADERS = {
    "BytearrayNode",
    "BytesNode",
    "ConstructorFromReduceNode",
    "DTypeNode",
    "DefaultDictNode",
    "DictNode",
    "FunctionNode",
    "JsonNode",
    "ListNode",
    "LossNode",
    "MaskedArrayNode",
    "MethodNode",
    "NdArrayNode",
    "ObjectNode",
    "OperatorFuncNode",
    "PartialNode",
    "RandomGeneratorNode",
    "RandomStateNode",
    "SetNode",
    "SliceNode",
    "SparseMatrixNode",
    "TreeNode",
    "TupleNode",
    "TypeNode",
}


@dataclass
class Walk:
    """One way through a tree: what was seen, and inside what we are."""

    archive: Archive
    loaders: dict[str, str]
    most: int
    names: set[tuple[str, str]] = field(default_factory=set)
    seen: dict[Any, tuple[str, int, str]] = field(default_factory=dict)
    inside: set[Any] = field(default_factory=set)
    checked: set[tuple[str, str, str]] = field(default_factory=set)
    count: int = 0


def check_text(schema: bytes, size: int) -> None:
    """Refuse a tree too long for a file of so many bytes."""
    if len(schema) > FREE_TEXT + TEXT_PER_BYTE * size:
        raise ValueError(f"a tree of {len(schema)} bytes in a file of {size}")


def types_in(tree: Any, archive: Archive, loaders: dict[str, str], size: int) -> set[tuple[str, str]]:
    """Check the tree, and every array that it refers to; give the types in it with their loaders.

    Types go by the names of where they live now; those of ``loaders`` are to be read in one way only.
    """
    walk = Walk(archive, loaders, int(FREE_OBJECTS + OBJECTS_PER_BYTE * size))
    if not _is_object(tree):
        raise ValueError("a tree without a root")
    _visit(tree, walk, 0)
    return walk.names


def _visit(part: Any, walk: Walk, depth: int) -> int:
    """The number of objects in this part of the tree."""
    if depth > DEEPEST:
        raise ValueError(f"objects more than {DEEPEST} levels deep")
    if not _is_object(part):
        return sum(_visit(each, walk, depth + 1) for each in _parts(part))
    kind, identity = _checked_kind(part, walk), part.get("__id__")
    if identity in walk.inside:
        raise ValueError(f"an object of type {kind!r:.80} that contains itself")
    walk.count += 1
    if walk.count > walk.most:
        raise ValueError(f"more than {walk.most} objects")
    if identity is not None:
        walk.inside.add(identity)
    weight = 1 + sum(_visit(each, walk, depth + 1) for each in _parts(part))
    walk.inside.discard(identity)
    # An object told twice is told whole twice. A short second telling would stand for a long first
    # one, and a few of them inside each other for more objects than can be counted.
    told = (kind, weight, _leaf(part))
    if identity is not None and walk.seen.setdefault(identity, told) != told:
        raise ValueError(f"two objects under one number, one of type {kind!r:.80}")
    return weight


def _checked_kind(part: dict[str, Any], walk: Walk) -> str:
    module, name, loader = (part.get(key) for key in ("__module__", "__class__", "__loader__"))
    if not (
        isinstance(module, str) and isinstance(name, str) and isinstance(part.get("__id__", 0), int)
    ):
        raise ValueError("an object without a type")
    full = living_name(f"{module}.{name}")
    if loader not in LOADERS or walk.loaders.get(full, loader) != loader:
        raise ValueError(f"an object of type {full!r:.80} to be read as a {loader!r:.40}")
    walk.names.add((full, str(loader)))
    _check_file(part, full, str(loader), walk)
    return full


def _check_file(part: dict[str, Any], full: str, loader: str, walk: Walk) -> None:
    """The array that an object stands for, once."""
    file = part.get("file")
    key = (loader, full, str(file))
    if file is None or key in walk.checked:
        return
    content = walk.archive.read(str(file))
    if loader == "NdArrayNode":
        check_array(content, scalar=full != "numpy.ndarray")
    elif loader == "SparseMatrixNode":
        check_sparse(walk.archive.inner(content), full.rpartition(".")[2])
    walk.checked.add(key)


def _leaf(part: dict[str, Any]) -> str:
    """What an object without parts says; bytes are written again, under another name."""
    key = {"JsonNode": "content", "NdArrayNode": "file", "SparseMatrixNode": "file"}
    return str(part.get(key.get(part["__loader__"], "")))


def _is_object(part: Any) -> bool:
    # skops takes what has a number for what was told under it before.
    return isinstance(part, dict) and not {"__loader__", "__class__", "__id__"}.isdisjoint(part)


def _parts(part: Any) -> Iterator[Any]:
    values = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return (each for each in values if isinstance(each, dict | list))
