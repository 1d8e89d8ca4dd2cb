"""Show a progress bar of rich in a terminal, or in a notebook with ipywidgets."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from nsse._support.errors import optional


@contextmanager
def progress_bar(total: int, what: str, shown: bool | None) -> Iterator[Callable[[], None]]:
    """Yield a function that advances the bar by one.

    ``shown`` is True, False or None. None shows the bar if rich is installed and somebody can see it.
    """
    if not (_can_be_seen() if shown is None else shown):
        yield lambda: None
        return
    parts = optional("rich.progress", "A progress bar needs rich", "cli")
    console = optional("rich.console", "A progress bar needs rich", "cli").Console(stderr=True)
    columns = (
        parts.TextColumn("{task.description}"),
        parts.BarColumn(),
        parts.MofNCompleteColumn(),
        parts.TimeElapsedColumn(),
        parts.TextColumn("left:"),
        parts.TimeRemainingColumn(),
    )
    # The estimate looks back an hour, because one step may take minutes.
    with parts.Progress(*columns, console=console, speed_estimate_period=3600.0) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


def _can_be_seen() -> bool:
    """Return whether rich can draw in a terminal, or in a notebook."""
    if find_spec("rich") is None:
        return False
    is_notebook = "ipykernel" in sys.modules and find_spec("ipywidgets") is not None
    return is_notebook or sys.stderr.isatty()
