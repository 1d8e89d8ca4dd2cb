"""What may be done to a sample without changing its class: transformed copies of rows, block by block.

- ``images``: pictures that are shifted, turned, zoomed, mirrored, brighter or darker.
- ``sets``: these by name, and which of them to try.
- ``vectors``: signals that are shifted, and numbers that are known up to noise.
- ``copies``: what any of them, or a function of your own, makes of a set of samples.

A copy depends on its sample alone, so that rows may come in any blocks.
"""

from nsse.invariances.base import Invariance
from nsse.invariances.copies import (
    Enlarged,
    check_invariances,
    copied_type,
    copy_names,
    enlarged,
    n_copies_of,
    refuse_sparse,
)
from nsse.invariances.images import Images
from nsse.invariances.sets import named_images, names_of, usual_sets
from nsse.invariances.vectors import Noise, Signals

__all__ = [
    "Enlarged",
    "Images",
    "Invariance",
    "Noise",
    "Signals",
    "check_invariances",
    "copied_type",
    "copy_names",
    "enlarged",
    "n_copies_of",
    "named_images",
    "names_of",
    "refuse_sparse",
    "usual_sets",
]
