"""How the paper's experiments are run: training sizes, realisations, grids, cross-validation.

A `Profile` says what a whole run does, a `Recipe` what one row of it does. The fingerprint of the recipe
is part of the task: rows of other settings are never mistaken for these.

Not printed in the paper, and hence treated like parameters of every method: the grids, and whether
images are divided by their norm.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nsse.splits import BalancedSplits
from reproduction.paper import grids
from reproduction.paper.grids import MANY, Params, combinations
from reproduction.paper.printed import METHODS, PRINTED, TABLES
from reproduction.rows import Task, canonical, plain

# Dimensions that are tried, as shares of n_classes − 1.
SHARES = (0.2, 0.3, 0.4, 0.55, 0.75, 1.0)

# One computation serves both protocols: `paper` and `honest` read different parts of a row.
BOTH = "paper and honest"

# What the paper does not have (``extended_row``): by protocol `honest` alone, beside its methods.
HONEST = "honest"
SMOOTH, SMOOTH_CV, SVM_WITHIN = "SmoothEmbedding", "SmoothEmbeddingCV", "SVM within"
SMOOTH_COPIED = "SmoothEmbeddingCV + copies"
UNTUNED, WITHIN, VOTE = "NSSE 0.2 untuned", "NSSE 0.2 within", "NSSE 0.2 vote"
COPIED, SVM_COPIED = "NSSE 0.2 + copies", "SVM + copies (0.2)"
# Of version 0.2, by their names in the stored rows: only that version computes them.
OF_0_2 = {
    "NSSE untuned": UNTUNED,
    "NSSE within": WITHIN,
    "NSSE vote": VOTE,
    "NSSE + copies": COPIED,
    "SVM + copies": SVM_COPIED,
}
# Those that know more than the training samples: how images may change.
WITH_COPIES = (SMOOTH_COPIED, COPIED, SVM_COPIED)
EXTENDED = (SMOOTH, SMOOTH_CV, UNTUNED, WITHIN, VOTE, SVM_WITHIN, *WITH_COPIES)

ALL_METHODS = (*METHODS, *grids.MODERN, *EXTENDED, *grids.CITED)
COMPUTED = tuple(name for name in ALL_METHODS if name not in OF_0_2.values())
# With all realisations of the paper.
OURS = (SMOOTH, SMOOTH_CV, SMOOTH_COPIED)
OFTEN = ("NSSE", "SUPLAP", "SVM", "NN", "LDA", "shrinkage LDA", *OURS, SVM_WITHIN)
REALISATIONS, FEWER = 20, 5

TITLES = TABLES | {"digits": "Digits"}
N_CLASSES = {"yale": 38, "coil20": 20, "orl": 40, "fei": 50, "csie": 40, "mit_cbcl": 10}
N_CLASSES |= {"digits": 10}

# Methods that measure the spread within classes and cannot do with one sample of each.
NEED_PAIRS = ("LFDA", "LDA", "LDE", "NCA", "KPCA+LDA", "shrinkage LDA", SVM_WITHIN, *grids.CITED)

# "unit": every image divided by its Euclidean norm; "raw": grey levels in [0, 1].
SCALINGS = {"coil20": ("unit", "raw"), "orl": ("unit", "raw")}
IMAGE_SIZE = (25, 25)

# Weights of NSSE. They reach both its regimes: classes that collapse, and a smooth map into fewer
# dimensions. In units of the median distance, hence not the ranges of §5.1.
WEIGHTS = {"mu1": (0.1,), "mu2": (1e-6, 1e-4, 0.01), "mu3": (0.01, 0.1, 1.0, 10.0, 100.0)}
WEIGHTS |= {"n_neighbors": (5,)}
# For training sets beyond `MANY` samples, which take longer.
WEIGHTS_OF_MANY = WEIGHTS | {"mu2": (0.0001, 0.001), "mu3": (0.1, 1.0, 10.0, 100.0, 1000.0)}

# Support vector machines: γ in units of 1/(features × variance); None: no metric.
MACHINE = {grids.GAMMA: (0.3, 1.0, 3.0), "C": (10.0, 100.0)}
SHRINKAGES = {"shrinkage": (None, 10.0, 1.0, 0.1)}
UNIT = ("unit",)
# Rows that samples and copies may make together, for a set of copies to be tried.
MOST_ROWS = 2400
# How 0.2 chose a set of copies: part of the keys of its rows.
COPIED_SPLITS, COPIED_FRACTION = 8, 0.2
COPIED_ROWS = {"most_rows": MOST_ROWS, "rows_of_a_trial": 1500}


@dataclass(frozen=True)
class Recipe:
    """What one row tries: scalings × parameters × dimensions, chosen on these splits."""

    scalings: tuple[str, ...]
    parameters: tuple[Params, ...]
    shares: tuple[float, ...]  # dimensions, as shares of n_classes - 1
    multiples: tuple[float, ...]  # and as multiples of n_classes; not for NSSE
    n_splits: int
    validation_fraction: float
    needs_pairs: bool = False  # of every class, to be fitted at all
    image_size: tuple[int, int] = IMAGE_SIZE
    version: int = 1  # to be raised when the same recipe gives other numbers

    @property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits, the same for the same recipe everywhere."""
        return hashlib.sha256(canonical(plain(vars(self))).encode()).hexdigest()[:12]

    def dimensions(self, n_classes: int) -> list[int]:
        """Dimensions up to n_classes − 1, from 2 on where there are so many classes."""
        most = n_classes - 1
        return sorted({min(most, max(2, round(share * most))) for share in self.shares})

    def splits(self, y: Any, seed: int) -> Iterator[tuple[Any, Any]]:
        """Indices of training and validation samples on which parameters are chosen.

        Where classes have two samples, holding out one of each leaves nothing to measure the spread of a
        class by, and methods that need it could not be validated. For these every split becomes two
        (``needs_pairs``): one holds out samples of every second class, the other of the rest.
        """
        splitter = BalancedSplits(self.n_splits, self.validation_fraction, seed)
        classes, codes, sizes = np.unique(y, return_inverse=True, return_counts=True)
        if sizes.min() > 2 or not self.needs_pairs:
            yield from splitter.split(y, y)
            return
        rng = np.random.default_rng(seed)
        for _, held_out in splitter.split(y, y):
            first = np.zeros(len(classes), dtype=bool)
            first[rng.permutation(len(classes))[: len(classes) // 2]] = True
            for part in (first, ~first):
                valid = held_out[part[codes[held_out]]]
                yield np.setdiff1d(np.arange(len(codes)), valid), valid


@dataclass(frozen=True)
class Profile:
    """A whole run: which cells, how often, and how thoroughly."""

    name: str
    sizes: dict[str, tuple[int, ...]]  # data set -> training samples per class
    weights: grids.Values = field(default_factory=lambda: dict(WEIGHTS))
    shares: tuple[float, ...] = SHARES
    multiples: tuple[float, ...] = grids.MULTIPLES
    nsse_splits: tuple[int, int] = (5, 3)  # for few and for many samples per class
    other_splits: int = 3
    coarse: bool = False  # whatever the number of samples
    repeats: dict[str, int] = field(
        default_factory=lambda: {m: REALISATIONS if m in OFTEN else FEWER for m in ALL_METHODS}
    )

    def recipe(self, dataset: str, method: str, n_train: int) -> Recipe:
        """What a row of this profile does."""
        few, many = n_train < 15, n_train * N_CLASSES[dataset] > MANY
        # Half of many samples still trains well, at an eighth of the cost.
        fraction = 0.15 if few else 0.5
        scalings = SCALINGS.get(dataset, UNIT) if method not in grids.CITED else UNIT
        if method == "NSSE":
            points = tuple(combinations(WEIGHTS_OF_MANY if many else self.weights))
            splits = self.nsse_splits[0 if few else 1]
            return Recipe(scalings, points, self.shares, (), splits, fraction, version=2)
        if method in EXTENDED:
            return self._extended(method, scalings, fraction, n_train)
        points = tuple(grids.parameters_of(method, self.coarse or many))
        pairs = method in NEED_PAIRS and n_train == 2
        tried = points, self.shares, self.multiples
        return Recipe(scalings, *tried, self.other_splits, fraction, pairs)

    def _extended(self, method: str, scalings: tuple[str, ...], fraction: float, n_train: int) -> Recipe:
        """Our searches have grids and splits of their own: no point, no split."""
        if method == COPIED:
            return Recipe(UNIT, (COPIED_ROWS,), (), (), COPIED_SPLITS, COPIED_FRACTION)
        if method in (SVM_WITHIN, SVM_COPIED):
            own: dict[str, Any] = MACHINE | (SHRINKAGES if method == SVM_WITHIN else {})
            tried = scalings if method == SVM_WITHIN else UNIT
            pairs = method in NEED_PAIRS and n_train == 2
            return Recipe(tried, tuple(combinations(own)), (), (), self.other_splits, fraction, pairs)
        if method == SMOOTH_COPIED:
            return Recipe(scalings, ({"most_rows": MOST_ROWS},), (), (), 0, 0.0)
        return Recipe(UNIT if method in (SMOOTH, UNTUNED) else scalings, (), (), (), 0, 0.0)

    def task(self, dataset: str, method: str, n_train: int, seed: int) -> Task:
        """One row of the run."""
        recipe = self.recipe(dataset, method, n_train).fingerprint
        protocol = HONEST if method in (*EXTENDED, *grids.CITED) else BOTH
        return Task(dataset, method, n_train, seed, parameters={"recipe": recipe}, protocol=protocol)

    def tasks(
        self,
        datasets: Iterable[str],
        methods: Sequence[str],
        repeats: int | None = None,
        sizes: Any = None,
    ) -> list[Task]:
        """All rows, realisation by realisation: a run that is stopped has fair means of fewer."""
        cells = [(d, n) for d in datasets for n in self.sizes[d] if not sizes or n in sizes]
        cells.sort(key=lambda cell: cell[1] * N_CLASSES[cell[0]])
        counts = {m: self.repeats[m] if repeats is None else repeats for m in methods}
        return [
            self.task(dataset, method, n_train, seed)
            for seed in range(max(counts.values(), default=0))
            for dataset, n_train in cells
            for method in methods
            if seed < counts[method]
        ]

    def owns(self, task: Task) -> bool:
        """Whether a stored row is of this profile."""
        known = task.n_train in self.sizes.get(task.dataset, ()) and task.method in self.repeats
        return known and task == self.task(task.dataset, task.method, task.n_train, task.seed)


FULL = Profile("full", {name: tuple(sorted(rows)) for name, rows in PRINTED.items()})

# A taste of everything on a fresh machine: data that need no download, few repeats, coarse grids.
QUICK = Profile(
    "quick",
    {"digits": (5, 10)},
    weights={"mu1": (0.1, 1.0), "mu2": (0.01, 0.1), "mu3": (1.0, 100.0), "n_neighbors": (5,)},
    shares=(0.3, 0.55, 1.0),
    multiples=(2,),
    nsse_splits=(3, 3),
    other_splits=2,
    coarse=True,
    repeats=dict.fromkeys(ALL_METHODS, 3),
)
