"""Rows of `SmoothEmbedding` and `SmoothEmbeddingCV`, by the protocol `honest` alone.

`SmoothEmbeddingCV, augmented` receives sets of augmentations of images and may choose one of them.
Everything is chosen on the training samples, including the scaling of the images.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from nsse import SmoothEmbedding, SmoothEmbeddingCV
from nsse.augment import names_of, usual_sets
from reproduction.paper.candidates import Split, Tried, packed
from reproduction.paper.grids import Params
from reproduction.paper.settings import AUGMENTED, MOST_ROWS, SMOOTH


@dataclass(frozen=True)
class Learnt:
    """A model, its score on inner splits, its parameters, and the seconds of its fit."""

    model: Any
    score: float
    parameters: Params
    seconds: float
    d: int | None = None


def extended_row(own: Split) -> dict[str, Any]:
    """Return the columns of the row. The scaling with the best score is chosen."""
    learnt = {name: _learnt(own, name) for name in own.X}
    begun = perf_counter()
    mistakes = {
        name: int(np.sum(one.model.predict(own.X_test[name]) != own.y_test))
        for name, one in learnt.items()
    }
    predict_seconds = perf_counter() - begun
    tried = {name: Tried(name, one.d, one.parameters) for name, one in learnt.items()}
    best = max(learnt, key=lambda name: round(learnt[name].score, 12))
    scores = {name: one.score for name, one in learnt.items()}
    return {
        "error": mistakes[best] / len(own.y_test),
        "fit_seconds": sum(one.seconds for one in learnt.values()),
        "predict_seconds": predict_seconds,
        "chosen": tried[best].chosen,
        "details": {"candidates": packed({tried[n]: mistakes[n] for n in tried}), "scores": scores},
    }


def _learnt(own: Split, scaling: str) -> Learnt:
    """Fit the method of a task to its training samples under one scaling."""
    start, X, y = perf_counter(), own.X[scaling], own.y
    if own.task.method == SMOOTH:
        model = SmoothEmbedding().fit(X, y)
        return Learnt(model, 0.0, {}, perf_counter() - start, model.embedding_.shape[1])
    is_augmented = own.task.method == AUGMENTED
    search = SmoothEmbeddingCV(augment=_sets(own) if is_augmented else None).fit(X, y)
    best = search.best_estimator_.get_params()
    chosen: dict[str, Any] = (
        {"augment": "+".join(names_of(best["augment"])) or "none"} if is_augmented else {}
    )
    chosen |= {name: best[name] for name in ("decision", "sigma", "smoothness") if not is_augmented}
    chosen |= {"members": len(search.members_)}
    return Learnt(search, _score(search), chosen, perf_counter() - start)


def _score(search: SmoothEmbeddingCV) -> float:
    """Return the score by which a scaling of the images is chosen.

    It is the score of the best candidate. If classes have too few samples for splits, candidates
    have no scores, and the leave-one-out score decides.
    """
    best = float(search.cv_results_["mean_test_score"].max())
    return search.leave_one_out_score_ if np.isnan(best) else best


def _sets(own: Split) -> list[Any]:
    """Return the usual augmentations of images, without those that make too many rows."""
    sets = {copies: 1 + getattr(copies, "n_copies", 0) for copies in usual_sets(own.shape)}
    return [copies for copies, n in sets.items() if n * len(own.y) <= MOST_ROWS]
