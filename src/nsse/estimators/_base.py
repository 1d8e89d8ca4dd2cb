"""What every method of ours does once it has a map: transform, predict, say what it accepts."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from nsse.certificates.models import floating
from nsse.certificates.votes import agreeing
from nsse.extensions import ClassScores, NearestSample, as_columns, class_margins, has_margins
from nsse.landmarks import is_dask, lazily


def gives_probabilities(model: Any) -> bool:
    """Whether its classifier has probabilities; those of ours, None or a name, have 0 or 1."""
    named = model.classifier is None or isinstance(model.classifier, str)
    return named or hasattr(model.classifier, "predict_proba")


def unfitted_classifier(classifier: Any) -> Any:
    """The nearest neighbour for None and "nearest", as in the paper; else a copy of the one given."""
    if classifier is None or isinstance(classifier, str):
        return NearestSample()
    return clone(classifier)


class EmbeddingClassifier(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator
):
    """Embeds by a learned map and classifies in the embedding, like scikit-learn's LDA.

    A subclass has a parameter ``classifier`` and sets, in ``fit``, ``embedding_`` and ``classifier_``
    (from `_fitted_classifier`; None takes the largest coordinate); `_map` evaluates its map at validated
    samples.
    """

    classifier: Any
    # Whether Dask arrays are answered by blocks, and nothing gathered before it is asked for.
    _answers_dask = False

    @abstractmethod
    def _map(self, X: Any) -> NDArray[Any]:
        """The map at the rows of a validated ``X``."""

    def transform(self, X: Any) -> Any:
        """Embed samples by the learned map f.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, new or old; for `NSSE` and `NSSECV` a Dask array as well, which is answered lazily.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            f(x) for every row, in the floating-point type of ``X``.
        """
        if self._is_asked_lazily(X):
            return lazily(self._embed, X, self._n_features_out, floating(X.dtype))
        return self._embed(X)

    def predict(self, X: Any) -> Any:
        """Label of the nearest training sample in the embedding, or what `classifier` says.

        Where training samples are equally near, up to rounding, the first of them gives its label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; for `NSSE` and `NSSECV` a Dask array as well, which is answered lazily.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        if self._is_asked_lazily(X):
            return lazily(self.predict, X, None, self.classes_.dtype)
        return self._labels(X)

    @available_if(lambda self: has_margins(self.classifier))
    def decision_function(self, X: Any) -> Any:
        """How clearly each class is spoken for: the largest value is that of the label.

        Scores and linear classifiers give theirs. Of the nearest neighbour and the nearest centroid it
        is minus the distance, in the embedding, to the nearest of every class; of k neighbours that
        count alike, by how much distances may change before a class loses their vote, or wins it; of
        a vote of models on several classes, the same by how much each leads. All of these are
        continuous in x. Other classifiers, and a vote on two classes, give their probabilities, and
        jump where these do.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; for `NSSE` and `NSSECV` a Dask array as well, which is answered lazily.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            In the order of `classes_`; for two classes a positive one is for the second.
        """
        if self._is_asked_lazily(X):
            width = None if len(self.classes_) == 2 else len(self.classes_)
            return lazily(self.decision_function, X, width, np.dtype(np.float64))
        return self._margins(X)

    @available_if(gives_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, if `classifier` gives any (the nearest neighbour: 0 or 1).

        Scores of classes give exp(s_c/τ) over their sum, with a temperature τ that `fit` found from the
        scores that the training samples have where each is left out: see ``docs/probabilities.md``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; for `NSSE` and `NSSECV` a Dask array as well, which is answered lazily.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        if self._is_asked_lazily(X):
            return lazily(self.predict_proba, X, len(self.classes_), np.dtype(np.float64))
        return self._probabilities(X)

    def plot(self, X: Any = None, y: Any = None, *, ax: Any = None) -> Any:
        """Draw the embedding, with other samples over the training samples: `nsse.plot.embedding`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Samples to lay over the training samples.
        y : array-like of shape (n_samples,), default=None
            Their labels; None colours them by what is predicted.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        Plot
            ``.figure``, a matplotlib figure, and ``.frame``, what it is drawn from, as columns by name.
            A notebook shows the figure; ``figure, frame = model.plot()`` takes both apart.
        """
        from nsse.report.plots import embedding  # at use: matplotlib is optional, figures are rare

        return embedding(self, X, y, ax=ax)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def _validated(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        """Check training samples and labels as scikit-learn does."""
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2
        )
        check_classification_targets(y)
        return X, y

    def _fitted_classifier(self, embedding: NDArray[Any], y: NDArray[Any]) -> Any:
        """The classifier asked for (None, "nearest": the nearest neighbour, as in the paper), fitted."""
        return unfitted_classifier(self.classifier).fit(embedding, y)

    def _is_asked_lazily(self, X: Any) -> bool:
        if not (self._answers_dask and is_dask(X)):
            return False
        check_is_fitted(self)
        return True

    def _labels(self, X: Any) -> NDArray[Any]:
        embedded = self._embed(X)
        if self.classifier_ is None:
            return np.asarray(self.classes_[embedded.argmax(axis=1)])
        if isinstance(self.classifier_, ClassScores | NearestSample):
            return self.classifier_.labels_of(embedded)  # ours need not check what is ours
        return np.asarray(self.classifier_.predict(embedded))

    def _margins(self, X: Any) -> NDArray[Any]:
        embedded = self._embed(X)
        if self.classifier_ is None:
            values = embedded.astype(np.float64, copy=False)
            return np.asarray(as_columns(values, values.argmax(axis=1)))
        return np.asarray(class_margins(self.classifier_, embedded))

    def _probabilities(self, X: Any) -> NDArray[Any]:
        embedded = self._embed(X)
        told = np.asarray(self.classifier_.predict_proba(embedded))
        if isinstance(self.classifier_, ClassScores | NearestSample):
            return told
        # Some classifiers of others, SVC and NearestCentroid, have probabilities that speak otherwise.
        codes = np.searchsorted(self.classes_, self.classifier_.predict(embedded))
        return agreeing(told, codes.astype(np.intp))

    def _embed(self, X: Any) -> NDArray[Any]:
        # Apart from `transform`, which may be set to return a data frame: classifiers take arrays.
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        return self._map(X).astype(X.dtype, copy=False)
