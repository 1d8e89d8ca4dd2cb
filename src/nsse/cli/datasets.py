"""``nsse datasets``: list the known data sets, or write one as a folder of images."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nsse._support.errors import Described, rule_error, rule_message
from nsse._support.files import new_folder
from nsse.cli.options import Json
from nsse.cli.screen import KNOWN, Screen, plain_table, running, typed

if TYPE_CHECKING:
    from nsse.datasets import KnownDataset

_TRAIN = "Training images per class, drawn at random. The others are test images."


def datasets(
    name: Annotated[str | None, typer.Argument(help="A data set to write as images.")] = None,
    out: Annotated[Path | None, typer.Option(help="A new folder for train and test.")] = None,
    train: Annotated[int, typer.Option(min=2, help=_TRAIN)] = 12,
    seed: Annotated[int, typer.Option(help="Random seed of the training images.")] = 0,
    as_json: Json = False,
) -> None:
    """List the known data sets and where they are, or write one as folders of images."""
    from nsse.datasets import known_datasets

    with running(as_json) as screen:
        if name is not None and out is not None:
            _write(name, out, train, seed, screen)
        elif name is None and out is None:
            known = known_datasets()
            screen.result = {"datasets": [vars(one) for one in known]}
            _list(known, screen)
        else:
            got, cure = Described(f"NAME {name}, --out {out}"), "nsse datasets digits --out photos"
            raise rule_error("--out", "be given with a NAME", got, cure)


def _list(known: list[KnownDataset], screen: Screen) -> None:
    table = plain_table("name", "found", "description")
    for one in known:
        table.add_row(one.name, "no" if one.found is None else "yes", one.title)
    screen.show(table)
    screen.say("")
    screen.say("Folders of the data sets that were found, and pages and folders for the others:")
    for one in known:
        if one.found != "":
            screen.say(f"  {one.name:<9} {one.found or one.cure}")
    screen.say("")
    screen.say("To write a data set as folders of images: nsse datasets digits --out photos")


def _write(name: str, out: Path, train: int, seed: int, screen: Screen) -> None:
    from nsse.datasets import load_dataset, per_class_split, write_images

    if out.exists():
        cure = "Remove it, or choose another."
        raise FileExistsError(rule_message("--out", "name a new folder", str(out), cure))
    with screen.busy(f"Writing {name}"), typed(KNOWN), new_folder(out) as temporary:
        dataset = load_dataset(name, size=None)
        parts = zip(("train", "test"), per_class_split(dataset.y, train, seed), strict=True)
        counts = {part: write_images(dataset, rows.tolist(), temporary / part) for part, rows in parts}
    n_classes = len(set(dataset.y.tolist()))
    screen.result = {"name": name, "out": str(out), "n_classes": n_classes, **counts}
    height, width = dataset.image_shape
    written = " and ".join(f"{n} in {out / part}" for part, n in counts.items())
    screen.say(f"Wrote images of {height} x {width} in {n_classes} classes: {written}.")
