"""How much memory a fit will take, said in advance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# Bytes of a float64.
FLOAT = 8
# N × N arrays that an exact fit holds at its peak: D2, K, SK, P, and one for temporaries of their size.
EXACT_MATRICES = 5
# The same of a sweep, beside one per neighbour graph: D2, K, SK, P, K J K.
SWEEP_MATRICES = 5
# Nodes of the σ grid that a curve visits, about.
NODES = 25


def exact_memory(n_samples: int, n_features: int, n_components: int) -> int:
    """Bytes of an exact fit: N × N arrays, two copies of the samples and the solutions."""
    samples = 2 * n_samples * n_features
    solutions = 20 * n_samples * n_components
    return FLOAT * (EXACT_MATRICES * n_samples**2 + samples + solutions)


def sweep_memory(n_samples: int, points: Sequence[dict[str, Any]], n_classes: int) -> int:
    """Bytes of one worker that scores the points of a grid on a split of the samples.

    N × N arrays: two more while the distances of the split are cut out, and one per graph. Beside them
    the embeddings of all samples at the nodes of the σ grid, for every set of weights.
    """
    graphs = {_graph(point) for point in points}
    weights = {
        tuple(point.get(name) for name in ("n_neighbors", "beta", "mu1", "mu2")) for point in points
    }
    sizes = [point.get("n_components") or n_classes - 1 for point in points]
    embeddings = NODES * len(weights) * n_samples * (max(sizes) + 4)
    return FLOAT * ((SWEEP_MATRICES + 2 + len(graphs)) * n_samples**2 + embeddings)


def _graph(point: dict[str, Any]) -> tuple[Any, Any]:
    return point.get("n_neighbors"), point.get("beta")
