"""Score models by certified accuracy, the share of samples that are right and have a large radius."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from nsse._support.parameters import check_number
from nsse._support.types import LabelsLike, SamplesLike
from nsse.certificates.radii import certified_radius


@dataclass(frozen=True)
class CertifiedAccuracy:
    """The scorer that `certified_accuracy` returns.

    Attributes
    ----------
    radius : float
        The radius that the label of a sample must have, in the units of the samples.

    See Also
    --------
    certified_accuracy : Returns such a scorer, after a check of the radius.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> from nsse.certificates import certified_accuracy
    >>> X, y = load_iris(return_X_y=True)
    >>> scorer = certified_accuracy(0.1)
    >>> scorer.radius
    0.1
    >>> bool(scorer(SmoothEmbedding().fit(X[::2], y[::2]), X[1::2], y[1::2]) > 0.5)
    True
    """

    radius: float

    def __call__(self, estimator: Any, X: SamplesLike, y: LabelsLike) -> float:
        """Return the share of the samples that have the right label and at least this radius.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator that `certified_radius` accepts.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        float
            The share, between 0 and 1.
        """
        labels, y = np.asarray(estimator.predict(X)), column_or_1d(y)
        check_consistent_length(labels, y)
        return float(np.mean((labels == y) & (certified_radius(estimator, X) >= self.radius)))


def certified_accuracy(radius: float) -> CertifiedAccuracy:
    """Return a scorer that computes the certified accuracy at a radius.

    A sample counts if its label is right and its certified radius is at least ``radius``. No change of
    such a sample that is shorter than ``radius`` can make its label wrong. The certified accuracy is
    therefore a lower bound of the accuracy under every attack of this size. At radius 0 it is the
    accuracy.

    Parameters
    ----------
    radius : float
        The radius in the units of the samples.

    Returns
    -------
    CertifiedAccuracy
        A callable ``scorer(estimator, X, y)``, which can be passed as ``scoring=`` to `GridSearchCV`,
        `cross_val_score` and `nsse.SmoothEmbeddingCV`.

    See Also
    --------
    certified_radius : The radii of single samples.
    risk_coverage : The share of mistakes among the samples with the largest radii.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from nsse import SmoothEmbedding
    >>> from nsse.certificates import certified_accuracy
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(SmoothEmbedding(), {"sigma": [0.25, 1.0]}, scoring=certified_accuracy(0.3))
    >>> search.fit(X, y).best_params_
    {'sigma': 1.0}
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> certified_accuracy(0.2)(model, X[1::3], y[1::3]) <= model.score(X[1::3], y[1::3])
    True
    """
    cure = "It is a length in the units of the samples. 0 gives the accuracy."
    return CertifiedAccuracy(check_number("radius", radius, cure=cure))
