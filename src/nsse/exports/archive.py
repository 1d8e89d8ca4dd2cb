"""The archive of a model, read within bounds: what a part claims is compared with what is there.

A few bytes can claim to hold gigabytes, and an index can point anywhere. Sizes are added up before
anything is inflated; arrays must be as long as their shape says, and the indices of sparse matrices,
which compiled code follows without a look, must lie inside them.
"""

from __future__ import annotations

import math
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

# A file may hold so many bytes whatever its size, and so many for each byte of its own. Images with
# many zeros deflate to a fiftieth; `save` stores what deflates further.
FREE, RATIO = 64 * 2**20, 100
# Columns of a sparse matrix, and sides of an array that holds nothing: no bytes stand for them.
MOST_COLUMNS = 2**25

_INDICES = {"csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "coo": ("row", "col")}
_NUMBERS = "biufc"


class Archive:
    """The members of a ZIP archive by name, read on demand; ``spent`` bytes of ``allowed``."""

    def __init__(self, content: bytes) -> None:
        self._zip = ZipFile(BytesIO(content))
        self.allowed, self.spent = allowed_bytes(len(content)), 0
        self._entries = _entries(self._zip)
        self._spend(sum(entry.file_size for entry in self._entries.values()))

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def names(self) -> list[str]:
        """Names of the members."""
        return list(self._entries)

    def read(self, name: str) -> bytes:
        """A member, as long as it was declared to be."""
        if name not in self._entries:
            raise ValueError(f"no member {name!r:.80}")
        return _whole(self._zip, self._entries[name])

    def inner(self, content: bytes) -> dict[str, bytes]:
        """Members of an archive that is a member of this one."""
        with ZipFile(BytesIO(content)) as archive:
            entries = _entries(archive)
            self._spend(sum(entry.file_size for entry in entries.values()))
            return {name: _whole(archive, entry) for name, entry in entries.items()}

    def _spend(self, size: int) -> None:
        self.spent += size
        if self.spent > self.allowed:
            raise ValueError(f"{self.spent} bytes declared where at most {self.allowed} can be meant")


def allowed_bytes(size: int) -> int:
    """Most bytes that a file of so many may hold."""
    return FREE + RATIO * size


def packed(members: dict[str, bytes], level: int) -> bytes:
    """An archive of the members; one that deflates further than a reader allows is not deflated."""
    content = _zipped(members, ZIP_DEFLATED, level)
    fits = 2 * sum(map(len, members.values())) <= allowed_bytes(len(content))
    return content if fits else stored(members)


def stored(members: dict[str, bytes]) -> bytes:
    """An archive of the members as they are."""
    return _zipped(members, ZIP_STORED, None)


def stored_inside(npz: bytes) -> bytes:
    """The same archive of arrays, not deflated: what is around it deflates once."""
    with ZipFile(BytesIO(npz)) as archive:
        return stored({name: archive.read(name) for name in archive.namelist()})


def check_array(content: bytes, *, scalar: bool = False) -> None:
    """Refuse an ``.npy`` whose shape does not fit its bytes, or that holds objects."""
    shape, dtype, size = _described(content)
    if any(side < 0 for side in shape) or math.prod(shape) * dtype.itemsize != size:
        raise ValueError(f"an array of shape {shape} and type {dtype} in {size} bytes")
    if dtype.hasobject or dtype.itemsize == 0 or max(shape, default=0) > max(size, MOST_COLUMNS):
        raise ValueError(f"an array of shape {shape} and type {dtype}")
    if scalar and (shape or dtype.kind in "OV"):
        raise ValueError(f"a number that is an array of shape {shape} and type {dtype}")


def check_sparse(members: dict[str, bytes], class_name: str) -> None:
    """Refuse a sparse matrix with an index outside it, or of another kind than it is said to be."""
    arrays = {name.removesuffix(".npy"): _array(part) for name, part in members.items()}
    form, _, kind = class_name.partition("_")
    first, second = _INDICES[form]
    if not {"format", "shape", "data", first, second} == set(arrays) - {"_is_array"}:
        raise ValueError(f"a sparse matrix made of {sorted(arrays)}")
    if arrays["format"].item() not in (form, form.encode()):
        raise ValueError(f"a {class_name} in the format {arrays['format'].item()!r:.20}")
    if bool(arrays.get("_is_array", np.array(False)).item()) != (kind == "array"):
        raise ValueError(f"no {class_name}, but the other kind")
    rows, columns = _sides(arrays["shape"])
    data, a, b = arrays["data"], arrays[first], arrays[second]
    if data.ndim != 1 or data.dtype.kind not in _NUMBERS:
        raise ValueError(f"a sparse matrix of values of shape {data.shape} and type {data.dtype}")
    if form == "coo":
        _check_indices("row", a, rows, len(data))
        _check_indices("col", b, columns, len(data))
        return
    _check_indices("indices", a, columns if form == "csr" else rows, len(data))
    _check_pointers(b, rows if form == "csr" else columns, len(data))


def _check_indices(name: str, indices: NDArray[Any], side: int, length: int) -> None:
    if indices.shape != (length,) or indices.dtype.kind != "i":
        raise ValueError(f"{name} of shape {indices.shape} and type {indices.dtype}")
    if length and not (int(indices.min()) >= 0 and int(indices.max()) < side):
        raise ValueError(f"{name} outside a sparse matrix, of {side}")


def _check_pointers(indptr: NDArray[Any], side: int, length: int) -> None:
    if indptr.shape != (side + 1,) or indptr.dtype.kind != "i":
        raise ValueError(f"indptr of shape {indptr.shape} and type {indptr.dtype} for {side}")
    # Compared, not subtracted: a difference may overflow.
    if indptr[0] != 0 or indptr[-1] > length or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError("indptr that does not rise from 0 to the number of values")


def _sides(shape: NDArray[Any]) -> tuple[int, int]:
    if shape.shape != (2,) or shape.dtype.kind not in "iu":
        raise ValueError(f"a sparse matrix whose shape is of type {shape.dtype}, {shape.shape}")
    rows, columns = map(int, shape)
    if not (0 <= rows <= MOST_COLUMNS and 0 <= columns <= MOST_COLUMNS):
        raise ValueError(f"a sparse matrix of shape {rows} x {columns}")
    return rows, columns


def _array(content: bytes) -> NDArray[Any]:
    check_array(content)
    return np.asarray(np.load(BytesIO(content), allow_pickle=False))


def _described(content: bytes) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Shape and type that an ``.npy`` claims, and the bytes there are for its values."""
    file = BytesIO(content)
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"an array in the format {version}")
    shape, _, dtype = readers[version](file)
    return shape, dtype, len(content) - file.tell()


def _entries(archive: ZipFile) -> dict[str, ZipInfo]:
    entries = {entry.filename: entry for entry in archive.infolist()}
    if len(entries) < len(archive.infolist()):
        raise ValueError("two members of one name")
    for name, entry in entries.items():
        # Other methods inflate without a bound.
        if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise ValueError(f"{name!r:.80} compressed by method {entry.compress_type}")
    return entries


def _whole(archive: ZipFile, entry: ZipInfo) -> bytes:
    with archive.open(entry) as file:
        # With a number of bytes asked for, no more than these are inflated at a time.
        content = file.read(entry.file_size + 1)
    if len(content) != entry.file_size:
        raise ValueError(f"{len(content)} bytes of {entry.filename!r:.80}, not {entry.file_size}")
    return content


def _zipped(members: dict[str, bytes], method: int, level: int | None) -> bytes:
    buffer = BytesIO()
    with ZipFile(buffer, "w", method, compresslevel=level) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()
