"""Compute the margins of the label over other classes around samples.

This is the bound (1) of `nsse.certificates.radii` for one member. At most `OWN` functions of the label
are tried for each sample. At most `WORST` functions of each rival class are looked at closely, and the
others get a common bound. Both can only make a radius smaller. Leads are lowered and norms are raised by
what rounding can change at the sample and at the moved sample.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from nsse._support.types import Floats, Ints
from nsse.certificates.front import EPS, TINY, Front
from nsse.certificates.map_bounds import MapBounds, bounds_of, change, reach, widest_weight
from nsse.certificates.slopes import Local, slope_grams
from nsse.distances import squared_distances
from nsse.maps import Member
from nsse.scores import Scores

# Functions of the own class that are tried, and functions of a rival class that are looked at closely.
OWN, WORST = 4, 256
# Local bounds are below rounding from so many σ on.
SATURATED = 7.0
BLOCK_VALUES = 2_000_000


@dataclass(frozen=True)
class Margins:
    """The leads of functions of the label over functions of all classes, for one member at samples.

    Functions of the label itself count as rivals, too, so that all arrays have equal shapes. These
    results are not used.

    Attributes
    ----------
    member : Member
        The map, its functions and their weight.
    F : ndarray of shape (n_samples, d)
        The map at the samples.
    front : Front
        The steps before the map.
    bounds : MapBounds
        The Gram matrix, and what rounding can change.
    wrong : ndarray of shape (n_samples or 1, 1)
        By how much all leads are lowered because of rounding.
    own : ndarray of shape (n_samples, n_own)
        The functions i of the label that are tried.
    rivals : ndarray of shape (n_samples, n_rivals)
        The functions j that are looked at closely, by class.
    sizes : ndarray of shape (n_classes,)
        The number of functions of each class in ``rivals``.
    lead, norm : ndarrays of shape (n_samples, n_own, n_rivals)
        The lead of i over j at the samples, and the norm of the difference.
    others : Others
        A bound for all functions that are not in ``rivals``.
    """

    member: Member
    F: Floats
    front: Front
    bounds: MapBounds
    wrong: Floats
    own: Ints
    rivals: Ints
    sizes: Ints
    lead: Floats
    norm: Floats
    others: Others

    @classmethod
    def of(
        cls, member: Member, F: Floats, front: Front, codes: Ints, rounding: float, share: float
    ) -> Self:
        """Return the margins of samples with these classes."""
        f, scores, _ = member
        bounds = bounds_of(f, front.Z, F)
        images = scores.weights @ bounds.factor
        wrong = 4.0 * bounds.of_functions(scores) + rounding * bounds.largest_function(scores) + share
        wrong = np.broadcast_to(wrong, len(F))[:, np.newaxis]
        # Rounding errors of a linear map grow with the distance, like its values.
        steeper = 4.0 * bounds.growth_of_functions(scores)
        steeper += rounding * widest_weight(scores) * bounds.size_growth
        own = own_functions(scores, F, codes)
        rows = max(1, BLOCK_VALUES // (own.shape[1] * len(images)))
        found = []
        for start in range(0, len(F), rows):
            part = slice(start, start + rows)
            v = scores.functions(F[part])
            used, places = np.unique(own[part], return_inverse=True)
            norm = (norms_between(images[used], images) + steeper)[places.reshape(own[part].shape)]
            best = np.take_along_axis(v, own[part], axis=1)
            lead = best[:, :, np.newaxis] - (v + wrong[part])[:, np.newaxis, :]
            lead[~np.isfinite(lead)] = -np.inf  # values that have overflowed
            found.append(closest_rivals(scores, lead, norm))
        rivals, lead, norm, *others = (np.concatenate(parts) for parts in zip(*found, strict=True))
        sizes = np.minimum(np.bincount(scores.codes), WORST)
        way = replace(front.before(f), Z=front.Z)
        return cls(member, F, way, bounds, wrong, own, rivals, sizes, lead, norm, Others(*others))

    @cached_property
    def starts(self) -> Ints:
        """The first function of each class in ``rivals``."""
        return np.cumsum(self.sizes) - self.sizes

    def least(self, radius: Floats) -> Floats:
        """Return the lower bound of the margins within ``radius``, of shape (n_samples, n_classes)."""
        by = change(self.member.map, self.front.moved(radius.T).T)
        ahead = self.lead - self.norm * np.repeat(by, self.sizes, axis=1)[:, np.newaxis, :]
        least = np.minimum.reduceat(ahead.max(axis=1), self.starts, axis=1)
        return np.asarray(np.minimum(least, self.others.least(by)))

    def radius(self) -> Floats:
        """Return the largest radii at which `least` is not negative, the inverse of (1)."""
        ratio = np.minimum.reduceat((self.lead / self.norm).max(axis=1), self.starts, axis=1)
        ratio = np.minimum(ratio, self.others.ratio)
        ratio = np.where(ratio > 0.0, ratio, 0.0)
        return self.front.radius(reach(self.member.map, ratio.T)).T

    @cached_property
    def scale(self) -> Floats:
        """Distances of the order at which the margins change."""
        saturated = SATURATED * self.member.map.length_scale
        if np.isfinite(saturated):
            return self.front.radius(np.full(len(self.F), saturated))
        return np.asarray(self.radius().max(axis=1))

    @cached_property
    def grams(self) -> Floats:
        """`slope_grams` of all samples."""
        f: Any = self.member.map  # one with a kernel
        return slope_grams(f, self.front.Z, self.front)

    def against(self, some: Ints, rivals: Ints) -> Duels:
        """Return the margins of some samples over ``rivals``, a few classes each, by all bounds."""
        # Classes with fewer functions repeat their last one.
        steps = np.arange(self.sizes[rivals].max())
        steps = np.minimum(steps, self.sizes[rivals][:, :, np.newaxis] - 1)
        columns = self.starts[rivals][:, :, np.newaxis] + steps
        local = None
        if self.member.map.has_local_bound:
            functions = np.take_along_axis(self.rivals[some], columns.reshape(len(some), -1), axis=1)
            local = Local.of(self, some, functions.reshape(columns.shape))
        rows, tried = some[:, np.newaxis, np.newaxis, np.newaxis], np.arange(self.own.shape[1])
        places = rows, tried[:, np.newaxis], columns[:, :, np.newaxis]
        others, front = self.others.of(some[:, np.newaxis], rivals), self.front.select(some)
        return Duels(self.member, front, self.lead[places], self.norm[places], others, local)


@dataclass(frozen=True)
class Others:
    """A lower bound of (1) for many functions of a class, of which each has its best own function.

    Let q be the smallest lead over its norm. All of (1) is at least (q − ρ) times the smallest norm, or
    times the largest one if it is negative.

    Attributes
    ----------
    ratio : ndarray of shape (n_samples, n_classes)
        q, which is infinite for a class without such functions.
    shortest, longest : ndarrays of shape (n_samples, n_classes)
        The smallest and the largest norm.
    """

    ratio: Floats
    shortest: Floats
    longest: Floats

    def least(self, by: Floats) -> Floats:
        """Return the bound for changes ρ of shape (n_samples, n_classes)."""
        ahead = self.ratio - by
        return np.where(ahead > 0.0, ahead * self.shortest, ahead * self.longest)

    def of(self, some: Ints, rivals: Ints) -> Others:
        """Return the bound for some samples and classes."""
        return Others(*(part[some, rivals] for part in (self.ratio, self.shortest, self.longest)))


@dataclass(frozen=True)
class Duels:
    """The margins of the label over a few rival classes, for one member around samples.

    Attributes
    ----------
    member, front : Member, Front
        The member and the steps of the margins.
    lead, norm : ndarrays of shape (n_samples, n_rivals, n_own, n_functions)
        The leads over the functions of each rival class, and the norms of the differences.
    others : Others
        The bound for further functions of these classes.
    local : Local or None
        The second bound of the same differences.
    """

    member: Member
    front: Front
    lead: Floats
    norm: Floats
    others: Others
    local: Local | None

    def least(self, radius: Floats) -> Floats:
        """Return the lower bounds of the margins within ``radius``, of shape (n_samples, n_rivals)."""
        by = change(self.member.map, self.front.moved(radius.T).T)
        ahead = self.lead - self.norm * by[:, :, np.newaxis, np.newaxis]
        if self.local is not None:
            ahead = np.maximum(ahead, self.local.least(radius))
        return np.minimum(ahead.max(axis=2).min(axis=2), self.others.least(by))


def values_held(member: Member) -> int:
    """Return how many numbers are held for each sample."""
    scores, d = member.scores, member.map.n_components
    sizes = np.bincount(scores.codes)
    kept = int(np.minimum(sizes, WORST).sum())
    own, rivals = min(OWN, int(sizes.max())), min(WORST, int(sizes.max()))
    return 2 * d**2 + len(scores.codes) + 2 * own * kept + own * rivals * (d + 6)


def own_functions(scores: Scores, F: Floats, codes: Ints) -> Ints:
    """Return the largest functions of the class of every sample, `OWN` of them at most."""
    if scores.has_one_per_class:
        return codes[:, np.newaxis]
    sizes = np.bincount(scores.codes)
    starts, count = np.cumsum(sizes) - sizes, min(OWN, int(sizes.max()))
    found = np.empty((len(F), count), dtype=np.intp)
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        own, size = np.arange(starts[code], starts[code] + sizes[code]), min(count, sizes[code])
        v = F[rows] @ scores.weights[own].T + scores.offsets[own]
        largest = np.argpartition(v, -size, axis=1)[:, -size:]
        # A class with fewer functions repeats the last one.
        found[rows] = own[largest[:, np.minimum(np.arange(count), size - 1)]]
    return found


def closest_rivals(scores: Scores, lead: Floats, norm: Floats) -> tuple[Floats, ...]:
    """Choose `WORST` functions of every class, with the smallest leads over their norms.

    Returns
    -------
    rivals, lead, norm, ratio, shortest, longest : ndarrays
        The functions with their leads and norms, and the attributes of `Others` for the other ones.
    """
    n, _, n_functions = lead.shape
    sizes = np.bincount(scores.codes)
    none = np.full((n, len(sizes)), np.inf), np.ones((n, len(sizes))), np.ones((n, len(sizes)))
    if sizes.max() <= WORST:
        return np.broadcast_to(np.arange(n_functions), (n, n_functions)), lead, norm, *none
    ratio = lead / norm
    best = ratio.argmax(axis=1)[:, np.newaxis]
    ratio, length = (np.take_along_axis(part, best, axis=1)[:, 0] for part in (ratio, norm))
    kept = []
    for code, (start, size) in enumerate(zip(np.cumsum(sizes) - sizes, sizes, strict=True)):
        if size <= WORST:
            kept.append(np.broadcast_to(np.arange(start, start + size), (n, size)))
            continue
        order = start + np.argpartition(ratio[:, start : start + size], WORST, axis=1)
        kept.append(order[:, :WORST])
        others = order[:, WORST:]
        lengths = np.take_along_axis(length, others, axis=1)
        of_class = np.take_along_axis(ratio, others, axis=1).min(axis=1)
        for part, values in zip(none, (of_class, lengths.min(axis=1), lengths.max(axis=1)), strict=True):
            part[:, code] = values
    rivals = np.concatenate(kept, axis=1)
    lead, norm = (np.take_along_axis(part, rivals[:, np.newaxis], axis=2) for part in (lead, norm))
    return rivals, lead, norm, *none


def norms_between(A: Floats, B: Floats) -> Floats:
    """Return ‖a_i − b_j‖ of all rows, never less than it is and never zero."""
    largest = max(np.square(A).sum(axis=1).max(), np.square(B).sum(axis=1).max())
    D2 = squared_distances(A, B)
    D2 += 8.0 * (A.shape[1] + 8) * EPS * largest + TINY
    D2[~np.isfinite(D2)] = np.inf
    return np.sqrt(D2, out=D2)
