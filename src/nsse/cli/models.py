"""A model file opened for a command, and what the model says about samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsse._errors import rule_error

if TYPE_CHECKING:
    from nsse.cli.screen import Screen
    from nsse.datasets import Inputs


@dataclass(frozen=True, eq=False)
class Opened:
    """A model with the preparation of its samples."""

    model: Any
    preparation: dict[str, Any]

    @property
    def last(self) -> Any:
        """The step that embeds and predicts."""
        return parts(self.model)[1]


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model says about samples, one entry each; no radii where nothing is proved."""

    labels: Any
    distance: Any
    radius: Any | None
    why_no_radius: str


def open_model(path: Path) -> Opened:
    """Load a model, with the preparation that its file tells or that the model itself implies."""
    from nsse.datasets import check_preparation
    from nsse.exports import load, read_header

    model = load(path)
    _, last = parts(model)
    if not hasattr(last, "embedding_"):
        raise rule_error(
            "MODEL", "hold an embedding of nsse, alone or at the end of a pipeline",
            f"{path}, {type(model).__name__}", "Fit one with `nsse fit`.",
        )  # fmt: skip
    told = read_header(path).metadata
    preparation = told if told is not None and "kind" in told else _implied(model)
    check_preparation(preparation, int(model.n_features_in_))
    _forget_names(model)
    return Opened(model, preparation)


def read(
    model: Path,
    data: Path,
    ignore: list[str] | None,
    screen: Screen,
    *,
    label: str | None = None,
    labelled: bool | None = False,
) -> tuple[Opened, Inputs]:
    """A model, and samples prepared as its own were; labels as in `load_inputs_like`."""
    from nsse.datasets import load_inputs_like

    with screen.busy(f"Reading {data}"):
        opened = open_model(model)
        inputs = load_inputs_like(
            data, opened.preparation, label, labelled=labelled, ignore=ignore or ()
        )
    if inputs.y is not None and inputs.y.dtype.kind == "i" and opened.last.classes_.dtype.kind in "OU":
        # A model of text, and a file in which all labels look like numbers.
        inputs = replace(inputs, y=inputs.y.astype(str))
    return opened, inputs


def parts(model: Any) -> tuple[list[Any], Any]:
    """The steps before the last of a pipeline, and the last; of anything else none, and itself."""
    from sklearn.pipeline import Pipeline

    before: list[Any] = []
    while isinstance(model, Pipeline):
        before += [step for _, step in model.steps[:-1]]
        model = model.steps[-1][1]
    return before, model


def prepared(model: Any, X: Any) -> tuple[Any, Any]:
    """Samples as the last step takes them, and that step."""
    before, last = parts(model)
    for step in before:
        X = step.transform(X)
    return X, last


def embed(model: Any, X: Any) -> Any:
    """What the model makes of samples."""
    import numpy as np

    X, last = prepared(model, X)
    return np.asarray(last.transform(X))


def ask(model: Any, X: Any) -> Answers:
    """Labels, distances to the nearest training sample in the embedding, certified radii."""
    import numpy as np
    from sklearn.neighbors import NearestNeighbors

    X, last = prepared(model, X)
    # The tree measures differences; the faster way for many dimensions subtracts squares.
    nearest = NearestNeighbors(n_neighbors=1, algorithm="kd_tree").fit(last.embedding_)
    distance = nearest.kneighbors(np.asarray(last.transform(X)))[0][:, 0]
    labels = np.asarray(last.predict(X))
    if not hasattr(last, "certified_radius"):
        return Answers(labels, distance, None, f"Nothing is proved about the map of {_name(last)}.")
    try:
        return Answers(labels, distance, last.certified_radius(X), "")
    except ValueError as error:
        return Answers(labels, distance, None, str(error))


def measured_on(opened: Opened) -> str:
    """What radii are lengths of: of changes to what the map takes."""
    if opened.preparation["kind"] == "images":
        return "images of norm 1" if opened.preparation["unit_norm"] else "grey levels from 0 to 1"
    return "transformed columns" if parts(opened.model)[0] else "the columns as they are"


def told_preparation(preparation: dict[str, Any]) -> str:
    """The preparation in words."""
    if preparation["kind"] == "images":
        height, width = preparation["size"]
        return f"{height} x {width} grey levels" + (", unit norm" if preparation["unit_norm"] else "")
    n = len(preparation["columns"]) if preparation["kind"] == "table" else preparation["n_features"]
    return f"{n} {'columns' if preparation['kind'] == 'table' else 'features'}"


def _implied(model: Any) -> dict[str, Any]:
    """Of a model that was saved without: the names of its columns, or their number."""
    first = (parts(model)[0] or [model])[0]
    if hasattr(first, "feature_names_in_"):
        return {"kind": "table", "columns": [str(name) for name in first.feature_names_in_]}
    return {"kind": "array", "n_features": int(model.n_features_in_)}


def _forget_names(model: Any) -> None:
    """Columns are compared by name when they are read; after that, samples are plain arrays."""
    before, last = parts(model)
    for step in (*before, last, *getattr(last, "voters_", [getattr(last, "best_estimator_", last)])):
        vars(step).pop("feature_names_in_", None)


def _name(thing: Any) -> str:
    return type(thing).__name__
