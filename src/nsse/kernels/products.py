"""Products A B in which a row of A has the same bits in any batch, of one row or many, in any order.

BLAS sums in another order for the rows and columns of a partial tile, for matrices stored by columns,
and, on some processors (OpenBLAS with AVX-512), for products of up to a million multiplications. Here
all come in whole tiles, both factors are stored by rows, and so many rows are multiplied at a time that
the product is always a small one or never, whatever the batch.

A tile costs as much as eight rows. Who has one row and wants its product soon takes `vector_product`: a
fifth of the time, with bits of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[Any]

TILE = 8
# Multiplications up to which a product may be taken for a small one.
SMALL = 1_000_000


def row_products(A: Any, B: Any) -> Rows:
    """A B for rows of ``A``, dense or sparse, as a dense array stored by rows; on this thread."""
    if not (isinstance(A, np.ndarray) and isinstance(B, np.ndarray)):
        product: Any = A @ B  # sparse products go row by row
        return np.ascontiguousarray(product.toarray() if hasattr(product, "toarray") else product)
    A, B = _by_rows(A), _by_rows(B)
    out = np.empty((len(A), B.shape[1]), dtype=np.result_type(A, B))
    whole = B.shape[1] // TILE * TILE
    if whole:
        _multiply(A, B[:, :whole], out[:, :whole])
    if whole < B.shape[1]:
        last = np.empty((len(A), TILE), dtype=out.dtype)
        _multiply(A, _by_rows(_tile(B[:, whole:].T).T), last)
        out[:, whole:] = last[:, : B.shape[1] - whole]
    return out


def vector_product(A: Any, B: Any) -> Rows:
    """A B for a single row, dense or sparse: that of `row_products` up to rounding, sooner."""
    if not (isinstance(A, np.ndarray) and isinstance(B, np.ndarray)):
        return row_products(A, B)
    return np.asarray(A @ B)


def _multiply(A: Rows, B: Rows, out: Rows) -> None:
    """A B, the columns of ``B`` in whole tiles."""
    whole = len(A) // TILE * TILE
    strip = _rows_at_a_time(B.size, whole)
    for start in range(0, whole, strip):
        part = slice(start, min(start + strip, whole))
        np.matmul(A[part], B, out=out[part])
    if whole < len(A):
        out[whole:] = (_tile(A[whole:]) @ B)[: len(A) - whole]


def _tile(rows: Rows) -> Rows:
    """The same rows, with zeros up to a tile."""
    tile = np.zeros((TILE, rows.shape[1]), dtype=rows.dtype)
    tile[: len(rows)] = rows
    return tile


def _by_rows(A: Rows) -> Rows:
    """The same matrix with the values of a row side by side; there may be gaps between rows."""
    return A if A.strides[1] == A.itemsize <= A.strides[0] else np.ascontiguousarray(A)


def _rows_at_a_time(multiplications_per_row: int, n_rows: int) -> int:
    """All where a single tile is no small product, else so many that every product is one."""
    fit = SMALL // max(multiplications_per_row, 1) // TILE * TILE
    return fit if fit else max(n_rows, TILE)
