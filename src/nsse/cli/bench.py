"""``nsse bench``: NSSE beside nearest neighbour, SVM and LDA, on this machine, in one run.

``nsse bench DATA`` is short for ``nsse bench on DATA``; ``nsse bench study`` is in ``bench_study``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from nsse.cli.bench_study import study
from nsse.cli.data import read_labelled
from nsse.cli.options import (
    SIZE,
    Category,
    Colour,
    Feature,
    Id,
    Ignore,
    Json,
    Label,
    Size,
    SkipBroken,
    Standardize,
    UnitNorm,
)
from nsse.cli.screen import running
from nsse.cli.words import BENCH, SPLITS, typed

if TYPE_CHECKING:
    from rich.table import Table

    from nsse.evaluation import Fit

MOST = 60  # training samples per class, where nothing is said


class _OnData(TyperGroup):
    """What is not the name of a command is data."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = args and args[0] in self.commands
        return super().parse_args(ctx, args if named else ["on", *args])


app = typer.Typer(cls=_OnData, help="Errors and times of NSSE beside others, on data or on many sets.")
app.command("study")(study)


@app.command("on")
def bench(
    data: Annotated[
        Path | None, typer.Argument(metavar="DATA", help="As in `nsse fit`. (default: the digits)")
    ] = None,
    label: Label = None,
    per_class: Annotated[
        int | None,
        typer.Option(min=2, help=f"Training samples per class. (default: half of them, at most {MOST})"),
    ] = None,
    splits: Annotated[int, typer.Option(min=1, help="Random splits.")] = 3,
    standardize: Standardize = False,
    ignore: Ignore = None,
    id: Id = None,
    category: Category = None,
    feature: Feature = None,
    size: Size = SIZE,
    unit_norm: UnitNorm = True,
    colour: Colour = False,
    skip_broken: SkipBroken = False,
    as_json: Json = False,
) -> None:
    """Measure errors and times of NSSE, 1-NN, SVM and LDA on the same splits.

    `on` may be left out. `nsse bench study --help` tells of the comparison on many sets.
    """
    from threadpoolctl import threadpool_limits

    from nsse._support.progress import progress_bar
    from nsse.datasets import load_dataset
    from nsse.evaluation import compare

    with running(as_json) as screen:
        if data is None:
            found: Any = load_dataset("digits")
        else:
            found = read_labelled(
                data,
                label,
                size,
                standardize,
                screen,
                BENCH,
                ignore=ignore,
                id=id,
                category=category,
                feature=feature,
                unit_norm=unit_norm,
                colour=colour,
                skip_broken=skip_broken,
            )
        chosen = per_class or _half(found.y)
        compared = _methods(standardize)
        rows: list[Fit] = []
        # Matrices of this size are faster on one thread of BLAS, and times compare the methods alone.
        with (
            threadpool_limits(1, user_api="blas"),
            typed(SPLITS),
            progress_bar(splits * len(compared), "Measuring", None) as advance,
        ):
            for row in compare(compared, found.X, found.y, (chosen,), range(splits)):
                rows.append(row)
                advance()
        screen.result = {"per_class": chosen, "splits": splits, "rows": [vars(row) for row in rows]}
        name = "the digits" if data is None else str(data)
        screen.say(f"Compared on {name}: {chosen} training samples per class, {_count(splits)}.")
        screen.show(_table(rows))


def _methods(standardize: bool) -> dict[str, Any]:
    """Each behind a scaler of its own, which sees the training samples only."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from nsse.cli.demo import methods

    plain = methods()
    if not standardize:
        return plain
    return {name: make_pipeline(StandardScaler(), method) for name, method in plain.items()}


def _half(y: Any) -> int:
    import numpy as np

    return int(min(MOST, max(2, np.unique(y, return_counts=True)[1].min() // 2)))


def _count(splits: int) -> str:
    return "one split" if splits == 1 else f"mean of {splits} splits"


def _table(rows: list[Fit]) -> Table:
    from statistics import fmean

    from rich.table import Table

    table = Table()
    table.add_column("method")
    for name in ("error", "fit", "predict"):
        table.add_column(name, justify="right")
    for method in dict.fromkeys(row.method for row in rows):
        own = [row for row in rows if row.method == method]
        error, fit, predict = (
            fmean(getattr(row, name) for row in own)
            for name in ("error", "fit_seconds", "predict_seconds")
        )
        table.add_row(method, f"{100 * error:.1f} %", f"{1000 * fit:.3g} ms", f"{1000 * predict:.3g} ms")
    return table
