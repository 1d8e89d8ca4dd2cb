"""What a map loses when it is computed in float32, measured on the map itself.

f sums kernel values with coefficients of both signs. Where these are large, what is left of the sum is
small beside its terms, and so is the number of digits: the more so the wider the kernel.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nsse.exports.operations import Graph, InNumpy, LinearGraph

Floats = NDArray[np.float64]

# Largest error that passes without a warning, beside the largest coordinate.
LARGEST_LOSS = 1e-4
# Centres at which the loss is measured.
MEASURED = 256


class PrecisionWarning(UserWarning):
    """A graph in float32 departs visibly from the model it was made of.

    See Also
    --------
    nsse.to_onnx : Raises it; float64 is the cure.

    Examples
    --------
    >>> import warnings
    >>> from nsse.exports import PrecisionWarning
    >>> warnings.simplefilter("ignore", PrecisionWarning)  # where labels are all that counts
    """


def float32_loss(graph: Graph, samples: Floats) -> float:
    """Largest error of the graph in float32 over the samples, beside the largest coordinate.

    The rounding of the samples counts: far from the origin they themselves lose digits.
    """
    exact = graph.write(InNumpy(np.float64), samples)
    loss = np.abs(graph.write(InNumpy(np.float32), samples.astype(np.float32)) - exact).max()
    return float(loss / max(np.abs(exact).max(), np.finfo(np.float64).tiny))


def probes(graph: Graph) -> Floats:
    """Where the loss is measured: some centres, where f is largest, and points half-way between them."""
    if isinstance(graph, LinearGraph):
        # Unit steps from the mean along every component.
        steps = graph.components / np.linalg.norm(graph.components, axis=1, keepdims=True)
        return graph.mean + steps
    N, samples = len(graph.centers), graph.samples
    some = samples[np.unique(np.linspace(0, N - 1, min(N, MEASURED)).astype(int))]
    return np.vstack([some, (some[1:] + some[:-1]) / 2.0])


def warn_if_lossy(graphs: Sequence[Graph], name: str) -> None:
    """Warn where float32 is not enough, with the loss that was measured; of several maps the largest."""
    loss = max(float32_loss(graph, probes(graph)) for graph in graphs)
    if loss > LARGEST_LOSS:
        which = "the map of" if len(graphs) == 1 else f"one of the {len(graphs)} maps that vote in"
        warnings.warn(
            f"In float32 {which} this {name} is off by {loss:.1e} of its largest coordinate, as "
            f"measured on its own samples; {LARGEST_LOSS:.0e} passes. Export it with dtype=np.float64.",
            PrecisionWarning,
            stacklevel=2,
        )
