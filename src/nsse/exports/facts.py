"""What a model file tells of its model in plain JSON, for readers that do not load the model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from nsse._support.errors import rule_error
from nsse.certificates import opened


def facts_of(model: Any) -> dict[str, Any]:
    """Parameters, classes, sizes, kernel scale and voters of a fitted model, as far as it has them.

    Of a pipeline its last step is described; ``steps`` names them all.
    """
    before, last = opened(model)
    best = getattr(last, "best_estimator_", last)
    told: dict[str, Any] = {"parameters": {k: _plain(v) for k, v in best.get_params(deep=False).items()}}
    if before:
        told["steps"] = [type(step).__name__ for step in (*before, last)]
    if hasattr(model, "classes_"):
        told["classes"] = [_plain(label) for label in model.classes_]
    if hasattr(model, "n_features_in_"):
        told["n_features"] = int(model.n_features_in_)
    if hasattr(best, "embedding_"):
        told["n_samples"], told["n_components"] = map(int, best.embedding_.shape)
    if getattr(best, "n_copies_", 0):
        told["n_copies"] = int(best.n_copies_)
    if hasattr(best, "sigma_"):
        told["sigma"] = float(best.sigma_)
    if len(getattr(last, "voters_", [])) > 1:
        told["n_voters"] = len(last.voters_)
    return told


def checked_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The same as plain data, as it will be read again."""
    if metadata is None:
        return None
    cure = "Pass a dict of strings, numbers, lists and dicts, or None."
    if not isinstance(metadata, Mapping):
        raise rule_error("metadata", "be a dict or None", type(metadata).__name__, cure)
    try:
        read_again: dict[str, Any] = json.loads(json.dumps(dict(metadata), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise rule_error("metadata", "be plain data that JSON can hold", str(error), cure) from error
    return read_again


def _plain(value: Any) -> Any:
    """A value as JSON holds it; what it does not hold, as text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    finite = not isinstance(value, float) or np.isfinite(value)
    if value is None or (isinstance(value, bool | int | float | str) and finite):
        return value
    return f"{type(value).__name__} of shape {value.shape}" if hasattr(value, "shape") else repr(value)
