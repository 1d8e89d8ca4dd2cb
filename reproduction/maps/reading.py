"""The rows of the benchmark of maps as a data frame, and mean ranks over data sets.

An experiment is a data set with a training size and a number of coordinates. Its value of a measure is
the mean over splits. Methods are ranked within an experiment. Ranks are averaged over the experiments of
a data set first and over data sets then, because experiments of one data set are not independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from reproduction.maps.methods import CLASS_MAP, LEFT_OUT, REFERENCES
from reproduction.rows import Row
from reproduction.study.ranks import critical_difference

EXPERIMENT = ["dataset", "size", "dimension"]
FLAT, FULL = "2", "C − 1"
# A map that moves a sample by less depends on rounding alone.
ROUNDING = 1e-6
# Share of the experiments that a method must be in to be ranked.
LEAST_SHARE = 0.5


@dataclass(frozen=True)
class Measure:
    """A measure, the head of its column, its meaning, and whether a larger value is better."""

    name: str
    head: str
    meaning: str
    is_larger_better: bool
    # Fitted and left-out positions of training samples give the same value.
    is_of_test: bool = False


MEASURES = (
    Measure("accuracy", "accuracy", "share of test samples with the right label", True),
    Measure("gap", "gap", "accuracy on training samples minus accuracy on test samples", False),
    Measure("null", "null accuracy", "accuracy above chance with random labels", False),
    Measure("null silhouette", "null silhouette", "silhouette with random labels", False),
    Measure("trustworthiness", "trust", "neighbors in the map are neighbors in the data", True, True),
    Measure("continuity", "continuity", "neighbors in the data are neighbors in the map", True, True),
    Measure("structure", "structure", "the map shows the features that predict the classes", True, True),
    Measure("alone", "alone", "how far a sample moves if it is placed alone", False, True),
    Measure("refit", "refit", "how much the map changes with the training samples", False, True),
    Measure("fit seconds", "fit time", "seconds of a fit", False, True),
    Measure("place seconds", "map time", "seconds to place a new sample", False, True),
    Measure("bytes", "bytes", "size of the pickled model", False, True),
)


def frame_of(rows: Iterable[Row]) -> pd.DataFrame:
    """Return one line for every map of every row."""
    lines = []
    for row in rows:
        task, details = row.task, row.details
        classes, chance = details["classes"], details["largest class"] / details["train"]
        for name, found in details["maps"].items():
            line = {"dataset": task.dataset, "size": task.n_train, "split": task.seed, "map": name}
            line |= {key: value for key, value in found.items()}
            if task.d is not None:
                line |= {"fit seconds": row.fit_seconds, "place seconds": row.predict_seconds}
                line["bytes"] = details["bytes"]
            if "null" in line:
                line["null"] = max(line["null"] - chance, 0.0)
            if "gap" in line:
                line["signed gap"], line["gap"] = line["gap"], abs(line["gap"])
            if "alone" in line:
                line["alone"] = line["alone"] if line["alone"] > ROUNDING else 0.0
            for dimension in _dimensions(task.d, classes):
                if dimension == FLAT or CLASS_MAP not in name:
                    lines.append(line | {"dimension": dimension})
    return pd.DataFrame(lines)


def _dimensions(d: int | None, classes: int) -> list[str]:
    """Return the groups of experiments that a row counts in. Both, for a classifier without a map."""
    return [FLAT] * (d in (None, 2)) + [FULL] * (d in (None, classes - 1))


@dataclass(frozen=True)
class Ranking:
    """Mean ranks and mean values of maps by one measure, the best first."""

    ranks: pd.Series
    values: pd.Series
    n_sets: int
    n_experiments: int

    @property
    def difference(self) -> float:
        """The smallest difference of two mean ranks that Nemenyi's test calls significant."""
        return critical_difference(len(self.ranks), self.n_sets) if len(self.ranks) > 1 else 0.0


def ranking(frame: pd.DataFrame, measure: Measure, leave_out: Sequence[str] = ()) -> Ranking:
    """Return the ranks of maps by a measure, on the experiments that all of them have.

    Maps with fewer than half of the experiments are not ranked. If fitted and left-out positions give
    the same value, the map counts once.
    """
    own = frame.dropna(subset=[measure.name]) if measure.name in frame else frame.iloc[:0]
    own = own[~own["map"].isin(leave_out)]
    if measure.is_of_test:
        own = own[~own["map"].str.endswith(LEFT_OUT)]
    if own.empty:
        return Ranking(pd.Series(dtype=float), pd.Series(dtype=float), 0, 0)
    table = own.pivot_table(index=EXPERIMENT, columns="map", values=measure.name, aggfunc="mean")
    table = table.loc[:, table.notna().mean() >= LEAST_SHARE].dropna()
    ranks = table.rank(axis=1, ascending=not measure.is_larger_better)
    by_set = ranks.groupby(level="dataset").mean()
    order = by_set.mean().sort_values(kind="stable")
    values = table.groupby(level="dataset").mean().mean()[order.index]
    return Ranking(order, values, len(by_set), len(table))


def rankings(frame: pd.DataFrame) -> dict[str, Ranking]:
    """Return the ranking by every measure in the plane, and by accuracy with more coordinates.

    Classifiers of all features are not ranked. With three classes, two coordinates are one less than
    classes, so accuracy with more coordinates is ranked only if enough other data sets have it.
    """
    parts = {dimension: frame[frame["dimension"] == dimension] for dimension in (FLAT, FULL)}
    first, *others = MEASURES
    found = {first.head: ranking(parts[FLAT], first, tuple(REFERENCES))}
    many = ranking(parts[FULL], first, tuple(REFERENCES))
    if many.n_sets >= LEAST_SHARE * found[first.head].n_sets:
        found[f"{first.head}, {FULL}"] = many
    for measure in others:
        found[measure.head] = ranking(parts[FLAT], measure, tuple(REFERENCES))
    return {head: one for head, one in found.items() if one.n_sets}


def reference_accuracies(frame: pd.DataFrame, names: Sequence[str]) -> pd.Series:
    """Return mean accuracies on the experiments that all of these maps and classifiers have."""
    part = frame[(frame["dimension"] == FLAT) & frame["map"].isin(names)]
    table = part.pivot_table(index=EXPERIMENT, columns="map", values="accuracy", aggfunc="mean").dropna()
    return table.groupby(level="dataset").mean().mean().reindex(names).dropna()


def complete(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the splits that all maps have on all data sets, for each training size and dimension.

    A run that was stopped leaves a split of which some rows are missing.
    """
    groups = ["dimension", "size"]
    kept = []
    for _, part in frame.groupby(groups):
        shared = set.intersection(*part.groupby(["dataset", "map"])["split"].agg(set))
        kept.append(part[part["split"].isin(shared)])
    return pd.concat(kept)


def splits_of(frame: pd.DataFrame) -> tuple[int, int]:
    """Return the fewest and the most splits of a training size and dimension."""
    splits = frame.groupby(["dimension", "size"])["split"].nunique()
    return int(splits.min()), int(splits.max())
