"""Show a progress bar with an estimate of the remaining time, if there is a terminal or a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from importlib import import_module

# Seconds between two updates of a bar in a notebook, because each one is a message to the browser.
BETWEEN = 0.2


@contextmanager
def progress_bar(total: int, what: str, shown: bool | None) -> Iterator[Callable[[], None]]:
    """Yield a function that advances the bar by one.

    ``shown`` is True, False or None. None shows the bar in a terminal or a notebook. A notebook draws it
    itself, and a terminal needs rich.
    """
    is_notebook = in_notebook()
    if shown is False or (shown is None and not is_notebook and not sys.stderr.isatty()):
        yield lambda: None
        return
    if is_notebook:
        with _notebook_bar(total, what) as advance:
            yield advance
        return
    try:
        import rich.console
        import rich.progress as parts
    except ImportError as error:
        if shown:
            message = "A progress bar needs rich. Install it: pip install 'nsse[cli]'"
            raise ImportError(message) from error
        yield lambda: None
        return
    columns = (
        parts.TextColumn("{task.description}"),
        parts.BarColumn(),
        parts.MofNCompleteColumn(),
        parts.TimeElapsedColumn(),
        parts.TextColumn("left:"),
        parts.TimeRemainingColumn(),
    )
    stderr = rich.console.Console(stderr=True)
    # The estimate looks back an hour, for one step may take minutes.
    with parts.Progress(*columns, console=stderr, speed_estimate_period=3600.0) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


@dataclass
class NotebookBar:
    """A bar that a notebook can draw, as HTML or as a line of text."""

    total: int
    what: str
    done: int = 0
    begun: float = field(default_factory=time.monotonic)

    def __repr__(self) -> str:
        elapsed = time.monotonic() - self.begun
        line = f"{self.what} {self.done}/{self.total}, {_clock(elapsed)}"
        if 0 < self.done < self.total:
            line += f", left: {_clock(elapsed / self.done * (self.total - self.done))}"
        return line

    def _repr_html_(self) -> str:
        bar = f'<progress value="{self.done}" max="{max(self.total, 1)}"></progress>'
        return f"<div>{bar} <small>{escape(repr(self))}</small></div>"


@contextmanager
def _notebook_bar(total: int, what: str) -> Iterator[Callable[[], None]]:
    bar = NotebookBar(total, what)
    handle = import_module("IPython.display").display(bar, display_id=True)
    drawn = time.monotonic()

    def advance() -> None:
        nonlocal drawn
        bar.done += 1
        if bar.done >= total or time.monotonic() - drawn >= BETWEEN:
            handle.update(bar)
            drawn = time.monotonic()

    try:
        yield advance
    finally:
        handle.update(bar)  # the place at which it was stopped


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


def in_notebook() -> bool:
    """Return whether a kernel of a notebook runs this code, also that of Colab."""
    ask = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return ask is not None and type(ask()).__name__ in ("ZMQInteractiveShell", "Shell")
