"""What `methods_table.py` tries of every method: the grids of `nsse.paper`, and a plain one for NSSE."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from nsse.estimators.catalogue import DEFAULTS_0_1, catalogue
from nsse.paper.grids import GRIDS as OTHERS
from nsse.paper.grids import MANY, MODERN, MULTIPLES, Grid, dimensions

__all__ = ["GRIDS", "MANY", "MULTIPLES", "RATIO", "Grid", "candidate", "dimensions"]

# mu3 / (mu2 d): how the third weight of NSSE is given, here and in the study of the defaults.
RATIO = "mu3 / (mu2 d)"

GRIDS = {"NSSE": Grid({RATIO: (5.0, 50.0, 500.0)}, {RATIO: (50.0, 500.0)})} | {
    name: grid for name, grid in OTHERS.items() if name not in MODERN
}


def candidate(method: str, parameters: dict[str, Any], n_samples: int, n_classes: int) -> Any:
    """The estimator of the catalogue with these parameters; what no grid varies is as it was in 0.1."""
    chosen = DEFAULTS_0_1.get(method, {}) | parameters
    if RATIO in chosen:
        mu2 = catalogue()[method].get_params()["mu2"]
        chosen["mu3"] = chosen.pop(RATIO) * mu2 * (n_classes - 1)
    grid = GRIDS[method]
    if grid.largest is not None:
        chosen["n_components"] = grid.largest(n_samples, n_classes)
    return clone(catalogue()[method]).set_params(**chosen)
