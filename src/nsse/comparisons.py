"""What changed between two models: labels, probabilities and neighbours of the same samples.

For who retrains: which predictions are others now, by how much probabilities moved, and whether samples
still have the same neighbours. Neighbours of a sample are the nearest of the given samples in the
embedding of a model, all its dimensions counting; coordinates do not compare, for they may be rotated.
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


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two models on the same samples.

    Attributes
    ----------
    label, other_label : ndarray of shape (n_samples,)
        Predictions of the model, and of the other one.
    changed : ndarray of bool of shape (n_samples,)
        Where they differ.
    moved : ndarray of shape (n_samples,)
        Total variation between the probabilities, from 0 to 1; a class that a model does not know has
        probability 0.
    kept_neighbors : ndarray of shape (n_samples,)
        Share of the nearest samples in one embedding that are among the nearest in the other.
    changes : dict
        How many samples went from one label to another, the most first.
    gone, new : list
        Classes that only the model knows, and only the other one.

    See Also
    --------
    nsse.comparisons.compare : Gives it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> one, two = (SmoothEmbedding().fit(X[k::3], y[k::3]) for k in (0, 1))
    >>> one.compare(two, X).changed.shape
    (150,)
    """

    label: NDArray[Any]
    other_label: NDArray[Any]
    changed: Bools
    moved: Floats
    kept_neighbors: Floats
    changes: dict[tuple[Any, Any], int]
    gone: list[Any]
    new: list[Any]

    def __str__(self) -> str:
        n, count = len(self.changed), int(self.changed.sum())
        lines = [
            f"{count} of {n} predictions changed ({100 * count / n:.1f} %). Probabilities moved by "
            f"{self.moved.mean():.3f} in the mean, {100 * self.kept_neighbors.mean():.0f} % of the "
            "nearest neighbours are the same."
        ]
        lines += [f"  {old} → {new}: {k}" for (old, new), k in list(self.changes.items())[:10]]
        for classes, words in ((self.gone, "no longer known"), (self.new, "new")):
            lines += [f"Classes {words}: {', '.join(map(str, classes))}."] if classes else []
        return "\n".join(lines)


def compare(model: Any, other: Any, X: SamplesLike, *, n_neighbors: int = 5) -> Comparison:
    """Compare two fitted models on the same samples.

    Parameters
    ----------
    model, other : estimator
        Fitted, methods of this library, alone or at the end of a pipeline: the one in use, and another.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples, as both take them.
    n_neighbors : int, default=5
        Neighbours of a sample, among these samples, that are compared.

    Returns
    -------
    Comparison
        Which predictions, probabilities and neighbours changed; ``print`` sums it up.

    See Also
    --------
    nsse.SmoothEmbedding.partial_fit : A model that learns from samples that come later.

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
        cure = "Pass more samples, or ask for fewer neighbours."
        raise rule_error("n_neighbors", f"be less than the {len(label)} samples", k, cure)
    changed = label != other_label
    pairs = zip(label[changed].tolist(), other_label[changed].tolist(), strict=True)
    classes = [opened(each)[1].classes_.tolist() for each in (model, other)]
    P, Q = (np.asarray(each.predict_proba(X)) for each in (model, other))
    F, G = (np.asarray(each.transform(X)) for each in (model, other))
    return Comparison(
        label,
        other_label,
        changed,
        _moved(P, Q, *classes),
        _kept(F, G, k),
        dict(Counter(pairs).most_common()),
        [name for name in classes[0] if name not in classes[1]],
        [name for name in classes[1] if name not in classes[0]],
    )


def _moved(P: Floats, Q: Floats, own: list[Any], others: list[Any]) -> Floats:
    """½ Σ_c |p_c − q_c| over all classes that either knows."""
    every = [*own, *(name for name in others if name not in own)]
    place = {name: code for code, name in enumerate(every)}
    D = np.zeros((len(P), len(every)))
    D[:, : len(own)] = P
    D[:, [place[name] for name in others]] -= Q
    return np.asarray(0.5 * np.abs(D).sum(axis=1))


def _kept(F: Floats, G: Floats, k: int) -> Floats:
    """Share of the k nearest rows of ``F`` that are among the k nearest of ``G``."""
    near, other = (
        NearestNeighbors(n_neighbors=k).fit(each).kneighbors(return_distance=False) for each in (F, G)
    )
    return np.asarray((near[:, :, np.newaxis] == other[:, np.newaxis]).any(axis=2).mean(axis=1))
