"""The first picture of a reproduction: the errors of every cell, as SVG.

Drawn by hand, narrow enough for a telephone, in colours of a light and of a dark page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import sqrt
from pathlib import Path
from typing import Any

from reproduction.paper.settings import SMOOTH_COPIED, SMOOTH_CV, SVM_COPIED, VOTE

# Places in a drawing of so many units across: names of cells, the errors, the name of the best other.
WIDTH, LEFT, RIGHT = 420, 64, 312
TOP, ROW, GROUP, BOTTOM = 62, 20, 26, 34
TICKS = (0, 1, 2, 5, 10, 20, 30, 50, 100)

# Series, in the order in which marks are drawn: what the legend calls it and where; its class of style.
SERIES = {
    "printed": ("NSSE as printed", (8, 12), "printed"),
    "best other": ("best other method", (8, 31), "best"),
    SVM_COPIED: (SVM_COPIED, (294, 31), "svm"),
    VOTE: ("NSSE 0.2", (140, 31), "own"),
    SMOOTH_COPIED: ("the same + copies", (294, 12), "copies"),
    SMOOTH_CV: (SMOOTH_CV, (140, 12), "smooth"),
}
IN_LEGEND = ("printed", SMOOTH_CV, SMOOTH_COPIED, "best other", VOTE, SVM_COPIED)
STYLE = Path(__file__).with_name("picture.css").read_text(encoding="utf-8")

Mark = Mapping[str, Any]


def cells_picture(marks: Sequence[Mark], titles: Mapping[str, str]) -> str:
    """Cells one below the other, by data set; errors across, on a scale of square roots.

    Parameters
    ----------
    marks : sequence of mappings
        With ``dataset``, ``n_train``, ``series`` (of `SERIES`), ``method``, ``error`` in per cent,
        ``stderr`` and ``repeats``, which may be empty.
    titles : mapping of str to str
        What data sets are called.

    Returns
    -------
    str
        An ``svg`` element that brings its style.
    """
    places: dict[str, dict[Any, list[Mark]]] = {}
    for mark in marks:
        places.setdefault(mark["dataset"], {}).setdefault(mark["n_train"], []).append(mark)
    largest = max((float(mark["error"]) for mark in marks), default=1.0)
    ticks = [tick for tick in TICKS if tick <= largest] + [t for t in TICKS if t > largest][:1]
    body, y = [], float(TOP)
    for dataset, cells in places.items():
        body.append(_text(4, y, titles[dataset], "title"))
        y += GROUP - ROW / 2
        for n_train, own in cells.items():
            body += _cell(n_train, own, y, ticks[-1])
            y += ROW
        y += GROUP - ROW
    height = y + BOTTOM
    there = {mark["series"] for mark in marks}
    named = ", ".join(told for name, (told, *_) in SERIES.items() if name in there)
    frame = [*_axis(ticks, y), *_legend(there)]
    label = escape(f"Test errors in per cent of every cell: {named}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="cells" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'role="img" aria-label="{label}"><style>{STYLE}</style>{"".join([*frame, *body])}</svg>'
    )


def _cell(n_train: Any, marks: Sequence[Mark], y: float, largest: float) -> Iterator[str]:
    """One line: its size, its marks, and who the best other is."""
    xs = [_across(float(mark["error"]), largest) for mark in marks]
    yield _text(LEFT - 10, y + 4, f"{n_train} each", "muted", "end")
    yield f'<line x1="{min(xs):.1f}" x2="{max(xs):.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
    order = list(SERIES)
    for mark in sorted(marks, key=lambda mark: order.index(mark["series"])):
        x = _across(float(mark["error"]), largest)
        yield _shape(mark["series"], x, y, _told(mark))
        if mark["series"] == "best other":
            yield _text(RIGHT + 12, y + 4, mark["method"], "muted")


def _told(mark: Mark) -> str:
    spread = f" ± {float(mark['stderr']):.2f}" if mark["stderr"] else ""
    repeats = f", {mark['repeats']} realisations" if mark["repeats"] else ", as printed"
    return f"{mark['method']}: {float(mark['error']):.2f}{spread} %{repeats}"


def _shape(series: str, x: float, y: float, told: str) -> str:
    inside = f'class="{SERIES[series][2]}"><title>{escape(told)}</title>'
    if series in ("printed", VOTE, SMOOTH_CV):
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.2" {inside}</circle>'
    if series == "best other":
        return f'<rect x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7" {inside}</rect>'
    corners = f"{x - 5:.1f},{y:.1f} {x:.1f},{y - 5:.1f} {x + 5:.1f},{y:.1f} {x:.1f},{y + 5:.1f}"
    return f'<polygon points="{corners}" {inside}</polygon>'


def _axis(ticks: Sequence[float], bottom: float) -> Iterator[str]:
    for tick in ticks:
        x = _across(tick, ticks[-1])
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 14}" y2="{bottom - 8:.1f}"/>'
        yield _text(x, bottom + 6, f"{tick:g}", "muted", "middle")
    yield _text((LEFT + RIGHT) / 2, bottom + 24, "test error, % (square-root scale)", "muted", "middle")
    yield _text(RIGHT + 12, TOP - 10, "best other:", "muted")


def _legend(series: set[str]) -> Iterator[str]:
    for name in (name for name in IN_LEGEND if name in series):
        told, (x, y), _ = SERIES[name]
        yield _shape(name, x, y - 4, told)
        yield _text(x + 9, y, told)


def _across(error: float, largest: float) -> float:
    """Small errors are told apart, and none at all has a place."""
    return LEFT + (RIGHT - LEFT) * sqrt(error / largest)


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>'
