"""Rows under the two protocols: means, standard errors, what was chosen, the printed value beside.

`paper`: a method's candidate is the one with the smallest mean test error over the realisations, as in
§5; the weights of NSSE are set by cross-validation all the same. The paper does not say whether once or
for every realisation; we read "the parameter value that gives the smallest average classification error
on the validation set" (§5.1) as one set of weights per cell, scaling and d, by the mean over the inner
splits of all realisations. `honest`: everything is chosen on the training samples of each realisation.
The two are never mixed in one line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any

import numpy as np

from reproduction.paper.candidates import Tried, unpacked
from reproduction.paper.grids import CITED
from reproduction.paper.printed import printed_error
from reproduction.paper.settings import ALL_METHODS, BOTH, TITLES, Profile
from reproduction.rows import Row

Place = tuple[str, int, str]  # data set, training samples per class, method
PLACE = ("protocol", "dataset", "n_train", "method")


@dataclass(frozen=True)
class TableEntry:
    """A method on one cell of a table under one protocol; errors in per cent."""

    protocol: str
    dataset: str
    n_train: int
    method: str
    error: float
    stderr: float | None  # None for a single realisation
    repeats: int
    printed: float | None
    scaling: str
    d: str
    parameters: str

    @property
    def no_worse(self) -> bool:
        """Whether the error is at most the printed value and its own standard error."""
        return self.printed is not None and self.error <= self.printed + (self.stderr or 0.0)


def grouped(rows: Iterable[Row], profile: Profile) -> dict[Place, list[Row]]:
    """Rows of a profile by place, in the order of the paper."""
    groups: dict[Place, list[Row]] = {}
    for row in rows:
        if profile.owns(row.task):
            groups.setdefault((row.task.dataset, row.task.n_train, row.task.method), []).append(row)
    order = sorted(groups, key=lambda k: (list(TITLES).index(k[0]), k[1], ALL_METHODS.index(k[2])))
    return {place: groups[place] for place in order}


def cells(rows: Iterable[Row], profile: Profile) -> list[TableEntry]:
    """All cells of a profile, both protocols, in the order of the paper; other rows are left out."""
    by_seed = sorted(rows, key=lambda row: row.task.seed)
    groups = grouped(by_seed, profile)
    return [
        *(_paper_cell(place, own) for place, own in groups.items() if own[0].task.protocol == BOTH),
        *(_honest_cell(place, own) for place, own in groups.items()),
    ]


def table_frame(found: Sequence[TableEntry]) -> list[dict[str, Any]]:
    """Lines of ``tables.csv``."""
    return [
        {name: getattr(c, name) for name in PLACE}
        | summary(c.error, c.stderr, c.repeats)
        | {"printed": "" if c.printed is None else f"{c.printed:.2f}"}
        for c in found
    ]


def choice_frame(found: Sequence[TableEntry]) -> list[dict[str, Any]]:
    """Lines of ``choices.csv``: what the errors belong to."""
    names = (*PLACE, "scaling", "d", "parameters")
    return [{name: getattr(c, name) for name in names} for c in found]


def summary(error: float, stderr: float | None, repeats: int) -> dict[str, Any]:
    """Columns of a mean: one of a single realisation has no standard error."""
    spread = "" if stderr is None else f"{stderr:.4f}"
    return {"error": f"{error:.4f}", "stderr": spread, "repeats": repeats}


def mean_and_error(errors: Sequence[float]) -> tuple[float, float | None]:
    """Mean and standard error; None for a single realisation."""
    stderr = float(np.std(errors, ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else None
    return float(np.mean(errors)), stderr


def paper_errors(rows: Sequence[Row]) -> dict[Tried, list[float]]:
    """Test errors in per cent of the candidates among which `paper` takes the best, by realisation.

    Those that all rows have; of NSSE only the weights that cross-validation set, one for every scaling
    and d.
    """
    tried = [unpacked(row.details["candidates"]) for row in rows]
    kept = _shared(tried)
    if rows[0].task.method == "NSSE":
        validated = [unpacked(row.details["validation"]) for row in rows]
        wrong = {c: sum(counts[c] for counts in validated) for c in _shared(validated) if c in set(kept)}
        # The last one stays: fewest mistakes, and of equal ones the largest weights, the smoother map.
        by_dimension = {(c.scaling, c.d): c for c in sorted(wrong, key=wrong.__getitem__, reverse=True)}
        kept = [c for c in kept if by_dimension.get((c.scaling, c.d)) == c]
    sizes = [row.details["n_test"] for row in rows]
    return {c: [100.0 * counts[c] / n for counts, n in zip(tried, sizes, strict=True)] for c in kept}


def _shared(counts: Sequence[dict[Tried, int]]) -> list[Tried]:
    return [c for c in counts[0] if all(c in other for other in counts[1:])]


def _paper_cell(place: Place, rows: list[Row]) -> TableEntry:
    errors = paper_errors(rows)
    best = min(errors, key=lambda candidate: float(np.mean(errors[candidate])))
    parameters = ", ".join(f"{name}={value}" for name, value in best.parameters.items())
    if place[2] == "NSSE":
        parameters = f"{parameters} (weights by cross-validation)".strip()
    d = "" if best.d is None else str(best.d)
    return _cell("paper", place, errors[best], best.scaling, d, parameters)


def _honest_cell(place: Place, rows: list[Row]) -> TableEntry:
    chosen = [dict(row.chosen) for row in rows]
    scalings = Counter(choice.pop("scaling") for choice in chosen)
    ds = [choice.pop("d") for choice in chosen]
    most = Counter(", ".join(f"{k}={v}" for k, v in choice.items()) for choice in chosen).most_common(1)
    parameters = f"most often {most[0][0]}" if most[0][0] else ""
    counted = ", ".join(f"{name} × {count}" for name, count in scalings.most_common())
    protocol = "cited" if place[2] in CITED else "honest"  # never beside the paper's columns
    return _cell(protocol, place, [100.0 * r.error for r in rows], counted, _median(ds), parameters)


def _median(ds: list[int | str | None]) -> str:
    """The median d; "all" counts as more than any number."""
    known: list[int | str] = [d for d in ds if d is not None]
    if not known:
        return ""
    middle = median_low([float("inf") if isinstance(d, str) else d for d in known])
    return f"median {'all' if middle == float('inf') else middle}"


def _cell(
    protocol: str, place: Place, errors: list[float], scaling: str, d: str, parameters: str
) -> TableEntry:
    (mean, stderr), printed = mean_and_error(errors), printed_error(*place)
    return TableEntry(protocol, *place, mean, stderr, len(errors), printed, scaling, d, parameters)
