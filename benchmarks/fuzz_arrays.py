"""Changes to single arrays in model files: values, types, shapes."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np

Generator = np.random.Generator

NUMBERS = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, 1e-308, 1e200, 7.0, 2.0**31, 2.0**62]
TYPES = ["f4", ">f8", "i4", "i8", "u1", "c16", "U8", "?", "f2", "S3", "M8[s]"]


def other_array(content: bytes, rng: Generator) -> bytes:
    """An ``.npy`` with one change; one that cannot be read stays as it is."""
    try:
        array = np.load(BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError, OSError):
        return content
    changed = np.array(pick(rng, ARRAY_CHANGES)(array, rng))
    buffer = BytesIO()
    np.save(buffer, changed, allow_pickle=False)
    return buffer.getvalue()


def _change_value(array: Any, rng: Generator) -> Any:
    array = np.array(array)
    if array.size and array.dtype.kind in "fiu":
        flat = array.reshape(-1)
        value = pick(rng, NUMBERS)
        if array.dtype.kind in "iu":
            value = int(pick(rng, [-1, -5, 0, 1, 5, 30, 31, 1000, 10**6, 2**30, -(2**30)])) % 2**31
            value = -value if rng.random() < 0.3 else value
        flat[rng.integers(array.size)] = value
        return flat.reshape(array.shape)
    return array[::-1] if array.ndim else array


def _change_type(array: Any, rng: Generator) -> Any:
    return array.astype(pick(rng, TYPES))


def _change_shape(array: Any, rng: Generator) -> Any:
    ways = [
        np.ravel,
        np.transpose,
        lambda a: a[:-1],
        lambda a: a[:0],
        lambda a: a[np.newaxis],
        lambda a: a[..., :-1],
        lambda a: np.concatenate([a, a]),
        lambda a: a.reshape(-1)[:1].reshape(()),
        lambda a: a[..., np.newaxis],
    ]
    return pick(rng, ways)(array)


def _tried(change: Callable[[Any, Generator], Any]) -> Callable[[Any, Generator], Any]:
    def either(array: Any, rng: Generator) -> Any:
        try:
            return change(array, rng)
        except (ValueError, TypeError, IndexError, OverflowError, RuntimeError):
            return array

    return either


ARRAY_CHANGES = [
    _tried(change) for change in (_change_value, _change_value, _change_type, _change_shape)
]


def pick(rng: Generator, things: list) -> Any:
    """One of them."""
    return things[int(rng.integers(len(things)))]
