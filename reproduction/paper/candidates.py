"""Candidates of a row: what was tried, with the mistakes it made on the test samples.

A candidate is (scaling, parameters, d). A row keeps the mistakes of all of them; `paper` takes, after
the fact, one candidate for all realisations (see ``tables``), `honest` the one that cross-validation
chose on the training samples of that row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reproduction.paper.settings import Recipe
from reproduction.rows import Task, canonical

WHOLE = "all"  # dimension of an embedding that was not cut


@dataclass(frozen=True)
class Realisation:
    """Training and test samples of a task; X by the scaling of the images."""

    task: Task
    recipe: Recipe
    X: Mapping[str, Any]
    y: Any
    X_test: Mapping[str, Any]
    y_test: Any
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Tried:
    """One thing that was tried; ``d`` is None where a method has no dimension, "all" where not cut.

    Parameters of NSSE are its weights: those of `paper` too are set by cross-validation.
    """

    scaling: str
    d: int | str | None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __hash__(self) -> int:
        # Of values, not of their text: a row that was stored has 1 where 1.0 was tried.
        return hash((self.scaling, self.d, frozenset(self.parameters.items())))

    @property
    def chosen(self) -> dict[str, Any]:
        """As a row tells it."""
        return {"scaling": self.scaling, "d": self.d, **self.parameters}


def packed(mistakes: Mapping[Tried, int]) -> list[dict[str, Any]]:
    """For a row: one entry per scaling and parameters, with lists over d."""
    entries: dict[str, dict[str, Any]] = {}
    for candidate, count in mistakes.items():
        shared = {"scaling": candidate.scaling, "parameters": dict(candidate.parameters)}
        entry = entries.setdefault(canonical(shared), shared | {"d": [], "mistakes": []})
        entry["d"].append(candidate.d)
        entry["mistakes"].append(int(count))
    return list(entries.values())


def unpacked(entries: Iterable[Mapping[str, Any]]) -> dict[Tried, int]:
    """The mistakes of every candidate of a row, in the order in which they were tried."""
    return {
        Tried(entry["scaling"], d, entry["parameters"]): count
        for entry in entries
        for d, count in zip(entry["d"], entry["mistakes"], strict=True)
    }
