"""Labels by the vote of several models; the map is that of the best one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning

from nsse.certificates.votes import majority_margins, vote_chances, winners
from nsse.extensions import as_columns, class_leads, knows_more
from nsse.selection.search import Scores


def voters(base: Any, table: Scores, places: Sequence[int], refit: Callable[[Any], Any]) -> list[Any]:
    """The models that vote beside the best one."""
    fitted = []
    for place in places:
        point = table.points[place]
        try:
            fitted.append(refit(clone(base).set_params(**point)))
        except (ValueError, np.linalg.LinAlgError) as error:
            warnings.warn(
                f"{point} was fitted on every split but not to all samples, and does not vote: {error}",
                FitFailedWarning,
                stacklevel=5,
            )
    return fitted


def share_centers(voting: Sequence[Any]) -> None:
    """Keep the centres, the same for all voters, once."""
    for model in voting[1:]:
        model.share_centers(voting[0])


def vote_probabilities(voting: Sequence[Any], classes: NDArray[Any], X: Any) -> NDArray[np.float64]:
    """The mean of the voters' probabilities, the winner's not below the others'.

    A voter that has none gives its vote (`vote_chances`). A single voter gives its own probabilities.
    """
    if len(voting) == 1:
        return np.asarray(voting[0].predict_proba(X))
    votes, told = [], []
    for model in voting:
        embedded = model._embed(X)  # the map once for both
        reader = model.classifier_
        votes.append(np.searchsorted(classes, reader.predict(embedded)))
        told.append(reader.predict_proba(embedded) if knows_more(reader) else None)
    return vote_chances(told, np.column_stack(votes), len(classes))


def vote_margins(voting: Sequence[Any], classes: NDArray[Any], X: Any) -> Any:
    """A decision function of the vote: by how much each class wins it; a single voter's is its own.

    Of two classes their probabilities: scikit-learn asks that both have samples in the same order.
    """
    if len(voting) == 1:
        return voting[0].decision_function(X)
    if len(classes) == 2:
        shares = vote_probabilities(voting, classes, X)
        return as_columns(shares, shares.argmax(axis=1))
    votes, told = [], []
    for model in voting:
        embedded = model._embed(X)  # the map once for both
        votes.append(np.searchsorted(classes, model.classifier_.predict(embedded)))
        told.append(class_leads(model.classifier_, embedded))
    return as_columns(majority_margins(np.stack(told, axis=1)), winners(np.column_stack(votes)))


def transduced(voting: Sequence[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """Labels of the training samples by the vote: all voters know those that samples have."""
    votes = np.column_stack([np.searchsorted(classes, model.transduction_) for model in voting])
    return np.asarray(classes[winners(votes)])
