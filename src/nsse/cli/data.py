"""Labeled samples for a command to learn from, and the color and size of images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from nsse._support.errors import Described, rule_error
from nsse.cli.options import ImageOptions, TableOptions, read_size
from nsse.cli.screen import DATA, Screen, typed

if TYPE_CHECKING:
    from nsse._support.types import LabelsLike, SamplesLike
    from nsse.datasets import Encoder, Inputs


SIDES = (25, 16, 40)  # of pictures: the usual one, and others
SAME_CHANNELS = 0.05  # levels by which the channels of a gray JPEG may differ
MOST = 200  # pictures that are looked at: a choice must not take long


def read_labeled(
    data: Path,
    label: str | None,
    table: TableOptions,
    images: ImageOptions,
    network: Encoder | None,
    unlabeled: str | None,
    screen: Screen,
) -> Inputs:
    """Read training samples, and return notes for the user."""
    from nsse.datasets import load_inputs

    begun, note = perf_counter(), ""
    how: dict[str, Any] = {"unit_norm": images.unit_norm, "skip_broken": images.skip_broken}
    with screen.busy(f"Reading {data}"), typed(DATA):
        if network is not None:
            _check_encoder_alone(images)
            how["encoder"] = network
        elif data.is_dir():
            how["size"], how["color"], note = _levels_of(data, images)
        else:
            how["table"] = table.encoder()
        inputs = load_inputs(data, label, id=table.id, unlabeled=unlabeled, **how)
    noun, labeled = "images" if inputs.files else "samples", inputs.is_labeled
    n_classes = len(set(inputs.y[labeled].tolist()))  # type: ignore[index]
    without = "" if labeled.all() else f", {int((~labeled).sum())} of them without a label"
    took = "" if network is None else f", in {perf_counter() - begun:.1f} s"
    about = f"{len(inputs.X)} {noun} in {n_classes} classes{without}, {inputs.preparation}{took}"
    screen.say(f"Read {data}: {about}.")
    for line in (*inputs.notes, *[note] * bool(note)):
        screen.say(line)
    return inputs


def _check_encoder_alone(images: ImageOptions) -> None:
    """Raise an error for options that an encoder determines."""
    names = {True: "--color", False: "--gray", None: None}
    other = images.size or names[images.color]
    if other is not None:
        rule = "come without --size, --color and --gray"
        raise rule_error("encoder", rule, Described(other), "Leave it out.")


def _levels_of(data: Path, images: ImageOptions) -> tuple[tuple[int, int] | None, bool, str]:
    """Return the size of images, whether they keep their color, and how both were decided."""
    sides = SIDES if images.size is None else SIDES[:1]
    side, color, note = chosen_levels(data, sides, images.color)
    return (side, side) if images.size is None else read_size(images.size), color, note


def with_unlabeled(
    inputs: Inputs, path: Path, table: TableOptions, images: ImageOptions, screen: Screen
) -> Inputs:
    """Return the samples and, below them, others without labels. Labels of the others are not read."""
    from nsse.datasets._inputs import joined, load_inputs_like

    with screen.busy(f"Reading {path}"), typed({**DATA, "path": "--unlabeled", "X": "--unlabeled"}):
        more = load_inputs_like(
            path,
            inputs.preparation,
            drop=table.drop or (),
            encoder=images.encoder,
            skip_broken=images.skip_broken,
        )
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
    """Return the first value, unless another has fewer errors by more than one standard error.

    With few samples the best of several is best by chance.
    """
    import numpy as np

    gains = [float(np.mean(right) - np.mean(rights[0])) for right in rights]
    best = int(np.argmax(gains[1:])) + 1
    is_paired = len(rights[best]) == len(rights[0])  # if there are many samples, some are drawn
    each = rights[best].astype(float) - rights[0] if is_paired else rights[best]
    error = float(np.std(each) / np.sqrt(len(each)))
    return Choice(best if gains[best] > error else 0, gains[best], error)


def right_when_left_out(model: Any, X: SamplesLike, y: LabelsLike) -> Any:
    """Return whether the model without a sample predicts the label of this sample."""
    model.fit(X, y)
    labels = model.classes_[model._leave_one_out.argmax(axis=1)]
    return labels == model._leave_one_out_labels


def chosen_levels(folder: Path, sides: Sequence[int], color: bool | None) -> tuple[int, bool, str]:
    """Choose the size of images and whether they keep their color, and describe the choice."""
    from nsse.datasets._folder import small_images
    from nsse.smooth import SmoothEmbedding

    images, y = small_images(folder, MOST)
    if len(set(y)) < 2:  # messages that are printed when files are read
        return sides[0], bool(color), ""
    has_color = abs(images - images[..., :1]).max() > SAME_CHANNELS
    colors = [color] if color is not None else [True, False] if has_color else [False]
    ways = [(side, keeps) for keeps in colors for side in sides]
    if len(ways) == 1:
        return *ways[0], ""
    rights = [right_when_left_out(SmoothEmbedding(), X, y) for X in _levels(images, ways)]
    best = ways[chosen(rights).place]
    compared = ["color and gray"] * (len(colors) > 1)
    compared += [f"sides of {', '.join(map(str, sides))}"] * (len(sides) > 1)
    return *best, f"Compared {' and '.join(compared)} on {len(y)} images, left out one by one."


def _levels(images: Any, ways: list[tuple[int, bool]]) -> Iterator[Any]:
    import numpy as np

    from nsse.datasets._images import area_average

    for side, color in ways:
        levels = images if color else images @ np.array([0.299, 0.587, 0.114])
        X = np.array([area_average(one, (side, side)).ravel() for one in levels])
        yield X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
