"""The grids of all methods except NSSE (``grids.json``): parameters and dimensions of the embedding.

The paper prints neither its grids nor its variants of the methods. In addition to its ten methods there
are an RBF SVM with both parameters tuned, neighborhood components analysis (NCA), kernel PCA before
LDA, and LDA with a shrunk covariance instead of a PCA in front.
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
from reproduction.from_abstracts import from_abstracts

# Dimensions of nested embeddings, in numbers of classes.
MULTIPLES = (0.5, 2, 4, 8)
# Larger training sets have the coarse grids.
MANY = 300
_NEAREST = KNeighborsClassifier(n_neighbors=1)
MODERN: dict[str, Any] = {
    "RBF SVM": make_pipeline(SVC()),
    # With more iterations it overfits, and takes longer than all other methods together.
    "NCA": make_pipeline(
        PCA(0.95, svd_solver="full"),
        NeighborhoodComponentsAnalysis(max_iter=30, random_state=0),
        _NEAREST,
    ),
    "KPCA+LDA": make_pipeline(
        KernelPCA(kernel="rbf", eigen_solver="dense"), LinearDiscriminantAnalysis(), _NEAREST
    ),
    "shrinkage LDA": LinearDiscriminantAnalysis(solver="lsqr"),
}
# Methods that the paper cites and does not measure. They have separate tables.
CITED = ("KDA", "LPP", "SLPP", "NPE", "NPDE", "NPPE", "ESLLE", "MFA", "SMFA", "SOLDE")
# γ of a Gaussian kernel, in units of 1/(number of features × variance of X).
GAMMA = "gamma / scale"

Values = Mapping[str, Sequence[Any]]
Params = dict[str, Any]

# Method -> "values"; other values in "coarse" grids; and "largest", the dimension of the one fit from
# which all smaller embeddings are cut: "classes" − 1, up to the number of "samples", or "all". The
# parameters in "fixed" are not varied.
GRIDS: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("grids.json").read_text(encoding="utf-8")
)
FIXED: dict[str, Params] = {method: grid.get("fixed", {}) for method, grid in GRIDS.items()}


def parameters_of(method: str, coarse: bool) -> Iterator[Params]:
    """Return every candidate of a grid."""
    grid = GRIDS[method]
    return combinations(grid["values"] | grid["coarse"] if coarse else grid["values"])


def combinations(values: Values) -> Iterator[Params]:
    """Return every combination of one value of each parameter."""
    return (dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))


def candidate(method: str, parameters: Params, X: Any, n_classes: int) -> Any:
    """Return the estimator with these parameters. Its kernel depends on the scale of X."""
    chosen, n_samples = FIXED[method] | parameters, len(X)
    if GAMMA in chosen:
        kernel = "svc" if method == "RBF SVM" else "kernelpca"
        chosen[f"{kernel}__gamma"] = chosen.pop(GAMMA) / (X.shape[1] * float(X.var()))
    if "share" in chosen:
        chosen["kernelpca__n_components"] = max(n_classes, round(chosen.pop("share") * n_samples))
    up_to_samples = min(n_samples - 1, round(MULTIPLES[-1] * n_classes))
    largest = {"samples": up_to_samples, "classes": n_classes - 1, "all": None}
    if GRIDS[method]["largest"] is not None:
        chosen["n_components"] = largest[GRIDS[method]["largest"]]
    return clone(estimator_of(method)).set_params(**chosen)


def estimator_of(method: str) -> Any:
    """Return a method of the tables with default parameters."""
    others = MODERN | from_abstracts()
    return others[method] if method in others else catalogue()[method].estimator
