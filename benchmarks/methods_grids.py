"""What `methods_table.py` tries of every method: parameters, and dimensions of the embedding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from sklearn.base import clone

from nsse.estimators.catalogue import catalogue

# mu3 / (mu2 d): how the third weight of NSSE is given, here and in the study of the defaults.
RATIO = "mu3 / (mu2 d)"
# Dimensions of nested embeddings, in numbers of classes; besides n_classes - 1 and all there are.
MULTIPLES = (0.5, 2, 4, 8)

# Training sets beyond this many samples get the coarse grids.
MANY = 300

Values = dict[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Grid:
    """Parameters tried of one method.

    ``largest`` is the dimension fitted where embeddings nest: one fit serves all smaller dimensions.
    None leaves the dimension to the method, and nothing is cut.
    """

    values: Values
    coarse: Values = field(default_factory=dict)  # for large training sets and quick runs
    largest: Callable[[int, int], int | None] | None = None

    def parameters(self, coarse: bool) -> Iterator[dict[str, Any]]:
        """Every combination."""
        values = self.values | self.coarse if coarse else self.values
        return (dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))


def _up_to_samples(n_samples: int, n_classes: int) -> int:
    return min(n_samples - 1, round(MULTIPLES[-1] * n_classes))


def _all_there_are(n_samples: int, n_classes: int) -> None:
    return None


GRIDS = {
    "NSSE": Grid({RATIO: (5.0, 50.0, 500.0)}, {RATIO: (50.0, 500.0)}),
    "SUPLAP": Grid(
        {"mu": (0.01, 0.1), "n_neighbors_between": ("adaptive", None), "sigma": (1.0, 3.0)},
        {"mu": (0.01,), "n_neighbors_between": (None,)}, largest=_up_to_samples,
    ),
    "SVM": Grid({"kernel": ("linear", "rbf"), "C": (10.0, 100.0, 1000.0)}, {"C": (1000.0,)}),
    "NN": Grid({}),
    "LFDA": Grid(
        {"pca": (0.95, 0.99, None), "metric": ("weighted", "orthonormalized")},
        {"metric": ("weighted",)}, largest=_all_there_are,
    ),
    "LDA": Grid({"pca__n_components": (0.85, 0.95, 0.99)}),
    "LDE": Grid(
        {"pca": (0.95, 0.99, None), "n_neighbors_between": (20, None)},
        {"n_neighbors_between": (20,)}, largest=_all_there_are,
    ),
    "NYS": Grid(
        {"sigma": (1.0, 3.0, 6.0)}, {"sigma": (3.0,)},
        largest=_up_to_samples,
    ),
    "SPE": Grid({"alpha": (0.5, 0.95)}, {"alpha": (0.95,)}, largest=_up_to_samples),
    "IsoKRR": Grid(
        {"beta": (None, 10.0), "n_neighbors": (15, None), "sigma": (1.0, 3.0)},
        {"beta": (10.0,), "n_neighbors": (None,)}, largest=lambda n_samples, n_classes: n_classes - 1,
    ),
    "MReg": Grid(
        {"sigma": (1.0, 3.0), "gamma_A": (1e-8, 1e-5), "gamma_I": (0.0, 1.0)},
        {"gamma_A": (1e-8,), "gamma_I": (1.0,)},
    ),
}  # fmt: skip


def candidate(method: str, parameters: dict[str, Any], n_samples: int, n_classes: int) -> Any:
    """The estimator of the catalogue with these parameters."""
    chosen = dict(parameters)
    if RATIO in chosen:
        mu2 = catalogue()[method].get_params()["mu2"]
        chosen["mu3"] = chosen.pop(RATIO) * mu2 * (n_classes - 1)
    grid = GRIDS[method]
    if grid.largest is not None:
        chosen["n_components"] = grid.largest(n_samples, n_classes)
    return clone(catalogue()[method]).set_params(**chosen)


def dimensions(n_classes: int) -> list[int]:
    """Dimensions at which a nested embedding is cut."""
    return sorted({n_classes - 1, *(round(multiple * n_classes) for multiple in MULTIPLES)})
