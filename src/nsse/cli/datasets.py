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


def datasets(
    name: Annotated[str | None, typer.Argument(help="A data set to write as images.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="New folder, in which train and test are made.")
    ] = None,
    train: Annotated[
        int,
        typer.Option(
            min=2, help="Training images per class, drawn at random. The others are test images."
        ),
    ] = 12,
    seed: Annotated[int, typer.Option(help="Draws them.")] = 0,
    download: Annotated[
        bool, typer.Option("--download", help="Fetch mnist where it is missing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the known data sets and where they are, or write one as folders of images."""
    from nsse.datasets import known_datasets

    with running(as_json) as screen:
        if name is not None and out is not None:
            _write(name, out, train, seed, download, screen)
        elif name is None and out is None:
            known = known_datasets()
            screen.result = {"datasets": [vars(one) for one in known]}
            _list(known, screen)
        else:
            cure = "nsse datasets digits --out photos"
            raise rule_error(
                "--out", "be given with a NAME", Described(f"NAME {name}, --out {out}"), cure
            )


def _list(known: list[KnownDataset], screen: Screen) -> None:
    table = plain_table("name", "found", "what")
    for one in known:
        table.add_row(one.name, "no" if one.found is None else "yes", one.title)
    screen.show(table)
    if not screen.as_json:
        screen.say("")
        screen.say("Where they are, or where from → where to:")
        for one in known:
            if one.found != "":
                screen.say(f"  {one.name:<9} {one.found or one.cure}")
        screen.say("")
        screen.say("As folders of images: nsse datasets digits --out photos")


def _write(name: str, out: Path, train: int, seed: int, download: bool, screen: Screen) -> None:
    from nsse.datasets import load_dataset, per_class_split, write_images

    if out.exists():
        cure = "Remove it, or choose another."
        raise FileExistsError(rule_message("--out", "name a new folder", str(out), cure))
    with screen.busy(f"Writing {name}"), typed(KNOWN), new_folder(out) as temporary:
        dataset = load_dataset(name, size=None, download=download)
        parts = dict(zip(("train", "test"), per_class_split(dataset.y, train, seed), strict=True))
        counts = {
            part: write_images(dataset, rows.tolist(), temporary / part) for part, rows in parts.items()
        }
    n_classes = len(set(dataset.y.tolist()))
    screen.result = {"name": name, "out": str(out), "n_classes": n_classes, **counts}
    height, width = dataset.image_shape
    written = " and ".join(f"{n} in {out / part}" for part, n in counts.items())
    screen.say(f"Wrote images of {height} x {width} in {n_classes} classes: {written}.")
