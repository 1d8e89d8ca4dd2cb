"""Sets of labels that hold the true one with a given probability, and samples of no known class.

The score s_c(x) measures how well class c conforms to the sample x. Let L_c be the number of samples,
among n that the model has not seen, whose score of their own class is at most s_c(x). The set
{c: L_c ≥ ⌊α(n + 1)⌋} contains the label of one more such sample with a probability of at least 1 − α,
whatever the model and the samples are (Vovk et al. 2005). If L_c counts samples of class c alone, this
holds within each class. The set is empty if no class conforms.

If there are no samples to spare, there are two ways. With K folds of the training samples, every score
of a pair (x_i, x) is computed by the model without the fold of x_i. This is CV+ (Barber et al. 2021),
whose sets contain the label with a probability of at least 1 − 2α − √(2/n), and usually with about
1 − α. With one sample in each fold it is the jackknife+, and the probability is at least 1 − 2α. The
other way is the jackknife: the scores of left-out training samples (`nsse.left_out`) are compared with
the scores of x by the whole model. Nothing is proved for it, because the median distance and the class
priors stay when a sample is left out. Its coverage is measured (``docs/research/measurements.md``).

If x was moved by less than r before it was seen, its score s_c cannot have fallen by more than b_c(r) =
√(w_c'Qw_c) √(2 − 2κ(r²/σ²)) (`nsse.certificates.radii`). With s_c + b_c(r), the set contains every label
that the set of the original sample contained. For an ensemble, `rise_of_member` bounds the values of
each member, and the weighted bounds are added.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import cross_validate
from sklearn.utils.validation import check_is_fitted, column_or_1d

from nsse._support.errors import Described, rule_error
from nsse._support.fitting import all_or_nothing
from nsse._support.parameters import check_number
from nsse._support.types import Bools, Floats, Ints, LabelsLike, SamplesLike
from nsse.affine import is_sparse
from nsse.certificates.front import EPS, Front
from nsse.certificates.map_bounds import bounds_of, change, widest_weight
from nsse.certificates.margins import norms_between
from nsse.certificates.radii import Decision, checked_samples
from nsse.maps import Member, members_of
from nsse.metrics.base import as_metric
from nsse.pipelines import behind, check_model, opened
from nsse.scores import Scores


def conformity(model: Any, X: SamplesLike) -> Floats:
    """Return how well every class conforms to samples, of shape (n_samples, n_classes).

    The scores are the scores of the classes, or −‖f − y‖² for the nearest sample y of each class if the
    nearest sample decides, or the probabilities of other models.
    """
    before, last = opened(model)
    if not (hasattr(last, "map_") and hasattr(last, "scores_")):
        return np.asarray(model.predict_proba(X), dtype=np.float64)
    F = last.map_(checked_samples(last, behind(before, X)))
    values = last.scores_.values(F)
    return values if last.scores_.has_one_per_class else values - np.square(F).sum(axis=1)[:, np.newaxis]


# Embeddings are equal if they differ by less than this share of the largest entry.
SAME = 1e-9
# The cure for models without scores of left-out training samples.
UNSEEN = "Pass samples that the model has not seen, and their labels, to `fit`."


def left_out(model: Any, cure: str = UNSEEN) -> tuple[Floats, Ints, Floats]:
    """Return scores of training samples by models without them, their classes, and their numbers.

    Equal samples of a class share one score. Models without such scores are refused.
    """
    last = opened(model)[1]
    check_model(last)
    scores = getattr(last, "_leave_one_out", None)
    if scores is None or len(scores) == 0:
        got = type(last).__name__
        raise rule_error("model", "have scores of training samples left out one by one", got, cure)
    codes = np.searchsorted(last.classes_, last._leave_one_out_labels).astype(np.intp)
    return scores, codes, np.maximum(getattr(last, "_leave_one_out_counts", np.ones(len(codes))), 1.0)


def number_below(known: Floats, counts: Floats, values: Floats) -> Floats:
    """Return the number of known samples whose value is at most each of ``values``."""
    order = np.argsort(known)
    below = np.append(0.0, np.cumsum(counts[order]))
    return np.asarray(below[np.searchsorted(known[order], values, side="right")])


def typicality(model: Any, X: SamplesLike) -> Floats:
    """Return p-values of "this sample is of a known class", which are small for atypical samples.

    Two signs are combined. A class score is close to the class prior for a sample that is far from all
    training samples, so its excess over the prior is small. The excess is divided by 1 minus the prior,
    so that it does not depend on how frequent the class is. If there are more features than training
    samples, the scores are those of the projection of the sample onto the affine hull of the training
    samples, and its distance h from the hull is the second sign. The deviations of the scores from the
    class priors are multiplied by the kernel value at distance h/2. The largest excess is compared with
    the largest excess of each left-out training sample.

    Sparse samples without any entry, such as texts without a known word, have the smallest value, unless
    a training sample has no entry either.

    Parameters
    ----------
    model : SmoothEmbedding, or a pipeline that ends in one
        Fitted.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples.

    Returns
    -------
    ndarray of shape (n_samples,)
        p = (1 + number of left-out training samples whose score is no larger)/(1 + their number).
        Samples of the known classes have p ≤ α with a probability of about α. This is exact for scores
        of samples that the model has not seen at all. Left-out samples share the unit of length and the
        class priors with the model, and their scores are raised by the mean effect of one more sample in
        a class.

    See Also
    --------
    ConformalClassifier : Returns the empty set for such samples.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nsse import SmoothEmbedding
    >>> from nsse.certificates import typicality
    >>> X, y = load_digits(return_X_y=True)
    >>> known = y < 8
    >>> model = SmoothEmbedding().fit(X[known][::3], y[known][::3])
    >>> p = typicality(model, X[known][1::3])
    >>> bool((p < 0.05).mean() < 0.1 and (typicality(model, X[~known]) < 0.05).mean() > 0.5)
    True
    """
    scores, _, counts = left_out(model, "A fitted SmoothEmbedding has them.")
    before, last = opened(model)
    gain = getattr(last, "_leave_one_out_gain", 1.0)  # the whole model has one sample more of a class
    if gain != 1.0:
        scores = gain * scores + (1.0 - gain) * last.scores_.offsets
    values, heights = conformity(model, X), getattr(last, "_leave_one_out_heights", None)
    Z = behind(before, X)
    if heights is not None:
        above = as_metric(last.metric_).heights(last.map_.metric, checked_samples(last, Z))
        scores, values = lowered(last, scores, heights), lowered(last, values, above)
    known, new = excess(last, scores).max(axis=1), excess(last, values).max(axis=1)
    below = number_below(known, counts, new)
    is_empty = _empty_rows(last, Z)
    return np.asarray((1.0 + np.where(is_empty, 0.0, below)) / (1.0 + counts.sum()))


def excess(model: Any, values: Floats) -> Floats:
    """Return (v_c − b_c)/(1 − π_c) for values v_c of the classes with priors π_c.

    b_c is the value far from all training samples, where all kernel functions are zero. For class scores
    it is π_c, and the excess is 1 at the target of a class, whatever its prior is. Squared distances to
    the nearest samples are returned as they are.
    """
    if not model.scores_.has_one_per_class:
        return values
    members = members_of(model)
    parts = [own.weight * own.scores.values(np.zeros((1, own.map.n_components))) for own in members]
    far = np.sum(parts, axis=0)
    offsets = [own.scores.offsets for own in members if own.scores.has_one_per_class]
    equal = np.full(values.shape[1], 1.0 / values.shape[1])
    priors = np.mean(offsets, axis=0) if offsets else equal
    if members[0].scores is not model.scores_:  # the scores of an ensemble add up to zero
        far = far - far.mean()
    return np.asarray((values - far) / (1.0 - priors))


def _empty_rows(model: Any, X: Any) -> Bools:
    """Return which sparse samples have no entries at all, unless a training sample has none either."""
    if not is_sparse(X):
        return np.zeros(1, dtype=bool)
    rows = X.tocsr()
    is_empty = np.asarray(abs(rows).sum(axis=1)).ravel() == 0.0
    if not is_empty.any():
        return is_empty
    F = np.asarray(model.embedding_, dtype=np.float64)
    apart = np.abs(F - model.transform(rows[np.flatnonzero(is_empty)[:1]])).max(axis=1)
    return is_empty & (apart > SAME * np.abs(F).max()).all()


def lowered(model: Any, values: Floats, heights: Floats) -> Floats:
    """Return values of the classes, lowered by squared distances from the hull.

    Deviations of class scores from the priors are multiplied by the kernel value at half the distance.
    Of minus squared distances to the nearest samples, minus the logarithm of that value is subtracted.
    """
    kernel = model.map_.kernel
    log_kernel = kernel.log_profile(heights[:, np.newaxis] / (2.0 * kernel.sigma) ** 2)
    if not model.scores_.has_one_per_class:
        return np.asarray(values + log_kernel)
    priors = model.scores_.offsets
    return np.asarray(priors + np.exp(log_kernel) * (values - priors))


class ConformalClassifier(BaseEstimator):
    """Sets of labels, one for every sample, that hold the true label with a probability of 1 − α.

    The probability is over samples. New samples must come from the same source as the samples of `fit`.
    Nothing is assumed about the model. If it is poor, the sets are large.

    Parameters
    ----------
    model : estimator
        An estimator of this library, alone or at the end of a pipeline, or any classifier with
        `predict_proba`. It must be fitted, and it is not changed. With `cv`, clones are fitted.
    alpha : float, default=0.1
        α, the largest share of sets that may lack the true label, between 0 and 1.
    class_conditional : bool, default=False
        Whether the probability holds within every class, and not only over all samples. This needs at
        least 1/α − 1 samples of a class. With fewer samples, the label of the class is in every set.
    cv : int, splitter or None, default=None
        None uses samples that the model has not seen, or none (`fit`). A number of folds, or a splitter
        of scikit-learn, uses training samples and fits a clone of the model without each fold. This is
        CV+, whose sets are proved to contain the label with probability 1 − 2α − √(2/n).

    Attributes
    ----------
    folds_ : list of (estimator or None, ndarray, ndarray, ndarray)
        Models (None is ``model``), scores of the own class that samples unknown to them have, the
        classes of these samples, and the number of equal samples.
    classes_ : ndarray of shape (n_classes,)
        Labels of the model.

    See Also
    --------
    SelectivePredictor : Predicts one label, or rejects an uncertain sample.
    typicality : Measures how well samples belong to any known class.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nsse import SmoothEmbedding
    >>> from nsse.certificates import ConformalClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> sets = ConformalClassifier(model, alpha=0.1).fit().predict_set(X[1::3])
    >>> bool(sets[range(len(sets)), y[1::3]].mean() > 0.87)
    True
    """

    def __init__(
        self, model: Any, *, alpha: float = 0.1, class_conditional: bool = False, cv: Any = None
    ) -> None:
        self.model = model
        self.alpha = alpha
        self.class_conditional = class_conditional
        self.cv = cv

    @all_or_nothing
    def fit(self, X: SamplesLike = None, y: LabelsLike = None) -> Self:
        """Find how well samples conform to their own class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Samples that the model has not seen. None uses the left-out training samples. With `cv`,
            these are the training samples.
        y : array-like of shape (n_samples,), default=None
            The labels of these samples, which the model must know.

        Returns
        -------
        self
            The fitted classifier. If fit fails, it is as it was before.
        """
        self._check_parameters(X, y)
        self.folds_: list[Any] = []
        if self.cv is None:
            check_is_fitted(self.model)
            parts = left_out(self.model) if X is None else scored(self.model, X, y)
            self._keep(None, *parts)
        else:
            cross_validate(self.model, X, y, cv=self.cv, scoring=self._keep_fold, error_score="raise")
        self.classes_ = (self.folds_[0][0] or self.model).classes_
        return self

    def predict_set(self, X: SamplesLike, *, radius: float = 0.0) -> Bools:
        """Return which labels may be the true one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        radius : float, default=0.0
            If this is positive, each set also contains all labels of the sets of samples that are
            closer than this, in the units of ``X``. The set is then valid even if the sample was moved
            by somebody before. The model must have class scores, as ensembles have.

        Returns
        -------
        ndarray of bool, shape (n_samples, n_classes)
            One column per class, in the order of `classes_`. An empty set means that no known class
            conforms.
        """
        check_is_fitted(self)
        check_number("radius", radius, cure="0 is for samples that were not moved.")
        less: list[Any] = [0.0] * len(self.classes_)
        n_samples = np.zeros(len(self.classes_))
        for fitted, own, codes, counts in self.folds_:
            scores = conformity(fitted or self.model, X)
            if radius > 0:
                scores = scores + largest_rise(fitted or self.model, X, float(radius))
            for c, of_class in enumerate(scores.T):
                group = codes == c if self.class_conditional else slice(None)
                less[c] = less[c] + number_below(own[group], counts[group], of_class)
                n_samples[c] += counts[group].sum()
        return np.transpose(less) >= np.floor(float(self.alpha) * (n_samples + 1) + 1e-9)

    def predict(self, X: SamplesLike) -> NDArray[Any]:
        """Return the label that the model predicts.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        check_is_fitted(self)
        return np.asarray(self.model.predict(X))

    def _keep_fold(self, fitted: Any, X: SamplesLike, y: LabelsLike) -> float:
        return self._keep(fitted, *scored(fitted, X, y))

    def _keep(self, fitted: Any, scores: Floats, codes: Ints, counts: Floats) -> float:
        self.folds_.append((fitted, scores[np.arange(len(codes)), codes], codes, counts))
        return 0.0

    def _check_parameters(self, X: SamplesLike, y: LabelsLike) -> None:
        if check_number("alpha", self.alpha, positive=True, cure="0.1 is usual.") >= 1:
            cure = "With 0.1, nine of ten sets contain the true label."
            raise rule_error("alpha", "be above 0 and below 1", self.alpha, cure)
        if (X is None) != (y is None) or (X is None and self.cv is not None):
            got, cure = "only one of them", "Pass both or neither. With `cv`, pass the training samples."
            raise rule_error("X", "come together with `y`", got if self.cv is None else X, cure)


