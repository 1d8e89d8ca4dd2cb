"""Share code between the compared methods: `fit`, lengths, neighbors, kernel ridge, checks.

A method is one file with a subclass of `Method` that has `_learn` and its mathematics. Parameters that
several methods have are checked by their names (`CHECKS`), and a method adds its own in ``_checks``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components

from nsse._support.errors import Described, rule_error
from nsse._support.fitting import all_or_nothing
from nsse._support.parameters import check_choice, check_count, check_kernel_width, check_number
from nsse._support.threads import one_blas_thread
from nsse._support.types import Bools, Floats, Ints, LabelsLike, SamplesLike
from nsse.affine import Affine
from nsse.base import EmbeddingClassifier
from nsse.distances import median_distance, squared_distances
from nsse.kernels import Gaussian
from nsse.maps import KernelMap
from nsse.metrics.learned import centered
from nsse.scores import Scores, nearest_scores

# Lengths beyond these sizes have squares that over- or underflow.
SMALLEST, LARGEST = 1e-100, 1e100


Check = Callable[[str, Any], Any]


def unless(check: Check, *words: str) -> Check:
    """Return the check of values that are neither None nor one of these words."""

    def checked(name: str, value: Any) -> None:
        if value is not None and not (isinstance(value, str) and value in words):
            check(name, value)

    return checked


check_edges = partial(check_count, cure="None joins all pairs.")
check_width = partial(check_kernel_width, cure="Leave it None to find it from the data.")


def check_length_unit(name: str, value: Any) -> None:
    """Check for the string "median", or for a length in the units of X."""
    if isinstance(value, str):
        check_choice(name, value, ("median",))
    else:
        check_number(name, value, positive=True, cure='Take "median", or 1.0 for the units of X.')


def is_auto(value: Any) -> bool:
    """Return whether a parameter is determined by the data."""
    return isinstance(value, str) and value == "auto"


def check_flag(name: str, value: Any) -> None:
    """Check for True or False."""
    if not isinstance(value, bool | np.bool_):
        raise rule_error(name, "be True or False", value, "Choose one of them.")


# Checks of parameters that several methods have. Rules that depend on the data are checked with them.
CHECKS: Mapping[str, Check] = {
    "n_neighbors": unless(check_edges),
    "n_neighbors_between": unless(check_edges),
    "beta": unless(check_width),
    "sigma": partial(check_kernel_width, cure="1.0 is the unit of length."),
    "ridge": partial(check_number, cure="1e-10 is small enough to interpolate."),
    "length_unit": check_length_unit,
}


def checks(**own: Check) -> Mapping[str, Check]:
    """Return `CHECKS` together with the checks of a method's own parameters."""
    return {**CHECKS, **own}


class Method(EmbeddingClassifier):
    """Base class of methods that learn a map and predict by the nearest training sample.

    A method defines three parts.

    - ``_learn(X, codes)`` sets the fitted attributes and returns the map. Codes are −1 for samples that
      are marked by the parameter ``unlabeled``, if a method has it.
    - ``_checks`` contains a check for each parameter that is checked before the data are read.
    - ``_scores(embedding, codes)`` returns the decision rule, if it is not the nearest labeled sample.
    """

    _checks: ClassVar[Mapping[str, Check]] = CHECKS

    @all_or_nothing
    def fit(self, X: SamplesLike, y: LabelsLike) -> Self:
        """Learn the map, and the decision rule in the embedding.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels, at least two different ones. Where the method has a parameter ``unlabeled``, its
            value marks samples without a label.

        Returns
        -------
        self
            The fitted estimator. If fit fails, the estimator is unchanged.
        """
        self._check_parameters()
        X, y = self._validated(X, y)
        self.classes_, codes = encoded(y, getattr(self, "unlabeled", None))
        with one_blas_thread():
            self.map_ = self._learn(X, codes)
            embedding = self._embedding(X)
            self.scores_ = self._scores(embedding, codes)
        self.embedding_ = embedding.astype(X.dtype, copy=False)
        return self

    def _check_parameters(self) -> None:
        """Check what can be checked without the data."""
        for name, value in self.get_params(deep=False).items():
            if name in self._checks:
                self._checks[name](name, value)

    @abstractmethod
    def _learn(self, X: SamplesLike, codes: Ints) -> Any:
        """Learn the map."""

    def _expanded(self: Any, lengths: Lengths, coef: Floats) -> KernelMap:
        """Return the sum of kernels of width ``sigma`` at the samples, with these coefficients."""
        self.coef_ = coef
        self.length_unit_ = lengths.unit
        self.sigma_ = self.sigma * lengths.unit
        return lengths.kernel_map(self.sigma, coef)

    def _regressed(self: Any, lengths: Lengths, Y: Floats, ridge: str = "ridge") -> KernelMap:
        """Return the kernel sum by regression onto an embedding of the samples.

        ``ridge`` names its parameter.
        """
        K = Gaussian().at(self.sigma)(lengths.D2)
        return self._expanded(lengths, kernel_ridge(K, Y, getattr(self, ridge), ridge))

    def _embedding(self, X: SamplesLike) -> Floats:
        """Return the map at the training samples."""
        return np.asarray(self.map_(X))

    def _scores(self, embedding: Floats, codes: Ints) -> Scores:
        """Return the decision rule, the nearest labeled sample."""
        return nearest_scores(self.classes_, embedding[codes >= 0], codes[codes >= 0])


