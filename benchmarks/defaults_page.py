"""Reads the scores of the study of the defaults: tables, losses, the CSV and the page of the docs."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common import markdown_table, versions

DEFAULTS, SVM, NEAREST = "NSSE()", "SVC(C=10)", "1-NN"
TIE = 1e-9  # mean errors closer than this differ by rounding only


@dataclass(frozen=True)
class Case:
    """A data set and a number of training samples per class."""

    dataset: str
    n_per_class: int

    def __str__(self) -> str:
        return f"{self.dataset} {self.n_per_class}"


@dataclass(frozen=True)
class Score:
    """Test errors of one method in one case, one per split."""

    method: str
    case: Case
    errors: NDArray[np.float64]
    n_test: int
    warned: int  # splits on which the fit warned

    @property
    def mean(self) -> float:
        """Mean test error."""
        return float(self.errors.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of the mean over the splits."""
        return _standard_error(self.errors)

    @property
    def percent(self) -> str:
        """What stands in a cell of a table."""
        return f"{100 * self.mean:.1f} ± {100 * self.standard_error:.1f}"


Scores = dict[tuple[str, Case], Score]
Table = tuple[list[str], list[list[str]]]


def study_table(scores: Scores) -> Table:
    """Candidates by cases; at the end the mean log-ratio to the SVM and the cases behind a rival."""
    cases = _cases(scores)
    header = ["candidate", *map(str, cases), "mean log-ratio to SVC", "behind a rival"]
    return header, [
        [
            name,
            *(scores[name, case].percent for case in cases),
            f"{_mean_log_ratio(scores, name):+.3f}",
            str(_n_behind(scores, name)),
        ]
        for name in _methods(scores)
    ]


def final_table(scores: Scores) -> Table:
    """The defaults beside their rivals, and whether they are below both."""
    cases = _cases(scores)
    rows = [[name, *(scores[name, case].percent for case in cases)] for name in _methods(scores)]
    below = ["yes" if not _behind(scores, DEFAULTS, case, ties=True) else "no" for case in cases]
    return ["method", *map(str, cases)], [*rows, [f"{DEFAULTS} below both", *below]]


def losses(scores: Scores) -> list[str]:
    """Where untuned NSSE has the larger mean error, with the paired difference."""
    lines = []
    for case in _cases(scores):
        for rival, difference in _behind(scores, DEFAULTS, case).items():
            spread = _standard_error(difference)
            note = " (within two standard errors)" if difference.mean() <= 2 * spread else ""
            by = f"{100 * difference.mean():.1f} ± {100 * spread:.1f} points"
            lines.append(f"- {case} per class: {by} worse than {rival}{note}")
    return lines or ["- nowhere in this study"]


