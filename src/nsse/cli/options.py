"""Arguments and options that several commands share, and how they are read."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from nsse._support.errors import rule_error

_TABLE = (
    "A table (.csv, .tsv, .parquet), arrays (.npz with X and y, .npy), or a folder of images with one"
)
_NEW = "As the model was fitted to; also a folder of images without sub-folders, or one image."
_LABEL = (
    "The column of labels; in .npz the array (default y); for .npy the file of labels. Not for images."
)
_CATEGORY = "A column of categories, a feature each; may be given more than once. Text always is."
_STANDARDIZE = "Scale columns to mean 0 and variance 1, or not. (default: tables are scaled)"
_IMPUTE = "Fill missing numbers with the medians of columns."
_IGNORE = "Leave a column out; may be given more than once."
_ENCODER = "A pretrained network, .onnx or .json: its features instead of pixels."
_KNOWN = "The network of MODEL. (default: where it was in `nsse fit`)"
_SIZE = "Height and width of images, 25x25, or `original`. (default: compared on some images)"

# Titles under which `--help` shows options, each with columns of its own width.
MODEL, TABLES, IMAGES = "Model", "Tables", "Images"
_of_tables = partial(typer.Option, rich_help_panel=TABLES)
_of_images = partial(typer.Option, rich_help_panel=IMAGES)
Columns = list[str] | None
Data = Annotated[Path, typer.Argument(metavar="DATA", help=f"{_TABLE} sub-folder per class.")]
NewData = Annotated[Path, typer.Argument(metavar="DATA", help=_NEW)]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file of `nsse fit` or nsse.save.")]
Label = Annotated[str | None, typer.Option(help=_LABEL)]
KnownLabel = Annotated[str | None, typer.Option(help="As in `nsse fit`. (default: as it was there)")]
Standardize = Annotated[bool | None, _of_tables("--standardize/--as-they-are", help=_STANDARDIZE)]
Id = Annotated[str | None, _of_tables(metavar="COL", help="The column that names rows: no feature.")]
KnownId = Annotated[str | None, _of_tables(metavar="COL", help="As in `nsse fit`.")]
Impute = Annotated[Literal["median"] | None, _of_tables(help=_IMPUTE)]
Category = Annotated[Columns, _of_tables(metavar="COL", help=_CATEGORY)]
Feature = Annotated[Columns, _of_tables(metavar="COL", help="A feature that looks like an id.")]
Ignore = Annotated[Columns, _of_tables(metavar="COL", help=_IGNORE)]
Color = Annotated[
    bool | None,
    _of_images("--color/--grey", "--colour/--gray", help="Keep the color of images, or not."),
]
Encoder = Annotated[Path | None, _of_images(metavar="NET", help=_ENCODER)]
KnownEncoder = Annotated[Path | None, _of_images(metavar="NET", help=_KNOWN)]
SkipBroken = Annotated[bool, _of_images("--skip-broken", help="Leave out unreadable images.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on stdout.")]
Size = Annotated[str | None, _of_images(help=_SIZE)]
UnitNorm = Annotated[bool, _of_images("--unit-norm/--raw", help="Divide every image by its norm.")]


def read_size(text: str) -> tuple[int, int] | None:
    """``25x25`` as a pair, ``original`` as None."""
    found = re.fullmatch(r"([1-9]\d{0,4})[x×]([1-9]\d{0,4})", text)
    if found is None and text != "original":
        rule = "be HEIGHTxWIDTH or original"
        raise rule_error("--size", rule, text, "--size 25x25 is what the paper takes.")
    return None if found is None else (int(found[1]), int(found[2]))
