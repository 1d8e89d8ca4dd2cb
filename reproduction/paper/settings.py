"""How the experiments of the paper are run: training sizes, splits, grids, cross-validation.

A `Profile` describes a whole run, and a `Recipe` describes one row of it. The fingerprint of the
recipe is a part of the task, so that rows of other settings are never used by mistake.

The paper prints neither the grids nor whether images are divided by their norm. Therefore both are
treated like parameters of every method.
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

# Dimensions that are tried, as fractions of n_classes − 1.
SHARES = (0.2, 0.3, 0.4, 0.55, 0.75, 1.0)

# One row serves both protocols, which read different parts of it.
BOTH = "paper and honest"

# Our estimators, which the paper does not have, are measured by the protocol `honest` alone.
HONEST = "honest"
SMOOTH, SMOOTH_CV = "SmoothEmbedding", "SmoothEmbeddingCV"
AUGMENTED = "SmoothEmbeddingCV, augmented"
OURS = (SMOOTH, SMOOTH_CV, AUGMENTED)
ALL_METHODS = (*METHODS, *grids.MODERN, *OURS, *grids.CITED)
# Methods with as many splits as in the paper.
OFTEN = ("NSSE", "SUPLAP", "SVM", "NN", "LDA", "shrinkage LDA", *OURS)
MANY_SPLITS, FEW_SPLITS = 20, 5

TITLES = TABLES | {"digits": "Digits"}
N_CLASSES = {"yale": 38, "coil20": 20, "orl": 40, "fei": 50, "csie": 40, "mit_cbcl": 10}
N_CLASSES |= {"digits": 10}

# These methods measure the spread within classes and need two samples of each.
NEED_PAIRS = ("LFDA", "LDA", "LDE", "NCA", "KPCA+LDA", "shrinkage LDA", *grids.CITED)

# "unit": every image divided by its Euclidean norm; "raw": grey levels in [0, 1].
SCALINGS = {"coil20": ("unit", "raw"), "orl": ("unit", "raw")}
IMAGE_SIZE = (25, 25)

# Weights of NSSE. They reach both its regimes: classes that collapse, and a smooth map into fewer
# dimensions. In units of the median distance, hence not the ranges of §5.1.
WEIGHTS = {"mu1": (0.1,), "mu2": (1e-6, 1e-4, 0.01), "mu3": (0.01, 0.1, 1.0, 10.0, 100.0)}
WEIGHTS |= {"n_neighbors": (5,)}
# For training sets beyond `MANY` samples, which take longer.
WEIGHTS_OF_MANY = WEIGHTS | {"mu2": (0.0001, 0.001), "mu3": (0.1, 1.0, 10.0, 100.0, 1000.0)}

UNIT = ("unit",)
# An augmentation is tried if training and augmented samples together are at most this many.
MOST_ROWS = 2400


@dataclass(frozen=True)
class Recipe:
    """The candidates of one row: scalings × parameters × dimensions, and the splits to choose on."""

    scalings: tuple[str, ...]
    parameters: tuple[Params, ...]
    shares: tuple[float, ...]  # dimensions, as fractions of n_classes - 1
    multiples: tuple[float, ...]  # and as multiples of n_classes; not for NSSE
    n_splits: int
    validation_fraction: float
    needs_pairs: bool = False  # of every class, to be fitted at all
    image_size: tuple[int, int] = IMAGE_SIZE
    version: int = 1  # increases if the same recipe gives other numbers

    @property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits, which are the same on every machine."""
        return hashlib.sha256(canonical(plain(vars(self))).encode()).hexdigest()[:12]

    def dimensions(self, n_classes: int) -> list[int]:
        """Return the dimensions that are tried, from 2 to n_classes − 1."""
        most = n_classes - 1
        return sorted({min(most, max(2, round(share * most))) for share in self.shares})

    def splits(self, y: Any, seed: int) -> Iterator[tuple[Any, Any]]:
        """Return indices of training and validation samples on which parameters are chosen.

        If classes have two samples and one of each is held out, the spread within classes cannot be
        measured. For methods that need it (``needs_pairs``), every split becomes two: one holds out
        samples of half of the classes, and the other those of the rest.
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
    """A whole run: its experiments, its numbers of splits, and its grids."""

    name: str
    sizes: dict[str, tuple[int, ...]]  # data set -> training samples per class
    weights: grids.Values = field(default_factory=lambda: dict(WEIGHTS))
    shares: tuple[float, ...] = SHARES
    multiples: tuple[float, ...] = grids.MULTIPLES
    nsse_splits: tuple[int, int] = (5, 3)  # with few and with many samples per class
    other_splits: int = 3
    coarse: bool = False  # for all numbers of samples
    repeats: dict[str, int] = field(
        default_factory=lambda: {m: MANY_SPLITS if m in OFTEN else FEW_SPLITS for m in ALL_METHODS}
    )

    def recipe(self, dataset: str, method: str, n_train: int) -> Recipe:
        """Return the recipe of a row."""
        few, many = n_train < 15, n_train * N_CLASSES[dataset] > MANY
        # Half of many samples is enough for training, at an eighth of the cost.
        fraction = 0.15 if few else 0.5
        scalings = SCALINGS.get(dataset, UNIT) if method not in grids.CITED else UNIT
        if method == "NSSE":
            points = tuple(combinations(WEIGHTS_OF_MANY if many else self.weights))
            splits = self.nsse_splits[0 if few else 1]
            return Recipe(scalings, points, self.shares, (), splits, fraction, version=2)
        if method in OURS:  # they choose on splits of their own
            own = ({"most_rows": MOST_ROWS},) if method == AUGMENTED else ()
            return Recipe(UNIT if method == SMOOTH else scalings, own, (), (), 0, 0.0)
        points = tuple(grids.parameters_of(method, self.coarse or many))
        pairs = method in NEED_PAIRS and n_train == 2
        tried = points, self.shares, self.multiples
        return Recipe(scalings, *tried, self.other_splits, fraction, pairs)

    def task(self, dataset: str, method: str, n_train: int, seed: int) -> Task:
        """Return the task of a row."""
        recipe = self.recipe(dataset, method, n_train).fingerprint
        protocol = HONEST if method in (*OURS, *grids.CITED) else BOTH
        return Task(dataset, method, n_train, seed, parameters={"recipe": recipe}, protocol=protocol)

    def tasks(
        self,
        datasets: Iterable[str],
        methods: Sequence[str],
        repeats: int | None = None,
        sizes: Any = None,
    ) -> list[Task]:
        """Return all tasks, one split after the other, so that a stopped run has even splits."""
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
        """Return whether a task belongs to this profile."""
        known = task.n_train in self.sizes.get(task.dataset, ()) and task.method in self.repeats
        return known and task == self.task(task.dataset, task.method, task.n_train, task.seed)


FULL = Profile("full", {name: tuple(sorted(rows)) for name, rows in PRINTED.items()})

# A quick run that needs no download, with few splits and coarse grids.
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
