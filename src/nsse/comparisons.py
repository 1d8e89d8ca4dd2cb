"""Compare labels, probabilities and neighbors of two fitted models on the same samples.

Use it after retraining, to see which predictions have changed and by how much. The neighbors of a sample
are the nearest of the given samples in the embedding of a model, with all its dimensions. Coordinates
themselves cannot be compared, because two embeddings may differ by a rotation.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from nsse._support.errors import rule_error
from nsse._support.parameters import check_count
from nsse._support.types import Bools, Floats, SamplesLike
from nsse.pipelines import opened

__all__ = ["Comparison", "compare"]

LISTED_CHANGES = 10  # pairs of labels that the text of a comparison lists


@dataclass(frozen=True, eq=False)
class Comparison:
    """Differences between two models on the same samples.

    Attributes
    ----------
    label, other_label : ndarray of shape (n_samples,)
        Predictions of the first and of the second model.
    changed : ndarray of bool of shape (n_samples,)
        Whether the two predictions differ.
    moved : ndarray of shape (n_samples,)
        Total variation distance between the two probability vectors, from 0 to 1. If a model does not
        have a class, its probability counts as 0.
    shared_neighbors : ndarray of shape (n_samples,)
        Share of the nearest samples in the first embedding that are also among the nearest in the
        second.
    changes : dict
        Number of samples for each pair of different labels, with the largest number first.
    removed_classes, added_classes : list
        Classes that only the first model has, and classes that only the second model has.

    See Also
    --------
    nsse.comparisons.compare : Returns an object of this class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> from nsse.comparisons import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> first, second = (SmoothEmbedding().fit(X[k::3], y[k::3]) for k in (0, 1))
    >>> compare(first, second, X).changed.shape
    (150,)
    """

    label: NDArray[Any]
    other_label: NDArray[Any]
    changed: Bools
    moved: Floats
    shared_neighbors: Floats
    changes: dict[tuple[Any, Any], int]
    removed_classes: list[Any]
    added_classes: list[Any]

    def __repr__(self) -> str:
        n, count = len(self.changed), int(self.changed.sum())
        lines = [
            f"{count} of {n} predictions changed ({100 * count / n:.1f} %). Probabilities moved by "
            f"{self.moved.mean():.3f} on average. {100 * self.shared_neighbors.mean():.0f} % of the "
            "nearest neighbors are the same."
        ]
        lines += [
            f"  {old} → {new}: {k}" for (old, new), k in list(self.changes.items())[:LISTED_CHANGES]
        ]
        for classes, words in ((self.removed_classes, "Removed"), (self.added_classes, "Added")):
            lines += [f"{words} classes: {', '.join(map(str, classes))}."] if classes else []
        return "\n".join(lines)


def compare(model: Any, other: Any, X: SamplesLike, *, n_neighbors: int = 5) -> Comparison:
    """Compare two fitted models on the same samples.

    Parameters
    ----------
    model, other : estimator
        Fitted models of this library, alone or at the end of a pipeline.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples that both models accept.
    n_neighbors : int, default=5
        Number of neighbors of each sample, among these samples, that are compared.

    Returns
    -------
    Comparison
        The changed predictions, probabilities and neighbors. `print` shows a summary.

    See Also
    --------
    nsse.SmoothEmbedding.partial_fit : Updates a model with new samples.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> old, new = (nsse.SmoothEmbedding().fit(X[:n], y[:n]) for n in (200, 400))
    >>> bool(nsse.comparisons.compare(old, new, X[800:]).changed.mean() < 0.2)
    True
    """
    label, other_label = np.asarray(model.predict(X)), np.asarray(other.predict(X))
    k = check_count("n_neighbors", n_neighbors, cure="5 is usual.")
    if k >= len(label):
        cure = "Pass more samples or a smaller number of neighbors."
        raise rule_error("n_neighbors", f"be less than the {len(label)} samples", k, cure)
    changed = label != other_label
    pairs = zip(label[changed].tolist(), other_label[changed].tolist(), strict=True)
    own, others = (opened(each)[1].classes_.tolist() for each in (model, other))
    P, Q = (np.asarray(each.predict_proba(X)) for each in (model, other))
    F, G = (np.asarray(each.transform(X)) for each in (model, other))
    return Comparison(
        label,
        other_label,
        changed,
        _moved(P, Q, own, others),
        _shared(F, G, k),
        dict(Counter(pairs).most_common()),
        [name for name in own if name not in others],
        [name for name in others if name not in own],
    )


def _moved(P: Floats, Q: Floats, own: list[Any], others: list[Any]) -> Floats:
    """Return ½ Σ_c |p_c − q_c| over the classes of both models."""
    every = [*own, *(name for name in others if name not in own)]
    place = {name: code for code, name in enumerate(every)}
    D = np.zeros((len(P), len(every)))
    D[:, : len(own)] = P
    D[:, [place[name] for name in others]] -= Q
    return np.asarray(0.5 * np.abs(D).sum(axis=1))


def _shared(F: Floats, G: Floats, k: int) -> Floats:
    """Return the share of the k nearest rows of ``F`` that are among the k nearest of ``G``."""
    near, other = (
        NearestNeighbors(n_neighbors=k).fit(each).kneighbors(return_distance=False) for each in (F, G)
    )
    return np.asarray((near[:, :, np.newaxis] == other[:, np.newaxis]).any(axis=2).mean(axis=1))
