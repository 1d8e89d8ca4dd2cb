"""``nsse report``: write the page that shows a model and samples."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nsse.cli.files import bytes_of, check_out, size_of
from nsse.cli.models import read
from nsse.cli.options import Json, KnownLabel, Model, NewData, NewOptions
from nsse.cli.screen import PAGE, running, typed


def report(
    model: Model,
    data: NewData,
    new: NewOptions,
    out: Annotated[
        Path, typer.Option(help="The file to write. .html is the page, and .png or .svg is a figure.")
    ],
    label: KnownLabel = None,
    title: Annotated[str, typer.Option(help="Title of the page.")] = "",
    as_json: Json = False,
) -> None:
    """Write one HTML page with the embedding, the samples of DATA over it, and the map itself."""
    with running(as_json) as screen:
        from nsse.datasets._inputs import thumbnails
        from nsse.report import Samples, write_report

        check_out(out, (".html", ".png", ".svg"))
        opened, inputs = read(model, data, new, screen, label=label, labeled=None)
        shown, known = inputs.files, opened.preparation
        pictures = thumbnails(known, shown) if shown else None
        samples = Samples(inputs.X, inputs.y, inputs.names, pictures, thumbnails(known), opened.names)
        title = title or f"Model {model.stem} on {data.name}"
        with screen.busy("Writing the page"), typed(PAGE):
            done = write_report(out, opened.model, samples, preparation=opened.preparation, title=title)
        counts = {"n_train": done.n_train, "n_shown": done.n_shown, "live": done.live}
        screen.result = {"out": str(out), "bytes": bytes_of(out), **counts}
        live = ". It contains the map, and accepts new samples" if done.live else ""
        screen.say(
            f"Wrote {out}, {size_of(out)}: {done.n_train} training and {done.n_shown} new samples{live}."
        )
