"""A model file opened for a command, and samples prepared for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsse._support.errors import rule_error
from nsse._support.types import SamplesLike
from nsse.cli.screen import DATA, MODEL, Screen, typed

if TYPE_CHECKING:
    from nsse.datasets import Inputs, Preparation


@dataclass(frozen=True, eq=False)
class Opened:
    """A model, its steps, the last of which embeds and predicts, and how its samples are prepared."""

    model: Any
    before: list[Any]
    last: Any
    preparation: Preparation

    @property
    def measured(self) -> str:
        """Where radii are lengths."""
        from nsse.datasets import EncodedPreparation, ImagePreparation

        if isinstance(self.preparation, EncodedPreparation):
            return f"in feature space ({self.preparation}), not on pixels"
        if not isinstance(self.preparation, ImagePreparation):
            return "on the columns as they are"
        levels = "levels of red, green and blue" if self.preparation.color else "grey levels"
        return "on images of norm 1" if self.preparation.unit_norm else f"in {levels} from 0 to 1"


def open_model(path: Path) -> Opened:
    """Load a model, with the preparation that its file tells or that the model itself implies."""
    from nsse.io import read_header

    with typed(MODEL):
        header = read_header(path)  # what is no model file is refused before scikit-learn is waited for
    from nsse.datasets import check_preparation
    from nsse.io import load
    from nsse.pipelines import opened

    with typed(MODEL):
        model = load(path)
        before, last = opened(model)
    if not hasattr(last, "embedding_"):
        rule = "hold an embedding of nsse, alone or at the end of a pipeline"
        got = f"{path}, {type(model).__name__}"
        raise rule_error("MODEL", rule, got, "Fit one with `nsse fit`.")
    stored, first = header.metadata, [*before, last][0]
    stored = stored if stored is not None and "kind" in stored else _implied(first)
    with typed(MODEL):
        preparation = check_preparation(stored, int(first.n_features_in_))
    # Columns are compared by name when they are read; after that, samples are plain arrays.
    for step in (*before, last, *getattr(last, "voters_", [getattr(last, "best_estimator_", last)])):
        vars(step).pop("feature_names_in_", None)
    return Opened(model, before, last, preparation)


def read(
    model: Path, data: Path, ignore: list[str] | None, screen: Screen, **how: Any
) -> tuple[Opened, Inputs]:
    """A model, and samples prepared as its own were; notes are said. `how` is `load_inputs_like`'s."""
    from nsse.datasets import load_inputs_like

    with screen.busy(f"Reading {data}"):
        opened = open_model(model)
        with typed(DATA):
            inputs = load_inputs_like(data, opened.preparation, ignore=ignore or (), **how)
    for note in inputs.notes:
        screen.say(note)
    if inputs.y is not None and inputs.y.dtype.kind == "i" and opened.last.classes_.dtype.kind in "OU":
        # A model of text, and a file in which all labels look like numbers.
        inputs = replace(inputs, y=inputs.y.astype(str))
    return opened, inputs


def radii_of(model: Any, X: SamplesLike) -> tuple[Any, str]:
    """Certified radii, or None and why there are none."""
    from nsse.certificates import certified_radius

    try:
        return certified_radius(model, X), ""
    except (TypeError, ValueError) as error:
        return None, " ".join(str(error).split())


def _implied(first: Any) -> dict[str, Any]:
    """Of a model saved without, by its first step: the names of its columns, or their number."""
    if hasattr(first, "feature_names_in_"):
        return {"kind": "table", "columns": [str(name) for name in first.feature_names_in_]}
    return {"kind": "array", "n_features": int(first.n_features_in_)}
