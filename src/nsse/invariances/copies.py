"""Samples and their copies as one set: sample i is row i (1 + c), its c copies follow it.

A sample and its copies stand together, so that any block of rows is made of few samples, and the same
block of the same samples whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nsse._errors import rule_error
from nsse.invariances.base import Invariance

Ints = NDArray[np.intp]
Rows = NDArray[Any]
# What gives copies of rows: one of this room, or any function that gives arrays of their shape.
Copier = Callable[[Rows], Sequence[Rows]]

# Samples that are copied at a time.
STEP = 512


def check_invariances(value: Any, name: str = "invariances") -> None:
    """Refuse what gives no copies, as far as that can be told without samples.

    Parameters
    ----------
    value : callable, or sequence of these, or None
        What may be given as `invariances`.
    name : str, default="invariances"
        What messages call it.

    See Also
    --------
    nsse.invariances.Images : What may be given.

    Examples
    --------
    >>> from nsse.invariances import check_invariances
    >>> check_invariances(lambda X: [X + 1])
    """
    if value is None:
        return
    if isinstance(value, type) or not callable(value):
        cure = "nsse.invariances.Images((28, 28)) is one; so is any function of rows."
        raise rule_error(name, "be None or give copies of samples when it is called", value, cure)
    if isinstance(value, Invariance) and not value.names:
        cure = "Say how to transform samples, or leave it None."
        raise rule_error(name, "give at least one copy", value, cure)


def n_copies_of(invariances: Any, n_features: int) -> int:
    """How many copies a sample gets; a function is asked about one row.

    Parameters
    ----------
    invariances : callable
        What makes copies.
    n_features : int
        Width of a row.

    Returns
    -------
    int
        Copies of each sample.

    See Also
    --------
    nsse.invariances.enlarged : Makes them.

    Examples
    --------
    >>> from nsse.invariances import Signals, n_copies_of
    >>> n_copies_of(Signals(shift=(1, 2)), 10)
    4
    """
    if invariances is None:
        return 0
    if isinstance(invariances, Invariance):
        return invariances.n_copies
    return _one_row(invariances, n_features, np.float64)[0]


def copied_type(invariances: Any, n_features: int, dtype: Any) -> np.dtype[Any]:
    """Of samples and copies together, where samples have a type.

    Parameters
    ----------
    invariances : callable
        What makes copies.
    n_features : int
        Width of a row.
    dtype : dtype
        Of the samples.

    Returns
    -------
    numpy.dtype
        That holds both.

    See Also
    --------
    nsse.invariances.enlarged : Has rows of that type.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.invariances import Images, copied_type
    >>> copied_type(Images((5, 5)), 25, np.uint8)  # turned pixels lie between whole numbers
    dtype('float32')
    """
    return _one_row(invariances, n_features, dtype)[1]


def copy_names(invariances: Any, n_copies: int) -> tuple[str, ...]:
    """What was done to each of the copies of a sample, in words.

    Parameters
    ----------
    invariances : callable
        What makes copies.
    n_copies : int
        How many it makes.

    Returns
    -------
    tuple of str
        One for each.

    See Also
    --------
    nsse.invariances.Images : Has names for its copies.

    Examples
    --------
    >>> from nsse.invariances import Signals, copy_names
    >>> len(copy_names(Signals(shift=1), 2))
    2
    """
    if isinstance(invariances, Invariance):
        return invariances.names
    return tuple(f"copy {place}" for place in range(1, n_copies + 1))


def enlarged(invariances: Any, X: Rows) -> Rows:
    """Samples and their copies, each sample before its own.

    Parameters
    ----------
    invariances : callable
        What makes copies.
    X : ndarray of shape (n_samples, n_features)
        Samples.

    Returns
    -------
    ndarray of shape (n_samples * (1 + n_copies), n_features)
        Row i (1 + n_copies) is sample i.

    See Also
    --------
    nsse.NSSE : Does it in `fit`, by its parameter ``invariances``.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.invariances import Signals, enlarged
    >>> enlarged(Signals(shift=1), np.array([[1, 2, 3]]))
    array([[1, 2, 3],
           [2, 3, 3],
           [1, 1, 2]])
    """
    if invariances is None:
        return X
    refuse_sparse(sparse.issparse(X))
    made = _made(invariances, X)
    dtype = np.result_type(X, *made)
    out = np.empty((len(X), 1 + len(made), X.shape[1]), dtype=dtype)
    for place, rows in enumerate([X, *made]):
        out[:, place] = rows
    return out.reshape(-1, X.shape[1])


@dataclass(frozen=True, eq=False)
class Enlarged:
    """A matrix of samples and their copies, of which only those rows are made that are asked for.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The samples.
    invariances : callable
        What makes copies.
    n_copies : int
        Of each sample.
    dtype : numpy.dtype
        Of samples and copies.

    See Also
    --------
    nsse.invariances.enlarged : All rows at once.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.invariances import Enlarged, Signals
    >>> Enlarged.of(np.eye(3), Signals(shift=1)).shape
    (9, 3)
    """

    X: Any
    invariances: Any
    n_copies: int
    dtype: Any

    @classmethod
    def of(cls, X: Any, invariances: Any) -> Enlarged:
        """Of samples in memory or on disk."""
        n_copies = n_copies_of(invariances, X.shape[1])
        return cls(X, invariances, n_copies, copied_type(invariances, X.shape[1], X.dtype))

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and copies; features."""
        return self.X.shape[0] * (1 + self.n_copies), self.X.shape[1]

    @property
    def ndim(self) -> int:
        """Of a matrix."""
        return 2

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, which: Any) -> Rows:
        """Rows by a slice or by their indices, made a few samples at a time."""
        places = np.arange(self.shape[0])[which] if isinstance(which, slice) else np.asarray(which)
        k = 1 + self.n_copies
        samples, inverse = np.unique(places // k, return_inverse=True)
        out = np.empty((len(places), self.shape[1]), dtype=self.dtype)
        order = np.argsort(inverse, kind="stable")
        bounds = np.searchsorted(inverse[order], np.arange(0, len(samples) + STEP, STEP))
        for start, a, b in zip(range(0, len(samples), STEP), bounds, bounds[1:], strict=False):
            rows = enlarged(self.invariances, np.asarray(self.X[samples[start : start + STEP]]))
            mine = order[a:b]
            out[mine] = rows[(inverse[mine] - start) * k + places[mine] % k]
        return out


def refuse_sparse(is_sparse: bool) -> None:
    """Copies are dense: say so where samples are not.

    Parameters
    ----------
    is_sparse : bool
        Whether samples are a sparse matrix.

    See Also
    --------
    nsse.invariances.enlarged : Needs dense rows.

    Examples
    --------
    >>> from nsse.invariances import refuse_sparse
    >>> refuse_sparse(False)
    """
    if is_sparse:
        cure = "Copies are dense: pass X.toarray(), or leave it None."
        raise rule_error("invariances", "be None for sparse samples", "sparse samples", cure)


def _one_row(invariances: Copier, n_features: int, dtype: Any) -> tuple[int, np.dtype[Any]]:
    """What comes of a row of zeros, whatever its values."""
    zeros = np.zeros((1, n_features), dtype)
    with np.errstate(all="ignore"):
        made = [np.asarray(rows) for rows in invariances(zeros)]
    return len(made), np.result_type(zeros, *made)


def _made(invariances: Copier, X: Rows) -> list[Rows]:
    """The copies of rows, checked where they come from a function of the user's."""
    made = [np.asarray(rows) for rows in invariances(X)]
    if isinstance(invariances, Invariance):
        return made
    wrong = [rows.shape for rows in made if rows.shape != X.shape]
    if wrong or not made:
        raise rule_error(
            "invariances",
            f"give arrays of the shape of the rows it is called with, {X.shape}",
            f"shapes {wrong[:3]}" if wrong else "no array",
            "It returns a sequence of arrays, one for each copy.",
        )
    if not all(np.isfinite(rows).all() for rows in made):
        raise rule_error("invariances", "give finite numbers", "NaN or infinity", "Check the function.")
    return made
