"""A data set as a folder of PNG files, one sub-folder per class."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nsse.datasets._images import import_pillow
from nsse.datasets._load import Dataset


def write_images(dataset: Dataset, samples: Sequence[int], folder: Path) -> int:
    """Write some samples as ``<class>/<number within the class>.png``, 256 grey levels; their number.

    The data set is one loaded without unit norms. Existing files are not looked at: the caller gives a
    folder that is new.

    See Also
    --------
    nsse.datasets.load_image_folder : Reads such a folder.

    Examples
    --------
    >>> from pathlib import Path
    >>> from nsse.datasets import load_dataset, write_images
    >>> write_images(load_dataset("objects"), range(3), Path("pictures"))
    3
    """
    pillow = import_pillow()
    classes, codes = np.unique(dataset.y, return_inverse=True)
    names = dataset.class_names or tuple(str(label) for label in classes.tolist())
    order = np.empty(len(codes), dtype=int)
    for code in range(len(classes)):
        members = np.flatnonzero(codes == code)
        order[members] = np.arange(len(members))
    for sample in samples:
        home = folder / names[codes[sample]]
        home.mkdir(parents=True, exist_ok=True)
        levels = np.rint(255 * dataset.X[sample].reshape(dataset.image_shape)).astype(np.uint8)
        pillow.fromarray(levels).save(home / f"{order[sample]:04d}.png")
    return len(samples)