def scored(model: Any, X: SamplesLike, y: LabelsLike) -> tuple[Floats, Ints, Floats]:
    """Return scores of samples that a model has not seen, their classes, and 1 for each."""
    scores, labels, classes = conformity(model, X), column_or_1d(y), model.classes_
    if len(labels) != len(scores):
        rule = f"have a label for each of the {len(scores)} samples"
        raise rule_error(
            "y", rule, Described(f"{len(labels)} labels"), "Pass the labels of these samples."
        )
    unknown = np.setdiff1d(labels, classes)
    if unknown.size:
        cure = "No set can contain it. Leave out such samples, or fit the model with that class."
        raise rule_error("y", "hold labels of the model", unknown[:1].tolist()[0], cure)
    return scores, np.searchsorted(classes, labels).astype(np.intp), np.ones(len(labels))


def largest_rise(model: Any, X: SamplesLike, radius: float) -> Floats:
    """Return by how much a move of less than ``radius`` can have lowered the scores of the classes."""
    before, last = opened(model)
    decision = Decision.of(last)
    if not decision.is_sum and not decision.members[0].scores.has_one_per_class:
        cure = 'Take a SmoothEmbedding with decision="scores", or radius=0.'
        rule = "have class scores where samples may have been moved"
        raise rule_error(
            "model", rule, Described(f'{type(last).__name__} with decision="nearest"'), cure
        )
    front = Front.through(before, X)
    front = replace(front, Z=checked_samples(last, front.Z))
    rises = [rise_of_member(member, front, radius, decision) for member in decision.members]
    return np.asarray(decision.offset + np.sum(rises, axis=0))


