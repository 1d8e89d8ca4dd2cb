"""Titles and sentences of a report, made of what was found and nothing else."""

from __future__ import annotations

import numpy as np

from nsse.report.explorer.chances import ALPHA
from nsse.report.explorer.models import Findings

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
    return f"{findings.teller} mislabels {count} of {_count(n, 'test sample')}{share}."


def made_of(findings: Findings) -> str:
    """The line below it: dimensions, samples, classes, kernel scale."""
    d = findings.train.embedding.shape[1]
    n_classes = len(findings.core.classes_)
    sigma = getattr(findings.core, "sigma_", None)
    scale = "" if sigma is None else f", kernel scale σ = {sigma:.4g}"
    which = "Drawn is the best of them: " if len(findings.voters) > 1 else ""
    n_copies = getattr(findings.core, "n_copies_", 0)
    copies = f" and {_count(n_copies, 'copy', 'copies')} of each" if n_copies else ""
    of_classes = f"of {_count(n_classes, 'class', 'classes')}"
    return (
        f"{which}{findings.name} in {_count(d, 'dimension')}, fitted to "
        f"{_count(len(findings.train), 'sample')}{copies} {of_classes}{scale}"
    )


def about_labels(findings: Findings) -> list[str]:
    """What a reader must know about the colours."""
    found = [_about_the_vote(findings)] if len(findings.voters) > 1 else []
    if not findings.knows_labels:
        found.append(
            "The model does not keep the labels of its training samples: they are shown with the labels "
            "that the model gives them."
        )
    hidden = findings.train.unlabelled
    if hidden is not None:
        n, of_n = f"{int(hidden.sum()):,}", _count(len(hidden), "training sample")
        found.append(
            f"{n} of the {of_n} had no label: they have the colour of the label that they were given."
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
        f"Labels{radii} are those of the vote of {len(findings.voters)} maps. Places, neighbours and "
        f"steps of the fit are those of the best one{alone}."
    )


def notes(findings: Findings) -> list[str]:
    """What a reader must know about the colours, the pictures and the radii."""
    found = about_labels(findings)
    if findings.train.inputs is None:
        found.append(
            "The model does not keep its training samples: their points have no picture and no row."
        )
    if findings.n_seen:
        seen = f"{findings.n_seen:,} of the {len(findings.test):,} test samples"
        found.append(f"{seen} are training samples: that these are labelled well says little.")
    strangers = len(findings.classes) - len(findings.core.classes_)
    if strangers:
        classes = _count(strangers, "class", "classes")
        are = "is" if strangers == 1 else "are"
        found.append(f"{classes} of the test samples {are} unknown to the model: always mislabelled.")
    return found


def is_scaled(findings: Findings) -> bool:
    """Whether steps change the samples before the model sees them."""
    return findings.scaling is None or not findings.scaling.is_identity


def radius_unit(findings: Findings) -> str:
    """In what radii are measured."""
    if findings.beyond:
        return "units of the features as the model sees them, after the steps before it"
    if not is_scaled(findings):
        return "units of the features"
    return (
        "the units of the features as they are, before the steps in front of the model: it is that of "
        "the largest ball in a certified ellipsoid that is longer along features of large spread"
    )


def radius_sentence(findings: Findings) -> str:
    """How the radii of right and wrong predictions compare."""
    radius = findings.radius
    assert radius is not None
    text = f"The median is {np.median(radius):.3g}"
    wrong = findings.wrong
    if findings.has_labels and 0 < wrong.sum() < len(wrong):
        right, mistaken = np.median(radius[~wrong]), np.median(radius[wrong])
        text += f": {right:.3g} where the label is right, {mistaken:.3g} where it is wrong"
    if is_scaled(findings) and not findings.beyond:
        assert findings.model_radius is not None
        text += f"; measured behind these steps, {np.median(findings.model_radius):.3g}"
    return text + "."


def probability_sentence(findings: Findings) -> str:
    """Where probabilities come from, and how good they are on samples that the model has not seen."""
    chances = findings.chances
    if chances.probabilities is None:
        return "The classifier in use knows no probabilities but 0 and 1."
    found = _source_of_probabilities(findings)
    if not chances.curve:
        return f"{found} No labelled sample that the model has not seen shows how good they are."
    return f"{found} Log-loss {chances.log_loss:.3f} over {_count(chances.n_samples, 'test sample')}."


def set_sentence(findings: Findings) -> str:
    """Where the sets of labels come from, and what they came to."""
    sets = findings.chances.sets
    if sets is None:
        return f"No sets of labels at {SURE} here. {findings.chances.no_sets}"
    return (
        f"Sets of labels at {SURE}: the true one is among them with a chance of {SURE}, for samples "
        f"that come like the test samples of this report. Each of these has its set from the labels of "
        f"all the others ({_count(sets.n_samples, 'sample')} that the model has not seen), a new one "
        f"from theirs: {100 * sets.coverage:.1f} % of the sets hold the true label, and a set has "
        f"{sets.size:.2f} labels in the mean."
    )


def _source_of_probabilities(findings: Findings) -> str:
    if len(findings.voters) > 1:
        return "Probabilities are the mean of what the voters say."
    classifier = findings.core.classifier_
    if getattr(classifier, "temperature", None) is None:
        return f"Probabilities are those of {type(classifier).__name__}."
    return "Probabilities come from the fit: from its scores of training samples that it leaves out."


def _count(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"
