"""The page of the benchmark of maps, in Markdown. Every number is made of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from reproduction.maps import panels
from reproduction.maps.methods import CLASS_MAP, LEFT_OUT, REFERENCES
from reproduction.maps.reading import (
    MEASURES,
    Ranking,
    complete,
    frame_of,
    rankings,
    reference_accuracies,
    splits_of,
)
from reproduction.rows import Row, markdown, write_text
from reproduction.study import drawing

HERE = Path(__file__).resolve().parent
BASES = ("SmoothEmbeddingCV", "SmoothEmbedding")
OURS = tuple(base + kind + part for base in BASES for kind in ("", CLASS_MAP) for part in ("", LEFT_OUT))
N_BEST = 3
MANY = "The column *accuracy, C − 1* is for maps with one coordinate less than there are classes."


def publish(rows: Sequence[Row], page: Path, out: Path) -> None:
    """Write the page of some rows, and the figure of the positions that are stored in ``out``."""
    if not rows:
        raise ValueError("`--out` must hold rows. Got none. Run the command without --page first.")
    write_text(page, text_of(rows))
    drawn = panels.figure_of(panels.stored_positions(out / "panels.csv"))
    drawing.save(drawn, page.parent / "images" / "maps_panels.png", n_colors=256)
    print(f"Page: {page}")


def text_of(rows: Sequence[Row]) -> str:
    """Return the page in Markdown."""
    frame = complete(frame_of(rows))
    found = rankings(frame)
    first = MEASURES[0].head
    best = found[first].ranks.index[0]
    means = reference_accuracies(frame, [*REFERENCES, best])
    return (
        (HERE / "maps.md")
        .read_text(encoding="utf-8")
        .format(
            n_experiments=found[first].n_experiments,
            n_sets=found[first].n_sets,
            sizes=" or ".join(str(size) for size in sorted(frame["size"].unique())),
            many=f" {MANY}" if len(found) > len(MEASURES) else "",
            missing=missing_told(found[first]),
            splits=splits_told(*splits_of(frame)),
            n_rows=f"{len(rows):,}",
            table=table_of(found),
            shown_size=panels.SIZE,
            references=" and ".join(
                f"{100 * means[name]:.1f} % ({name})" for name in REFERENCES if name in means
            ),
            best=shown(best),
            n_alike=n_alike(found[first]),
            best_accuracy=f"{100 * means[best]:.1f}",
            meanings=meanings_of(found),
        )
    )


def n_alike(own: Ranking) -> int:
    """Return how many other maps do not differ significantly from the best one."""
    return int((own.ranks <= own.ranks.iloc[0] + own.difference).sum()) - 1


def missing_told(own: Ranking) -> str:
    """Name our estimators that are not ranked."""
    missing = [f"`{base}`" for base in BASES if base not in own.ranks.index]
    return (
        f" The rows of {' and '.join(missing)} are not complete, so they are left out."
        if missing
        else ""
    )


def splits_told(fewest: int, most: int) -> str:
    """Return how many random splits an experiment has."""
    if most == 1:
        return "There is one random split, so results of single data sets are uncertain."
    if fewest == most:
        return f"There are {most} random splits."
    return f"Experiments have {fewest} to {most} random splits."


def shown(name: str) -> str:
    """Return the name of a map with our estimators as code."""
    base = next((base for base in BASES if name.startswith(base)), "")
    return f"`{base}`{name.removeprefix(base)}" if base else name


def meanings_of(found: Mapping[str, Ranking]) -> str:
    """Return one line for every measure, with its meaning and its three best maps."""
    lines = []
    for one in MEASURES:
        if one.head in found:
            better = "larger" if one.is_larger_better else "smaller"
            lines.append([one.head, one.meaning, better, best_three(found[one.head])])
    head = ["measure", "meaning", "better", "three best maps, with mean ranks"]
    return markdown(head, lines).replace("---:", "---")  # columns of words


def best_three(own: Ranking) -> str:
    """Return the three best maps with their mean ranks, or how many maps share the best rank."""
    n_equal = int((own.ranks <= own.ranks.iloc[0] + 1e-9).sum())
    if n_equal > N_BEST:
        return f"{n_equal} of {len(own.ranks)} maps are equal"
    return ", ".join(f"{shown(name)} {own.ranks[name]:.1f}" for name in own.ranks.index[:N_BEST])


def table_of(found: Mapping[str, Ranking]) -> str:
    """Return the mean ranks of all maps by all measures, the three best of every measure in bold."""
    accuracy = found[MEASURES[0].head]
    lines = []
    for name in accuracy.ranks.index:
        cells = [_cell(own, name) for own in found.values()]
        lines.append([shown(name), f"{100 * accuracy.values[name]:.1f}", *cells])
    lines.append(["*critical difference*", "", *(f"{own.difference:.1f}" for own in found.values())])
    lines.append(
        ["*maps, data sets*", "", *(f"{len(own.ranks)}, {own.n_sets}" for own in found.values())]
    )
    head = ["map", "accuracy %", *found]
    head[2] += " rank"
    return markdown(head, lines)


def _cell(own: Ranking, name: str) -> str:
    if name not in own.ranks.index:
        return ""
    rank = f"{own.ranks[name]:.1f}"
    return f"**{rank}**" if own.ranks[name] <= own.ranks.iloc[min(N_BEST, len(own.ranks)) - 1] else rank
