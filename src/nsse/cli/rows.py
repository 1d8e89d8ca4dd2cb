"""The rows of a long run in a folder: a store, and the same as text for version control."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nsse.cli.screen import echo

if TYPE_CHECKING:
    from nsse.evaluation import RowStore

ROWS, ROWS_AS_TEXT = "rows.sqlite", "rows.jsonl"


def open_rows(out: Path) -> RowStore:
    """Open the store, with the rows that a copy of the project brings as text."""
    from nsse.evaluation import RowStore, take_over

    store = RowStore(out / ROWS)
    try:
        taken = take_over(store, out / ROWS_AS_TEXT)
    except BaseException:
        store.close()
        raise
    if taken:
        echo(f"Rows taken over from {ROWS_AS_TEXT}: {taken}.")
    return store
