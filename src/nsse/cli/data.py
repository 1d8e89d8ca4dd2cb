"""Read samples for a command to learn from, and describe them."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from nsse.cli.options import ImageOptions, TableOptions
from nsse.cli.screen import DATA, Screen, typed

if TYPE_CHECKING:
    from nsse.datasets import Inputs


def read_labeled(
    data: Path,
    label: str | None,
    table: TableOptions,
    images: ImageOptions,
    unlabeled: str | None,
    screen: Screen,
) -> Inputs:
    """Read training samples, and print what they are."""
    from nsse.datasets import load_inputs

    begun = perf_counter()
    how: dict[str, Any] = {"skip_broken": images.skip_broken, "unlabeled": unlabeled}
    with screen.busy(f"Reading {data}"), typed(DATA):
        if data.is_dir():
            how |= images.how(data)
        else:
            how |= {"table": table.encoder(), "id": table.id, "encoder": images.encoder}
        inputs = load_inputs(data, label, **how)
    noun, labeled = "images" if inputs.files else "samples", inputs.is_labeled
    n_classes = len(set(inputs.y[labeled].tolist()))  # type: ignore[index]
    without = "" if labeled.all() else f", {int((~labeled).sum())} of them without a label"
    took = "" if images.encoder is None else f", in {perf_counter() - begun:.1f} s"
    about = f"{len(inputs.X)} {noun} in {n_classes} classes{without}, {inputs.preparation}{took}"
    screen.say(f"Read {data}: {about}.")
    for line in inputs.notes:
        screen.say(line)
    return inputs


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
