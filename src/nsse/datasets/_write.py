"""A data set as a folder of PNG files, one sub-folder per class."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._support.errors import rule_error
from nsse.datasets._images import import_pillow
from nsse.datasets._load import Dataset


def per_class_split(
    y: NDArray[Any], n_per_class: int, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Places of as many training samples of every class, drawn at random, and of the others.

    See Also
    --------
    nsse.datasets.write_images : Writes both as folders.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.datasets import per_class_split
    >>> train, test = per_class_split(np.repeat([0, 1], 5), 2, seed=0)
    >>> len(train), len(test)
    (4, 6)
    """
    classes, codes, sizes = np.unique(y, return_inverse=True, return_counts=True)
    if n_per_class >= sizes.min():
        got = f"{n_per_class} of class {classes[sizes.argmin()]}, which has {sizes.min()} samples"
        rule = "be smaller than the number of samples of every class"
        raise rule_error("n_per_class", rule, got, "Take fewer.")
    # One random priority per sample, drawn without looking at the labels: names cannot matter.
    priority = np.random.default_rng(seed).permutation(len(codes))
    order = np.lexsort((priority, codes))
    rank_in_class = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    chosen = np.zeros(len(codes), dtype=bool)
    chosen[order] = rank_in_class < n_per_class
    return np.flatnonzero(chosen), np.flatnonzero(~chosen)


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
    >>> write_images(load_dataset("digits"), range(3), Path("pictures"))
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
