"""Splits into training and test samples, the same number of training samples in every class.

Supervised embeddings are judged by how few labelled samples they need, so what is fixed is the
number per class and not a fraction of the data.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nsse._errors import rule_error

Indices: TypeAlias = NDArray[np.intp]


def per_class_split(y: ArrayLike, n_per_class: int, seed: int) -> tuple[Indices, Indices]:
    """Take `n_per_class` random samples of every class for training and the rest for testing.

    The split depends on the seed and on which samples share a class, not on the names of the classes
    or their order. With the same seed, a smaller training set is part of a larger one.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    n_per_class : int
        Training samples of every class; each class must have more, so that each is tested.
    seed : int
        Seed of the random choice.

    Returns
    -------
    train, test : ndarray of int
        Indices, ascending.

    See Also
    --------
    nsse.evaluation.compare : Fits on such splits.

    Examples
    --------
    >>> from nsse.evaluation import per_class_split
    >>> train, test = per_class_split(["a", "b", "a", "b", "b"], n_per_class=1, seed=0)
    >>> len(train), len(test)
    (2, 3)
    """
    labels = np.asarray(y)
    classes, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    _check_n_per_class(n_per_class, classes, sizes)
    # One random priority per sample, drawn without looking at the labels: names cannot matter.
    priority = np.random.default_rng(seed).permutation(len(labels))
    order = np.lexsort((priority, codes))
    rank_in_class = np.arange(len(labels)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    chosen = np.zeros(len(labels), dtype=bool)
    chosen[order] = rank_in_class < n_per_class
    return np.flatnonzero(chosen), np.flatnonzero(~chosen)


def _check_n_per_class(n_per_class: Any, classes: NDArray[Any], sizes: NDArray[np.intp]) -> None:
    if not isinstance(n_per_class, Integral) or isinstance(n_per_class, bool) or n_per_class < 1:
        raise rule_error("n_per_class", "be a positive whole number", n_per_class, "Pass 1 or more.")
    smallest = int(np.argmin(sizes))
    if sizes[smallest] <= n_per_class:
        name, size = classes[smallest].item(), int(sizes[smallest])
        rule = f"be smaller than every class, and class {name!r} has {size} sample{'s' * (size != 1)}"
        cure = f"Pass at most {size - 1}." if size > 1 else "Leave that class out or add samples."
        raise rule_error("n_per_class", rule, n_per_class, cure)
