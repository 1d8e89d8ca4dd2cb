"""How much memory a fit will take, said in advance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nsse.scaling import BLOCK_ROWS, CENTERS, CLUSTERED, ROWS, THIN_ROWS, kept_bytes
from nsse.solvers.krylov import GUARD, LEAST_BLOCKS

# Bytes of a float64.
FLOAT = 8
# N × N arrays that an exact fit holds at its peak: D2, K, SK, P, and one for temporaries of their size.
EXACT_MATRICES = 5
# What the full eigensolver adds.
FULL_SOLVER_MATRICES = 2.5
# The same of a sweep, beside one per neighbour graph: D2, K, SK, P, K J K, and three for temporaries.
SWEEP_MATRICES = 8
# Copies of the embedding of all samples: as computed, with signs, and in the classifier.
EMBEDDINGS = 3
# Nodes of the σ grid that a curve visits, about.
NODES = 25


def exact_memory(n_samples: int, n_features: int, n_components: int) -> int:
    """Bytes of an exact fit: N × N arrays, two copies of the samples and the solutions.

    With many components a Krylov space has no room or does not converge: then the matrices of the full
    solver are added.
    """
    samples = 2 * n_samples * n_features
    solutions = 6 * n_samples * n_components
    full = 4 * 2 * (n_components + GUARD) * LEAST_BLOCKS > n_samples
    matrices = EXACT_MATRICES + (FULL_SOLVER_MATRICES if full else 0)
    return int(FLOAT * (matrices * n_samples**2 + samples + solutions))


def center_memory(
    n_samples: int, n_features: int, n_components: int, n_centers: int, searches: bool, itemsize: int = 4
) -> int:
    """Bytes of a fit with m centres, beside the samples; ``searches`` says whether σ is to be found.

    Two m × m matrices in double precision; of a block of rows the samples, their kernel values and as
    many more; or, if that is more, the subsamples on which σ is found, or the samples among which
    clusters are looked for; the kernel values of all samples, where they are kept; and the embedding,
    which the classifier holds as well.
    """
    rows, m = min(n_samples, BLOCK_ROWS), n_centers
    matrices = FLOAT * 2 * m**2
    kept = kept_bytes(n_samples, m, itemsize)
    # Its kernel values and a product of them; kept ones are counted there.
    block = rows * (2 * n_features + (1 if kept else 2) * m) * itemsize
    drawn = (ROWS, THIN_ROWS) if searches else (ROWS,)
    subsamples = sum(_subsample(n_samples, n_features, m, most) for most in drawn)
    clusters = itemsize * n_features * min(n_samples, 2 * CLUSTERED * m)
    embedding = n_samples * n_components * FLOAT * EMBEDDINGS
    centers = m * n_features * (FLOAT + itemsize)
    return max(matrices + block + kept, subsamples, clusters) + centers + embedding


def _subsample(n_samples: int, n_features: int, n_centers: int, most_rows: int) -> int:
    n_rows = min(n_samples, most_rows)
    some = min(n_centers, max(CENTERS[0], min(CENTERS[1], n_centers * n_rows // max(n_samples, 1))))
    return FLOAT * (n_rows * (2 * n_features + 5 * some) + 4 * some**2)


def sweep_memory(n_samples: int, points: Sequence[dict[str, Any]], n_classes: int) -> int:
    """Bytes of one worker that scores the points of a grid on a split with so many training samples.

    Beside N × N arrays, one more per graph, it holds the embeddings of all samples at the nodes of the
    σ grid, for every set of weights.
    """
    graphs = {_graph(point) for point in points}
    weights = {
        tuple(point.get(name) for name in ("n_neighbors", "beta", "mu1", "mu2")) for point in points
    }
    sizes = [point.get("n_components") or n_classes - 1 for point in points]
    embeddings = NODES * len(weights) * n_samples * (max(sizes) + 4)
    return FLOAT * ((SWEEP_MATRICES + len(graphs)) * n_samples**2 + embeddings)


def _graph(point: dict[str, Any]) -> tuple[Any, Any]:
    return point.get("n_neighbors"), point.get("beta")
