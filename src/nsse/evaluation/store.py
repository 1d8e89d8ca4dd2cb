"""Rows on disk, one SQLite file: a row is there whole or not at all, and never twice.

Every row is a transaction of its own, so a process killed at any moment loses only the fits that were
under way. The journal is SQLite's plain one, which leaves a single file behind. Every row carries a
checksum: damage is reported with the name of the file and the task, never read over.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from nsse.evaluation.tasks import Row, Task, canonical

# Written into the header of the file: "NSSE", and the version of the table below.
_APPLICATION, _VERSION = 0x4E535345, 1

_TABLE = """
CREATE TABLE rows (
    task TEXT PRIMARY KEY NOT NULL,
    result TEXT NOT NULL,
    checksum TEXT NOT NULL
) WITHOUT ROWID
"""


class RowStore:
    """The rows of a run, in a file.

    Parameters
    ----------
    path : str or path-like
        The file; made if it is not there, its folder too.

    See Also
    --------
    nsse.evaluation.run_tasks : Fills it.
    nsse.evaluation.write_rows : Its rows as text.

    Examples
    --------
    >>> import tempfile
    >>> from nsse.evaluation import Row, RowStore, Task
    >>> task = Task("digits", "NN", n_train=7, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder, RowStore(f"{folder}/rows.sqlite") as store:
    ...     store.add(Row(task, error=0.1, fit_seconds=0.0, predict_seconds=0.2))
    ...     task in store, [row.error for row in store.rows()]
    True
    (True, [0.1])
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._naming_the_file():
            self._connection = sqlite3.connect(self.path, timeout=60.0, isolation_level=None)
        try:
            with self._naming_the_file():
                self._open()
        except BaseException:
            self._connection.close()
            raise

    def _open(self) -> None:
        self._connection.execute("PRAGMA synchronous = FULL")
        with self._transaction():
            (n_tables,) = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if n_tables == 0:
                self._connection.execute(_TABLE)
                self._connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                self._connection.execute(f"PRAGMA user_version = {_VERSION}")
        (application,) = self._connection.execute("PRAGMA application_id").fetchone()
        (found,) = self._connection.execute("PRAGMA user_version").fetchone()
        if (application, found) != (_APPLICATION, _VERSION):
            raise sqlite3.DatabaseError("a database of another kind or version")
        (health,) = self._connection.execute("PRAGMA quick_check(1)").fetchone()
        if health != "ok":
            raise sqlite3.DatabaseError(health)

    def add(self, row: Row) -> bool:
        """Write a row. False, and nothing is written, if its task has one already."""
        task, result = row.task.key, _result(row)
        with self._naming_the_file(), self._transaction():
            cursor = self._connection.execute(
                "INSERT INTO rows VALUES (?, ?, ?) ON CONFLICT (task) DO NOTHING",
                (task, result, _checksum(task, result)),
            )
        return cursor.rowcount == 1

    def rows(self) -> list[Row]:
        """All rows, in the order of the keys of their tasks, whenever they were written."""
        with self._naming_the_file():
            found = self._connection.execute("SELECT * FROM rows ORDER BY task").fetchall()
        return [self._row(*columns) for columns in found]

    def remove(self, task: Task | str) -> bool:
        """Delete the row of a task, or of its key, so that it is computed again."""
        key = task if isinstance(task, str) else task.key
        with self._naming_the_file(), self._transaction():
            cursor = self._connection.execute("DELETE FROM rows WHERE task = ?", (key,))
        return cursor.rowcount == 1

    def __contains__(self, task: Task) -> bool:
        with self._naming_the_file():
            found = self._connection.execute("SELECT 1 FROM rows WHERE task = ?", (task.key,))
            return found.fetchone() is not None

    def __len__(self) -> int:
        with self._naming_the_file():
            (count,) = self._connection.execute("SELECT count(*) FROM rows").fetchone()
        return int(count)

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep other runs out of the block, so that no row is computed twice at the same time.

        The lock is SQLite's on an empty file beside the store: the system releases it when the
        process ends, however it ends. Readers are not kept out.
        """
        lock = sqlite3.connect(f"{self.path}.lock", timeout=0.0, isolation_level=None)
        try:
            try:
                lock.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                raise RuntimeError(
                    f"`store` must serve one run at a time. Got {str(self.path)!r}, which another run "
                    f"holds ({error}). Wait for its end, or choose another file."
                ) from error
            yield
        finally:
            lock.close()

    def close(self) -> None:
        """Close the file; what was added is on disk already."""
        self._connection.close()

    def __enter__(self) -> RowStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _row(self, task: str, result: str, checksum: str) -> Row:
        if _checksum(task, result) != checksum:
            raise OSError(
                f"`store` must hold rows as they were written. Got {str(self.path)!r} with a damaged "
                f"row for {task!r}. Remove it with `store.remove(...)` of that key and run again: it "
                "alone is computed anew."
            )
        return Row(Task.from_key(task), **json.loads(result))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # SQLite itself rolls back when a disk is full
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _naming_the_file(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise OSError(
                f"`store` must be a file of rows that can be read and written. Got {str(self.path)!r} "
                f"({error}). Restore it from a copy, or move it away to start anew."
            ) from error


def _result(row: Row) -> str:
    return canonical(
        {
            "error": row.error,
            "fit_seconds": row.fit_seconds,
            "predict_seconds": row.predict_seconds,
            "chosen": row.chosen,
            "details": row.details,
            "versions": row.versions,
        }
    )


def _checksum(task: str, result: str) -> str:
    return hashlib.sha256(f"{task}\n{result}".encode()).hexdigest()
