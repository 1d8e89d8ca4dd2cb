"""``nsse predict`` and ``nsse transform``: what a model says about new samples."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nsse.cli.files import check_out, replacing, write_columns
from nsse.cli.options import Ignore, Json, KnownId, Model, NewData, SkipBroken
from nsse.cli.screen import Screen, plain_table, running

if TYPE_CHECKING:
    from nsse.certificates import Answers
    from nsse.cli.models import Opened
    from nsse.datasets import Inputs

SHOWN = 20  # rows on the screen
OURS = ("label", "probability", "distance", "radius")  # columns of ours, whose names no other has

Columns = dict[str, list[Any]]


def predict(
    model: Model,
    data: NewData,
    out: Annotated[
        Path | None, typer.Option(help="Write .csv or .parquet. (default: show on the screen)")
    ] = None,
    ignore: Ignore = None,
    id: KnownId = None,
    skip_broken: SkipBroken = False,
    as_json: Json = False,
) -> None:
    """Label new samples, with three measures of trust.

    PROBABILITY is that of the label, where the model knows more than the label. DISTANCE is that to the
    nearest training sample in the embedding. RADIUS is certified: no change of the prepared sample by
    less than it changes the label. Of a model that scales columns it is in the units of the columns as
    they are, and RADIUS_SCALED in those of the scaled ones.
    """
    with running(as_json) as screen:
        if out is not None:
            check_out(out, (".csv", ".parquet"), read=[model, data])
        from nsse.cli.models import read

        opened, inputs = read(model, data, ignore, screen, id=id, skip_broken=skip_broken)
        from nsse.certificates import answers

        with screen.busy(f"Labelling {len(inputs.X)} samples"):
            said = answers(opened.model, inputs.X)
            columns = first_column(inputs) | {"label": said.label.tolist()}
            if said.probabilities is not None:
                columns["probability"] = said.probabilities.max(axis=1).tolist()
            columns["distance"] = said.distance.tolist()
        if said.model_radius is not None:
            columns["radius"] = (said.model_radius if said.radius is None else said.radius).tolist()
        if opened.before and said.radius is not None and said.model_radius is not None:
            columns["radius_scaled"] = said.model_radius.tolist()
        screen.result = {"n_samples": len(inputs.X), "labels": _counts(columns["label"])}
        _deliver(screen, columns, out, "predictions")
        _tell_units(screen, opened, said)


def _tell_units(screen: Screen, opened: Opened, said: Answers) -> None:
    """What radii are lengths of, or why there are none."""
    if said.model_radius is None:
        screen.say(f"No certified radii: {said.unproved}")
        return
    on = opened.measured_on(in_samples=said.radius is not None)
    screen.say(f"A label stays the same under any change below its radius, measured on {on}.")
    if said.radius is None:
        screen.say(f"Not in the units of the columns: {said.unproved}")
    elif opened.before:
        screen.say("So it does under any change below radius_scaled, measured on scaled columns.")


def transform(
    model: Model,
    data: NewData,
    out: Annotated[Path, typer.Option(help="The file to write: .csv, .parquet or .npy.")],
    ignore: Ignore = None,
    id: KnownId = None,
    skip_broken: SkipBroken = False,
    as_json: Json = False,
) -> None:
    """Embed new samples by the learned map: one row each, one column per dimension."""
    with running(as_json) as screen:
        check_out(out, (".csv", ".parquet", ".npy"), read=[model, data])
        import numpy as np

        from nsse.cli.models import read

        opened, inputs = read(model, data, ignore, screen, id=id, skip_broken=skip_broken)
        embedding = np.asarray(opened.model.transform(inputs.X))
        screen.result = {"n_samples": len(embedding), "n_components": embedding.shape[1]}
        if out.suffix.lower() == ".npy":
            with replacing(out) as temporary, temporary.open("wb") as file:
                np.save(file, embedding)
            screen.result["out"] = str(out)
        else:
            columns = {f"y{k + 1}": column.tolist() for k, column in enumerate(embedding.T)}
            _deliver(screen, first_column(inputs) | columns, out, "embedding")
        screen.say(f"Wrote {out}: {len(embedding)} rows, {embedding.shape[1]} dimensions.")


def first_column(inputs: Inputs) -> Columns:
    """The names of images, or the column of a table that names its rows; else their numbers, from 1."""
    if inputs.names is not None:
        column = inputs.preparation.get("id")
        return {"name" if column in (None, *OURS) else column: list(inputs.names)}
    return {"row": list(range(1, len(inputs.X) + 1))}


def _deliver(screen: Screen, columns: Columns, out: Path | None, what: str) -> None:
    """To a file, or into the JSON and onto the screen."""
    if out is not None:
        write_columns(out, columns)
        screen.result["out"] = str(out)
    else:
        rows = zip(*columns.values(), strict=True)
        screen.result[what] = [dict(zip(columns, row, strict=True)) for row in rows]
    if what == "predictions":
        _show(screen, columns, out)


def _show(screen: Screen, columns: Columns, out: Path | None) -> None:
    numbers = {name for name, values in columns.items() if isinstance(values[0], int | float)}
    table = plain_table(*columns, right=numbers)
    n = len(columns["label"])
    shown = SHOWN if out is None else min(SHOWN, 5)
    for row in list(zip(*columns.values(), strict=True))[:shown]:
        table.add_row(*(f"{entry:.4g}" if isinstance(entry, float) else str(entry) for entry in row))
    screen.show(table)
    if n > shown and not screen.as_json:
        screen.say(f"… {n - shown} more" + (": write them with --out." if out is None else "."))
    if out is not None:
        screen.say(f"Wrote {out}: {n} rows.")


def _counts(labels: list[Any]) -> dict[str, int]:
    return dict(sorted(Counter(map(str, labels)).items()))
