"""The page of the benchmark of maps, in Markdown. Every number is made of the rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from reproduction.maps import panels
from reproduction.maps.methods import CLASS_MAP, LEFT_OUT, REFERENCES
from reproduction.maps.reading import (
    FLAT,
    FULL,
    MEASURES,
    Ranking,
    frame_of,
    n_rows,
    rankings,
    reference_accuracies,
)
from reproduction.rows import Row, markdown, write_text
from reproduction.study import drawing

HERE = Path(__file__).resolve().parent
BASES = ("SmoothEmbeddingCV", "SmoothEmbedding")
OURS = tuple(base + kind + part for base in BASES for kind in ("", CLASS_MAP) for part in ("", LEFT_OUT))
N_BEST = 3
TITLES = {FLAT: "Two coordinates", FULL: "One coordinate less than classes"}


def publish(rows: Sequence[Row], page: Path, out: Path) -> None:
    """Write the page of some rows, and the figure of the positions that are stored in ``out``."""
    if not rows:
        raise ValueError("`--out` must hold rows. Got none. Run the command without --page first.")
    write_text(page, text_of(rows))
    drawn = panels.figure_of(panels.stored_positions(out / "panels.csv"))
    drawing.save(drawn, page.parent / "images" / "maps_panels.png")
    print(f"Page: {page}")


def text_of(rows: Sequence[Row]) -> str:
    """Return the page in Markdown."""
    frame = frame_of(rows)
    counts = n_rows(frame)
    found = {dimension: rankings(frame, dimension) for dimension in TITLES}
    found = {dimension: part for dimension, part in found.items() if part["accuracy"].n_sets}
    return (
        (HERE / "maps.md")
        .read_text(encoding="utf-8")
        .format(
            n_experiments=counts["experiments"],
            n_sets=counts["sets"],
            n_splits=counts["splits"],
            rows=len(rows),
            table="\n\n".join(f"### {TITLES[d]}\n\n{best_table(part)}" for d, part in found.items()),
            shown_size=panels.SIZE,
            references=reference_table(frame),
            every="\n\n".join(f"### {TITLES[d]}\n\n{every_table(part)}" for d, part in found.items()),
            meanings="\n".join(
                f"| `{one.name}` | {one.meaning} | {'larger' if one.is_larger_better else 'smaller'} |"
                for one in MEASURES
            ),
        )
    )


def best_table(found: Mapping[str, Ranking]) -> str:
    """Return the three best methods by every measure, and the best of ours if it is not among them."""
    lines = []
    for name, own in found.items():
        if own.n_sets:
            best = [_cell(own, one) for one in own.ranks.index[:N_BEST]]
            ours = next((place for place, one in enumerate(own.ranks.index) if one in OURS), None)
            told = "" if ours is None or ours < N_BEST else f"{_cell(own, own.ranks.index[ours])}"
            place = "" if ours is None else f"{ours + 1} of {len(own.ranks)}"
            cells = [*best, *[""] * (N_BEST - len(best)), told, place]
            lines.append([f"`{name}`", *cells, f"{own.difference:.1f}", str(own.n_sets)])
    head = ["measure", "best", "second", "third", "best of ours", "its place", "CD", "data sets"]
    return markdown(head, lines)


def _cell(own: Ranking, name: str) -> str:
    shown = f"**{name}**" if name in OURS else name
    return f"{shown} {own.ranks[name]:.1f}"


def every_table(found: Mapping[str, Ranking]) -> str:
    """Return mean ranks and values of all maps by all measures."""
    measured = {name: own for name, own in found.items() if own.n_sets}
    order = list(found["accuracy"].ranks.index)
    lines = [
        [f"**{one}**" if one in OURS else one, *(_rank_and_value(own, one) for own in measured.values())]
        for one in order
    ]
    lines.append(["*critical difference*", *(f"{own.difference:.1f}" for own in measured.values())])
    return markdown(["map", *measured], lines)


def _rank_and_value(own: Ranking, name: str) -> str:
    return f"{own.ranks[name]:.1f} ({own.values[name]:.2g})" if name in own.ranks.index else ""


def reference_table(frame: pd.DataFrame) -> str:
    """Return the mean accuracies of classifiers of all features and of the maps in the plane."""
    names = list(dict.fromkeys([*REFERENCES, *_maps_of(frame)]))
    means = reference_accuracies(frame, names).sort_values(ascending=False)
    told = [[f"**{one}**" if one in OURS else one, f"{value:.3f}"] for one, value in means.items()]
    return markdown(["two coordinates, or all features", "mean accuracy"], told)


def _maps_of(frame: pd.DataFrame) -> Iterable[str]:
    return (name for name in frame["map"] if not name.endswith(LEFT_OUT))
