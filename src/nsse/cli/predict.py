"""``nsse predict`` and ``nsse transform``: compute labels and coordinates of new samples."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nsse._support.errors import Described, rule_error
from nsse._support.files import replacing
from nsse.cli.files import check_out, table_rows, write_columns
from nsse.cli.models import Opened, radii_of, read
from nsse.cli.options import Json, Model, NewData, NewOptions
from nsse.cli.screen import Screen, plain_table, running

if TYPE_CHECKING:
    from nsse._support.types import SamplesLike
    from nsse.datasets import Inputs

SHOWN = 20  # rows on the screen
# The columns that we add. The column of names is called "name" if its own name is one of them.
OURS = ("label", "probability", "typicality", "distance", "unknown_categories", "radius")

_REFUSE = (
    "Give no label to samples whose TYPICALITY is at most ALPHA. These are about that share of the "
    "samples of known classes, and most of the others. 0.05 is usual."
)

Columns = dict[str, list[Any]]


def predict(
    model: Model,
    data: NewData,
    new: NewOptions,
    out: Annotated[
        Path | None, typer.Option(help="Write .csv or .parquet. (default: show on the screen)")
    ] = None,
    refuse: Annotated[float | None, typer.Option(metavar="ALPHA", help=_REFUSE)] = None,
    as_json: Json = False,
) -> None:
    """Label new samples, with measures of trust.

    PROBABILITY belongs to the label. TYPICALITY is a p-value that is small for samples unlike every
    training class: the share of left-out training samples that are at least as far from all classes.
    DISTANCE is the distance to the nearest training sample in the embedding. UNKNOWN_CATEGORIES counts
    the categories of a row that the training table does not have. RADIUS is certified: no change of the
    sample that is shorter than the radius changes its label. It is left out for tables with categories.
    """
    with running(as_json) as screen:
        if out is not None:
            check_out(out, (".csv", ".parquet"), read=[model, data])
        if refuse is not None and not 0 < refuse < 1:
            raise rule_error("--refuse", "be above 0 and below 1", refuse, "0.05 is usual.")

        opened, inputs = read(model, data, new, screen)
        with screen.busy(f"Labeling {len(inputs.X)} samples"):
            columns = first_column(inputs) | _predictions(opened, inputs.X)
            radii, why = radii_of(opened, inputs.X)
        if opened.preparation.get("categories") and inputs.unknown_categories is not None:
            columns["unknown_categories"] = inputs.unknown_categories.tolist()
        if radii is not None:
            columns["radius"] = radii.tolist()
        n_refused = 0 if refuse is None else _refuse(columns, refuse)
        screen.result = {"n_samples": len(inputs.X), "labels": _counts(columns["label"])}
        _deliver(screen, columns, out)
        if refuse is not None:
            screen.result["n_refused"] = n_refused
            screen.say(f"Refused {n_refused} of {len(inputs.X)}: typicality up to {refuse:g}.")
        if radii is None:
            screen.say(f"No certified radii. {why}")
        else:
            where = opened.measured
            screen.say(f"A label stays the same under any change below its radius, measured {where}.")


def _predictions(opened: Opened, X: SamplesLike) -> Columns:
    """Return label, probability, typicality and distance, if the model has them."""
    from sklearn.metrics import pairwise_distances_argmin_min

    from nsse.certificates import typicality

    model, last = opened.model, opened.last
    columns: Columns = {"label": model.predict(X).tolist()}
    columns["probability"] = model.predict_proba(X).max(axis=1).tolist()
    if len(getattr(last, "_leave_one_out", ())):
        columns["typicality"] = typicality(model, X).tolist()
    columns["distance"] = pairwise_distances_argmin_min(model.transform(X), last.embedding_)[1].tolist()
    return columns


def _refuse(columns: Columns, alpha: float) -> int:
    """Remove the labels of samples of no known class, and return their number."""
    if "typicality" not in columns:
        cure = "Fit one with `nsse fit`."
        rule = "contain leave-one-out scores of its training samples for --refuse"
        raise rule_error("MODEL", rule, Described("a model without them"), cure)
    refused = [p <= alpha for p in columns["typicality"]]
    columns["label"] = [
        None if out else label for out, label in zip(refused, columns["label"], strict=True)
    ]
    return sum(refused)


def transform(
    model: Model,
    data: NewData,
    new: NewOptions,
    out: Annotated[Path, typer.Option(help="The file to write: .csv, .parquet or .npy.")],
    as_json: Json = False,
) -> None:
    """Embed new samples by the learned map, with one row each and one column per dimension."""
    with running(as_json) as screen:
        check_out(out, (".csv", ".parquet", ".npy"), read=[model, data])
        import numpy as np

        opened, inputs = read(model, data, new, screen)
        embedding = np.asarray(opened.model.transform(inputs.X))
        n, d = embedding.shape
        if out.suffix.lower() == ".npy":
            with replacing(out) as temporary, temporary.open("wb") as file:
                np.save(file, embedding)
        else:
            columns = {f"y{k + 1}": column.tolist() for k, column in enumerate(embedding.T)}
            write_columns(out, first_column(inputs) | columns)
        screen.result = {"n_samples": n, "n_components": d, "out": str(out)}
        screen.say(f"Wrote {out}: {n} rows, {d} dimensions.")


def first_column(inputs: Inputs) -> Columns:
    """Return the names of rows if there are any, otherwise their numbers from 1."""
    if inputs.names is not None:
        column = inputs.preparation.get("id")
        return {"name" if column in (None, *OURS) else column: list(inputs.names)}
    return {"row": list(range(1, len(inputs.X) + 1))}


def _deliver(screen: Screen, columns: Columns, out: Path | None) -> None:
    """Write predictions to a file or into the JSON, and the first of them to the screen."""
    n, most = len(columns["label"]), SHOWN if out is None else 5
    numbers = [name for name, values in columns.items() if isinstance(values[0], int | float)]
    table = plain_table(*columns, right=numbers)
    for row in list(zip(*columns.values(), strict=True))[:most]:
        table.add_row(*map(_cell, row))
    screen.show(table)
    if n > most and not screen.as_json:
        screen.say(f"… {n - most} more" + (": write them with --out." if out is None else "."))
    if out is None:
        screen.result["predictions"] = list(table_rows(columns))
        return
    write_columns(out, columns)
    screen.result["out"] = str(out)
    screen.say(f"Wrote {out}: {n} rows.")


def _cell(entry: Any) -> str:
    if entry is None:
        return "–"
    return f"{entry:.4g}" if isinstance(entry, float) else str(entry)


def _counts(labels: list[Any]) -> dict[str, int]:
    return dict(sorted(Counter(str(label) for label in labels if label is not None).items()))
