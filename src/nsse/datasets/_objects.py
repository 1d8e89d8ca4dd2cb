"""``objects``: twenty rendered solids on a turning table, a COIL-20 that needs no download."""

from __future__ import annotations

import numpy as np

from nsse.datasets._images import ImageSet, Size, area_average
from nsse.datasets._places import DataHome
from nsse.datasets._solids import picture, solids

N_VIEWS = 72  # every 5 degrees, as in COIL-20
N_PIXELS = 64


def read_objects(_data_home: DataHome, size: Size) -> ImageSet:
    """Render every view of every solid, by solid and then by angle; labels 1 ... 20."""
    named = solids()
    degrees = 360.0 / N_VIEWS * np.arange(N_VIEWS)
    images = [
        picture(solid, np.deg2rad(angle), N_PIXELS) for solid in named.values() for angle in degrees
    ]
    return ImageSet(
        images=np.stack(images if size is None else [area_average(image, size) for image in images]),
        y=np.repeat(np.arange(1, len(named) + 1, dtype=np.int64), N_VIEWS),
        files=[f"objects, {name} at {angle:g} degrees" for name in named for angle in degrees],
        source="twenty solids rendered by nsse.datasets",
        class_names=tuple(named),
    )
