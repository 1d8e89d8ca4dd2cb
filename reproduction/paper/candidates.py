"""The candidates of a row, with their mistakes on the test samples.

A candidate is (scaling, parameters, d). A row stores the mistakes of all of them. The protocol of the
paper chooses one candidate for all splits (see ``tables``). The protocol `honest` uses the one that
cross-validation chose on the training samples of the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reproduction.paper.settings import Recipe
from reproduction.rows import Task, canonical

WHOLE = "all"  # dimension of an embedding that was not cut


@dataclass(frozen=True)
class Split:
    """Training and test samples of a task, with X by the scaling of the images."""

    task: Task
    recipe: Recipe
    X: Mapping[str, Any]
    y: Any
    X_test: Mapping[str, Any]
    y_test: Any
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Tried:
    """A candidate. ``d`` is None if a method has no dimension, and "all" if it was not cut."""

    scaling: str
    d: int | str | None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __hash__(self) -> int:
        # The hash of values, because a stored row has 1 for 1.0.
        return hash((self.scaling, self.d, frozenset(self.parameters.items())))

    @property
    def chosen(self) -> dict[str, Any]:
        """The columns of a row."""
        return {"scaling": self.scaling, "d": self.d, **self.parameters}


def packed(mistakes: Mapping[Tried, int]) -> list[dict[str, Any]]:
    """Return one entry for each scaling and parameters, with lists over d."""
    entries: dict[str, dict[str, Any]] = {}
    for candidate, count in mistakes.items():
        shared = {"scaling": candidate.scaling, "parameters": dict(candidate.parameters)}
        entry = entries.setdefault(canonical(shared), shared | {"d": [], "mistakes": []})
        entry["d"].append(candidate.d)
        entry["mistakes"].append(int(count))
    return list(entries.values())


def unpacked(entries: Iterable[Mapping[str, Any]]) -> dict[Tried, int]:
    """Return the mistakes of every candidate of a row, in the order of the trials."""
    return {
        Tried(entry["scaling"], d, entry["parameters"]): count
        for entry in entries
        for d, count in zip(entry["d"], entry["mistakes"], strict=True)
    }
