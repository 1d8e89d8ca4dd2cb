"""Arguments and options of the commands.

Options that belong together are the fields of a dataclass. `command` turns such a parameter of a
function into one option for each field.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from inspect import Parameter, Signature, get_annotations, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from nsse._support.errors import Described, rule_error

if TYPE_CHECKING:
    from nsse.datasets import TableEncoder

_TABLE = (
    "A table (.csv, .tsv, .parquet), arrays (.npz with X and y, .npy), or a folder of images with one"
)
_NEW = (
    "Data of the kind that the model was fitted to. Images may also be a single file or a plain folder."
)
_LABEL = (
    "The column of labels. In .npz the array (default y), for .npy the file of labels. Not for images."
)
_CATEGORICAL = "A column of numbers that are categories. Can be repeated. Text is always categories."
_KEEP = "A column that is a feature although it looks like a row id. Can be repeated."
_DROP = "A column to leave out. Can be repeated."
_MISSING = "Replace missing numbers by the medians of their columns, or raise an error."
_STANDARDIZE = "Divide columns by their standard deviations, or do not. (default: only those of tables)"
_ENCODER = "A pretrained network, .onnx or .json. Its features replace the pixels."
_KNOWN = "The network of MODEL. (default: the file that `nsse fit` used)"
_SIZE = "Height and width of images, or `original` to leave them as they are."
_COLOR = "Keep the color of images, or do not. (default: keep it if there is any)"
_AUGMENT = (
    "Learn from transformed images as well: shift, rotate, scale, mirror, brightness, light, separated "
    "by commas. With --encoder: mirror. `auto` chooses what helps on held-out images."
)
_TUNE = (
    "Choose metric, width, smoothness and decision by cross-validation, and combine the best "
    "candidates (SmoothEmbeddingCV). Options that are given are not searched. Ctrl-C "
    "writes the best model found by then, if any, and ends with exit code 130."
)
_SIGMA = "Kernel width, in median distances. (default: 0.65; --tune chooses)"
_SMOOTHNESS = "Weight of the smoothness of the map. (default: 0.1; --tune chooses)"
_DECISION = "The class of the largest score, or of the nearest training sample. --tune chooses."
_METRIC = "The learned metric, or Euclidean distances. (default: within)"
_CENTERS = "Centers of the map: a number, auto, or all for every sample. (default: auto)"
_UNLABELED = "More samples of the kind of DATA, without labels. The map is learned from them too."
_UNLABELED_LABEL = (
    'The entry of rows of DATA without a label: "" is an empty entry. For images, the sub-folder of '
    "images without a label."
)

# Titles under which `--help` shows options, each with columns of its own width.
MODEL = "Model"
TABLES = "Tables"
IMAGES = "Images"
_of_model = partial(typer.Option, rich_help_panel=MODEL)
_of_tables = partial(typer.Option, rich_help_panel=TABLES)
_of_images = partial(typer.Option, rich_help_panel=IMAGES)
Columns = list[str] | None
Data = Annotated[Path, typer.Argument(metavar="DATA", help=f"{_TABLE} sub-folder per class.")]
NewData = Annotated[Path, typer.Argument(metavar="DATA", help=_NEW)]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file of `nsse fit` or nsse.save.")]
Label = Annotated[str | None, typer.Option(help=_LABEL)]
KnownLabel = Annotated[str | None, typer.Option(help="As in `nsse fit`. (default: as it was there)")]
KnownEncoder = Annotated[Path | None, _of_images(metavar="NET", help=_KNOWN)]
Drop = Annotated[Columns, _of_tables(metavar="COL", help=_DROP)]
SkipBroken = Annotated[bool, _of_images("--skip-broken", help="Leave out unreadable images.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on stdout.")]


@dataclass(frozen=True)
class TableOptions:
    """How the columns of a table become features."""

    id: Annotated[str | None, _of_tables(metavar="COL", help="The column that names rows.")] = None
    drop: Drop = None
    categorical: Annotated[Columns, _of_tables(metavar="COL", help=_CATEGORICAL)] = None
    keep: Annotated[Columns, _of_tables(metavar="COL", help=_KEEP)] = None
    missing: Annotated[Literal["median", "error"], _of_tables(help=_MISSING)] = "median"
    standardize: Annotated[bool | None, _of_tables("--standardize/--as-they-are", help=_STANDARDIZE)] = (
        None
    )

    def encoder(self) -> TableEncoder:
        """Return the encoder that these options describe."""
        from nsse.datasets import TableEncoder

        return TableEncoder(
            categorical=self.categorical or (),
            keep=self.keep or (),
            drop=self.drop or (),
            missing=self.missing,
        )


@dataclass(frozen=True)
class ImageOptions:
    """How images become features."""

    encoder: Annotated[Path | None, _of_images(metavar="NET", help=_ENCODER)] = None
    augment: Annotated[str | None, _of_images(metavar="HOW", help=_AUGMENT)] = None
    size: Annotated[str | None, _of_images(help=f"{_SIZE} (default: 25x25)")] = None
    unit_norm: Annotated[
        bool, _of_images("--unit-norm/--raw", help="Divide every image by its norm, or do not.")
    ] = True
    color: Annotated[bool | None, _of_images("--color/--gray", help=_COLOR)] = None
    skip_broken: SkipBroken = False

    def augmentations(self) -> list[str] | None:
        """Return the names of the augmentations that were given, None if they are to be chosen."""
        from nsse.augment import AMOUNTS

        if self.augment in (None, "auto"):
            return None
        names = [name.strip() for name in str(self.augment).split(",")]
        known = tuple(AMOUNTS) if self.encoder is None else ("mirror",)
        if any(name not in known for name in names):
            rule = f"be auto, or some of {', '.join(known)}"
            raise rule_error("--augment", rule, self.augment, "Separate them by commas.")
        return names

    def how(self, folder: Path) -> dict[str, Any]:
        """Return how `load_inputs` reads a folder of images."""
        from nsse.datasets import Encoder
        from nsse.datasets._folder import has_color

        if self.encoder is None:
            color = has_color(folder) if self.color is None else self.color
            size = _parsed_size(self.size or "25x25")
            return {"size": size, "color": color, "unit_norm": self.unit_norm}
        given = self.size or {True: "--color", False: "--gray", None: None}[self.color]
        if given is not None:
            rule = "come without --size, --color and --gray"
            raise rule_error("encoder", rule, Described(given), "Leave it out.")
        return {"encoder": Encoder(self.encoder)}


@dataclass(frozen=True)
class ModelOptions:
    """Parameters of the model and of its search."""

    tune: Annotated[bool, _of_model("--tune", help=_TUNE)] = False
    n_components: Annotated[int | None, _of_model(help="Dimensions. (default: classes - 1)")] = None
    sigma: Annotated[float | None, _of_model(help=_SIGMA)] = None
    smoothness: Annotated[float | None, _of_model(help=_SMOOTHNESS)] = None
    decision: Annotated[Literal["scores", "nearest"] | None, _of_model(help=_DECISION)] = None
    metric: Annotated[Literal["within", "euclidean"] | None, _of_model(help=_METRIC)] = None
    centers: Annotated[str | None, _of_model(metavar="M", help=_CENTERS)] = None
    seed: Annotated[int, _of_model(help="Random seed of splits, centers and subsamples.")] = 0

    def settings(self) -> dict[str, Any]:
        """Return the parameters of `SmoothEmbedding` that were given."""
        names = ("n_components", "sigma", "smoothness", "decision", "metric")
        settings = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if self.centers is not None:
            settings["centers"] = _parsed_centers(self.centers)
        return settings | {"random_state": self.seed}


@dataclass(frozen=True)
class UnlabeledOptions:
    """Samples without labels."""

    unlabeled: Annotated[Path | None, _of_model(metavar="MORE", help=_UNLABELED)] = None
    unlabeled_label: Annotated[str | None, _of_model(metavar="TEXT", help=_UNLABELED_LABEL)] = None


@dataclass(frozen=True)
class NewOptions:
    """How a model's command reads new data."""

    drop: Drop = None
    id: Annotated[str | None, _of_tables(metavar="COL", help="As in `nsse fit`.")] = None
    encoder: KnownEncoder = None
    skip_broken: SkipBroken = False


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Give a function one option for each field of its parameters that are dataclasses."""
    parameters = signature(function, eval_str=True).parameters.values()
    groups: dict[str, Any] = {
        one.name: one.annotation for one in parameters if is_dataclass(one.annotation)
    }

    def run(**given: Any) -> None:
        own = {
            name: kind(**{one.name: given.pop(one.name) for one in fields(kind)})
            for name, kind in groups.items()
        }
        function(**given, **own)

    flat = [part for one in parameters for part in _flat(one)]
    run.__signature__ = Signature(flat)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in flat}
    run.__name__, run.__doc__ = function.__name__, function.__doc__
    return run


def _flat(parameter: Parameter) -> list[Parameter]:
    """Return one parameter for each field of a dataclass, or the parameter itself."""
    kind = parameter.annotation
    if not is_dataclass(kind):
        return [parameter.replace(kind=Parameter.KEYWORD_ONLY)]
    types = get_annotations(kind, eval_str=True)  # type: ignore[arg-type]
    return [
        Parameter(one.name, Parameter.KEYWORD_ONLY, default=one.default, annotation=types[one.name])
        for one in fields(kind)
    ]


def _parsed_centers(text: str) -> int | str | None:
    if text not in ("auto", "all") and not text.isdecimal():
        raise rule_error("--centers", "be a number, auto or all", text, "Leave it out for the default.")
    return int(text) if text.isdecimal() else None if text == "all" else text


def _parsed_size(text: str) -> tuple[int, int] | None:
    """Return ``25x25`` as a pair, and ``original`` as None."""
    found = re.fullmatch(r"([1-9]\d{0,4})[x×]([1-9]\d{0,4})", text)
    if found is None and text != "original":
        rule = "be HEIGHTxWIDTH or original"
        raise rule_error("--size", rule, text, "The paper uses --size 25x25.")
    return None if found is None else (int(found[1]), int(found[2]))
