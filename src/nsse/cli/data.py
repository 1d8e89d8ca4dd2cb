"""Labelled samples for a command to learn from, and what was decided about them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsse._support.errors import rule_error
from nsse.cli.options import read_size
from nsse.cli.words import DATA, typed

if TYPE_CHECKING:
    from nsse.cli.screen import Screen
    from nsse.datasets import Inputs


def read_labeled(
    data: Path, label: str | None, size: str | None, encoder: Any, screen: Screen, **how: Any
) -> Inputs:
    """Samples to learn from, with what a user should know about them said; `how` is `load_inputs`'."""
    from nsse.datasets import load_inputs

    given, note = {name: value for name, value in how.items() if value is not None}, ""
    with screen.busy(f"Reading {data}"), typed(DATA):
        if encoder is not None:
            if size is not None or "color" in given:
                got = size or ("--color" if given["color"] else "--grey")
                raise rule_error(
                    "encoder", "come without --size, --color and --grey", got, "Leave it out."
                )
            given["encoder"] = encoder
        elif data.is_dir():
            note = _choose_levels(data, size, given)
        inputs = load_inputs(data, label, **given)
    noun, labeled = "images" if inputs.files else "samples", inputs.is_labeled
    n_classes = len(set(inputs.y[labeled].tolist()))  # type: ignore[index]
    without = "" if labeled.all() else f", {int((~labeled).sum())} of them unlabelled"
    screen.say(
        f"Read {data}: {len(inputs.X)} {noun} in {n_classes} classes{without}, {inputs.preparation}."
    )
    for line in (*inputs.notes, *[note] * bool(note)):
        screen.say(line)
    return inputs


def _choose_levels(data: Path, size: str | None, given: dict[str, Any]) -> str:
    """Add size and color of pictures to what is given; in words how they were decided."""
    from nsse.cli.choices import SIDES, chosen_levels

    wanted = None if size is None else [read_size(size)]
    side, given["color"], note = chosen_levels(data, SIDES[:1] if wanted else SIDES, given.get("color"))
    given["size"] = wanted[0] if wanted else (side, side)
    return note


def with_unlabeled(inputs: Inputs, path: Path, screen: Screen, **how: Any) -> Inputs:
    """The samples and, below them, more of their kind without labels; labels there are not read."""
    from nsse.datasets import joined, load_inputs_like

    with screen.busy(f"Reading {path}"), typed({**DATA, "path": "--unlabeled"}):
        more = load_inputs_like(path, inputs.preparation, labeled=False, **how)
    screen.say(f"Read {path}: {len(more.X)} without labels.")
    for note in more.notes:
        screen.say(note)
    return joined(inputs, more)
