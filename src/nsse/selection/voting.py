"""Labels by the vote of several models; the map is that of the best one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from nsse.certificates.asking import answers, certified_labels
from nsse.certificates.votes import vote_shares
from nsse.estimators._base import EmbeddingClassifier, gives_probabilities
from nsse.selection.points import with_params
from nsse.selection.search import Scores


def voters(base: Any, table: Scores, places: Sequence[int], refit: Callable[[Any], Any]) -> list[Any]:
    """The models that vote beside the best one, each at the mean kernel scale of its splits."""
    fitted = []
    for place in places:
        point = table.points[place]
        at_scale = point if "sigma" in point else point | {"sigma": float(table.sigmas[place])}
        try:
            fitted.append(refit(with_params(clone(base), at_scale)))
        except (ValueError, np.linalg.LinAlgError) as error:
            warnings.warn(
                f"{point} was fitted on every split but not to all samples, and does not vote: {error}",
                FitFailedWarning, stacklevel=5,
            )  # fmt: skip
    return fitted


class Voting(EmbeddingClassifier):
    """An `EmbeddingClassifier` whose labels are those of ``voters_``, ``best_estimator_`` the first."""

    best_estimator_: Any
    voters_: list[Any]

    def predict(self, X: Any) -> NDArray[Any]:
        """The label that most of the voters give.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        return answers(self, X, bound=None).label

    @available_if(lambda self: all(map(gives_probabilities, getattr(self, "voters_", [self]))))
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Probabilities of the classes: the share of the voters for each, so that `predict` agrees.

        Of a tie that class has more, by a part in a billion, which the better voter gives. A single
        voter gives its own probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        check_is_fitted(self)
        if len(self.voters_) == 1:
            return np.asarray(self.best_estimator_.predict_proba(X))
        return self._shares(X)

    def certified_radius(self, X: Any, *, bound: str = "directional") -> NDArray[np.float64]:
        """How far each sample can move without a change of its label: see `NSSE.certified_radius`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        bound : {"directional", "rkhs", "row_sum", "proposition_1"}, default="directional"
            Which bound on the change of f to use.

        Returns
        -------
        ndarray of shape (n_samples,)
            Euclidean radii: no smaller change turns enough voters to change the majority.
        """
        return certified_labels(self, X, bound)[1]

    def share_centers(self) -> None:
        """Keep the centres, the same for all voters, once."""
        for model in self.voters_[1:]:
            model.share_centers(self.best_estimator_)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "voters_"):
            self.share_centers()

    def _votes(self, X: Any) -> NDArray[np.intp]:
        """Codes of the labels that the voters give, one column for each."""
        labels = [model.predict(X) for model in self.voters_]
        return np.column_stack([np.searchsorted(self.classes_, given) for given in labels])

    def _shares(self, X: Any) -> NDArray[np.float64]:
        return vote_shares(self._votes(X), len(self.classes_))

    def _map(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.best_estimator_._map(X))
