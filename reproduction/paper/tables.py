"""The rows as a table: mean errors by protocol, with the printed values.

By the protocol of the paper, the candidate of a method is the one with the lowest mean test error
over the splits, as in §5. The weights of NSSE are set by cross-validation all the same. The paper does
not say whether they are set once or for every split. We read "the parameter value that gives the
smallest average classification error on the validation set" (§5.1) as one set of weights for each
experiment, scaling and d, by the mean over the inner splits of all splits. By the protocol *honest*,
everything is chosen on the training samples of each split. The two are never in one table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median_low
from typing import Any

import numpy as np
import pandas as pd

from reproduction.paper.candidates import Tried, unpacked
from reproduction.paper.grids import CITED
from reproduction.paper.printed import printed_error
from reproduction.paper.settings import ALL_METHODS, BOTH, TITLES, Profile
from reproduction.rows import Row

Place = tuple[str, int, str]  # data set, training samples per class, method


def grouped(rows: Iterable[Row], profile: Profile) -> dict[Place, list[Row]]:
    """Return the rows of a profile by place, in the order of the paper and of their seeds."""
    groups: dict[Place, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row.task.seed):
        if profile.owns(row.task):
            groups.setdefault((row.task.dataset, row.task.n_train, row.task.method), []).append(row)
    order = sorted(groups, key=lambda k: (list(TITLES).index(k[0]), k[1], ALL_METHODS.index(k[2])))
    return {place: groups[place] for place in order}


def table_frame(rows: Iterable[Row], profile: Profile) -> pd.DataFrame:
    """Return one line for each protocol, experiment and method, with errors in percent."""
    groups = grouped(rows, profile)
    lines = [_paper_line(place, own) for place, own in groups.items() if own[0].task.protocol == BOTH]
    return pd.DataFrame(lines + [_honest_line(place, own) for place, own in groups.items()])


def table_text(frame: pd.DataFrame) -> str:
    """Return the table as comma-separated values."""
    return str(frame.to_csv(index=False, float_format="%.4f", lineterminator="\n"))


def honest_errors(rows: Iterable[Row], profile: Profile) -> pd.DataFrame:
    """Return errors in percent by experiment and split (lines) and by method (columns)."""
    lines = [
        {"dataset": dataset, "n_train": n_train, "split": row.task.seed, "method": method}
        | {"error": 100.0 * row.error}
        for (dataset, n_train, method), own in grouped(rows, profile).items()
        for row in own
    ]
    index = ["dataset", "n_train", "split"]
    errors = pd.DataFrame(lines).pivot(index=index, columns="method", values="error")
    return errors.sort_index(level="dataset", key=lambda names: names.map(list(TITLES).index))


def paper_errors(rows: Sequence[Row]) -> dict[Tried, list[float]]:
    """Return the test errors in percent of the candidates that the paper's protocol compares.

    These are the candidates that all rows have. For NSSE, they are only the weights that
    cross-validation set, one for each scaling and d.
    """
    tried = [unpacked(row.details["candidates"]) for row in rows]
    stored = _shared(tried)
    if rows[0].task.method == "NSSE":
        validated = [unpacked(row.details["validation"]) for row in rows]
        wrong = {c: sum(n[c] for n in validated) for c in _shared(validated) if c in set(stored)}
        # The last one stays: fewest mistakes, and of equals the largest weights and the smoother map.
        by_dimension = {(c.scaling, c.d): c for c in sorted(wrong, key=wrong.__getitem__, reverse=True)}
        stored = [c for c in stored if by_dimension.get((c.scaling, c.d)) == c]
    sizes = [row.details["n_test"] for row in rows]
    return {c: [100.0 * n[c] / size for n, size in zip(tried, sizes, strict=True)] for c in stored}


def _shared(counts: Sequence[dict[Tried, int]]) -> list[Tried]:
    return [c for c in counts[0] if all(c in other for other in counts[1:])]


def _paper_line(place: Place, rows: list[Row]) -> dict[str, Any]:
    errors = paper_errors(rows)
    best = min(errors, key=lambda candidate: float(np.mean(errors[candidate])))
    parameters = ", ".join(f"{name}={value}" for name, value in best.parameters.items())
    if place[2] == "NSSE":
        parameters = f"{parameters} (weights by cross-validation)"
    d = "" if best.d is None else str(best.d)
    return _line("paper", place, errors[best], best.scaling, d, parameters)


def _honest_line(place: Place, rows: list[Row]) -> dict[str, Any]:
    chosen = [dict(row.chosen) for row in rows]
    scalings = Counter(choice.pop("scaling") for choice in chosen)
    ds = [choice.pop("d") for choice in chosen]
    most = Counter(", ".join(f"{k}={v}" for k, v in choice.items()) for choice in chosen).most_common(1)
    parameters = f"most often {most[0][0]}" if most[0][0] else ""
    counted = ", ".join(f"{name} × {count}" for name, count in scalings.most_common())
    protocol = "cited" if place[2] in CITED else "honest"  # never next to the paper's columns
    return _line(protocol, place, [100.0 * r.error for r in rows], counted, _median(ds), parameters)


def _median(ds: list[int | str | None]) -> str:
    """Return the median d. "all" counts as more than any number."""
    known: list[int | str] = [d for d in ds if d is not None]
    if not known:
        return ""
    middle = median_low([float("inf") if isinstance(d, str) else d for d in known])
    return f"median {'all' if middle == float('inf') else middle}"


def _line(
    protocol: str, place: Place, errors: list[float], scaling: str, d: str, parameters: str
) -> dict[str, Any]:
    """Return a line of the table. The error of a single split has no standard error."""
    spread = float(np.std(errors, ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else np.nan
    line = {"protocol": protocol, "dataset": place[0], "n_train": place[1], "method": place[2]}
    line |= {"error": float(np.mean(errors)), "stderr": spread, "repeats": len(errors)}
    return line | {
        "printed": printed_error(*place),
        "scaling": scaling,
        "d": d,
        "parameters": parameters,
    }
