"""A model file opened for a command, and samples prepared for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsse._support.errors import Described, rule_error
from nsse.cli.options import NewOptions
from nsse.cli.screen import DATA, MODEL, Screen, typed

if TYPE_CHECKING:
    from nsse._support.types import SamplesLike
    from nsse.datasets import Inputs, Preparation

# The key of the names of the training samples in the metadata of a file, and the most that it contains.
NAMES, MOST_NAMES = "names", 20_000


@dataclass(frozen=True, eq=False)
class Opened:
    """A model behind the encoder of its table, its steps, and the preparation of its samples.

    ``names`` are the names of the training samples in their order, or None if the file does not have
    them.
    """

    model: Any
    before: list[Any]
    last: Any
    preparation: Preparation
    names: list[str] | None = None

    @property
    def whole(self) -> Any:
        """The model with the encoder of its table, as files have it."""
        return with_encoder(self.model, self.preparation)

    @property
    def measured(self) -> str:
        """Describe the space in which radii are lengths."""
        from nsse.datasets import EncodedPreparation, ImagePreparation

        if isinstance(self.preparation, EncodedPreparation):
            return f"in feature space ({self.preparation}), not on pixels"
        if not isinstance(self.preparation, ImagePreparation):
            return "on the columns as they are"
        levels = "levels of red, green and blue" if self.preparation.color else "gray levels"
        return "on images of norm 1" if self.preparation.unit_norm else f"in {levels} from 0 to 1"


def open_model(path: Path) -> Opened:
    """Load a model, with the preparation that its file states or that the model itself implies."""
    from nsse.io import read_header

    with typed(MODEL):
        header = read_header(path)  # raises an error for other files before scikit-learn is imported
    from nsse.datasets import TablePreparation
    from nsse.datasets._preparation import check_preparation
    from nsse.io.files import load
    from nsse.pipelines import is_encoder, opened

    with typed(MODEL):
        model = load(path)
        before, last = opened(model)
    if not hasattr(last, "embedding_"):
        rule = "hold an embedding of nsse, alone or at the end of a pipeline"
        got = Described(f"{path}, {type(model).__name__}")
        raise rule_error("MODEL", rule, got, "Fit one with `nsse fit`.")
    stored = header.metadata if header.metadata is not None and "kind" in header.metadata else None
    preparation: Preparation
    if before and is_encoder(before[0]):
        known = stored or {}
        preparation = TablePreparation(before.pop(0), known.get("label"), known.get("id"))
        model = model[1:] if before else last
    else:
        first = [*before, last][0]
        with typed(MODEL):
            preparation = check_preparation(stored or _implied(first), int(first.n_features_in_))
    # Columns are compared by name when they are read. After that, samples are plain arrays.
    for step in (*before, last, *getattr(last, "members_", ()), getattr(last, "best_estimator_", last)):
        vars(step).pop("feature_names_in_", None)
    names = (header.metadata or {}).get(NAMES)
    if not isinstance(names, list) or len(names) != len(last.embedding_):
        names = None
    return Opened(model, before, last, preparation, names)


def with_encoder(model: Any, preparation: Preparation) -> Any:
    """Return a pipeline that begins with the encoder of a table. For other samples, return the model."""
    from nsse.datasets import TablePreparation

    if not isinstance(preparation, TablePreparation):
        return model
    from sklearn.pipeline import Pipeline

    steps = model.steps if isinstance(model, Pipeline) else [(type(model).__name__.lower(), model)]
    return Pipeline([("tableencoder", preparation.encoder), *steps])


def read(model: Path, data: Path, new: NewOptions, screen: Screen, **how: Any) -> tuple[Opened, Inputs]:
    """Return a model, and samples prepared as its own were. `how` is passed to `load_inputs_like`."""
    from nsse.datasets import load_inputs_like

    with screen.busy(f"Reading {data}"):
        opened = open_model(model)
        with typed(DATA):
            inputs = load_inputs_like(
                data,
                opened.preparation,
                drop=new.drop or (),
                id=new.id,
                encoder=new.encoder,
                skip_broken=new.skip_broken,
                **how,
            )
    for note in inputs.notes:
        screen.say(note)
    if inputs.y is not None and inputs.y.dtype.kind == "i" and opened.last.classes_.dtype.kind in "OU":
        # The model has labels of text, and all labels of this file look like numbers.
        inputs = replace(inputs, y=inputs.y.astype(str))
    return opened, inputs


def radii_of(opened: Opened, X: SamplesLike) -> tuple[Any, str]:
    """Return certified radii, or None and the reason why there are none."""
    from nsse.certificates import certified_radius

    if opened.preparation.get("categories"):
        return None, "A radius is for features that can change by small amounts, and categories cannot."
    try:
        return certified_radius(opened.model, X), ""
    except (TypeError, ValueError) as error:
        return None, " ".join(str(error).split())


def _implied(first: Any) -> dict[str, Any]:
    """Return the names or the number of columns of a model without stored preparation."""
    if hasattr(first, "feature_names_in_"):
        return {"kind": "table", "columns": [str(name) for name in first.feature_names_in_]}
    return {"kind": "array", "n_features": int(first.n_features_in_)}
