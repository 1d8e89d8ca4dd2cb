"""The mislabelled samples of a view: a letter beside each, and their images in a row."""

from __future__ import annotations

from string import ascii_lowercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse.report.page import place_axes, write
from nsse.report.palette import INK, PAPER
from nsse.report.polygon import Points, PolygonView

MOST_SHOWN = 16
_LETTER_DISTANCE = 0.075  # from its ring, in radii of the polygon
_PITCH, _IMAGE = 0.7, 0.46  # inches
_BOLD: dict[str, Any] = {"fontsize": 9.5, "weight": "bold", "color": INK}


def letter_mistakes(axes: Any, view: PolygonView) -> None:
    """Write a, b, c, … beside the rings, in the order of the samples."""
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2.2, foreground=PAPER)]
    places = _letter_places(view.test[view.wrong], min(MOST_SHOWN, view.wrong.size))
    style = _BOLD | {"ha": "center", "va": "center", "path_effects": halo, "clip_on": True, "zorder": 7}
    for letter, place in zip(ascii_lowercase, places, strict=False):
        axes.text(*place, letter, **style)


def _letter_places(rings: Points, n_letters: int) -> Points:
    """For one ring after the other, the side farthest from all rings and from earlier letters."""
    turns = 2 * np.pi * np.arange(12) / 12
    sides = _LETTER_DISTANCE * np.column_stack([np.cos(turns), np.sin(turns)])
    taken = rings
    for ring in rings[:n_letters]:
        candidates = ring + sides
        gaps = np.linalg.norm(candidates[:, np.newaxis] - taken, axis=2).min(axis=1)
        taken = np.vstack([taken, candidates[np.argmax(gaps)]])
    return taken[len(rings) :]


def draw_mistakes(
    figure: Any, view: PolygonView, images: NDArray[Any], left: float, bottom: float
) -> None:
    """Show the mislabelled samples as images, each beside its letter, with true and predicted label."""
    shown = view.wrong[:MOST_SHOWN]
    heading = _heading(len(shown), view.wrong.size)
    write(figure, left, bottom + 0.9, heading, **_BOLD | {"fontsize": 10})
    for place, (letter, index) in enumerate(zip(ascii_lowercase, shown, strict=False)):
        axes = place_axes(figure, left + _PITCH * place + 0.16, bottom + 0.28, _IMAGE, _IMAGE)
        axes.imshow(images[index], cmap="gray_r", interpolation="nearest")
        axes.text(-0.1, 1, letter, transform=axes.transAxes, ha="right", va="top", **_BOLD)
        axes.set_xlabel(_arrow(view, index), fontsize=9, color=INK, labelpad=3, parse_math=False)


def _heading(n_shown: int, total: int) -> str:
    if total == 1:
        return "The one mislabelled, true → predicted"
    which = f"The {total}" if n_shown == total else f"{n_shown} of the {total}"
    return f"{which} mislabelled, true → predicted"


def _arrow(view: PolygonView, index: int) -> str:
    assert view.predicted_codes is not None  # or nothing would be wrong
    return f"{view.classes[view.test_codes[index]]} → {view.classes[view.predicted_codes[index]]}"
