"""Draw class probabilities in the plane, with a corner of a polygon for each class.

    place(x) = Σ_c q_c(x) corner_c,    q_c ∝ p_c^γ,    γ = 0.6 max(1, M/10)

The map is related to RadViz (Hoffman et al. 1997): a sample is placed at the mean of the corners,
weighted by its class probabilities p to the power γ. It shows the probabilities of a classifier and not
the coordinates of an embedding. A sample that surely belongs to one class is at its corner, a sample
between two classes is between their corners, and a sample with equal probabilities is in the middle.
The place depends on the sample alone, not on other samples that are placed with it.

γ only affects the drawing. With few classes there is room between the corners, and γ < 1 moves nearly
certain samples away from their corner, where they would hide each other. With many classes the corners
are close together, and γ > 1 moves samples outward.

Classes that are often confused get neighboring corners. The order of the classes maximizes the sum of
confusions between neighbors, as far as a greedy start and two-opt find it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.isotonic import isotonic_regression
from sklearn.neighbors import NearestNeighbors

from nsse._support.types import Bools, Floats, Ints, SamplesLike
from nsse.scores import fitted_temperature, left_out_nearest

# Number of classes up to which γ is constant, and its value.
FEW_CLASSES, SOFTENED = 10, 0.6
# With more classes, labels on the circle cannot be read.
MOST_LABELS = 30
# Distance of labels from the middle, largest gap between two in a column, and half the height of the
# columns, in radii of the polygon.
_LABEL_RADIUS = 1.14
_LARGEST_GAP = 0.17
_HALF_HEIGHT = 1.27
# Number of bins in which samples of two classes are counted, and the distance of the two bands.
BINS, BAND = 48, 0.8
# Samples are equal to a training sample if their embeddings differ by less than this share of its size.
SAME = 1e-9
# Nearest training samples whose exact distances are compared with SAME.
CANDIDATES = 4


@dataclass(frozen=True)
class ClassMap:
    """A corner for every class.

    Attributes
    ----------
    corners : ndarray of shape (n_classes, 2)
        The corner of every class, in the order of the classes.
    sharpness : float
        γ.
    """

    corners: Floats
    sharpness: float

    @classmethod
    def of_confusions(cls, confused: Floats) -> ClassMap:
        """Give neighboring corners to classes with a large entry in ``confused``, which is symmetric."""
        n_classes = len(confused)
        corners = np.empty((n_classes, 2))
        corners[ring(confused)] = polygon(n_classes)
        return cls(corners, SOFTENED * max(1.0, n_classes / FEW_CLASSES))

    def __call__(self, probabilities: Floats) -> Floats:
        """Return the places of samples with these probabilities, of shape (n_samples, 2)."""
        P = np.asarray(probabilities, dtype=np.float64)
        Q = (P / P.max(axis=1, keepdims=True)) ** self.sharpness
        return np.asarray(Q / Q.sum(axis=1, keepdims=True) @ self.corners)

    @property
    def is_line(self) -> bool:
        """Whether there are two classes, so that all places are on one line."""
        return len(self.corners) == 2

    @cached_property
    def labels(self) -> Floats:
        """The start and the direction of the label of each class, in columns x, y and ±1.

        The labels are outside the polygon, in a column on either side, and extend outward. Labels of a
        column are at least one gap apart, so they do not cover each other. With two classes, labels are
        centered above and below the two bands of samples, and their direction is 0.
        """
        if self.is_line:
            return np.array([[-1.0, 1.25 * BAND, 0.0], [1.0, -1.25 * BAND, 0.0]])
        places = np.empty((len(self.corners), 3))
        on_right = self.corners[:, 0] > -1e-9
        for own in (on_right, ~on_right):
            column = np.flatnonzero(own)
            column = column[np.argsort(-self.corners[column, 1], kind="stable")]
            gap = min(_LARGEST_GAP, 2 * _HALF_HEIGHT / max(len(column), 1))
            heights = spread(_LABEL_RADIUS * self.corners[column, 1], gap, _HALF_HEIGHT)
            side = 1.0 if own is on_right else -1.0
            away = np.sqrt(np.maximum(_LABEL_RADIUS**2 - heights**2, 0.0))
            # Few labels look better centered at the top. Many labels of both columns must not meet
            # there.
            away += -0.05 if len(self.corners) <= FEW_CLASSES else 0.06
            places[column] = np.column_stack([side * away, heights, np.full(len(column), side)])
        return places

    @property
    def label_gap(self) -> float:
        """The smallest vertical distance of two labels on the same side."""
        if self.is_line:
            return BAND
        most = int(np.ceil(len(self.corners) / 2)) + 1
        return min(_LARGEST_GAP, 2 * _HALF_HEIGHT / most)


def polygon(n_classes: int) -> Floats:
    """Return the corners of a regular polygon, clockwise from the top, or the ends of a line."""
    if n_classes == 2:
        return np.array([[-1.0, 0.0], [1.0, 0.0]])
    turns = np.arange(n_classes) / n_classes
    return np.column_stack([np.sin(2 * np.pi * turns), np.cos(2 * np.pi * turns)])


def class_map_of(core: Any) -> ClassMap:
    """Return the class map of a fitted model of ours, with confusions of left-out training samples."""
    return ClassMap.of_confusions(confusions_left_out(core))


def left_out_coordinates(core: Any) -> tuple[Floats, Bools]:
    """Return a position for each training sample, and whether its own label had no influence on it.

    The model without the sample gives the position. If the model does not provide it, or if the sample
    has no label, it is the position in the fitted embedding.
    """
    fitted = np.asarray(core.embedding_, dtype=np.float64)
    given = getattr(core, "left_out_embedding_", None)
    if given is None:
        return fitted, np.zeros(len(fitted), dtype=bool)
    is_left_out = np.isfinite(given).all(axis=1)
    has_label = np.isin(core.labels_, core.classes_)
    return np.where(is_left_out[:, np.newaxis], given, fitted), is_left_out | ~has_label


def training_probabilities(core: Any) -> tuple[Floats, Bools]:
    """Return the class probabilities of the training samples, and whether they were left out.

    Coordinates that the embedding does not contain, because ``n_components`` is smaller than the number
    of coordinates of the map, are replaced by zero, their mean. Such samples count as not left out.
    """
    F, is_left_out = left_out_coordinates(core)
    missing = core.scores_.weights.shape[1] - F.shape[1]
    if missing:
        return core.scores_.probabilities(np.pad(F, ((0, 0), (0, missing)))), np.zeros(
            len(F), dtype=bool
        )
    return core.scores_.probabilities(F), is_left_out


def training_rows(core: Any, Z: SamplesLike) -> Ints:
    """Return the training sample that each row of ``Z`` is equal to, and −1 for new samples.

    Training samples are recognized by their embedding, because not every model stores its samples. Two
    samples that differ only in features without any influence are equal for the model.
    """
    known = np.asarray(core.embedding_, dtype=np.float64)
    Z = Z.astype(np.float64) if hasattr(Z, "astype") else np.asarray(Z, dtype=np.float64)
    F = np.asarray(core.transform(Z), dtype=np.float64)
    # With many coordinates, NearestNeighbors rounds distances by more than SAME. The distances of the
    # few nearest samples are therefore computed again.
    candidates = NearestNeighbors(n_neighbors=min(CANDIDATES, len(known))).fit(known)
    nearest = candidates.kneighbors(F, return_distance=False)
    distance = np.stack([np.linalg.norm(F - known[column], axis=1) for column in nearest.T], axis=1)
    rows, best = np.arange(len(F)), distance.argmin(axis=1)
    is_known = distance[rows, best] <= SAME * float(np.abs(known).max())
    return np.where(is_known, nearest[rows, best], -1)


def confusions(probabilities: Floats, codes: Ints) -> Floats:
    """Return the mean probability of each class for samples of each other class, made symmetric."""
    n_classes = probabilities.shape[1]
    sums = np.zeros((n_classes, n_classes))
    np.add.at(sums, codes, probabilities)
    sums /= np.maximum(np.bincount(codes, minlength=n_classes), 1)[:, np.newaxis]
    confused = (sums + sums.T) / 2.0
    np.fill_diagonal(confused, 0.0)
    return confused


def confusions_left_out(core: Any) -> Floats:
    """Return the `confusions` of left-out training samples, or zeros if the model has none."""
    n_classes = len(core.classes_)
    values, codes = _left_out_values(core)
    usable = np.isfinite(values).all(axis=1)
    values, codes = values[usable], codes[usable]
    if not len(values):
        return np.zeros((n_classes, n_classes))
    tau = fitted_temperature(values, codes, np.ones(len(codes)))
    return confusions(softmax(values / tau, axis=1), codes)


def _left_out_values(core: Any) -> tuple[Floats, Ints]:
    """Return class values of training samples by the model without them, and their classes."""
    values = getattr(core, "_leave_one_out", None)
    if values is not None and len(values):
        return values, np.searchsorted(core.classes_, core._leave_one_out_labels).astype(np.intp)
    scores, n_classes = core.scores_, len(core.classes_)
    if scores.has_one_per_class:
        return np.empty((0, n_classes)), np.empty(0, dtype=np.intp)
    return left_out_nearest(scores.weights / 2.0, scores.codes, n_classes), scores.codes


def ring(confused: Floats) -> Ints:
    """Return the classes in a ring with a large sum of ``confused`` over neighbors.

    The ring is found by a greedy start and two-opt. It begins with the first class and continues with
    the smaller of its neighbors.
    """
    order = _two_opt(confused, _greedy(confused))
    order = np.roll(order, -int(np.flatnonzero(order == 0)[0]))
    return order if order[1] <= order[-1] else np.roll(order[::-1], 1)


def _greedy(confused: Floats) -> Ints:
    """Start with the first class, and append the class that is most often confused with the last one."""
    is_free, order = np.ones(len(confused), dtype=bool), [0]
    is_free[0] = False
    while is_free.any():
        order.append(int(np.where(is_free, confused[order[-1]], -1.0).argmax()))
        is_free[order[-1]] = False
    return np.array(order, dtype=np.intp)


def _two_opt(confused: Floats, order: Ints) -> Ints:
    """Reverse parts of the ring as long as its sum grows."""
    n, has_grown = len(order), True
    while has_grown:
        has_grown = False
        for start in range(1, n - 1):
            ends = np.arange(start + 1, n)
            before, first = order[start - 1], order[start]
            last, after = order[ends], order[(ends + 1) % n]
            gains = confused[before, last] + confused[first, after] - confused[before, first]
            gains -= confused[last, after]
            best = int(gains.argmax())
            if gains[best] > 1e-12:
                order[start : ends[best] + 1] = order[start : ends[best] + 1][::-1].copy()
                has_grown = True
    return order


def spread(heights: Floats, gap: float, most: float) -> Floats:
    """Move descending heights as little as possible, to be a gap apart and within ± ``most``."""
    steps = gap * np.arange(len(heights))
    moved = isotonic_regression(heights + steps, increasing=False) - steps
    moved = np.minimum(moved, most - steps)
    return np.asarray(np.maximum(moved, steps[::-1] - most))


def spread_heights(x: Floats, codes: Ints) -> tuple[Floats, Floats]:
    """Return heights that separate the samples on a line, and the middle of the band of each class.

    Heights have no meaning. Each class has a band of its own, which is wide where its samples are dense.
    """
    heights, n_classes = np.empty(len(x)), max(2, int(codes.max(initial=0)) + 1)
    middles: Floats = BAND * ((n_classes - 1) / 2 - np.arange(n_classes, dtype=np.float64))
    if not len(x):
        return heights, middles
    edges = np.linspace(x.min(), x.max() + np.finfo(float).eps, BINS + 1)
    bins = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, BINS - 1)
    for code in range(n_classes):
        members = np.flatnonzero(codes == code)
        if not len(members):
            continue
        counts = np.bincount(bins[members], minlength=BINS)
        dense = np.convolve(counts, [0.25, 0.5, 0.25], mode="same")
        share = np.sqrt(dense[bins[members]] / dense.max())
        heights[members] = middles[code] + 0.86 * BAND * share * (_halvings(len(members)) - 0.5)
    return heights, middles


def _halvings(n: int) -> Floats:
    """Return the van der Corput sequence 1/2, 1/4, 3/4, …, which fills a line evenly at every length."""
    numbers = np.arange(1, n + 1)
    values = np.zeros(n)
    half = 0.5
    while numbers.any():
        values += half * (numbers & 1)
        numbers, half = numbers >> 1, half / 2
    return values
