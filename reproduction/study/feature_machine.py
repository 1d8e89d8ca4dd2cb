"""xRFM (Beaglehole and others 2025) with hyperparameters chosen by cross-validation.

xRFM is kernel ridge regression in a metric that is learned from averaged gradients, in several
iterations. Its own `fit` needs separate validation samples. With a handful of samples per class they
would be missing in training, so the bandwidth, the penalty, the shape of the metric and the number of
iterations are chosen on three folds, and the model is fitted to all training samples then.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold
from xrfm import xRFM

BANDWIDTHS = (2.0, 5.0, 10.0, 20.0, 50.0)
PENALTIES = (1e-3, 1e-1)
ITERATIONS = 5


class TunedXRFM(ClassifierMixin, BaseEstimator):
    """xRFM, tuned on three folds. ``diagonal`` adds metrics that only scale the columns."""

    def __init__(self, diagonal: bool = True) -> None:
        self.diagonal = diagonal

    def fit(self, X: Any, y: Any) -> TunedXRFM:
        """Choose hyperparameters and iterations on the folds, and fit to all samples."""
        torch.set_num_threads(1)
        self.classes_, codes = np.unique(y, return_inverse=True)
        X = np.asarray(X, dtype=np.float32)
        folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, codes))
        shapes = (False, True) if self.diagonal else (False,)
        tried = []
        for bandwidth, penalty, is_diagonal in product(BANDWIDTHS, PENALTIES, shapes):
            own = {"bandwidth": bandwidth, "penalty": penalty, "is_diagonal": is_diagonal}
            scored = [_validated(own, X, codes, *fold) for fold in folds]
            error = float(np.mean([wrong for wrong, _ in scored]))
            tried.append((round(error, 12), own, round(np.mean([best for _, best in scored]))))
        _, self.best_params_, n_iterations = min(tried, key=lambda one: one[0])
        self.best_params_ = self.best_params_ | {"iterations": int(n_iterations)}
        self.model_ = _fitted(self.best_params_, (X, codes), (X, codes), is_final=True)
        return self

    def predict(self, X: Any) -> Any:
        """Return the labels of the rows of X."""
        return self.classes_[self.model_.predict(np.asarray(X, dtype=np.float32))]


def _validated(own: dict[str, Any], X: Any, codes: Any, train: Any, held_out: Any) -> tuple[float, int]:
    """Return the error on a fold, and the number of iterations that is best there."""
    model = _fitted(own, (X[train], codes[train]), (X[held_out], codes[held_out]), is_final=False)
    wrong = float(np.mean(model.predict(X[held_out]) != codes[held_out]))
    return wrong, int(model.trees[0]["model"].best_iter)


def _fitted(own: dict[str, Any], train: Any, validation: Any, is_final: bool) -> Any:
    """Fit xRFM. If it is not final, its iteration is chosen on the validation samples."""
    model = {"kernel": "l2_high_dim", "exponent": 1.0, "bandwidth": own["bandwidth"]}
    model |= {"diag": own["is_diagonal"], "bandwidth_mode": "constant"}
    fit = {"reg": own["penalty"], "iters": own.get("iterations", ITERATIONS), "early_stop_rfm": False}
    fit |= {"return_best_params": not is_final, "get_agop_best_model": True, "verbose": False}
    parameters = {"model": model, "fit": fit}
    machine = xRFM(parameters, device=torch.device("cpu"), random_state=0, n_threads=1, verbose=False)
    machine.fit(*train, *validation)
    return machine
