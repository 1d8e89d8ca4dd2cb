"""The figures of ``nsse reproduce``: each a frame on disk first, then a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsse.cli.files import write_csv
from nsse.cli.screen import echo

if TYPE_CHECKING:
    from nsse.cli.reproduce_steps import Request
    from nsse.evaluation import Row


def draw_all(asked: Request, rows: Sequence[Row]) -> None:
    """Everything that can be drawn of the data sets asked for and the rows that are there."""
    from nsse.paper import figures
    from nsse.report import require_matplotlib
    from nsse.report.reproduction_figures import convergence_figure, dimension_figure, embeddings_figure

    require_matplotlib()
    folder = asked.out / "figures"
    folder.mkdir(exist_ok=True)
    for dataset in _first(figures.CONVERGENCE_SETS, asked.datasets):
        frame = figures.convergence(dataset)
        _save(folder, f"convergence-{dataset}", frame, convergence_figure(frame))
    for dataset in asked.datasets:
        frame = figures.error_against_dimension(rows, asked.profile, dataset)
        if frame["d"]:
            picture = dimension_figure(frame, figures.DIMENSION_GROUPS)
            _save(folder, f"dimension-{dataset}", frame, picture)
        else:
            echo(f"No rows for the error against d on {dataset}: run `nsse reproduce tables` first.")
    for dataset in _first(figures.PLANE_SETS, asked.datasets):
        frame = figures.plane_embeddings(asked.profile, dataset)
        _save(folder, f"embedding-{dataset}", frame, embeddings_figure(frame))


def _first(wanted: Sequence[str], there: Sequence[str]) -> list[str]:
    return [name for name in wanted if name in there][:1]


def _save(folder: Path, name: str, frame: dict[str, list[Any]], figure: Any) -> None:
    from nsse.report import save_figure

    write_csv(folder / f"{name}.csv", list(frame), list(zip(*frame.values(), strict=True)))
    for kind in ("svg", "png"):
        save_figure(figure, folder / f"{name}.{kind}", kind)
    echo(f"Figure: {folder / name}.svg")
