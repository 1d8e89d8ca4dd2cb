"""Kernel rows of the pass, kept for the embedding of the samples while there is room for them.

The embedding is Y = KC, and C is known when the pass is over: without K, all distances are computed
again. In single precision N m values often fit in memory; where they do not, or lie on a cluster, the
samples are mapped once more. They are kept of a limited number of samples per centre, so that memory is
O(m²) whatever N.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._threads import in_parallel
from nsse.landmarks.moments import PANEL, Terms
from nsse.landmarks.sources import RowSource

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# Most samples per centre: eight times the memory of the two m × m matrices.
KEPT_PER_CENTER = 32
# And most memory: that of 60,000 samples with 4400 centres.
KEPT_BYTES = 2**30


class KeptRows:
    """The rows K̂ of all blocks so far: those of K less the reference of their class, sorted by it."""

    def __init__(self, references: Floats) -> None:
        self._references = references
        self._blocks: list[tuple[Ints, Ints, NDArray[Any]]] = []

    @classmethod
    def where_they_fit(cls, source: RowSource, terms: Terms) -> KeptRows | None:
        """A place for the rows of a source, or None."""
        precision = terms.kernel.precision
        needed = kept_bytes(source.shape[0], terms.kernel.n_centers, precision.itemsize)
        # In double precision the embedding is what the fitted model makes of the samples, to the bit.
        fits = source.is_local and precision == np.float32 and needed > 0
        return cls(terms.references) if fits else None

    def keep(self, order: Ints, codes: Ints, K: NDArray[Any]) -> None:
        """Take the rows of the next block."""
        self._blocks.append((order, codes, K))

    def embedded(self, coef: Floats) -> Floats:
        """KC = K̂C + (reference of the class) C for all samples, in the order in which they came."""
        return np.concatenate([self._embedded(block, coef) for block in self._blocks])

    def _embedded(self, block: tuple[Ints, Ints, NDArray[Any]], coef: Floats) -> Floats:
        order, codes, K = block
        single, references = coef.astype(K.dtype), self._references @ coef
        Y = np.empty((len(K), coef.shape[1]))

        def fill(start: int) -> None:
            part = slice(start, start + PANEL)
            Y[order[part]] = K[part] @ single + references[codes[part]]

        in_parallel(fill, range(0, len(K), PANEL), K.size)
        return Y


def kept_bytes(n_samples: int, n_centers: int, itemsize: int) -> int:
    """Bytes of the rows that are kept: all of them, or none."""
    needed = n_samples * n_centers * itemsize
    fits = n_samples <= KEPT_PER_CENTER * n_centers and needed <= KEPT_BYTES
    return needed if fits else 0
