"""What is tried of every method but NSSE: parameters, and dimensions of the embedding.

The paper says neither which grids nor which variants of the methods it used. Besides its ten, five
methods of today: an RBF SVM with both parameters tuned, neighbourhood components (NCA), kernel PCA
before LDA, LDA with a covariance shrunk instead of a PCA before it, and supervised UMAP where it is
installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import product
from typing import Any

from sklearn.base import clone
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from nsse.estimators.catalogue import DEFAULTS_0_1, catalogue

# Dimensions that are tried, as shares of n_classes − 1.
SHARES = (0.2, 0.3, 0.4, 0.55, 0.75, 1.0)
# Dimensions of nested embeddings, in numbers of classes.
MULTIPLES = (0.5, 2, 4, 8)

# Training sets beyond this many samples get the coarse grids.
MANY = 300

MODERN = ("RBF SVM", "NCA", "KPCA+LDA", "shrinkage LDA", "UMAP")

# How γ of a Gaussian kernel is given: in units of 1/(number of features × variance of X).
GAMMA = "gamma / scale"

Values = dict[str, tuple[Any, ...]]
Params = dict[str, Any]


def dimensions_below(n_classes: int, shares: tuple[float, ...] = SHARES) -> list[int]:
    """Dimensions up to n_classes − 1, from 2 on where there are so many classes."""
    most = n_classes - 1
    return sorted({min(most, max(2, round(share * most))) for share in shares})


@dataclass(frozen=True)
class Grid:
    """Parameters tried of one method.

    ``largest`` is the dimension fitted where embeddings nest: one fit serves all smaller dimensions.
    None leaves the dimension to the method, and nothing is cut.
    """

    values: Values
    coarse: Values = field(default_factory=dict)  # for large training sets and quick runs
    largest: Callable[[int, int], int | None] | None = None

    def parameters(self, coarse: bool) -> Iterator[Params]:
        """Every combination."""
        return combinations(self.values | self.coarse if coarse else self.values)


def combinations(values: Values) -> Iterator[Params]:
    """Every combination of one value of each parameter."""
    return (dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))


def _up_to_samples(n_samples: int, n_classes: int) -> int:
    return min(n_samples - 1, round(MULTIPLES[-1] * n_classes))


def _all_there_are(n_samples: int, n_classes: int) -> None:
    return None


GRIDS = {
    "SUPLAP": Grid(
        {"mu": (0.01, 0.1), "n_neighbors_between": ("adaptive", None), "sigma": (1.0, 3.0)},
        {"mu": (0.01,), "n_neighbors_between": (None,)},
        largest=_up_to_samples,
    ),
    "SVM": Grid({"kernel": ("linear", "rbf"), "C": (10.0, 100.0, 1000.0)}, {"C": (1000.0,)}),
    "NN": Grid({}),
    "LFDA": Grid(
        {"pca": (0.95, 0.99, None), "metric": ("weighted", "orthonormalized")},
        {"metric": ("weighted",)},
        largest=_all_there_are,
    ),
    "LDA": Grid({"pca__n_components": (0.85, 0.95, 0.99)}),
    "LDE": Grid(
        {"pca": (0.95, 0.99, None), "n_neighbors_between": (20, None)},
        {"n_neighbors_between": (20,)},
        largest=_all_there_are,
    ),
    "NYS": Grid({"sigma": (1.0, 3.0, 6.0)}, {"sigma": (3.0,)}, largest=_up_to_samples),
    "SPE": Grid({"alpha": (0.5, 0.95)}, {"alpha": (0.95,)}, largest=_up_to_samples),
    "IsoKRR": Grid(
        {"beta": (None, 10.0), "n_neighbors": (15, None), "sigma": (1.0, 3.0)},
        {"beta": (10.0,), "n_neighbors": (None,)},
        largest=lambda n_samples, n_classes: n_classes - 1,
    ),
    "MReg": Grid(
        {"sigma": (1.0, 3.0), "gamma_A": (1e-8, 1e-5), "gamma_I": (0.0, 1.0)},
        {"gamma_A": (1e-8,), "gamma_I": (1.0,)},
    ),
    "RBF SVM": Grid(
        {GAMMA: (0.03, 0.1, 0.3, 1.0, 3.0), "svc__C": (1.0, 10.0, 100.0, 1000.0)},
        {GAMMA: (0.1, 0.3, 1.0), "svc__C": (10.0, 1000.0)},
    ),
    "NCA": Grid({"pca__n_components": (0.95, 0.99)}, {"pca__n_components": (0.95,)}),
    "KPCA+LDA": Grid(
        {GAMMA: (0.1, 0.3, 1.0), "share": (0.25, 0.5)}, {GAMMA: (0.1, 1.0), "share": (0.5,)}
    ),
    "shrinkage LDA": Grid({"shrinkage": ("auto", 0.01, 0.1)}),
    "UMAP": Grid({"umap__n_neighbors": (5, 15)}, {"umap__n_neighbors": (15,)}),
}


def candidate(method: str, parameters: Params, X: Any, n_classes: int) -> Any:
    """The estimator with these parameters, to be fitted to X; X itself is asked for its scale only."""
    # What no grid varies is as it was when the stored rows were computed.
    chosen, n_samples = DEFAULTS_0_1.get(method, {}) | parameters, len(X)
    if GAMMA in chosen:
        kernel = "svc" if method == "RBF SVM" else "kernelpca"
        chosen[f"{kernel}__gamma"] = chosen.pop(GAMMA) / (X.shape[1] * float(X.var()))
    if "share" in chosen:
        chosen["kernelpca__n_components"] = max(n_classes, round(chosen.pop("share") * n_samples))
    largest = GRIDS[method].largest
    if largest is not None:
        chosen["n_components"] = largest(n_samples, n_classes)
    made = _modern(method, n_classes) if method in MODERN else clone(catalogue()[method])
    return made.set_params(**chosen)


def umap_installed() -> bool:
    """Whether supervised UMAP can be run."""
    return find_spec("umap") is not None


def dimensions(n_classes: int) -> list[int]:
    """Dimensions at which a nested embedding is cut."""
    return sorted({n_classes - 1, *(round(multiple * n_classes) for multiple in MULTIPLES)})


def _modern(method: str, n_classes: int) -> Any:
    nearest = KNeighborsClassifier(n_neighbors=1)
    if method == "RBF SVM":
        return make_pipeline(SVC())
    if method == "NCA":
        # The iterations are limited: beyond them it overfits, and takes longer than all else together.
        learnt = NeighborhoodComponentsAnalysis(max_iter=30, random_state=0)
        return make_pipeline(PCA(0.95, svd_solver="full"), learnt, nearest)
    if method == "KPCA+LDA":
        kernel = KernelPCA(kernel="rbf", eigen_solver="dense")
        return make_pipeline(kernel, LinearDiscriminantAnalysis(), nearest)
    if method == "shrinkage LDA":
        return LinearDiscriminantAnalysis(solver="lsqr")
    from umap import UMAP

    return make_pipeline(UMAP(n_components=n_classes - 1, random_state=0, n_jobs=1), nearest)
