"""Model files: arrays and one JSON header, written whole, read without running code."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from nsse import __version__
from nsse._support.errors import rule_error, rule_message
from nsse._support.files import replacing
from nsse.affine import Affine
from nsse.io.archive import arrays_of, header_of, opened_archive, write
from nsse.io.header import FORMAT, checked_header
from nsse.io.values import MODELS, Reader, Writer
from nsse.pipelines import AffineStep, split_pipeline


def save(model: Any, path: str | os.PathLike[str], *, metadata: Mapping[str, Any] | None = None) -> None:
    """Write a fitted model to a file that `load` reads without running any code of the file.

    The file is written whole or not at all; one that was there before is replaced.

    Parameters
    ----------
    model : estimator
        Fitted: one of ours; a search around one, of which the best estimator is kept; or a pipeline of
        affine steps (scalers, PCA) and one of these. The steps are kept as one affine map.
    path : str or path-like
        The file; ``.nsse`` is the usual ending.
    metadata : dict, default=None
        Plain data to travel with the model; `nsse.io.read_header` gives it back. The command line keeps
        here how samples are prepared, and reads from it how to prepare new ones::

            {"kind": "images", "size": [25, 25], "unit_norm": True}
            {"kind": "table", "columns": ["length", "width"], "label": "species"}
            {"kind": "array", "n_features": 64}

    Raises
    ------
    ValueError
        If the model has a part that a file cannot hold, such as a function of yours; it is named.

    See Also
    --------
    load : Read the file again.
    nsse.io.read_header : What a file says of itself.
    to_onnx : A graph that runs without this library.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = nsse.SmoothEmbedding().fit(X[::3], y[::3])
    >>> nsse.save(model, "iris.nsse", metadata={"flowers": "iris"})
    >>> bool((nsse.load("iris.nsse").predict(X) == model.predict(X)).all())
    True
    """
    check_is_fitted(model)
    target, added = checked_target(Path(path)), checked_metadata(metadata)
    affine, last = opened(model)
    kept = last if affine is None else behind(affine, model, last)
    writer = Writer()
    header = {
        "format": FORMAT,
        "model": type(kept).__name__,
        "nsse": __version__,
        "sklearn": sklearn.__version__,
        "numpy": np.__version__,
        "metadata": added,
        "facts": facts_of(model, last),
        "tree": writer(kept, "model"),
    }
    with replacing(target) as temporary:
        write(temporary, header, writer.arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator
        The model: `transform`, `predict` and `certified_radius` give the same bits as before. A pipeline
        has its affine steps in one, and agrees to rounding.

    Raises
    ------
    ValueError
        If the file is cut short, damaged, no model file, of another format, larger inside than it says,
        or of parts that do not fit each other; the message says which.
    FileNotFoundError
        If there is no such file.
    MemoryError
        If the model is larger than the memory that is left.

    See Also
    --------
    save : Write such a file.
    nsse.io.read_header : What a file says of itself, without loading it.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> nsse.save(nsse.SmoothEmbedding().fit(X[::3], y[::3]), "iris.nsse")
    >>> nsse.load("iris.nsse").classes_
    array([0, 1, 2])
    """
    with opened_archive(path) as archive:
        header = header_of(archive)
        checked_header(header)
        model = Reader(arrays_of(archive, header["arrays"]))(header["tree"])
        check_loaded(model)
    return model


def opened(model: Any) -> tuple[Affine | None, Any]:
    """The affine steps in front of a model of ours, and the model; anything else is refused."""
    advice = "Keep other models and pipelines with skops or pickle."
    try:
        affine, last = split_pipeline(model)
    except ValueError as error:
        raise ValueError(f"{error} {advice}") from error
    if type(last).__name__ not in MODELS:
        rule = "be a model of nsse, or a pipeline that ends in one, to be saved"
        raise rule_error("model", rule, type(last).__name__, advice)
    return affine, last


def behind(affine: Affine, model: Any, last: Any) -> Pipeline:
    """A pipeline of one affine step and the last one of ``model``."""
    step = AffineStep(affine)
    step.affine_, step.n_features_in_ = affine, affine.n_features
    if hasattr(model, "feature_names_in_"):
        step.feature_names_in_ = model.feature_names_in_
    return Pipeline([("affine", step), (type(last).__name__.lower(), last)])


def check_loaded(model: Any) -> None:
    """Refuse what is no fitted model of ours, alone or behind one affine step."""
    last = model
    if isinstance(model, Pipeline):
        (_, step), (_, last) = model.steps
        if not isinstance(step, AffineStep) or step.affine_.n_outputs != last.n_features_in_:
            raise ValueError("a pipeline of other steps")
    if type(last).__name__ not in MODELS:
        raise ValueError(f"no model, but a {type(last).__name__}")
    check_is_fitted(last)


def facts_of(model: Any, last: Any) -> dict[str, Any]:
    """Parameters, classes, sizes, kernel width and voters of a fitted model, as far as it has them."""
    facts: dict[str, Any] = {
        "parameters": {k: _plain(v) for k, v in last.get_params(deep=False).items()}
    }
    facts["n_features"] = int(model.n_features_in_)
    if isinstance(model, Pipeline):
        facts["steps"] = [type(step).__name__ for _, step in model.steps]
    if hasattr(last, "embedding_"):
        facts["classes"] = [_plain(label) for label in last.classes_]
        facts["n_samples"], facts["n_components"] = map(int, last.embedding_.shape)
    if hasattr(last, "sigma_"):
        facts["sigma"] = float(last.sigma_)
    if hasattr(last, "vote_"):
        facts["n_voters"] = len(last.vote_.members)
    return facts


def checked_metadata(metadata: Mapping[str, Any] | None) -> Any:
    """The same as plain data, as it will be read again."""
    cure = "Pass a dict of strings, numbers, lists and dicts, or None."
    if not isinstance(metadata, Mapping | None):
        raise rule_error("metadata", "be a dict or None", type(metadata).__name__, cure)
    try:
        return json.loads(json.dumps(None if metadata is None else dict(metadata), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise rule_error("metadata", "be plain data that JSON can hold", str(error), cure) from error


def checked_target(path: Path) -> Path:
    """A path where a file can be put."""
    if path.is_dir() or not path.parent.is_dir():
        kind = IsADirectoryError if path.is_dir() else FileNotFoundError
        cure = "Add a file name, or make the folder first."
        raise kind(rule_message("path", "name a file in a folder that exists", str(path), cure))
    return path


def _plain(value: Any) -> Any:
    """A value as JSON holds it; what it does not hold, as text."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value[:100]]
    is_plain = value is None or isinstance(value, bool | int | str)
    return value if is_plain or (isinstance(value, float) and np.isfinite(value)) else repr(value)[:200]
