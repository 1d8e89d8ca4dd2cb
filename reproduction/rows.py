"""Tasks, rows, and the file of JSON lines that stores rows.

The key of a task is one canonical line of JSON, which is the same in every process and on every
machine. A row with the same key is never computed twice.
"""

from __future__ import annotations

import csv
import fcntl
import io
import json
import math
import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from nsse import __version__
from nsse._support.errors import rule_error
from nsse._support.files import replacing

_PACKAGES = ("numpy", "scipy", "scikit-learn", "joblib")


@dataclass(frozen=True)
class Task:
    """One fit to be measured.

    `n_train` is the number of training samples per class. `parameters` contain everything else that
    changes the result, such as the fingerprint of a grid. `protocol` names how parameters are chosen.
    """

    dataset: str
    method: str
    n_train: int
    seed: int
    d: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    protocol: str = "honest"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", plain(self.parameters))

    @property
    def key(self) -> str:
        """The task as one line of canonical JSON."""
        return canonical(asdict(self))

    def __hash__(self) -> int:
        return hash((self.dataset, self.method, self.n_train, self.seed))

    def __str__(self) -> str:
        return f"{self.method} on {self.dataset}, {self.n_train} per class, seed {self.seed}"


@dataclass(frozen=True)
class Row:
    """The result of a task: the fraction of wrong test samples, seconds, choices, versions."""

    task: Task
    error: float
    fit_seconds: float
    predict_seconds: float
    chosen: Mapping[str, Any] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=lambda: software_versions())

    def __post_init__(self) -> None:
        if not 0.0 <= self.error <= 1.0:
            raise rule_error("error", "be a fraction from 0 to 1", self.error, f"Check {self.task}.")
        for name in ("chosen", "details", "versions"):
            object.__setattr__(self, name, plain(getattr(self, name)))


def software_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that determine a result."""
    found = {"python": platform.python_version(), "nsse": __version__}
    return found | {name: version(name) for name in _PACKAGES}


def canonical(value: Any) -> str:
    """Return one line of JSON with sorted keys and without spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def plain(value: Any) -> Any:
    """Return a value as JSON stores it: whole floats become integers, and tuples become lists."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return plain(value.item())
    if isinstance(value, float) and math.isfinite(value):
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return value


class RowFile:
    """Rows in a file, one line of JSON each, and one row per task.

    A killed process leaves at most an incomplete last line, which the next run removes. Damage anywhere
    else is an error that names the line.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._rows: dict[Task, Row] = {}
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        whole, _, _ = text.rpartition("\n")
        for number, line in enumerate(whole.splitlines(), start=1):
            row = self._read(line, number)
            self._rows[row.task] = row

    def _read(self, line: str, number: int) -> Row:
        try:
            columns = json.loads(line)
            return Row(Task(**columns.pop("task")), **columns)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(
                f"`rows` must contain one row of JSON per line. Got {self.path.name!r}, line {number}: "
                f"{line[:60]!r} ({error}). Restore the file from a copy, or move it away."
            ) from error

    def add(self, row: Row) -> None:
        """Append a row. It is on disk when this returns."""
        if row.task in self._rows:
            return
        self._rows[row.task] = row
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{canonical(asdict(row))}\n")
            file.flush()
            os.fsync(file.fileno())

    def rows(self) -> list[Row]:
        """Return all rows, sorted by the keys of their tasks."""
        return sorted(self._rows.values(), key=lambda row: row.task.key)

    def __contains__(self, task: Task) -> bool:
        return task in self._rows

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Lock the file for the block, and sort its rows at the end.

        The operating system releases the lock when the process ends, even if it is killed.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise RuntimeError(
                    f"`rows` must be used by one run at a time. Got {str(self.path)!r}, which another "
                    "run uses. Wait until it ends, or choose another folder."
                ) from error
            self.sort()
            try:
                yield
            finally:
                self.sort()

    def sort(self) -> None:
        """Write the file again, sorted by the keys, completely or not at all."""
        write_text(self.path, "".join(f"{canonical(asdict(row))}\n" for row in self.rows()))


def write_text(path: Path, text: str) -> None:
    """Write a file completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def csv_text(frame: Sequence[Mapping[str, Any]]) -> str:
    """Return lines with named columns as comma-separated values."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(frame[0]) if frame else (), lineterminator="\n")
    writer.writeheader()
    writer.writerows(frame)
    return text.getvalue()


def markdown(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown. The first column is aligned to the left, the others to the right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *lines])


def marked(text: str, mark: str, content: str) -> str:
    """Return a page with new content between ``<!-- mark -->`` and ``<!-- end -->``."""
    before, found, rest = text.partition(f"<!-- {mark} -->\n")
    if not found:
        raise ValueError(f"`page` must have the mark {mark!r}. Got none. Restore it from a copy.")
    return f"{before}{found}\n{content}\n\n{rest[rest.index('<!-- end -->') :]}"
