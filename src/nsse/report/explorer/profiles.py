"""Describe kernels for a page: a formula by name, or a table of the profile over log t.

A page contains the formulas of the kernels of nsse. For any other kernel, it gets the values of κ at t
that are equally far apart in log t, and uses the polynomial through the six values around t between
them. The table is made finer until its error is at most `TABLE_ERROR`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nsse._support.types import Floats
from nsse.kernels.base import FARTHEST, Kernel
from nsse.kernels.names import NAMES
from nsse.report.explorer.blocks import block

# Kernels of nsse that kernels.js computes by a formula. Any other kernel gets a table.
FORMULAS = ("gaussian", "exponential", "matern32")
# The largest error of a table, and the least and the largest number of its values.
TABLE_ERROR, FEWEST, MOST = 1e-12, 256, 65_536
# Values that a polynomial goes through, and places between two values where it is compared.
NODES, BETWEEN = 6, np.array([0.23, 0.5, 0.81])
# The table begins where κ is 1 and ends where it is 0, to this.
ENDS = 1e-13


def formula_of(kernel: Kernel) -> str:
    """Return the name of the formula that a page has for a kernel, or "" if it has none."""
    return next((name for name in FORMULAS if type(kernel) is NAMES[name]), "")


def has_profile(kernel: Kernel | None) -> bool:
    """Return whether a page can compute the profile by a formula or by a precise table."""
    return kernel is None or bool(formula_of(kernel)) or tabulated(kernel)[1] <= TABLE_ERROR


def kernel_entry(kernel: Kernel | None) -> dict[str, Any]:
    """Return what a page needs of a kernel. None is the kernel of linear maps."""
    if kernel is None:
        return {"name": "linear"}
    curvature = kernel.curvature if math.isfinite(kernel.curvature) else None
    entry = {"name": formula_of(kernel), "accuracy": kernel.accuracy, "curvature": curvature}
    if entry["name"]:
        return entry
    (low, step, values), error = tabulated(kernel)
    table = {"low": low, "step": step, "table": block(values, "f8")}
    return entry | table | {"accuracy": kernel.accuracy + table_error(error)}


def table_error(measured: float) -> float:
    """Return a bound of the error of a table, from the largest error that was measured in it."""
    return 4.0 * measured


def tabulated(kernel: Kernel) -> tuple[tuple[float, float, Floats], float]:
    """Return log t of the first value, the step and the values of a table, and its measured error."""
    low, high = _ends(kernel)
    n = FEWEST
    while True:
        step = (high - low) / (n - 1)
        values = _profile(kernel, low + step * np.arange(n))
        places = (np.arange(n - 1)[:, np.newaxis] + BETWEEN).ravel()
        found, exact = _interpolated(values, places), _profile(kernel, low + step * places)
        error = float(np.abs(found - exact).max())
        if error <= TABLE_ERROR or n >= MOST:
            return (low, step, values), error
        n *= 2


def _profile(kernel: Kernel, log_t: ArrayLike) -> Floats:
    return np.asarray(kernel.profile(np.exp(np.asarray(log_t, dtype=np.float64)), np), dtype=np.float64)


def _ends(kernel: Kernel) -> tuple[float, float]:
    """Return log t up to which κ is 1 and from which it is 0 or no sample lies, in powers of ten."""
    decades = np.arange(-300.0, math.log10(FARTHEST["float64"]) + 1.0) * math.log(10.0)
    values = _profile(kernel, decades)
    first = int(np.argmax(values < 1.0 - ENDS)) - 1
    faded = np.flatnonzero(values < ENDS)
    last = int(faded[0]) if len(faded) else len(decades) - 1
    return float(decades[max(first, 0)]), float(decades[last])


def _interpolated(values: Floats, places: Floats) -> Floats:
    """Return Lagrange's polynomials through six values around each place, as in kernels.js."""
    first = np.clip(np.floor(places).astype(np.intp) - 2, 0, len(values) - NODES)
    nodes = np.arange(NODES)
    gaps = places[:, np.newaxis] - first[:, np.newaxis] - nodes
    total = np.zeros(len(places))
    for i in nodes:
        others = np.delete(nodes, i)
        total += values[first + i] * (gaps[:, others] / (i - others)).prod(axis=1)
    return total
