"""Print what ``nsse fit`` learned, and collect it for ``--json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from nsse.cli.screen import Screen

if TYPE_CHECKING:
    from nsse.datasets import Inputs


class _Error(NamedTuple):
    """The error of left-out training samples, as a sentence and for ``--json``."""

    words: str
    result: dict[str, Any]


def tell_fit(screen: Screen, model: Any, inputs: Inputs) -> None:
    """Print what was learned."""
    from nsse.augment import names_of

    best, n = getattr(model, "best_estimator_", model), len(inputs.X)
    d, width = model.embedding_.shape[1], best.sigma_ / best._length_unit
    augmented = screen.result.pop("augmented", {}) | {"how": [], "per_sample": 0}
    if best.augment is not None:
        augmented |= {"how": names_of(best.augment), "per_sample": best.augment.n_copies}
    error = _left_out_error(model, best, n)
    preparation = inputs.preparation.to_dict()
    preparation.pop("pictures", None)
    screen.result |= {
        "model": type(model).__name__,
        "n_samples": n,
        "n_features": inputs.X.shape[1],
        "n_components": d,
        "classes": best.classes_.tolist(),
        "sigma": best.sigma_,
        "sigma_in_medians": width,
        "augmented": augmented,
        "preparation": preparation,
        **error.result,
    }
    if model is not best:
        _tell_search(screen, model)
    if inputs.unlabeled is not None:
        _tell_unlabeled(screen, model, inputs)
    more = f" and {augmented['per_sample']} augmented of each" if augmented["per_sample"] else ""
    screen.say(
        f"Fitted {type(model).__name__} to {n} samples{more} ({error.words}): "
        f"{d} dimension{'s' * (d != 1)}, σ = {width:.2f} median distances."
    )


def _left_out_error(model: Any, best: Any, n_samples: int) -> _Error:
    """Return the error of a search on its splits, or of a single model on samples that it leaves out."""
    if model is not best and len(model._leave_one_out):
        labels = model.classes_[model._leave_one_out.argmax(axis=1)]
        error = float((labels != model._leave_one_out_labels).mean())
        return _Error(f"cross-validation error {100 * error:.1f} %", {"cross_validation_error": error})
    error, n_left = 1.0 - best.leave_one_out_score_, round(float(best._leave_one_out_counts.sum()))
    some = f", {n_left} of them left out" if n_left < n_samples else ""
    result = {"leave_one_out_error": error, "n_left_out": n_left}
    return _Error(f"leave-one-out error {100 * error:.1f} %{some}", result)


def _tell_search(screen: Screen, search: Any) -> None:
    """Print the weights of the members, and the parameters of the heaviest one."""
    parameters, weights = search.best_params_, search.weights_.tolist()
    values = {n: v if isinstance(v, int | float | None) else str(v) for n, v in parameters.items()}
    screen.result |= {"parameters": values, "weights": weights}
    texts = {n: f"{v:.3g}" if isinstance(v, float) else v for n, v in values.items() if v is not None}
    settings = ", ".join(f"{name}={text}" for name, text in texts.items())
    members = "one member of weight" if len(weights) == 1 else f"{len(weights)} members of weights"
    listed = ", ".join(f"{weight:.3g}" for weight in weights)
    screen.say(f"Chose {members} {listed}. The heaviest has {settings}.")


def _tell_unlabeled(screen: Screen, model: Any, inputs: Inputs) -> None:
    """Print how certain the predicted labels of the unlabeled samples are."""
    hidden = ~inputs.is_labeled
    probabilities = sorted(model.predict_proba(inputs.X[hidden]).max(axis=1).tolist())
    n, median = len(probabilities), probabilities[len(probabilities) // 2]
    screen.result["unlabeled"] = {"n": n, "median_probability": median}
    screen.say(
        f"{n} of {len(inputs.X)} samples had no label. The predicted labels have a median probability "
        f"of {median:.2f}."
    )
