"""Labelled samples for a command to learn from, and what they decide: color and size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from nsse._support.errors import rule_error
from nsse._support.types import LabelsLike, SamplesLike
from nsse.cli.options import read_size
from nsse.cli.screen import DATA, Screen, typed

if TYPE_CHECKING:
    from nsse.datasets import Inputs


SIDES = (25, 16, 40)  # of pictures: the usual one, and others
SAME_CHANNELS = 0.05  # levels by which the channels of a grey JPEG may differ
MOST = 200  # pictures that are looked at: a choice must not take long


def read_labeled(
    data: Path, label: str | None, size: str | None, encoder: Any, screen: Screen, **how: Any
) -> Inputs:
    """Samples to learn from, with what a user should know about them said; `how` is `load_inputs`'."""
    from nsse.datasets import load_inputs

    begun = perf_counter()
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
    took = "" if encoder is None else f", in {perf_counter() - begun:.1f} s"
    about = f"{len(inputs.X)} {noun} in {n_classes} classes{without}, {inputs.preparation}{took}"
    screen.say(f"Read {data}: {about}.")
    for line in (*inputs.notes, *[note] * bool(note)):
        screen.say(line)
    return inputs


def _choose_levels(data: Path, size: str | None, given: dict[str, Any]) -> str:
    """Add size and color of pictures to what is given; in words how they were decided."""
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


class Choice(NamedTuple):
    """The place of what was chosen, and how much the best gains over the first, with its error."""

    place: int
    gain: float
    gain_error: float


def chosen(rights: list[Any]) -> Choice:
    """The first, unless another has more labels right by more than a standard error.

    With few samples the best of several is best by chance.
    """
    import numpy as np

    gains = [float(np.mean(right) - np.mean(rights[0])) for right in rights]
    best = int(np.argmax(gains[1:])) + 1
    is_paired = len(rights[best]) == len(rights[0])  # of many samples some are drawn
    each = rights[best].astype(float) - rights[0] if is_paired else rights[best]
    error = float(np.std(each) / np.sqrt(len(each)))
    return Choice(best if gains[best] > error else 0, gains[best], error)


def right_when_left_out(model: Any, X: SamplesLike, y: LabelsLike) -> Any:
    """Whether the label of each sample is right by the model without it."""
    model.fit(X, y)
    labels = model.classes_[model.leave_one_out_.argmax(axis=1)]
    return labels == model.leave_one_out_labels_


def chosen_levels(folder: Path, sides: Sequence[int], color: bool | None) -> tuple[int, bool, str]:
    """One of these sides, and whether pictures keep their color, by some of them; in words."""
    from nsse.datasets import small_images
    from nsse.smooth import SmoothEmbedding

    images, y = small_images(folder, MOST)
    if len(set(y)) < 2:  # which is said when they are read
        return sides[0], bool(color), ""
    has_color = abs(images - images[..., :1]).max() > SAME_CHANNELS
    colors = [color] if color is not None else [True, False] if has_color else [False]
    ways = [(side, keeps) for keeps in colors for side in sides]
    if len(ways) == 1:
        return *ways[0], ""
    rights = [right_when_left_out(SmoothEmbedding(), X, y) for X in _levels(images, ways)]
    best = ways[chosen(rights).place]
    compared = ["color and grey"] * (len(colors) > 1)
    compared += [f"sides of {', '.join(map(str, sides))}"] * (len(sides) > 1)
    return *best, f"Compared {' and '.join(compared)} on {len(y)} images, left out one by one."


def _levels(images: Any, ways: list[tuple[int, bool]]) -> Iterator[Any]:
    import numpy as np

    from nsse.datasets import area_average

    for side, color in ways:
        levels = images if color else images @ np.array([0.299, 0.587, 0.114])
        X = np.array([area_average(one, (side, side)).ravel() for one in levels])
        yield X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
