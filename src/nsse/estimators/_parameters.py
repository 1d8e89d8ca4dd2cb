"""Checks of the parameters that several estimators share. Nothing is repaired, everything is said."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from sklearn.base import is_regressor

from nsse._errors import rule_error
from nsse.kernels import LARGEST, SMALLEST


def check_number(name: str, value: Any, *, positive: bool = False, cure: str) -> float:
    """A finite real number that is not negative, or positive."""
    rule = "be a positive, finite number" if positive else "be a finite number that is not negative"
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < 0 or (positive and value == 0):
        raise rule_error(name, rule, value, cure)
    return float(value)


def check_count(name: str, value: Any, *, least: int = 1, cure: str) -> int:
    """A whole number from ``least`` up."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise rule_error(name, f"be a whole number, at least {least}", value, cure)
    return int(value)


def is_auto(value: Any) -> bool:
    """Whether a parameter is left to the data."""
    return isinstance(value, str) and value == "auto"


def check_optional_count(name: str, value: Any, *, cure: str) -> int | None:
    """None, or a whole number from 1 up."""
    return None if value is None else check_count(name, value, cure=cure)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """One of a few strings."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise rule_error(name, f"be one of {listed}", value, "Choose one of them.")
    return value


def check_range(name: str, value: Any) -> tuple[float, float]:
    """A pair of positive numbers, the smaller first."""
    try:
        low, high = value
    except (TypeError, ValueError):
        raise rule_error(
            name, "be a pair (smallest, largest)", value, "For example (0.1, 10)."
        ) from None
    cure = "For example (0.1, 10)."
    low = check_number(f"{name}[0]", low, positive=True, cure=cure)
    high = check_number(f"{name}[1]", high, positive=True, cure=cure)
    if not low < high:
        raise rule_error(
            name, "have its smaller end first and two different ends", value, "Swap or widen them."
        )
    return low, high


def check_n_components(
    value: Any, n_samples: int, n_classes: int, normalization: str = "samples"
) -> int:
    """d: from 1 to N, or to n_classes − 1 where class means are normalised; None means n_classes − 1."""
    if value is None:
        return n_classes - 1
    d = check_count("n_components", value, cure=f"Leave it None for n_classes - 1 = {n_classes - 1}.")
    if d > n_samples:
        raise rule_error(
            "n_components",
            f"not exceed the number of training samples, {n_samples}",
            d,
            f"Lower it; None takes n_classes - 1 = {n_classes - 1}.",
        )
    if normalization == "classes" and d > n_classes - 1:
        raise rule_error(
            "n_components",
            f'not exceed n_classes - 1 = {n_classes - 1} with normalization="classes"',
            d,
            'So many coordinates separate class means. Lower it, or take normalization="samples".',
        )
    return d


def check_optional(name: str, value: Any) -> float | None:
    """None, or a positive number."""
    if value is None:
        return None
    return check_number(name, value, positive=True, cure="Leave it None to find it from the data.")


def check_length_unit(value: Any) -> float | None:
    """None for "median", or a length in the units of X."""
    if isinstance(value, str):
        check_choice("length_unit", value, ("median",))
        return None
    cure = 'Take "median", or 1.0 for the units of X.'
    unit = check_number("length_unit", value, positive=True, cure=cure)
    if not SMALLEST <= unit <= LARGEST:
        raise rule_error("length_unit", f"lie between {SMALLEST:.0e} and {LARGEST:.0e}", value, cure)
    return unit


def check_classifier(
    value: Any, default: str = "the nearest neighbour", names: Sequence[str] = ("nearest",)
) -> None:
    """None, one of our readers by its name, or an object that fits and predicts labels."""
    if value is None or (isinstance(value, str) and value in names):
        return
    listed = " or ".join(f'"{name}"' for name in names)
    is_object = hasattr(value, "fit") and hasattr(value, "predict") and not isinstance(value, type)
    if not is_object:
        raise rule_error(
            "classifier",
            f"be a scikit-learn classifier with `fit` and `predict`, or {listed}",
            value,
            f"Leave it None for {default}.",
        )
    if is_regressor(value):
        raise rule_error(
            "classifier",
            "predict labels, not numbers",
            value,
            "A regressor gives values between the labels: take a classifier of the same kind.",
        )


def check_marker(value: Any) -> Any:
    """None, or what a label can be: a string or a number."""
    is_label = isinstance(value, str | Real) and value == value  # as NaN does not
    if value is None or is_label:
        return value
    cure = "None, the default, takes every value of `y` for a label."
    raise rule_error("unlabeled", "be None or the value that marks samples without a label", value, cure)
