"""Whether color tells classes apart that grey does not: asked of some images, for a hint."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse.datasets._images import Floats, area_average, import_pillow, read_levels, upright
from nsse.datasets._inputs import Inputs

# Images looked at, and the side to which they are brought: a hint must not take long.
MOST, SIDE = 200, 16
# Beyond so many standard deviations of chance, one of two is better.
DEVIATIONS = 3.0
_IN_COLOR = ("P", "RGB", "RGBA", "CMYK")
_GREY = np.array([0.299, 0.587, 0.114])  # ITU-R 601


@dataclass(frozen=True)
class ColorGain:
    """Shares of images whose nearest neighbour among the others is of another class.

    Attributes
    ----------
    grey_error, color_error : float
        Of images made grey, and as they are.

    See Also
    --------
    nsse.datasets.color_gain : Measures it.

    Examples
    --------
    >>> from nsse.datasets import ColorGain
    >>> gain = ColorGain(grey_error=0.4, color_error=0.1)
    >>> gain.color_error < gain.grey_error
    True
    """

    grey_error: float
    color_error: float


def color_gain(path: str | os.PathLike[str], inputs: Inputs) -> ColorGain | None:
    """Errors of the nearest neighbour in grey and in color, where color is clearly better.

    Parameters
    ----------
    path : str or path-like
        A folder of images.
    inputs : Inputs
        What `load_inputs` made of it, in grey.

    Returns
    -------
    ColorGain or None
        Of some images; None where they have no color, or where it does not help.

    See Also
    --------
    nsse.datasets.load_inputs : With ``color=True`` it keeps the color.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nsse.datasets import color_gain, load_dataset, load_inputs, write_images
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_images(load_dataset("digits"), range(40), Path(folder))
    ...     color_gain(folder, load_inputs(folder)) is None  # they are grey
    True
    """
    files = [Path(path) / name for name in inputs.names or ()]
    # A name that is no UTF-8 is not the one that it has on disk.
    chosen = [place for place in _some_of_each(np.asarray(inputs.y)) if files[place].is_file()]
    if not any(_may_have_color(files[place]) for place in chosen):
        return None
    X, y = np.stack([_small(files[place]) for place in chosen]), np.asarray(inputs.y)[chosen]
    unit_norm = bool(inputs.preparation["unit_norm"])
    in_grey, in_color = (_is_wrong(levels, y, unit_norm) for levels in (X @ _GREY, X))
    # Where they disagree, either is right with probability one half if neither is better (McNemar).
    won, lost = int(np.sum(in_grey & ~in_color)), int(np.sum(in_color & ~in_grey))
    if won - lost <= DEVIATIONS * np.sqrt(won + lost):
        return None
    return ColorGain(float(in_grey.mean()), float(in_color.mean()))


def _some_of_each(y: NDArray[Any]) -> list[int]:
    """Places of up to `MOST` samples, spread over every class."""
    classes, codes = np.unique(y, return_inverse=True)
    most = max(2, MOST // len(classes))
    places = [np.flatnonzero(codes == code) for code in range(len(classes))]
    spread = [own[np.unique(np.linspace(0, len(own) - 1, most).astype(int))] for own in places]
    return [int(place) for own in spread for place in own]


def _may_have_color(path: Path) -> bool:
    with import_pillow().open(path) as image:
        return image.mode in _IN_COLOR


def _small(path: Path) -> Floats:
    pillow = import_pillow()
    with path.open("rb") as stream, pillow.open(stream) as image:
        if image.mode in _IN_COLOR:
            image.draft(None, (2 * SIDE, 2 * SIDE))  # JPEG is decoded no finer than that
            small = upright(image).convert("RGB").resize((SIDE, SIDE), pillow.Resampling.BOX)
            return np.asarray(small, dtype=np.float64) / 255.0
    return area_average(read_levels(path, color=True), (SIDE, SIDE))


def _is_wrong(images: Floats, y: NDArray[Any], unit_norm: bool) -> NDArray[np.bool_]:
    """Whether the nearest of the other images is of another class."""
    X = images.reshape(len(images), -1)
    if unit_norm:
        X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(float).tiny)
    squares = np.einsum("ij,ij->i", X, X)
    D2 = squares[:, np.newaxis] + squares - 2.0 * (X @ X.T)
    np.fill_diagonal(D2, np.inf)
    return np.asarray(y[D2.argmin(axis=1)] != y)