def write_csv(path: Path, scores: Scores) -> None:
    """One row per method and case."""
    header = [
        "dataset",
        "n_per_class",
        "method",
        "splits",
        "n_test",
        "error_mean",
        "error_standard_error",
        "splits_with_warnings",
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        for s in scores.values():
            writer.writerow(
                [
                    s.case.dataset,
                    s.case.n_per_class,
                    s.method,
                    len(s.errors),
                    s.n_test,
                    f"{s.mean:.6f}",
                    f"{s.standard_error:.6f}",
                    s.warned,
                ]
            )


def write_page(
    path: Path,
    study: Scores,
    final: Scores,
    *,
    varied: Mapping[str, Sequence[Any]],
    defaults: Mapping[str, Any],
    skipped: list[str],
) -> None:
    """``docs/defaults_study.md``, every word of it that depends on the numbers computed."""
    page = PAGE.format(
        varied="\n".join(f"- {name}: {', '.join(map(str, values))}" for name, values in varied.items()),
        missing=f"\nNot run, the data were not there: {', '.join(skipped)}.\n" if skipped else "",
        splits=_n_splits(study),
        study=markdown_table(*study_table(study)),
        warned="; ".join(f"{s.method} on {s.case} ({s.warned})" for s in study.values() if s.warned)
        or "none",
        chosen=", ".join(f"`{name}={value}`" for name, value in defaults.items()),
        standing=_standing(study),
        losses="\n".join(losses(study)),
        final_splits=_n_splits(final),
        datasets=" ".join(dict.fromkeys(case.dataset for case in _cases(study))),
        final=markdown_table(*final_table(final)),
        versions=", ".join(f"{name} {version}" for name, version in versions().items()),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")


PAGE = """# Where the parameters of the published method come from

Written by `benchmarks/defaults_study.py`; do not edit.

## What was varied

What `NSSE.as_published()` has where the paper leaves a choice; the defaults of `NSSE()` are on
[another page](when_to_use.md). One parameter at a time around the defaults, the others as they are:

{varied}

`mu3=None` stands for a multiple of `mu2 * n_components`, so it follows when `mu2` is varied.
Everything else is as in `NSSE.as_published()`; `n_components` is the number of classes less one. Rivals
on the same splits: `SVC(C=10)` with its RBF kernel, and the nearest neighbour.

A case is a data set and a number of training samples per class; all other samples are tested. coil20,
orl and yale are images of 25 x 25 pixels divided by their Euclidean norm; synthetic is
`make_classification` with 8 classes and 40 features.
{missing}
## Test errors

Per cent, mean ± standard error over {splits} random splits. The mean log-ratio is that of
log(error / error of the SVM) over the cases: below zero is better than the SVM. The last column counts
the cases in which the SVM or the nearest neighbour has a smaller mean error.

{study}

Fits that warned (on how many splits): {warned}.

## Chosen

The defaults of `NSSE.as_published()`, those of version 0.1: {chosen}. {standing}

## Where untuned NSSE loses

{losses}

## The defaults on digits

{final_splits} fresh splits, on which nothing was chosen.

{final}

## Made by

    export NSSE_DATA=<folder>
    python benchmarks/defaults_study.py --splits {splits} --final-splits {final_splits} \\
        --datasets {datasets}

{versions}
"""


def _methods(scores: Scores) -> list[str]:
    return list(dict.fromkeys(method for method, _ in scores))


def _cases(scores: Scores) -> list[Case]:
    return list(dict.fromkeys(case for _, case in scores))


def _n_splits(scores: Scores) -> int:
    return max((len(score.errors) for score in scores.values()), default=0)


def _standard_error(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def _behind(
    scores: Scores, method: str, case: Case, ties: bool = False
) -> dict[str, NDArray[np.float64]]:
    """Rivals with a smaller mean error (or the same), with the difference of the errors per split."""
    ours = scores[method, case].errors
    differences = {rival: ours - scores[rival, case].errors for rival in (SVM, NEAREST)}
    least = -TIE if ties else TIE
    return {rival: d for rival, d in differences.items() if d.mean() > least}


def _n_behind(scores: Scores, method: str) -> int:
    return sum(bool(_behind(scores, method, case)) for case in _cases(scores))


def _mean_log_ratio(scores: Scores, method: str) -> float:
    """Mean over the cases of log(error / error of the SVM); no error counts as half a sample."""
    ratios = []
    for case in _cases(scores):
        pair = scores[method, case], scores[SVM, case]
        ours, svm = (max(s.mean, 0.5 / (s.n_test * len(s.errors))) for s in pair)
        ratios.append(np.log(ours / svm))
    return float(np.mean(ratios))


def _standing(study: Scores) -> str:
    """Where the defaults stand among the candidates."""
    candidates = [name for name in _methods(study) if name not in (SVM, NEAREST)]
    ratios = {name: _mean_log_ratio(study, name) for name in candidates}
    lower = sorted((n for n in candidates if ratios[n] < ratios[DEFAULTS]), key=ratios.__getitem__)

    def described(name: str) -> str:
        return f"{ratios[name]:+.3f}, behind a rival in {_n_behind(study, name)} cases"

    others = "; ".join(f"{name} ({described(name)})" for name in lower) or "none"
    fewest = min(_n_behind(study, name) for name in candidates)
    return (
        f"Mean log-ratio {described(DEFAULTS)}; the fewest of any candidate is {fewest}.\n\n"
        f"Candidates with a lower mean log-ratio: {others}."
    )
