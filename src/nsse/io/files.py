"""Save models as arrays and one JSON header, and load them without running code."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np
import sklearn
from sklearn.utils.validation import check_is_fitted

from nsse import __version__
from nsse._support.errors import rule_error
from nsse._support.files import replacing
from nsse.io import archive
from nsse.io.archive import Header, Metadata, Place
from nsse.io.values import HOME_OF, Writer, read_value
from nsse.pipelines import Pipeline, check_model, in_one_step
from nsse.smooth import SmoothEmbedding


def save(model: Any, path: Place, *, metadata: Metadata = None, updatable: bool = False) -> None:
    """Write a fitted model to a file that `load` reads without running any code of the file.

    The file is complete or does not exist. An existing file is replaced.

    Parameters
    ----------
    model : estimator
        A fitted estimator of ours, a search of scikit-learn around one, or a pipeline of affine steps
        (scalers, PCA) and one of these. The steps are stored as one affine map. A `SmoothEmbeddingCV`
        is stored with all its members. Of a search of scikit-learn, the best estimator is stored.
    path : str or path-like
        The file, usually with the ending ``.nsse``.
    metadata : dict, default=None
        Plain data that are stored with the model. `nsse.io.read_header` returns them. The command line
        stores here how samples are prepared, and prepares new samples in the same way::

            {"kind": "images", "size": [25, 25], "unit_norm": True}
            {"kind": "table", "columns": ["length", "width"], "label": "species"}
            {"kind": "array", "n_features": 64}
    updatable : bool, default=False
        Whether the file contains the data that `SmoothEmbedding.partial_fit` and `forget` need after
        `load`. These are sums whose size is the number of centers squared, and some samples.

    Raises
    ------
    ValueError
        If a file cannot contain a part of the model, such as a function of the user. The message names
        it.

    See Also
    --------
    load : Read the file again.
    nsse.io.read_header : Read the description of a model in a file.
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
    check_model(model)
    try:
        added = json.loads(json.dumps(dict(metadata or {}), allow_nan=False)) or None
    except (TypeError, ValueError) as error:
        cure = "Pass a dict of strings, numbers, lists and dicts, or None."
        raise rule_error("metadata", "be plain data that JSON can hold", str(error), cure) from error
    saved, writer = in_one_step(model, updatable=updatable), Writer(updatable)
    last = saved[-1] if isinstance(saved, Pipeline) else saved
    if type(last).__name__ not in HOME_OF:
        rule = "be a model of nsse, or a pipeline or a search that ends in one"
        cure = "Keep other estimators with skops or joblib."
        raise rule_error("model", rule, type(last).__name__, cure)
    if isinstance(last, SmoothEmbedding):
        last._compute_left_out()
    versions = __version__, sklearn.__version__, np.__version__
    header = Header(archive.FORMAT, type(saved).__name__, *versions, added, facts_of(model, last))
    with replacing(path) as temporary:
        archive.write(temporary, {**asdict(header), "tree": writer(saved)}, writer.arrays)


def load(path: Place) -> Any:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator
        The model. `transform`, `predict` and `certified_radius` return the same bits as before. The
        affine steps of a pipeline become one step, whose results are equal up to rounding.

    Raises
    ------
    ValueError
        If the file is damaged, is not a model file, has another format, contains more than its header
        declares, or if its parts do not match. The message names the reason.
    FileNotFoundError
        If there is no such file.
    MemoryError
        If the model is larger than the available memory.

    See Also
    --------
    save : Write such a file.
    nsse.io.read_header : Read the description of a model without loading it.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> nsse.save(nsse.SmoothEmbedding().fit(X[::3], y[::3]), "iris.nsse")
    >>> nsse.load("iris.nsse").classes_
    array([0, 1, 2])
    """
    with archive.opened_archive(path) as file:
        header = archive.header_of(file)
        archive.checked_header(header)
        model = read_value(header["tree"], archive.arrays_of(file, header["arrays"]))
        check_is_fitted(model)
    return model


def facts_of(model: Any, last: Any) -> dict[str, Any]:
    """Return parameters, classes, sizes, kernel width and members of a fitted model, if it has them."""
    n_samples, n_components = getattr(last, "embedding_", np.empty((0, 0))).shape
    facts = {
        "parameters": last.get_params(deep=False),
        "steps": [type(step).__name__ for _, step in getattr(model, "steps", [])],
        "classes": np.asarray(getattr(last, "classes_", [])).tolist(),
        "n_features": getattr(model, "n_features_in_", None),
        "n_samples": n_samples,
        "n_components": n_components,
        "sigma": getattr(last, "sigma_", None),
        "weights": np.asarray(last.weights_).tolist() if hasattr(last, "members_") else None,
    }
    known = {name: fact for name, fact in facts.items() if fact}
    text = json.dumps(known, default=lambda part: repr(part)[:200])
    return dict(json.loads(text, parse_constant=str))
