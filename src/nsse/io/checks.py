"""Check the parts of a model before it is returned: matching sizes and finite numbers.

The rules of each class describe its attributes. An attribute is an object of a class, a positive number
(+), or an array (f: float64, w: float64 and not negative, g: floats of either precision, l: float64 or
−∞, x: float64 or NaN, b: booleans, i: positions, o: anything) with a letter for each side. The same
letter is the same length in all arrays of an object. "?" may be None, or be missing. Compiled code
relies on these rules. Numbers that certificates use are not in files, because they are computed from the
map (`Affine.norm`, `KernelMap.gram`).
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from nsse.affine import is_sparse

_MAP = "map:EnsembleMap|KernelMap|LinearMap|NystromMap|PolynomialMap|SparseCodingMap scores:Scores"
_KERNEL = "metric:Affine kernel:Kernel coef:fmd centers:fmp"
RULES = {
    "Affine": "shift:fn scale:fn offset:fp matrix:fnm? down:fnr? up:frn? tail:fmp?",
    "AffineStep": "affine:Affine fill:xn?",
    "ConformalClassifier": "alpha:+",
    "EnsembleMap": "rotation:fcd",
    "KernelMap": _KERNEL,
    "LinearMap": "affine:Affine",
    "Member": "map:KernelMap|LinearMap scores:Scores",
    "NystromMap": _KERNEL,
    "PolynomialMap": "metric:Affine sizes:fq mean:fm coef:fmd",
    "Scores": "weights:fkd offsets:fk codes:ik classes:oc temperature:+",
    "Sums": "products:fmm by_class:fmc sizes:fc",
    "Kept": "rows:fkp codes:ik weights:fk counts:fk is_later:bk values:xkc heights:xk",
    "Updates": "sums:Sums kept:Kept",
    "SparseCodingMap": "metric:Affine atoms:fan gram:faa values:fad samples:fsp embedding:fsd alpha:+",
}
FITTED = (
    "affine_:Affine? metric_:WithinMetric|Euclidean|FixedMetric? _scatter:Scatter? "
    "sigma_:+? length_unit_:+? _length_unit:+? feature_names_in_:on? classes_:oc? embedding_:gNe? "
    "labels_:oN? transduction_:oN? _left_out_embedding:xNe? _leave_one_out:lLc? "
    "_leave_one_out_labels:oL? _leave_one_out_gain:+? _leave_one_out_counts:fL? "
    "_leave_one_out_heights:fL? _updates:Updates?"
)
# Arrays that may be sparse.
SPARSE = {"centers", "matrix", "rows", "samples"}
TYPES = {
    "f": "float64",
    "w": "float64",
    "l": "float64",
    "x": "float64",
    "b": "bool",
    "g": "float32 float64",
    "i": np.dtype(np.intp).name,
}
# How far a rotation may be from an exact one.
ROUNDING = 1e-9
# A fitted estimator has one of these.
NEEDED = {"affine_", "columns_", "components_", "map_", "folds_", "threshold_"}


def check_fields(name: str, fields: dict[str, Any]) -> None:
    """Check what an object of ours is to be made from."""
    sides = _check(fields, RULES.get(name, ""))
    if "p" in sides and "metric" in fields:
        _require(fields["metric"].n_outputs == sides["p"], "a metric of other outputs")
    if name == "Affine":
        _check_affine(fields, sides)
    elif name == "LinearMap":  # whose Gram matrix is made from it
        affine = fields["affine"]
        is_small = affine.n_outputs <= max(affine.n_features, 1000)
        _require(affine.matrix is not None and is_small, "a linear map of another kind")
    elif name == "PolynomialMap":
        _require(sides["m"] == sides["q"] * fields["metric"].n_outputs, "powers of other features")
    elif name == "Scores":
        codes, every = fields["codes"], np.arange(sides["c"])
        in_order = np.all(np.diff(codes) >= 0) and np.array_equal(np.unique(codes), every)
        _require(bool(in_order) and len(every) > 1, "functions of other classes than there are")
    elif name == "Member":
        _check_member(fields)
    elif name == "EnsembleMap":
        _check_ensemble(fields, sides)
    elif "model" in fields:
        _require(hasattr(fields["model"], "predict"), "a model that predicts nothing")
    elif name == "Pipeline":
        _check_steps([step for _, step in fields["steps"]])
    elif name == "AffineStep" and fields.get("fill") is not None:
        _require(len(fields["fill"]) == fields["affine"].n_features, "numbers for other gaps")


def _check_member(fields: dict[str, Any]) -> None:
    """Check the scores of a member, and its weight, which must be finite and not negative."""
    weight, f = fields["weight"], fields["map"]
    is_weight = isinstance(weight, float) and 0.0 <= weight < math.inf
    _require(is_weight, "a member without a weight")
    _require(fields["scores"].weights.shape[1] == f.n_components, "scores of another member")


def _check_ensemble(fields: dict[str, Any], sides: dict[str, Any]) -> None:
    """Check that all members take the same samples and have the same classes, and check the rotation.

    Columns that are not orthonormal, or do not add up to zero, would give other labels than the class
    scores that certificates are about.
    """
    parts, V = fields["parts"], fields["rotation"]
    is_tuple = isinstance(parts, tuple) and len(parts) > 0
    _require(is_tuple and all(type(part).__name__ == "Member" for part in parts), "no members")
    first = parts[0]
    for f, scores, _ in parts:
        alike = _n_features(f) == _n_features(first.map)
        alike = alike and scores.classes.dtype == first.scores.classes.dtype
        _require(alike and np.array_equal(scores.classes, first.scores.classes), "members of two models")
    n = len(first.scores.classes)
    is_rotation = V.shape == (n, n - 1) and float(np.abs(V.sum(axis=0)).max()) < ROUNDING
    is_rotation = is_rotation and float(np.abs(V.T @ V - np.eye(n - 1)).max()) < ROUNDING
    _require(is_rotation, "a matrix that is not a rotation")


def _n_features(f: Any) -> int:
    """Return the number of features that a map takes."""
    if hasattr(f, "parts"):
        return _n_features(f.parts[0].map)
    return int((f.affine if hasattr(f, "affine") else f.metric).n_features)


def _check_steps(steps: list[Any]) -> None:
    """Check that a pipeline has an encoder or an affine step, and that each step fits the next one."""
    kinds = [type(step).__name__ for step in steps[:-1]]
    is_known = kinds in (["TableEncoder"], ["AffineStep"], ["TableEncoder", "AffineStep"])
    _require(is_known, "a pipeline of other steps")
    for step, following in pairwise(steps):
        _require(_n_outputs(step) == following.n_features_in_, "a pipeline that does not fit")


def _n_outputs(step: Any) -> int:
    if type(step).__name__ == "AffineStep":
        return int(step.affine_.n_outputs)
    return len(step.get_feature_names_out())


def _check_table(state: dict[str, Any]) -> None:
    """Check the attributes of a fitted `TableEncoder`."""
    names, columns = state["_names"], state["columns_"]
    categories, medians, dates = state["categories_"], state["medians_"], state["dates_"]
    texts = [*names, *columns, *dates.values(), *(one for known in categories.values() for one in known)]
    _require(all(isinstance(text, str) for text in texts), "names or categories that are not text")
    _require(set(columns) <= set(names) and len(names) == state["n_features_in_"], "columns")
    _require(set(categories).isdisjoint(medians), "a column of two kinds")
    _require({*categories, *medians} == set(columns) and set(dates) <= set(medians), "columns")
    _require(all(isinstance(m, float) and math.isfinite(m) for m in medians.values()), "medians")


def _check_affine(fields: dict[str, Any], sides: dict[str, Any]) -> None:
    """Check that an affine map has one form, and that only the left one of two factors is sparse."""
    given = tuple(key for key in ("matrix", "tail", "down", "up") if fields.get(key) is not None)
    is_form = given in ((), ("matrix",), ("matrix", "tail"), ("down", "up"))
    _require(is_form, "an affine map of several forms")
    width = sides["m"] if given == ("matrix",) else sides["n"]
    _require("tail" in given or width == sides["p"], "an affine map of other outputs")


def check_state(state: dict[str, Any]) -> None:
    """Check the attributes of an estimator, as far as it has them."""
    n, classes = state.get("n_features_in_"), np.asarray(state.get("classes_"))
    sides = _check(state, FITTED, n=n)
    _require(n is None or (type(n) is int and n > 0), "n_features_in_ is not a number of features")
    _require(all(isinstance(name, str) for name in state.get("feature_names_in_", ())), "feature names")
    is_fitted = any(key.endswith("_") for key in state)
    _require(not is_fitted or not NEEDED.isdisjoint(state), "a fitted model without its map")
    _require("affine_" not in state or state["affine_"].n_features == n, "affine_ of other features")
    if "columns_" in state:
        _check_table(state)
    _check_labels(state, classes)
    for fitted, own, codes, counts in state.get("folds_", ()):
        _check({"own": own, "codes": codes, "counts": counts}, "own:ls codes:is counts:fs")
        known = (state["model"] if fitted is None else fitted).classes_
        _require(np.array_equal(known, classes), "a fold of other classes")
    _check_weights(state, n)
    if "map_" in state:
        _require(state.get("embedding_") is not None, "a map without embedded training samples")
        _check_map(state["map_"], state["scores_"], n, classes)
        _require(sides["e"] <= state["map_"].n_components, "embedding_ is wider than its map")
    if state.get("_updates") is not None:
        _require(state["_updates"].fits(state["map_"], len(classes)), "sums of another model")


def _check_map(f: Any, scores: Any, n: Any, classes: Any) -> None:
    """Check that a map takes samples of ``n`` features, and that the scores read it."""
    _check({"map": f, "scores": scores}, _MAP)
    fits = scores.weights.shape[1] == f.n_components and _n_features(f) == n
    fits = fits and scores.classes.dtype == classes.dtype
    _require(fits and np.array_equal(scores.classes, classes), "scores of another model")
    if hasattr(f, "parts"):  # labels are equal to those of the scores, to which certificates refer
        is_sum = np.array_equal(scores.weights, f.rotation) and not scores.offsets.any()
        same = np.array_equal(f.parts[0].scores.classes, classes)
        _require(same and is_sum, "scores of another ensemble")


def _check_weights(state: dict[str, Any], n: Any) -> None:
    """Check the weights of the members of an ensemble, or those of the features in a metric."""
    members = state.get("members_")
    if members is not None:
        alike = isinstance(members, list) and all(hasattr(member, "map_") for member in members)
        _require(alike, "members_ that are not models")
        n = len(members)
    _check(state, "weights_:wk?", k=n)


def _check_labels(state: dict[str, Any], classes: Any) -> None:
    """Check classes, labels of left-out samples, and the threshold of a `SelectivePredictor`.

    ``labels_`` and ``transduction_`` may contain other labels, which belong to samples of weight zero.
    """
    if classes.ndim == 0:
        return
    _require(all(a < b for a, b in pairwise(classes.tolist())), "classes_ that are not sorted")
    if state.get("_leave_one_out_labels") is not None:
        is_known = set(classes.tolist()).issuperset(state["_leave_one_out_labels"].tolist())
        _require(is_known, "left-out samples of other classes")
    kept = [state.get(name) is not None for name in ("_leave_one_out", "_leave_one_out_labels")]
    _require(kept[0] == kept[1], "values of left-out samples without labels")
    if "threshold_" in state:
        value = state["threshold_"]
        _require(isinstance(value, float) and value >= 0.0, "threshold_ is not a number of at least 0")
        _require(np.array_equal(state["model"].classes_, classes), "a model of other classes")


def _check(values: dict[str, Any], rules: str, **sides: Any) -> dict[str, Any]:
    """Check attributes by their rules, and return the length of every side by its letter."""
    for rule in rules.split():
        key, _, kind = rule.rstrip("?").partition(":")
        value = values.get(key)
        if value is None and rule.endswith("?"):
            continue
        if kind == "+":
            is_positive = isinstance(value, float) and 0.0 < value < math.inf
            _require(is_positive, f"{key} is not a positive number")
        elif kind[0].isupper():
            names = {base.__name__ for base in type(value).__mro__}  # a kernel may be any subclass
            _require(not names.isdisjoint(kind.split("|")), f"{key} is not a {kind}")
        else:
            _check_array(key, value, kind[0], kind[1:], sides)
    return sides


def _check_array(key: str, value: Any, holds: str, letters: str, sides: dict[str, Any]) -> None:
    is_right = type(value) is np.ndarray or (is_sparse(value) and key in SPARSE)
    is_right = is_right and (holds == "o" or value.dtype.name in TYPES[holds].split())
    is_right = is_right and (holds == "o" or value.dtype.isnative)
    is_right = is_right and value.ndim == len(letters) and min(value.shape) > 0
    _require(is_right, f"{key} is not an array of its kind")
    for letter, side in zip(letters, value.shape, strict=True):
        _require(sides.setdefault(letter, side) == side, f"{key} of shape {value.shape}")
    if holds == "w":
        _require(bool(np.all(value >= 0.0)), f"{key} is negative")
    if holds in "fglw":
        numbers = value.data if is_sparse(value) else value
        least = np.isneginf(numbers) if holds == "l" else False  # a class without another sample
        _require(bool(np.all(np.isfinite(numbers) | least)), f"{key} is not finite")


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
