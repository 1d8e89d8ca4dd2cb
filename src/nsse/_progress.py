"""A bar with an estimate of the time left, where a person is looking."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(total: int, what: str, shown: bool | None) -> Iterator[Callable[[], None]]:
    """Yield a function that advances the bar by one.

    ``shown`` is True (needs rich), False, or None: where stderr is a terminal and rich is installed.
    """
    if shown is False or (shown is None and not sys.stderr.isatty()):
        yield lambda: None
        return
    try:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
    except ImportError as error:
        if shown:
            message = "A progress bar needs rich. Install it: pip install 'nsse[cli]'"
            raise ImportError(message) from error
        yield lambda: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    # The estimate looks back an hour, for one step may take minutes.
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=3600.0) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)
