"""Choose colors of classes that people with color blindness can distinguish, too.

Petroff (arXiv:2107.02270) found these ten hues by optimizing distances under simulated deuteranopia,
protanopia and tritanopia. Light and dark hues alternate, so neighbors on a polygon also differ in gray.
More than ten colors are hard to distinguish, so figures also name the classes, and every ten classes
have another mark.
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
# Marks of the first ten classes, of the next ten, and so on, as matplotlib calls them.
SHAPES, HUES_PER_SHAPE = "os^DvP", 10


def class_colors(n_classes: int) -> list[str]:
    """Return a different color for every class, as ``#rrggbb``.

    The first ten are the hues. Further ones are mixes of these with ever more ink.
    """
    rounds = -(-n_classes // len(HUES))
    return [_mix(hue, INK, turn / rounds) for turn in range(rounds) for hue in HUES][:n_classes]


# The hues of charts without classes.
BLUE, ORANGE, RED = HUES[:3]


def ink_on(color: str) -> str:
    """Return the text color, dark or white, that has more contrast with ``color``."""
    return INK if _contrast(color, INK) >= _contrast(color, PAPER) else PAPER


def relative_luminance(color: str) -> float:
    """Return the luminance between 0 (black) and 1 (white) as WCAG 2 defines it."""
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
