"""Arguments and options that several commands share, and how they are read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

import typer

from nsse._support.errors import rule_error

Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A table (.csv, .tsv, .parquet), arrays (.npz with X and y, .npy), "
        "or a folder of images with one sub-folder per class.",
    ),
]
NewData = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="As the model was fitted to; also a folder of images without sub-folders, or one image.",
    ),
]
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A file that `nsse fit` or nsse.save wrote.")
]
Label = Annotated[
    str | None,
    typer.Option(
        help="The column of labels; in .npz the array (default y); for .npy the file of labels. "
        "Images: not needed."
    ),
]
Standardize = Annotated[
    bool, typer.Option("--standardize", help="Give the columns of a table mean 0 and spread 1.")
]
Id = Annotated[
    str | None,
    typer.Option(metavar="COL", help="The column of a table that names its rows: kept, and no feature."),
]
Impute = Annotated[
    Literal["median"] | None,
    typer.Option(
        help="Fill missing numbers of a table with the medians of their columns, kept in MODEL."
    ),
]
Category = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL",
        help="A column that holds categories, a feature each; may be given more than once. "
        "Columns of text need not be named.",
    ),
]
Feature = Annotated[
    list[str] | None,
    typer.Option(metavar="COL", help="A column that looks like an id and is a feature all the same."),
]
KnownLabel = Annotated[str | None, typer.Option(help="As in `nsse fit`. (default: as it was there)")]
Ignore = Annotated[
    list[str] | None,
    typer.Option(metavar="COL", help="Leave a column of a table out; may be given more than once."),
]
KnownId = Annotated[
    str | None,
    typer.Option(metavar="COL", help="The column that names the rows. (default: as in `nsse fit`)"),
]
Color = Annotated[
    bool, typer.Option("--color", "--colour", help="Keep the color of images. (default: grey)")
]
SkipBroken = Annotated[
    bool, typer.Option("--skip-broken", help="Name images that cannot be read, and go on without them.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on stdout.")]
Size = Annotated[
    str, typer.Option(help="Height and width of images, or `original`: all must have the same then.")
]
UnitNorm = Annotated[
    bool, typer.Option("--unit-norm/--raw", help="Divide every image by its norm, or keep its levels.")
]

SIZE = "25x25"


def read_size(text: str) -> tuple[int, int] | None:
    """``25x25`` as a pair, ``original`` as None."""
    found = re.fullmatch(r"([1-9]\d{0,4})[x×]([1-9]\d{0,4})", text)
    if found is None and text != "original":
        rule = "be HEIGHTxWIDTH or original"
        raise rule_error("--size", rule, text, "--size 25x25 is what the paper takes.")
    return None if found is None else (int(found[1]), int(found[2]))
