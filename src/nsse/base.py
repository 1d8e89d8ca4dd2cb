"""Define the methods of every estimator with a map and scores, such as transform, predict and plot.

A subclass sets in ``fit``: ``classes_``, ``embedding_`` (f at the training samples), ``map_`` (a map of
`nsse.maps`, or any function of rows) and ``scores_`` (a `nsse.scores.Scores`). The signs of coordinates
are arbitrary, so all estimators use the rule of `signs_of`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from nsse._support.arrays import is_dask, is_foreign, lazily
from nsse._support.samples import validate_data
from nsse._support.types import Floats, Ints, LabelsLike, SamplesLike
from nsse.labels import check_classes, check_targets, of_one_type

if TYPE_CHECKING:
    from nsse.explanations import Explanation
    from nsse.figures import Plot

FLOATS = [np.float64, np.float32]
# Class means within this share of the largest count as large. Rounding must not decide between two equal
# ones of opposite sign, which two balanced classes have.
LARGE = 0.9
# Class means below this share of the largest entry vanish.
VANISHING = 1e-3


class EmbeddingClassifier(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator
):
    """Base class of estimators that embed samples by a learned map and classify in the embedding."""

    _takes_other_namespaces = False

    def transform(self, X: SamplesLike) -> Any:
        """Embed samples by the learned map f.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Training samples or new samples.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            f(x) of every row, in the floating-point type of ``X``. For a Dask array, the result is a
            lazy Dask array.
        """
        check_is_fitted(self)
        if is_dask(X):
            return lazily(self._coordinates, X, self._n_features_out, _floating(X.dtype))
        return self._coordinates(X)

    def predict(self, X: SamplesLike) -> Any:
        """Predict the label of every sample.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        if not hasattr(self, "classes_"):
            check_is_fitted(self)
        return self._decided("predict", X)

    def decision_function(self, X: SamplesLike) -> Any:
        """Return the score of every class. The label is the class with the largest score.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            Scores in the order of `classes_`. For two classes, the score of the second minus the first.
        """
        check_is_fitted(self)
        return self._decided("decision", X)

    def predict_proba(self, X: SamplesLike) -> Any:
        """Return the probability of every class.

        It is exp(score/τ) over the sum, with τ from left-out samples.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        check_is_fitted(self)
        return self._decided("probabilities", X)

    def predict_log_proba(self, X: SamplesLike) -> Any:
        """Return the logarithm of the probability of every class.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        check_is_fitted(self)
        return self._decided("log_probabilities", X)

    def certified_radius(self, X: SamplesLike) -> Floats:
        """Return how far every sample may move in any direction without a change of its label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Radii in the units of ``X``. They are proven, not estimated. See `nsse.certificates`.
        """
        from nsse.certificates import certified_radius  # imported when used, so that fits do not load it

        return certified_radius(self, X)

    def typicality(self, X: SamplesLike) -> Floats:
        """Return p-values that are small for samples unlike every training class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            A sample of a known class has a p-value of at most α with a probability of about α.
            `nsse.certificates.typicality` states how they are computed and what is guaranteed. Only
            `SmoothEmbedding` and `SmoothEmbeddingCV` have the left-out samples that it needs.
        """
        from nsse.certificates import typicality  # imported when used, so that fits do not load it

        return typicality(self, X)

    def explain(self, X: SamplesLike, target: Any = None) -> Explanation:
        """Explain predictions by features and by training samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        target : label or array-like of shape (n_samples,), default=None
            The class to explain, one for all samples or one for each. None explains the predicted class.

        Returns
        -------
        Explanation
            Gradients and contributions of the features, and the influential training samples with their
            weights. `nsse.explanations.explain` does the same for a pipeline.
        """
        from nsse.explanations import explain

        return explain(self, X, target)

    def plot(self, X: SamplesLike = None, y: LabelsLike = None, *, ax: Any = None) -> Plot:
        """Draw the class map, which places samples by their class probabilities and circles mistakes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Samples, which are drawn over the training samples. Rows that are training samples are
            recognized. Training samples are drawn where the model without them would put them, if the
            model stores ``left_out_embedding_``. None draws the training samples alone.
        y : array-like of shape (n_samples,), default=None
            The labels of the samples. None colors them by their predicted labels.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on. None makes a figure.

        Returns
        -------
        Plot
            ``.save("map.png")`` writes the figure, ``.show()`` shows it in a script, ``.figure`` is the
            matplotlib figure, and ``.frame`` contains the numbers that are drawn. `nsse.plot.class_map`
            does the same for pipelines and other classifiers.
        """
        from nsse.plot import class_map  # imported here because matplotlib is optional

        return class_map(self, X, y, ax=ax)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = self._takes_other_namespaces
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def _validated(self, X: SamplesLike, y: LabelsLike) -> tuple[Any, NDArray[Any]]:
        """Return training samples and labels after the checks of scikit-learn and of the labels."""
        check_targets(y)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=FLOATS, ensure_min_samples=2)
        if y.dtype == object:
            of_one_type(y)  # raises an error for labels of mixed types
        check_classes(y)
        return X, y

    def _decided(self, what: str, X: SamplesLike) -> Any:
        """Return a result of the scores for samples: "predict", "decision", "probabilities", ..."""
        if not isinstance(X, np.ndarray) and is_dask(X):
            n, dtype = len(self.classes_), self.classes_.dtype if what == "predict" else np.dtype(float)
            width = None if what == "predict" or (what == "decision" and n == 2) else n
            return lazily(partial(self._decided, what), X, width, dtype)
        in_numpy = isinstance(X, np.ndarray) and isinstance(self.embedding_, np.ndarray)
        if not in_numpy and (is_foreign(X) or is_foreign(self.embedding_)):
            from nsse.devices import asked

            return asked(self, what, X)
        # Skips the checks of scikit-learn if they would pass, because they take as long as one row's
        # scores.
        plain = type(X) is np.ndarray and X.dtype == np.float64 and X.shape[1:] == (self.n_features_in_,)
        if hasattr(self, "feature_names_in_") or not (plain and len(X) and np.isfinite(X).all()):
            X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=FLOATS)
        return np.asarray(getattr(self.scores_, what)(self.map_(X)))

    def _coordinates(self, X: SamplesLike) -> NDArray[Any]:
        """Return the coordinates that `transform` returns, in the type of ``X``."""
        if is_foreign(X) or is_foreign(self.embedding_):
            from nsse.devices import asked

            return asked(self, "transform", X)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=FLOATS)
        return self.map_(X)[:, : self._n_features_out].astype(X.dtype, copy=False)


def _floating(dtype: Any) -> np.dtype[Any]:
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)


def signs_of(class_means: Floats) -> Floats:
    """Return +1 or −1 for every column of class means. The first class with a large mean is positive."""
    size = np.abs(class_means)
    first = np.argmax(size >= LARGE * size.max(axis=0), axis=0)
    return np.where(class_means[first, np.arange(class_means.shape[1])] < 0, -1.0, 1.0)


def row_signs(Y: Floats, codes: Ints) -> Floats:
    """Return +1 or −1 for every column of coordinates of rows, by `signs_of` their class means.

    If all class means vanish, the sum of the largest entries is positive. The order of rows has no
    influence.
    """
    sizes = np.bincount(codes)
    sums = np.zeros((len(sizes), Y.shape[1]))
    np.add.at(sums, codes, Y)
    means = sums / sizes[:, np.newaxis]
    size = np.abs(Y)
    far_out = np.where(size >= LARGE * size.max(axis=0), Y, 0.0).sum(axis=0)
    vanish = np.abs(means).max(axis=0) <= VANISHING * size.max(axis=0)
    return np.where(vanish, np.where(far_out < 0, -1.0, 1.0), signs_of(means))