def rise_of_member(member: Member, front: Front, radius: float, decision: Decision) -> Floats:
    """Return by how much the values of the classes can rise, times the weight of the member.

    The value of a class in a sum is its largest function, minus the mean of such values over all n
    classes. Let j be the functions that are largest at the sample. The value of class c becomes that of
    one of its functions i, and those of other classes become those of their j at least. The norm of
    (1 − 1/n) a_i − Σ_j a_j/n, where j is of all other classes, therefore bounds the rise.
    """
    f, scores, weight = member
    F = f(front.Z)
    bounds = bounds_of(f, front.Z, F)
    moved = front.before(f).moved(np.full(len(F), radius))
    images = scores.weights @ bounds.factor
    if decision.is_sum:
        norms = norms_of_centered(scores, scores.functions(F), images)
    else:
        norms = np.linalg.norm(images, axis=1) * (1.0 + 16 * EPS)
    # Values are wrong at the sample and where it was, and the functions j need not be the largest ones.
    wrong = bounds.of_functions(scores) + bounds.growth_of_functions(scores) * moved
    size = bounds.largest_function(scores) + widest_weight(scores) * bounds.size_growth * moved
    rounding = (8.0 if decision.is_sum else 2.0) * wrong + decision.rounding * size
    return weight * (change(f, moved)[:, np.newaxis] * norms + rounding[:, np.newaxis])


def norms_of_centered(scores: Scores, v: Floats, images: Floats) -> Floats:
    """Return the largest norm of (1 − 1/n) a_i − Σ_j a_j/n over the functions i of every class."""
    n = len(scores.classes)
    of_class = [np.flatnonzero(scores.codes == c) for c in range(n)]
    largest = [images[own[v[:, own].argmax(axis=1)]] / n for own in of_class]
    total, norms = np.sum(largest, axis=0), np.empty((len(v), n))
    for c, own in enumerate(of_class):
        norms[:, c] = norms_between(total - largest[c], (1.0 - 1.0 / n) * images[own]).max(axis=1)
    return norms * (1.0 + 16 * EPS)
