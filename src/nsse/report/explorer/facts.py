"""Titles and sentences of a report, made of what was found and nothing else."""

from __future__ import annotations

import numpy as np

from nsse.datasets import EncodedPreparation, Preparation
from nsse.report.explorer.models import ALPHA, Findings

SURE = f"{100 * (1 - ALPHA):.0f} %"


def finding(findings: Findings) -> str:
    """The sentence under the title: how many of the samples are mislabelled."""
    n = len(findings.test)
    if not n or not findings.has_labels:
        shown = f" and {_count(n, 'sample')} without labels" if n else ""
        return f"{_count(len(findings.train), 'training sample')}{shown}."
    wrong = int(findings.wrong.sum())
    share = f" ({100 * wrong / n:.1f} %)" if wrong else ""
    count = f"{wrong:,}" if wrong else "none"
    return f"{findings.decider} mislabels {count} of {_count(n, 'test sample')}{share}."


def made_of(findings: Findings) -> str:
    """The line below it: dimensions, samples, classes, kernel scale."""
    d = findings.train.embedding.shape[1]
    n_classes = len(findings.core.classes_)
    sigma = getattr(findings.core, "sigma_", None)
    scale = "" if sigma is None else f", kernel scale σ = {sigma:.4g}"
    which = "Drawn is the best of them: " if findings.n_members > 1 else ""
    n_augmented = findings.per_sample - 1
    augmented = f", each with {n_augmented} augmented" if n_augmented > 0 else ""
    of_classes = f"of {_count(n_classes, 'class', 'classes')}"
    return (
        f"{which}{findings.name} in {_count(d, 'dimension')}, fitted to "
        f"{_count(len(findings.train), 'sample')} {of_classes}{augmented}{scale}"
    )


def about_labels(findings: Findings) -> list[str]:
    """What a reader must know about the colors."""
    found = [_about_the_vote(findings)] if findings.n_members > 1 else []
    if not findings.knows_labels:
        found.append(
            "The model does not keep the labels of its training samples: they are shown with the labels "
            "that the model gives them."
        )
    certainty = findings.train.certainty
    if certainty is not None:
        n, of_n = f"{np.count_nonzero(certainty):,}", _count(len(certainty), "training sample")
        found.append(
            f"{n} of the {of_n} had no label: they have the color of the label that they were given."
        )
    if len(findings.test) and not findings.has_labels:
        found.append("No labels came with the test samples: they are shown with their predicted class.")
    return found


def _about_the_vote(findings: Findings) -> str:
    n = len(findings.test)
    radii = "" if findings.radius is None else " and certified radii"
    of_n = f"{findings.n_otherwise:,} of the {_count(n, 'test sample')}"
    alone = f"; alone, it gives {of_n} another label" if n else ""
    return (
        f"Labels{radii} are those of the vote of {findings.n_members} maps. Places and neighbours are "
        f"those of the best one{alone}."
    )


def notes(findings: Findings) -> list[str]:
    """What a reader must know about the colors, the pictures and the radii."""
    found = about_labels(findings)
    if findings.train.inputs is None:
        found.append(
            "The model does not keep its training samples as they were: their points have no picture "
            "and no row."
        )
    n_seen = int(findings.seen.sum())
    if n_seen:
        seen = f"{n_seen:,} of the {len(findings.test):,} test samples"
        found.append(f"{seen} are training samples: that these are labelled well says little.")
    unknown = len(findings.classes) - len(findings.core.classes_)
    if unknown:
        classes = _count(unknown, "class", "classes")
        are = "is" if unknown == 1 else "are"
        found.append(f"{classes} of the test samples {are} unknown to the model: always mislabelled.")
    return found


def radius_unit(findings: Findings, preparation: Preparation) -> str:
    """In what radii are measured."""
    if isinstance(preparation, EncodedPreparation):
        return f"the {preparation}: it holds in feature space, not for pixels"
    if findings.front is None:
        return "units of the features"
    return (
        "the units of the features as they are, before the steps in front of the model: it is that of "
        "the largest ball in a certified ellipsoid that is longer along features of large spread"
    )


def radius_sentence(findings: Findings) -> str:
    """How the radii of right and wrong predictions compare."""
    radius = findings.radius
    text = f"The median is {np.median(radius):.3g}"
    wrong = findings.wrong
    if findings.has_labels and 0 < wrong.sum() < len(wrong):
        right, mistaken = np.median(radius[~wrong]), np.median(radius[wrong])
        text += f": {right:.3g} where the label is right, {mistaken:.3g} where it is wrong"
    return text + "."


def probability_sentence(findings: Findings) -> str:
    """Where probabilities come from, and how good they are on samples that the model has not seen."""
    rule = "scores, with a temperature from training samples that are left out"
    found = f"Probabilities come from the {'vote' if findings.n_members > 1 else rule}."
    n = findings.calibration.n_samples
    if not n:
        return f"{found} No labelled sample that the model has not seen shows how good they are."
    return f"{found} Log-loss {findings.calibration.log_loss:.3f} over {_count(n, 'test sample')}."


def set_sentence(findings: Findings) -> str:
    """Where the sets of labels come from, and what they came to."""
    if findings.sets is None:
        return "Sets of labels need scores of training samples left out; this model has none."
    text = (
        f"Sets of labels at {SURE} hold the labels that score as high as {SURE} of the training samples "
        f"do for their own class, each by the model without it. An empty set: none of the known classes."
    )
    held = findings.calibration
    if not held.n_samples:
        return text
    return (
        f"{text} Of {_count(held.n_samples, 'test sample')}, {100 * held.coverage:.1f} % have their "
        f"label in the set; a set has {held.size:.2f} labels in the mean."
    )


def _count(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"
