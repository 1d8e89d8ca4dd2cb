"""Labelled samples for a command to learn from, and hints on how else they might be taken."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsse._support.errors import rule_error
from nsse.cli.options import read_size
from nsse.cli.words import DATA, typed

if TYPE_CHECKING:
    from nsse.cli.screen import Screen
    from nsse.datasets import Inputs

# Columns whose spreads differ by more than this are worth a word.
SPREAD = 10.0


def read_labeled(
    data: Path, label: str | None, size: str, standardize: bool, screen: Screen, **how: Any
) -> Inputs:
    """Samples to learn from, with what a user should know about them said; `how` is `load_inputs`'."""
    from nsse.datasets import ImagePreparation, load_inputs

    given = {name: value for name, value in how.items() if value is not None}
    with screen.busy(f"Reading {data}"), typed(DATA):
        inputs = load_inputs(data, label, size=read_size(size), **given)
    images = isinstance(inputs.preparation, ImagePreparation)
    if standardize and images:
        cure = "Leave it out: --unit-norm is what images have."
        raise rule_error("--standardize", "be left out for images", True, cure)
    noun, labeled = "images" if images else "samples", inputs.is_labeled
    n_classes = len(set(inputs.y[labeled].tolist()))  # type: ignore[index]
    without = "" if labeled.all() else f", {int((~labeled).sum())} of them unlabelled"
    screen.say(
        f"Read {data}: {len(inputs.X)} {noun} in {n_classes} classes{without}, {inputs.preparation}."
    )
    for note in inputs.notes:
        screen.say(note)
    if images and inputs.unlabeled is None:
        _advise_color(data, inputs, screen)
    elif not images and not standardize:
        _advise_scaling(inputs.X, screen)
    return inputs


def with_unlabeled(
    inputs: Inputs, path: Path, screen: Screen, *, ignore: list[str] | None, skip_broken: bool
) -> Inputs:
    """The samples and, below them, more of their kind without labels; labels there are not read."""
    from nsse.datasets import joined, load_inputs_like

    with screen.busy(f"Reading {path}"), typed({**DATA, "path": "--unlabeled"}):
        more = load_inputs_like(
            path, inputs.preparation, labeled=False, ignore=ignore or (), skip_broken=skip_broken
        )
    screen.say(f"Read {path}: {len(more.X)} without labels.")
    for note in more.notes:
        screen.say(note)
    return joined(inputs, more)


def _advise_scaling(X: Any, screen: Screen) -> None:
    """Distances see the columns of largest spread only: say so where they differ much."""
    spreads = X.std(axis=0)
    spreads = spreads[spreads > 0]
    if len(spreads) and spreads.max() > SPREAD * spreads.min():
        ratio = spreads.max() / spreads.min()
        screen.say(f"The spreads of the columns differ {ratio:.3g}-fold: try --standardize.")


def _advise_color(data: Path, inputs: Inputs, screen: Screen) -> None:
    """Color is lost where it was not requested: say so where it would help."""
    from nsse.datasets import color_gain

    gain = None if inputs.preparation.get("color") else color_gain(data, inputs)
    if gain is not None:
        errors = f"{100 * gain.color_error:.0f} % and in grey {100 * gain.grey_error:.0f} %"
        screen.say(f"Nearest neighbours in color mislabel {errors}: try --color.")
