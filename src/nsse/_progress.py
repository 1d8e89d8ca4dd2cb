"""A bar with an estimate of the time left, where a person is looking."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(total: int, what: str, shown: bool | None) -> Iterator[Callable[[], None]]:
    """Yield a function that advances the bar by one.

    ``shown`` is True (needs rich), False, or None: where a person is looking and rich is installed.
    """
    if shown is False or (shown is None and not watched()):
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
    # A notebook shows a line that is written again and again, without the widgets that Rich asks for.
    console = Console(stderr=True, force_jupyter=False, force_terminal=in_notebook() or None)
    # The estimate looks back an hour, for one step may take minutes.
    with Progress(*columns, console=console, speed_estimate_period=3600.0) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


def watched() -> bool:
    """Whether a person is looking at stderr: a terminal, or a notebook."""
    return sys.stderr.isatty() or in_notebook()


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook; Colab calls it by another name."""
    ask = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return ask is not None and type(ask()).__name__ in ("ZMQInteractiveShell", "Shell")