def encoded(y: NDArray[Any], unlabeled: Any = None) -> tuple[NDArray[Any], Ints]:
    """Return the sorted classes and the code of each sample's class, −1 for samples without a label."""
    labeled = np.ones(len(y), dtype=bool)
    if unlabeled is not None:
        words = y.dtype.kind in "OUS" and any(isinstance(label, str) for label in y.tolist())
        if not isinstance(unlabeled, str if words else Real) or unlabeled != unlabeled:
            kind, cure = "a string" if words else "a number", "It is a value that samples have in `y`."
            raise rule_error("unlabeled", f"be {kind}, as the labels are", unlabeled, cure)
        labeled = np.array([label != unlabeled for label in y.tolist()])
    classes, found = np.unique(y[labeled], return_inverse=True)
    if len(classes) < 2:
        got = Described(f"{len(classes)} class, {classes.tolist()}")
        cure = "Add labeled samples of another class, because there is nothing to separate."
        raise rule_error("y", "contain samples of at least 2 classes", got, cure)
    codes = np.full(len(y), -1, dtype=np.intp)
    codes[labeled] = found
    return classes, codes


@dataclass(frozen=True)
class Lengths:
    """Training samples measured in units of length.

    Attributes
    ----------
    metric : Affine
        Takes samples to differences from their mean, in units of length.
    Z : ndarray or csr_array of shape (n_samples, n_features)
        Training samples in units of length.
    D2 : ndarray of shape (n_samples, n_samples)
        Their squared distances.
    unit : float
        The unit of length, in the units of X.
    """

    metric: Affine
    Z: Any
    D2: Floats
    unit: float

    @classmethod
    def of(cls, X: SamplesLike, length_unit: str | float, own: Ints | slice = slice(None)) -> Lengths:
        """Return the given length, or the median distance between the samples ``own`` for "median"."""
        metric = centered(X)
        Z, scale = metric(X), float(metric.scale[0])
        D2 = squared_distances(Z, Z)
        unit = median_distance(D2[own][:, own])  # refuses samples that are all equal
        if not isinstance(length_unit, str):
            unit = float(length_unit) * scale
            if not SMALLEST < unit < LARGEST:
                cure = '"median" takes the median distance between samples.'
                raise rule_error("length_unit", "be comparable to the samples", length_unit, cure)
        D2 /= unit**2
        return cls(metric.in_units_of(unit), Z / unit, D2, unit / scale)

    def kernel_map(self, sigma: float, coef: Floats) -> KernelMap:
        """Return f(x) = Σ c_i exp(−‖x − x_i‖²/σ²), with σ in units of length."""
        return KernelMap(self.metric, self.Z, Gaussian().at(float(sigma)), coef)


def kernel_ridge(K: Floats, Y: Floats, ridge: float, name: str) -> Floats:
    """Return C = (K + ρI)⁻¹Y, which minimizes ‖Y − KC‖² + ρ tr(C'KC).

    ``name`` is the user's name of ρ.
    """
    G = K + ridge * np.eye(len(K))
    try:
        return np.asarray(linalg.cho_solve(linalg.cho_factor(G, overwrite_a=True), Y))
    except linalg.LinAlgError:
        rule = "be large enough for the kernel matrix to be invertible in floating point"
        cure = "Raise it, 1e-10 suffices for most data, or lower `sigma`."
        raise rule_error(name, rule, ridge, cure) from None


def others(n_samples: int) -> Bools:
    """Return which columns are other samples than the row."""
    return ~np.eye(n_samples, dtype=bool)


def nearest_columns(D2: Floats, allowed: Bools, k: int | None) -> Bools:
    """Return directed edges from every row to its k nearest allowed columns, or to all if k is None."""
    if k is None or k >= allowed.sum(axis=1).max():
        return allowed
    chosen = np.zeros_like(allowed)
    columns = np.argpartition(np.where(allowed, D2, np.inf), k - 1, axis=1)[:, :k]
    np.put_along_axis(chosen, columns, True, axis=1)
    return chosen & allowed


def mean_squared_length(D2: Floats, *edges: Bools) -> float:
    """Return the mean over directed edges, or 1 if all have length 0 and β does not matter."""
    total = sum(float(D2[chosen].sum()) for chosen in edges)
    return total / sum(int(chosen.sum()) for chosen in edges) if total > 0 else 1.0


def gaussian_graph(D2: Floats, edges: Bools, beta: float) -> sparse.csr_array:
    """Return W_ij = exp(−‖x_i − x_j‖²/β) if there is an edge in either direction, and 0 elsewhere."""
    return sparse.csr_array(np.where(edges | edges.T, np.exp(D2 / -beta), 0.0))


def neighbor_graph(
    D2: Floats, n_neighbors: int | None, beta: float | None, codes: Ints | None = None
) -> tuple[sparse.csr_array, float]:
    """Return the Gaussian graph of nearest samples, of the same code or any, and β.

    None is the edges' mean.
    """
    allowed = others(len(D2)) if codes is None else others(len(D2)) & (codes[:, np.newaxis] == codes)
    edges = nearest_columns(D2, allowed, n_neighbors)
    width = mean_squared_length(D2, edges) if beta is None else beta
    return gaussian_graph(D2, edges, width), width


def graph_rank(W: Any) -> int:
    """Return the rank of the Laplacian, a bound of the rank of the scatter: samples less pieces."""
    return int(W.shape[0] - connected_components(sparse.csr_array(W > 0), directed=False)[0])


def check_n_components(value: Any, n_samples: int, n_classes: int) -> int:
    """Return d, from 1 to N. None means n_classes − 1."""
    if value is None:
        return n_classes - 1
    cure = f"Leave it None for n_classes - 1 = {n_classes - 1}."
    if check_count("n_components", value, cure=cure) > n_samples:
        raise rule_error("n_components", f"not exceed the number of samples, {n_samples}", value, cure)
    return int(value)
