"""Titles and sentences of a report. They state only what was computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nsse.datasets import EncodedPreparation, ImagePreparation, Preparation
from nsse.report.explorer.models import ALPHA, Findings

SURE = f"{100 * (1 - ALPHA):.0f} %"


def finding(findings: Findings) -> str:
    """Return the sentence under the title, which states the error and the one of the largest class."""
    n = len(findings.test)
    if not n or not findings.has_labels:
        shown = f" and {_count(n, 'sample')} without labels" if n else ""
        return f"{_count(len(findings.train), 'training sample')}{shown}."
    wrong = int(findings.wrong.sum())
    share = f" ({100 * wrong / n:.1f} %)" if wrong else ""
    count = f"{wrong:,}" if wrong else "none"
    found = f"{findings.name} mislabels {count} of {_count(n, 'test sample')}{share}."
    return f"{found} {_base_rate(findings)}"


def _base_rate(findings: Findings) -> str:
    """Return the error of a model that always predicts the largest class of the training samples."""
    largest = int(np.bincount(findings.train.codes).argmax())
    labels = findings.test.codes[findings.test.codes >= 0]
    error = 100.0 * float(np.mean(labels != largest))
    name = findings.classes[largest]
    return f"Always predicting the largest training class, {name}, would mislabel {error:.1f} %."


def made_of(findings: Findings) -> str:
    """Return the line below it: dimensions, samples, classes and kernel scale."""
    d = findings.train.embedding.shape[1]
    n_classes = len(findings.core.classes_)
    sigma = getattr(findings.core, "sigma_", None)
    scale = "" if sigma is None else f", kernel scale σ = {sigma:.4g}"
    n_members = len(findings.members)
    members = f", an ensemble of {n_members} members," if n_members > 1 else ""
    n_augmented = findings.per_sample - 1
    augmented = f", each with {n_augmented} augmented" if n_augmented > 0 else ""
    of_classes = f"of {_count(n_classes, 'class', 'classes')}"
    return (
        f"{findings.name}{members} in {_count(d, 'dimension')}, fitted to "
        f"{_count(len(findings.train), 'sample')} {of_classes}{augmented}{scale}"
    )


def about_labels(findings: Findings) -> list[str]:
    """Return the sentences about the colors."""
    found = []
    if not findings.knows_labels:
        found.append(
            "The model does not store the labels of its training samples. They are shown with the "
            "labels that the model gives them."
        )
    certainty = findings.train.certainty
    if certainty is not None:
        n, of_n = f"{np.count_nonzero(certainty):,}", _count(len(certainty), "training sample")
        found.append(f"{n} of the {of_n} had no label. They have the color of the label that they got.")
    if len(findings.test) and not findings.has_labels:
        found.append("The test samples have no labels. They are shown with their predicted class.")
    return found


def notes(findings: Findings) -> list[str]:
    """Return the sentences about the colors, the places, the images and the radii."""
    found = about_labels(findings)
    is_left_out = findings.train.is_left_out
    if is_left_out is not None and is_left_out.all():
        found.append("Each training sample is drawn where the model without it would put it.")
    else:
        found.append(
            "Training samples are drawn where the fitted model puts them, so they look better than new "
            "samples."
        )
    if findings.train.inputs is None:
        found.append(
            "The model does not store its training samples as they were, so they have no image and "
            "no row."
        )
    n_seen = int(findings.seen.sum())
    if n_seen:
        seen = f"{n_seen:,} of the {len(findings.test):,} test samples"
        found.append(f"{seen} are training samples, whose predictions are too good.")
    unknown = len(findings.classes) - len(findings.core.classes_)
    if unknown:
        classes = _count(unknown, "class", "classes")
        are = "is" if unknown == 1 else "are"
        found.append(
            f"{classes} of the test samples {are} not in the training data, so these samples are always "
            "mislabeled."
        )
    return found


def without_radii(preparation: Mapping[str, Any] | None) -> str:
    """Return why radii are omitted for such samples, or "" if they are not."""
    if preparation is not None and preparation.get("categories"):
        return (
            "Certified radii are omitted, because this table has categories: a radius is a distance, "
            "and the change of a category is not."
        )
    return ""


def radius_unit(findings: Findings, preparation: Preparation) -> str:
    """Return the unit of the radii."""
    if isinstance(preparation, EncodedPreparation):
        return f"the {preparation}, so it holds in feature space and not for pixels"
    if isinstance(preparation, ImagePreparation) and not preparation.unit_norm:
        return "gray levels from 0 to 1, as the root of the sum of squared changes over all pixels"
    return "the units of the features, as the root of the sum of squared changes over all features"


def radius_sentence(findings: Findings) -> str:
    """Compare the radii of correct and wrong predictions."""
    radius = findings.radius
    text = f"The median radius is {np.median(radius):.3g}."
    wrong = findings.wrong
    if findings.has_labels and 0 < wrong.sum() < len(wrong):
        right, mistaken = np.median(radius[~wrong]), np.median(radius[wrong])
        text += f" It is {right:.3g} for correct labels and {mistaken:.3g} for wrong ones."
    return text


def probability_sentence(findings: Findings) -> str:
    """Return how the probabilities are computed, and their log-loss on new samples."""
    fitted = "a temperature that was" if len(findings.members) < 2 else "weights that were"
    found = f"Probabilities come from the scores, with {fitted} fitted to left-out training samples."
    n = findings.calibration.n_samples
    if not n:
        return f"{found} There are no labeled new samples to measure them on."
    return (
        f"{found} Their log-loss is {findings.calibration.log_loss:.3f} on "
        f"{_count(n, 'test sample')}. In the chart, dots near the dashed line are well calibrated. "
        "The numbers below are counts of samples, and vertical lines are 95 % intervals."
    )


def set_sentence(findings: Findings) -> str:
    """Return how the prediction sets are computed, and their coverage on new samples."""
    if findings.sets is None:
        return (
            "There are no prediction sets, because the model has no scores of left-out training samples."
        )
    text = (
        f"A {SURE} prediction set contains the true label of {SURE} of new samples. It consists of "
        f"the labels that score as high as {SURE} of the training samples do for their own class, "
        "each by the model without it. An empty set means that the sample fits none of the classes."
    )
    held = findings.calibration
    if not held.n_samples:
        return text
    return (
        f"{text} Here, {100 * held.coverage:.1f} % of {_count(held.n_samples, 'test sample')} have "
        f"their label in the set, and a set has {held.size:.2f} labels on average."
    )


def _count(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"
