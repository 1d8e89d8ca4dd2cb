"""Colours of classes, told apart by people with and without colour-blindness.

The ten hues are Petroff's (arXiv:2107.02270), found by optimising distances under simulated
deuteranopia, protanopia and tritanopia; in this order light and dark alternate, so neighbours on a
polygon differ in grey as well. Beyond ten no palette is safe: figures name classes directly, too.
"""

from __future__ import annotations

INK = "#22262b"
PAPER = "#ffffff"
FAINT = "#d5d9de"
MUTED_INK = "#6b737d"

HUES = (
    "#3f90da",
    "#ffa90e",
    "#bd1f01",
    "#94a4a2",
    "#832db6",
    "#a96b59",
    "#e76300",
    "#b9ac70",
    "#717581",
    "#92dadd",
)


def class_colors(n_classes: int) -> list[str]:
    """Give every class its own colour, as ``#rrggbb``.

    The first ten are Petroff's; further ones are mixes of these with ever more ink.

    Parameters
    ----------
    n_classes : int
        Number of classes.

    Returns
    -------
    list of str
        All different.

    See Also
    --------
    nsse.plot.embedding : Takes its colours from here.

    Examples
    --------
    >>> from nsse.report import class_colors
    >>> len(class_colors(40))
    40
    """
    rounds = -(-n_classes // len(HUES))
    return [_mix(hue, INK, turn / rounds) for turn in range(rounds) for hue in HUES][:n_classes]


def ink_on(color: str) -> str:
    """Text colour, dark or white, that reads better on `color`."""
    return INK if _contrast(color, INK) >= _contrast(color, PAPER) else PAPER


def relative_luminance(color: str) -> float:
    """Luminance between 0 (black) and 1 (white), as WCAG 2 defines it."""
    red, green, blue = (_linear(channel / 255) for channel in _channels(color))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(first: str, second: str) -> float:
    dark, light = sorted((relative_luminance(first), relative_luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def _mix(color: str, other: str, share: float) -> str:
    pairs = zip(_channels(color), _channels(other), strict=True)
    return "#" + "".join(f"{round((1 - share) * one + share * two):02x}" for one, two in pairs)


def _channels(color: str) -> tuple[int, int, int]:
    red, green, blue = bytes.fromhex(color.removeprefix("#"))
    return red, green, blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)
