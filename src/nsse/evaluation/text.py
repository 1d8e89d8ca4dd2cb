"""Rows as text: one line of JSON per row, sorted, for version control and for other programs.

The store is a database, which a version control system cannot read. Its rows written as text travel;
where they are found beside a store, the rows it lacks are taken over, so that a copy goes on where the
original was.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

from nsse._errors import rule_error
from nsse._files import replacing
from nsse.evaluation.store import RowStore
from nsse.evaluation.tasks import Row, Task, canonical


def write_rows(store: RowStore, path: str | os.PathLike[str]) -> int:
    """Write all rows of a store, in the order of their keys; the file is there whole or not at all.

    Parameters
    ----------
    store : RowStore
        Where the rows are.
    path : str or path-like
        The file, replaced if it is there.

    Returns
    -------
    int
        Number of rows.

    See Also
    --------
    nsse.evaluation.read_rows : Reads them.
    nsse.evaluation.take_over : Adds them to another store.

    Examples
    --------
    >>> import tempfile
    >>> from nsse.evaluation import Row, RowStore, Task, write_rows
    >>> row = Row(Task("digits", "NN", n_train=7, seed=0), 0.1, fit_seconds=0.0, predict_seconds=0.2)
    >>> with tempfile.TemporaryDirectory() as folder, RowStore(f"{folder}/rows.sqlite") as store:
    ...     _ = store.add(row)
    ...     write_rows(store, f"{folder}/rows.jsonl")
    1
    """
    lines = [canonical(asdict(row)) for row in store.rows()]
    with replacing(Path(path)) as temporary:
        temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return len(lines)


def read_rows(path: str | os.PathLike[str]) -> list[Row]:
    """Read rows that `write_rows` wrote.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    list of Row
        In the order of the file.

    Raises
    ------
    ValueError
        If a line is not a row; the message names file and line.

    See Also
    --------
    nsse.evaluation.write_rows : Writes them.

    Examples
    --------
    >>> import tempfile
    >>> from nsse.evaluation import Row, RowStore, Task, read_rows, write_rows
    >>> row = Row(Task("digits", "NN", n_train=7, seed=0), 0.1, fit_seconds=0.0, predict_seconds=0.2)
    >>> with tempfile.TemporaryDirectory() as folder, RowStore(f"{folder}/rows.sqlite") as store:
    ...     _ = store.add(row)
    ...     _ = write_rows(store, f"{folder}/rows.jsonl")
    ...     [one.error for one in read_rows(f"{folder}/rows.jsonl")]
    [0.1]
    """
    rows = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        try:
            columns = json.loads(line)
            rows.append(Row(Task(**columns.pop("task")), **columns))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            where = f"{Path(path).name}, line {number}: {line[:60]}"
            cure = f"Restore the file from a copy, or move it away ({error})."
            raise rule_error("path", "hold one row of JSON per line", where, cure) from error
    return rows


def take_over(store: RowStore, path: str | os.PathLike[str]) -> int:
    """Add the rows of a text file that a store lacks; how many these were.

    Parameters
    ----------
    store : RowStore
        Where rows are added.
    path : str or path-like
        A file of `write_rows`; one that is not there has no rows.

    Returns
    -------
    int
        Number of rows added.

    See Also
    --------
    nsse.evaluation.write_rows : Writes such files.

    Examples
    --------
    >>> import tempfile
    >>> from nsse.evaluation import Row, RowStore, Task, take_over, write_rows
    >>> row = Row(Task("digits", "NN", n_train=7, seed=0), 0.1, fit_seconds=0.0, predict_seconds=0.2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with RowStore(f"{folder}/one.sqlite") as one, RowStore(f"{folder}/two.sqlite") as two:
    ...         _ = one.add(row)
    ...         _ = write_rows(one, f"{folder}/rows.jsonl")
    ...         take_over(two, f"{folder}/rows.jsonl")
    1
    """
    if not Path(path).exists():
        return 0
    return sum(store.add(row) for row in read_rows(path) if row.task not in store)
