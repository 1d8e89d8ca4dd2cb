"""Check parameters that several estimators share, and raise errors instead of repairing values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from nsse._support.errors import rule_error

# Widths of kernels, in units of length, whose fourth powers and one over these are finite numbers.
NARROWEST, WIDEST = 1e-20, 1e20


def check_number(name: str, value: Any, *, positive: bool = False, cure: str) -> float:
    """Check a finite real number that is not negative, or positive."""
    rule = "be a positive, finite number" if positive else "be a finite number that is not negative"
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < 0 or (positive and value == 0):
        raise rule_error(name, rule, value, cure)
    return float(value)


def check_kernel_width(name: str, value: Any, *, cure: str) -> float:
    """Check the width of a kernel, a positive number whose powers are finite."""
    width = check_number(name, value, positive=True, cure=cure)
    if not NARROWEST <= width <= WIDEST:
        raise rule_error(name, f"be between {NARROWEST:.0e} and {WIDEST:.0e}", value, cure)
    return width


def check_count(name: str, value: Any, *, least: int = 1, cure: str) -> int:
    """Check a whole number that is at least ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise rule_error(name, f"be a whole number, at least {least}", value, cure)
    return int(value)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Check that a value is one of a few strings."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise rule_error(name, f"be one of {listed}", value, "Choose one of them.")
    return value


def check_range(name: str, value: Any) -> tuple[float, float]:
    """Check a pair of positive numbers, the smaller one first."""
    cure = "For example (0.1, 10)."
    try:
        low, high = value
    except (TypeError, ValueError):
        raise rule_error(name, "be a pair (smallest, largest)", value, cure) from None
    low = check_number(f"{name}[0]", low, positive=True, cure=cure)
    high = check_number(f"{name}[1]", high, positive=True, cure=cure)
    if not low < high:
        raise rule_error(name, "have its smaller end first and two different ends", value, cure)
    return low, high


def check_components(n_components: Any, n_classes: int) -> None:
    """Raise an error if an embedding of class scores has fewer coordinates than requested."""
    most = n_classes - 1
    if n_components is None:
        return
    cure = f"Leave it None for n_classes - 1 = {most}."
    if check_count("n_components", n_components, cure=cure) > most:
        rule = f"not exceed n_classes - 1 = {most}"
        cure = "Further coordinates would be zero. The method plot draws any number of classes in a "
        raise rule_error("n_components", rule, n_components, f"{cure}plane.")
