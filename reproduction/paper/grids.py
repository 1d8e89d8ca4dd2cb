"""What is tried of every method but NSSE (``grids.json``): parameters, and dimensions of the embedding.

The paper says neither which grids nor which variants of the methods it used. Besides its ten, four
methods of today: an RBF SVM with both parameters tuned, neighbourhood components (NCA), kernel PCA
before LDA, and LDA with a covariance shrunk instead of a PCA before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from sklearn.base import clone
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from nsse.methods import catalogue

# Dimensions of nested embeddings, in numbers of classes.
MULTIPLES = (0.5, 2, 4, 8)
# Training sets beyond this many samples get the coarse grids.
MANY = 300
MODERN = ("RBF SVM", "NCA", "KPCA+LDA", "shrinkage LDA")
# What the paper cites and does not measure: by protocol honest alone, in tables of their own.
CITED = tuple(n for n, e in catalogue().items() if not e.in_tables and e.supervised != "partly")
# The defaults of version 0.1, where they are others now: what the stored rows were computed with.
DEFAULTS_0_1: dict[str, dict[str, Any]] = {
    "SUPLAP": {"mu": 0.01, "n_neighbors": "adaptive"},
    "LFDA": {"pca": "auto", "reg": None},
    "LDE": {"n_components": None, "pca": "auto", "reg": None},
    "NYS": {"n_components": None, "sigma": None},
    "SPE": {"alpha": 0.5},
    "IsoKRR": {"n_neighbors": 15, "alpha": 1e-6},
}
# How γ of a Gaussian kernel is given: in units of 1/(number of features × variance of X).
GAMMA = "gamma / scale"

Values = Mapping[str, Sequence[Any]]
Params = dict[str, Any]

# Method -> "values", those that are other in "coarse" grids, and "largest": the dimension that is fitted
# where embeddings nest, one fit for all smaller ones: "classes" − 1, up to the "samples", or "all".
GRIDS: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("grids.json").read_text(encoding="utf-8")
)


def parameters_of(method: str, coarse: bool) -> Iterator[Params]:
    """Every point of a method's grid."""
    grid = GRIDS[method]
    return combinations(grid["values"] | grid["coarse"] if coarse else grid["values"])


def combinations(values: Values) -> Iterator[Params]:
    """Every combination of one value of each parameter."""
    return (dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))


def candidate(method: str, parameters: Params, X: Any, n_classes: int) -> Any:
    """The estimator with these parameters, to be fitted to X; X itself is asked for its scale only."""
    # What no grid varies is as it was when the stored rows were computed.
    chosen, n_samples = DEFAULTS_0_1.get(method, {}) | parameters, len(X)
    if GAMMA in chosen:
        kernel = "svc" if method == "RBF SVM" else "kernelpca"
        chosen[f"{kernel}__gamma"] = chosen.pop(GAMMA) / (X.shape[1] * float(X.var()))
    if "share" in chosen:
        chosen["kernelpca__n_components"] = max(n_classes, round(chosen.pop("share") * n_samples))
    up_to_samples = min(n_samples - 1, round(MULTIPLES[-1] * n_classes))
    largest = {"samples": up_to_samples, "classes": n_classes - 1, "all": None}
    if GRIDS[method]["largest"] is not None:
        chosen["n_components"] = largest[GRIDS[method]["largest"]]
    made = _modern(method) if method in MODERN else clone(catalogue()[method].estimator)
    return made.set_params(**chosen)


def _modern(method: str) -> Any:
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
    return LinearDiscriminantAnalysis(solver="lsqr")
