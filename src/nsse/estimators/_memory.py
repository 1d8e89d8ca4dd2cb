"""How much memory a fit will take, said in advance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nsse._machine import available_memory
from nsse.graphs.metric import WIDE
from nsse.landmarks import BLOCK_ROWS, ROWS, THIN_ROWS, UNIT_ROWS, few_centers, kept_bytes
from nsse.solvers.constraint import FULL_UP_TO, LEAST_BLOCKS
from nsse.solvers.factors import LARGEST_CONDITION
from nsse.solvers.krylov import GUARD
from nsse.solvers.sample_space import LEAST_ROWS

# Bytes below which nobody asks how much there is.
WORTH_ASKING = 100_000_000
# Bytes of a float64.
FLOAT = 8
# N × N arrays that an exact fit holds at its peak: D2, K, SK, P, and one for temporaries of their size.
EXACT_MATRICES = 5
# Between those and the four that are needed where K itself is factorised, as the samples decide.
SAMPLE_SPACE_MATRICES = 4.3
# What the full eigensolver adds, and what the QR factorisation of an ill-conditioned problem does.
FULL_SOLVER_MATRICES = 2.5
QR_MATRICES = 6
# σ that is taken for granted where it is to be found, in units of length.
USUAL_SIGMA = 1.0
# m × m arrays of the pencil with centres, B and P, and what a full solver adds; widths of a block that a
# Krylov space and its temporaries take.
PENCIL, FULL_SOLVER, KRYLOV_WIDTHS = 2, 5.5, 14
# Arrays of a subsample: distances, kernel, SK; temporaries of their size; its products.
SUBSAMPLE_ARRAYS, SUBSAMPLE_TEMPORARIES, SUBSAMPLE_PRODUCTS = 3, 1, 1
# Solutions that the search for σ remembers, of the thin subsample and of the other one.
SCANNED, DESCENDED = 16, 8
# Squares of the rows of which the median distance is taken: distances, pairs, which lie near the middle.
MEDIAN_SQUARES = 1.75
# Arrays of one value per class and centre: references, sums, means, and their products.
CLASS_ARRAYS = 8
# Numbers per sample beside its embedding: its class, and an order of the classes.
LABELS = 2
# Copies of the embedding while signs are found: itself, two of its magnitudes, and half of one that the
# allocator does not give back.
EMBEDDINGS = 3.5
# Copies of the samples that a metric is learned from; squares of n, or arrays of n × rank, beside them.
METRIC_ROWS, METRIC_SQUARES, METRIC_HALVES = 2, 4, 3
# Arrays of samples that are brought into the metric: themselves, what they lose, and the result.
IN_METRIC = 3
# Rows that look for their neighbours among all at a time.
GRAPH_PANEL = 128
# Up to so many components neighbours are looked up in a tree, which has a copy of the embedding.
TREE_COMPONENTS = 15


def exact_memory(
    n_samples: int, n_features: int, n_components: int, condition: float, may_spare: bool = False
) -> int:
    """Bytes of an exact fit: N × N arrays, two copies of the samples and the solutions.

    With many components a Krylov space has no room or does not converge: then the matrices of the full
    solver are added; where P must be expected to be ill-conditioned, those of a QR factorisation.
    """
    samples = 2 * n_samples * n_features
    solutions = 6 * n_samples * n_components
    full = 4 * 2 * (n_components + GUARD) * LEAST_BLOCKS > n_samples
    spared = may_spare and n_samples >= LEAST_ROWS and not full
    matrices = SAMPLE_SPACE_MATRICES if spared else EXACT_MATRICES
    matrices += FULL_SOLVER_MATRICES if full else 0
    if condition > LARGEST_CONDITION:
        matrices += QR_MATRICES
    return int(FLOAT * (matrices * n_samples**2 + samples + solutions))


def check_room(X: Any, n_components: int, n_classes: int, in_metric: bool, n_copies: int = 0) -> None:
    """Refuse an exact fit that the machine has no room for, before it starts.

    What counts is the least that it takes: that a QR factorisation will be needed is only guessed, and
    so is that a matrix may be spared where K itself is factorised.
    """
    n_samples, n_features = X.shape
    width = getattr(X, "nnz", n_samples * n_features) // n_samples  # a sparse row is short
    n_samples *= 1 + n_copies
    least = exact_memory(n_samples, width, n_components, condition=1.0)
    if in_metric:  # which makes rows dense
        least += MetricMemory(n_samples, n_features, n_classes).beside
    room = available_memory() if least > WORTH_ASKING else None
    if room is None or least <= room:
        return
    rule = "be given where all samples as centres take more memory than there is"
    got = f"{n_samples:,} samples of {n_features:,} features take {_gigabytes(least)}"
    cure = (
        f'{_gigabytes(room)} can be had. Take n_landmarks=3000, or "auto": memory then does not grow '
        "with the square of the number of samples."
    )
    raise MemoryError(f"`n_landmarks` must {rule}. Got None: {got}. {cure}")


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB"


@dataclass(frozen=True)
class MetricMemory:
    """Bytes of a metric: while it is learned, and beside a fit.

    ``n_rows`` is how many samples it is learned from at a time, all of them or a block.
    """

    n_rows: int
    n_features: int
    n_classes: int

    @property
    def _n_axes(self) -> int:
        return min(max(self.n_rows - self.n_classes, 0), self.n_features)

    @property
    def learning(self) -> int:
        """The samples less those of their class, and S_w with its axes, or its thinner half."""
        n, r = self.n_features, self._n_axes
        rows = METRIC_ROWS * self.n_rows * n
        return FLOAT * (rows + (METRIC_SQUARES * n**2 if n <= WIDE * r else METRIC_HALVES * n * r))

    @property
    def beside(self) -> int:
        """The axes, as they are and by their factors, and samples in the metric on their way there."""
        return int(FLOAT * (2 * self._n_axes + IN_METRIC * self.n_rows) * self.n_features)


def expected_condition(n_samples: int, mu1: float, mu2: float, sigma: float | None) -> float:
    """Condition number of P = K'SK + μ2 I, about: kernel values are exp(−1/σ²) at the median distance.

    S has μ1 11': the trace is μ1 Σ_j (Σ_i K_ij)² or so, and the smallest eigenvalue μ2.
    """
    typical = float(np.exp(-1.0 / (USUAL_SIGMA if sigma is None else sigma) ** 2))
    return 1.0 + mu1 * n_samples**3 * typical**2 / mu2


@dataclass(frozen=True)
class CenterMemory:
    """Bytes of a fit with m centres, beside the samples, at its stages.

    ``n_drawn`` samples are drawn to choose the centres from; ``searches`` says whether σ is to be found,
    ``is_complete`` whether all samples of a class are neighbours.
    """

    n_samples: int
    n_features: int
    n_components: int
    n_classes: int
    n_centers: int
    n_drawn: int
    searches: bool
    is_complete: bool
    itemsize: int = 4

    @property
    def peak(self) -> int:
        """Of the stage that takes most."""
        labels = FLOAT * LABELS * self.n_samples
        return int(labels + max(self.choice, self.subsamples, self.one_pass, self.embedding))

    @property
    def choice(self) -> float:
        """The samples that were drawn; those of a class as doubles and moved; the centres."""
        rows = min(self.n_samples, self.n_drawn)
        own = rows / self.n_classes
        moved = own * (FLOAT + 2 * self.itemsize) + 2 * FLOAT * self.n_centers
        return self.n_features * (rows * self.itemsize + moved)

    @property
    def subsamples(self) -> float:
        """The samples that were taken, and more of them while they are; or the problems they pose."""
        n, N = self.n_features, self.n_samples
        sizes = [min(N, most) for most in ((ROWS, THIN_ROWS) if self.searches else (ROWS,))]
        taken = self.itemsize * n * sum(sizes)
        centers = self.itemsize * n * self.n_centers
        u = min(sizes[0], UNIT_ROWS)
        moved = u * n * (self.itemsize + FLOAT) + FLOAT * u**2
        unit = max(moved, u * n * self.itemsize + MEDIAN_SQUARES * FLOAT * u**2)
        posed = self._problems(sizes) if self.searches else 0.0
        return centers + taken + max(taken if self.searches else 0.0, unit, posed)

    def _problems(self, sizes: list[int]) -> float:
        """What either takes while its rows are measured, or both with the solver of the larger one."""
        few = [self._few_centers(rows) for rows in sizes]
        pairs = list(zip(sizes, few, strict=True))
        measured = max(
            self.n_features * (rows * (self.itemsize + FLOAT) + m * FLOAT) + FLOAT * rows * m
            for rows, m in pairs
        )
        held = sum(self._problem(rows, m) for rows, m in pairs)
        search = SUBSAMPLE_TEMPORARIES * sizes[0] * few[0] + self._solver(few[0])
        # Of each the coefficients, the embedding, and the basis that the next one starts from.
        per_row, d = 2 * self.n_components + GUARD, self.n_components
        remembered = zip((DESCENDED, SCANNED), sizes, few, strict=True)
        solutions = sum(number * (rows * per_row + m * d) for number, rows, m in remembered)
        return max(measured, held + FLOAT * (search + solutions))

    def _problem(self, rows: int, m: int) -> float:
        """Weighted rows: distances, kernel, products; their centres, and a complete graph."""
        graph = rows**2 / self.n_classes if self.is_complete else 0.0
        products = SUBSAMPLE_ARRAYS * rows * m + SUBSAMPLE_PRODUCTS * m**2
        return FLOAT * (graph + products + self.n_features * m)

    def _few_centers(self, rows: int) -> int:
        least = min(self.n_centers, 4 * (self.n_classes + self.n_components))
        return min(self.n_centers, few_centers(self.n_centers, rows, self.n_samples, least))

    @property
    def one_pass(self) -> float:
        """B and P; of a block the samples, kernel values and as many more; or the solver.

        Beside it the kernel values of all samples, where they are kept.
        """
        rows, m, n = min(self.n_samples, BLOCK_ROWS), self.n_centers, self.n_features
        own = rows / self.n_classes
        graph = rows * own if self.is_complete else 0.0
        # Kernel values and a product of them; kept ones are counted there.
        kernel = ((1 if self._kept else 2) * rows + own) * m
        block = self.itemsize * (2 * rows * n + kernel + graph)
        solved = FLOAT * (self._solver(m) + CLASS_ARRAYS * self.n_classes * m)
        return 2 * self.itemsize * m * n + FLOAT * PENCIL * m**2 + self._kept + max(block, solved)

    @property
    def embedding(self) -> float:
        """The embedding while its signs are found, beside what is kept; or in the classifier as well."""
        values = self.n_samples * self.n_components
        copies = FLOAT + self.itemsize + (FLOAT if self.n_components <= TREE_COMPONENTS else 0)
        maps = self.n_features * self.n_centers * (FLOAT + 2 * self.itemsize)
        return maps + max(EMBEDDINGS * FLOAT * values + self._kept, copies * values)

    @property
    def _kept(self) -> int:
        return kept_bytes(self.n_samples, self.n_centers, self.itemsize)

    def _solver(self, m: int) -> float:
        """Values that the eigensolver takes: of squares, or of a Krylov space.

        With as many components as classes the spectrum has no cliff, and no Krylov space converges.
        """
        width = max(self.n_components, self.n_classes) + GUARD
        is_full = m <= max(FULL_UP_TO, width * LEAST_BLOCKS) or self.n_components >= self.n_classes
        return FULL_SOLVER * m**2 if is_full else KRYLOV_WIDTHS * width * m


def graph_memory(n_samples: int, n_features: int, n_centers: int, itemsize: int = 4) -> int:
    """Bytes that samples without a label add to a fit with centres.

    All rows as they are measured; a panel of distances with the order of each; one more m × m sum.
    """
    rows = itemsize * n_samples * n_features
    panel = (2 * itemsize + 2 * FLOAT) * GRAPH_PANEL * n_samples
    return int(rows + panel + 2 * FLOAT * n_centers**2)
