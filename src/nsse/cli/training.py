"""Build the model that ``nsse fit`` trains: its augmentation, use of unlabeled samples, and search."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsse._support.errors import Described, rule_error
from nsse.cli.screen import FIT, Screen, typed

if TYPE_CHECKING:
    from nsse.datasets import Inputs


def unlabeled_use(settings: dict[str, Any], inputs: Inputs) -> Any:
    """Return how unlabeled samples are used: by a penalty, or by label propagation if there are many."""
    from nsse.centers import EXACT_UP_TO
    from nsse.unlabeled import GraphPenalty, LabelPropagation

    is_large = settings.get("centers", "auto") != "auto" or len(inputs.X) > EXACT_UP_TO
    return (LabelPropagation if is_large else GraphPenalty)(marker=inputs.unlabeled)


def augmentations(names: list[str] | None, inputs: Inputs, encoder: Path | None) -> list[Any]:
    """Return the augmentation with these names, or those to choose from."""
    from nsse.augment import Copies, named_images, usual_sets
    from nsse.datasets import Encoder, ImagePreparation

    known = inputs.preparation
    if encoder is not None:
        with typed({"X": "DATA"}):
            mirrored = Encoder(encoder).mirrored(inputs.files).astype(inputs.X.dtype)
        copies = Copies(inputs.X, [mirrored], ["mirror"])
        return [None, copies] if names is None else [copies]
    if not isinstance(known, ImagePreparation):
        cure = "In Python, SmoothEmbedding(augment=...) takes augmented samples of any kind."
        got = ",".join(names or ["auto"])
        raise rule_error("--augment", f"be left out for {known.noun}", got, cure)
    if min(known.size) < 2:
        got = Described(f"images of {known}")
        raise rule_error("--augment", "be left out for images of one line", got, "See --size.")
    return usual_sets(known.image_shape) if names is None else [named_images(names, known.image_shape)]


def chosen_augmentation(
    settings: dict[str, Any], inputs: Inputs, sets: list[Any], screen: Screen
) -> Any:
    """Return the augmentation with the lowest leave-one-out error, or None if it could be by chance.

    The best augmentation must gain more than one standard error.
    """
    import numpy as np

    from nsse.augment import names_of

    X, y = (rows[inputs.is_labeled] for rows in (inputs.X, inputs.y))  # type: ignore[index]
    with screen.busy(f"Comparing {len(sets)} augmentations"), typed(FIT):
        plain, *others = (_is_right(single({**settings, "unlabeled": None}, own), X, y) for own in sets)
    gains = [float(np.mean(other) - np.mean(plain)) for other in others]
    best = int(np.argmax(gains))
    is_paired = len(others[best]) == len(plain)  # if there are many samples, some are drawn
    differences = others[best].astype(float) - plain if is_paired else others[best]
    error = float(np.std(differences) / np.sqrt(len(differences)))
    by = f"{100 * gains[best]:+.1f} ± {100 * error:.1f} points of accuracy on held-out images"
    screen.result["augmented"] = {"gain": gains[best], "gain_error": error}
    if gains[best] <= error:
        screen.say(f"Chose no augmentation, because the best one gains {by}.")
        return None
    screen.say(f"Chose augmentation by {', '.join(names_of(sets[1 + best]))}, which gains {by}.")
    return sets[1 + best]


def _is_right(model: Any, X: Any, y: Any) -> Any:
    """Return whether the model without a sample predicts the label of this sample."""
    model.fit(X, y)
    labels = model.classes_[model._leave_one_out.argmax(axis=1)]
    return labels == model._leave_one_out_labels


def single(settings: dict[str, Any], augment: Any) -> Any:
    """Return a model with the given parameters."""
    from nsse.smooth import SmoothEmbedding

    return SmoothEmbedding(**settings, augment=augment)


def search(settings: dict[str, Any], sets: list[Any]) -> Any:
    """Return a search. Values that were given are not searched for."""
    from nsse.search import SmoothEmbeddingCV

    fixed: dict[str, Any] = {
        name: [settings[name]] for name in ("sigma", "smoothness") if name in settings
    }
    return SmoothEmbeddingCV(
        single(settings, sets[0] if len(sets) == 1 else None),
        grid=fixed or None,
        augment=sets if len(sets) > 1 else None,
        random_state=settings["random_state"],
    )


def forget_copies(model: Any) -> None:
    """Store augmented samples as centers only, because the file needs them once."""
    from nsse.augment import Copies

    for one in (model, *getattr(model, "members_", ()), getattr(model, "best_estimator_", model)):
        if isinstance(getattr(one, "augment", None), Copies):
            one.augment = one.augment.forgotten()
