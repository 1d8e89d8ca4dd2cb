"""What the parts of a model obey before it is handed out: sides that fit each other, finite numbers.

Of every class the rules say what its attributes are: an object of a class, a positive number (+), or an array
(f: float64, g: floats of either precision, l: float64 or −∞, i: places, o: anything) with a letter for each side:
the same letter is the same length in all arrays of an object. "?" may be None, or missing. Compiled code and
certificates trust these numbers, so a file is not trusted with them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

_MAP = "map:GaussianMap|LinearMap|NystromMap|SparseCodingMap scores:Scores"
_METRIC = "metric:Affine kernel:Gaussian coef:fmd centers:fmp"
_CODING = "metric:Affine atoms:fan gram:faa values:fad samples:fsp embedding:fsd alpha:+"
RULES = {
    "Affine": "shift:fn scale:fn offset:fp matrix:fnp? down:fnr? up:frn?",
    "AffineStep": "affine:Affine",
    "Gaussian": "sigma:+",
    "GaussianMap": f"{_METRIC} gram:fdd",
    "LinearMap": "affine:Affine",
    "NystromMap": f"{_METRIC} radii2:fm?",
    "SparseCodingMap": _CODING,
    "Scores": "weights:fkd offsets:fk codes:ik classes:oc temperature:+",
    "MajorityVote": "temperature:+",
    "MeanVote": "temperature:+",
}
FITTED = (
    "affine_:Affine? weights_:fn? feature_names_in_:on? vote_:MajorityVote|MeanVote? sigma_:+? length_unit_:+? "
    "embedding_:gNe? classes_:oc? labels_:oN? transduction_:oN? leave_one_out_:lLc? _left_out_codes:iL?"
)
_DOUBLE = [np.dtype(np.float64)]
TYPES = {"f": _DOUBLE, "l": _DOUBLE, "g": [*_DOUBLE, np.dtype(np.float32)], "i": [np.dtype(np.intp)]}
# Largest difference of a symmetric matrix from its transpose, beside its largest entry.
ROUNDING = 1e-6


def check_fields(name: str, fields: Mapping[str, Any]) -> None:
    """Check what an object of ours is to be made from."""
    sides = _check(fields, RULES.get(name, ""))
    if "p" in sides and "metric" in fields:
        _require(fields["metric"].n_outputs == sides["p"], "a metric of other outputs")
    if name == "Affine":
        kinds = [fields[key] is not None for key in ("matrix", "down", "up")]
        is_one = kinds in ([False, False, False], [True, False, False], [False, True, True])
        _require(is_one and (kinds[0] or sides["n"] == sides["p"]), "an affine map of two kinds")
        _require(isinstance(fields["norm"], float) and 0.0 <= fields["norm"] < math.inf, "no norm")
    elif name == "GaussianMap":
        G = fields["gram"]
        is_symmetric = np.abs(G - G.T).max() <= ROUNDING * np.abs(G).max()
        _require(is_symmetric and bool(np.all(G.diagonal() >= 0.0)), "a Gram matrix that is none")
    elif name == "LinearMap":  # it would be made dense
        _require(fields["affine"].matrix is not None, "a linear map without a matrix")
    elif name == "Scores":
        codes, every = fields["codes"], np.arange(sides["c"])
        in_order = np.all(np.diff(codes) >= 0) and np.array_equal(np.unique(codes), every)
        _require(bool(in_order) and len(every) > 1, "functions of other classes than there are")


def check_state(state: Mapping[str, Any]) -> None:
    """Check the attributes of an estimator, as far as it has them."""
    sides = _check(state, FITTED, n=state.get("n_features_in_"))
    _require(sides["n"] is None or (type(sides["n"]) is int and sides["n"] > 0), "n_features_in_")
    _require(all(isinstance(name, str) for name in state.get("feature_names_in_", ())), "feature names")
    if "affine_" in state:
        _require(state["affine_"].n_features == sides["n"], "affine_ of other features")
    if "_left_out_codes" in state:
        codes = state["_left_out_codes"]
        _require(bool(np.all((codes >= 0) & (codes < sides["c"]))), "classes of left-out samples")
    voting = state["vote_"].members if "vote_" in state else []
    own = [(state["map_"], state["scores_"])] if "map_" in state else []
    for f, scores in [*own, *voting]:
        _check({"map": f, "scores": scores}, _MAP)
        first = f.affine if hasattr(f, "affine") else f.metric
        fits = scores.weights.shape[1] == f.n_components and first.n_features == sides["n"]
        _require(
            fits and _same(state["classes_"], scores.classes), "scores of another map or other classes"
        )
        _require(
            sides["e"] <= f.n_components or (f, scores) not in own, "embedding_ is wider than its map"
        )


def _check(values: Mapping[str, Any], rules: str, **sides: Any) -> dict[str, Any]:
    """Check attributes by their rules, and return the length of every side by its letter."""
    for rule in rules.split():
        key, _, kind = rule.rstrip("?").partition(":")
        value = values.get(key)
        if value is None and rule.endswith("?"):
            continue
        if kind == "+":
            _require(isinstance(value, float) and 0.0 < value < math.inf, f"{key} is no positive number")
        elif kind[0].isupper():
            _require(type(value).__name__ in kind.split("|"), f"{key} is no {kind}")
        else:
            _check_array(key, value, kind[0], kind[1:], sides)
    return sides


def _check_array(key: str, value: Any, holds: str, letters: str, sides: dict[str, Any]) -> None:
    is_array = isinstance(value, np.ndarray) or sparse.issparse(value)
    _require(is_array and (holds == "o" or value.dtype in TYPES[holds]), f"{key} of another type")
    _require(value.ndim == len(letters) and min(value.shape) > 0, f"{key} of shape {value.shape}")
    for letter, side in zip(letters, value.shape, strict=True):
        _require(sides.setdefault(letter, side) == side, f"{key} of shape {value.shape}")
    if holds in "fgl":
        numbers = getattr(value, "data", value) if sparse.issparse(value) else value
        least = np.isneginf(numbers) if holds == "l" else False  # a class without another sample
        _require(bool(np.all(np.isfinite(numbers) | least)), f"{key} is not finite")


def _same(a: Any, b: Any) -> bool:
    return bool(a.dtype == b.dtype and np.array_equal(a, b))


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
