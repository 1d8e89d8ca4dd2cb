"""Small fits, small weights and single points beside what else one would use: ratios of one run.

Every row compares two pieces of work that take turns in one process, in seconds of the processor on one
BLAS thread; the least of several turns counts, of each. The literal method is Algorithm 1 of the paper
written plainly (`literal`), on the same samples, weights, graph, unit of length and range of σ.

    python benchmarks/small_fits.py             # minutes; COIL-20 and MNIST where NSSE_DATA has them
    python benchmarks/small_fits.py --quick     # some rows, on few samples
    python benchmarks/small_fits.py --parts profile     # where the milliseconds go
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from common import RESULTS, Floats, Labels, draw_samples, machine_facts, text_table, write_json
from exact_vs_literal import SHARED, mu3_of
from literal import Literal, literal_nsse
from nsse import NSSE, NSSECV
from nsse.datasets import load_dataset
from nsse.evaluation.splits import per_class_split
from nsse.selection import default_param_grid
from nsse.selection.splits import BalancedSplits
from stages import FIT, SEARCH, shares

Work = Callable[[], Any]

PER_CLASS = (7, 15, 30)
FAR_APART = {"mu1": 100.0, "mu2": 1e-3}
SMALL_GRID = {"mu1": [0.1, 1.0, 10.0], "mu2": [1e-3, 1e-2, 1e-1], "mu3": [0.1, 1.0, 10.0]}
SMALL_GRID["n_components"] = [5, 10, 19]
CALLS = 200  # of predict with one point, timed together


@dataclass(frozen=True)
class Row:
    """Two pieces of work, and what their ratio, theirs over ours, or our time should be."""

    case: str
    ours: float
    beside: str
    theirs: float
    asked: str
    reached: bool
    note: str = ""

    @property
    def ratio(self) -> float:
        """How many times faster ours is."""
        return self.theirs / self.ours

    @property
    def record(self) -> dict[str, Any]:
        """For machines."""
        return {
            "case": self.case,
            "milliseconds": float(f"{1e3 * self.ours:.4g}"),
            "beside": self.beside,
            "milliseconds_beside": float(f"{1e3 * self.theirs:.4g}"),
            "ratio": float(f"{self.ratio:.3g}"),
            "asked": self.asked,
            "reached": bool(self.reached),  # comparisons of objectives are NumPy's
            "note": self.note,
        }


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    options = _parse(argv)
    facts = machine_facts()
    parts = [_small_fits, _images, _weights, _points, _searches]
    chosen = [part for part in parts if part.__name__.strip("_") in options.parts]
    rows: list[Row] = []
    with threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # grids have points at the end of the range of sigma
        for part in chosen:
            measured = part(options.turns, options.quick)
            print(_table(measured), end="\n\n", flush=True)
            rows += measured
        profiles = _profile(options.turns, options.quick) if "profile" in options.parts else []
    record = {"rows": [row.record for row in rows], "profiles": profiles, "machine": facts}
    write_json(options.out, record)
    return record


def in_turns(works: Sequence[Work], turns: int) -> tuple[list[float], list[Any]]:
    """Least seconds of the processor of each, taking turns, and what they gave last."""
    seconds = [[] for _ in works]  # type: list[list[float]]
    results: list[Any] = [None] * len(works)
    for _ in range(turns):
        for place, work in enumerate(works):
            start = time.process_time()
            results[place] = work()
            seconds[place].append(time.process_time() - start)
    return [min(each) for each in seconds], results


def _small_fits(turns: int, quick: bool) -> list[Row]:
    """COIL-20, 140 to 600 samples: the published method and the defaults."""
    X, y = _objects()
    rows, limit = [], 0.0
    for n_per_class in reversed(PER_CLASS[:1] if quick else PER_CLASS):
        train, _ = per_class_split(y, n_per_class, 0)
        A, b = X[train], y[train]
        published = NSSE.as_published().fit(A, b)
        works: list[Work] = [
            lambda A=A, b=b: NSSE.as_published().fit(A, b),
            lambda A=A, b=b, model=published: _literal(model, A, b),
            lambda A=A, b=b: NSSE().fit(A, b),
            lambda A=A, b=b: SVC(C=10).fit(A, b),
        ]
        (ours, literal, default, svc), (model, ended, _, _) = in_turns(works, turns)
        limit = max(limit, 4 * svc)  # that of the most samples, which come first
        lower = model.objective_ <= ended.objective + 1e-9 * abs(ended.objective)
        note = "objective no higher" if lower else "objective higher"
        case = f"exact fit as published, {len(b)} samples"
        rows.append(Row(case, ours, "literal", literal, ">= 3 x", literal >= 3 * ours and lower, note))
        asked = f"<= 4 x SVC of {PER_CLASS[-1] * 20} ({1e3 * limit:.0f} ms)"
        rows.append(Row(f"default fit, {len(b)} samples", default, "SVC", svc, asked, default <= limit))
    return rows


def _images(turns: int, quick: bool) -> list[Row]:
    """500 samples of MNIST, beside 1000: a fit of fewer must not take longer."""
    few, many = (draw_samples(n, 10) for n in ((100, 200) if quick else (500, 1000)))
    rows = []
    for name, make in {"as published": NSSE.as_published, "default": NSSE}.items():
        works: list[Work] = [
            lambda make=make: make().fit(few.X_train, few.y_train),
            lambda make=make: make().fit(many.X_train, many.y_train),
        ]
        (ours, theirs), _ = in_turns(works, turns)
        case, beside = f"{name}, {len(few.y_train)} of {few.source}", f"{len(many.y_train)} samples"
        reached = ours <= min(0.12, theirs)
        rows.append(Row(case, ours, beside, theirs, "<= 120 ms, monotone", reached))
    return rows


def _weights(turns: int, quick: bool) -> list[Row]:
    """2000 samples, with the published weights and with weights far apart."""
    samples = draw_samples(200 if quick else 2000, 10)
    X, y = samples.X_train, samples.y_train
    rows = []
    for name, weights, least in (("", {}, 12.0), (", mu1 = 100, mu2 = 1e-3", FAR_APART, 8.0)):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model = NSSE.as_published(**weights).fit(X, y)
        works: list[Work] = [
            lambda weights=weights: NSSE.as_published(**weights).fit(X, y),
            lambda model=model: _literal(model, X, y),
        ]
        (ours, literal), (model, ended) = in_turns(works, min(turns, 2))
        lower = model.objective_ <= ended.objective + 1e-9 * abs(ended.objective)
        note = f"{len(said)} warnings, objective {'no ' if lower else ''}higher"
        reached = literal >= least * ours and lower and not said
        case = f"exact fit as published, {len(y)} samples{name}"
        rows.append(Row(case, ours, "literal", literal, f">= {least:g} x", reached, note))
    return rows


def _points(turns: int, quick: bool) -> list[Row]:
    """`predict` of one point."""
    X, y = _objects()
    rows = []
    for n_per_class in PER_CLASS[:1] if quick else PER_CLASS:
        train, test = per_class_split(y, n_per_class, 0)
        svc = SVC(C=10).fit(X[train], y[train])
        for name, make in {"as published": NSSE.as_published, "default": NSSE}.items():
            model = make().fit(X[train], y[train])
            case = f"one point, {name}, {len(train)} centres"
            rows.append(_point_row(case, model, svc.predict, "SVC", X[test[:1]], turns, 0.5))
    if not quick:
        rows.append(_many_centers(turns))
    return rows


def _many_centers(turns: int) -> Row:
    """5000 centres of 784 features, and the product of one row with them that nobody can spare."""
    samples = draw_samples(5000, 10)
    X = samples.X_train.astype(np.float64)
    model = NSSE.as_published(sigma=0.8, n_landmarks=len(X) - 1).fit(X, samples.y_train)
    x, columns = X[:1] + 0.01, np.asfortranarray(X)
    return _point_row(
        f"one point, {model.n_landmarks_} centres x {X.shape[1]}",
        model,
        lambda row: row @ columns.T,
        "product of a row",
        x,
        turns,
        1.5,
    )


def _point_row(
    case: str,
    model: NSSE,
    other: Callable[[Floats], Any],
    beside: str,
    x: Floats,
    turns: int,
    most: float,
) -> Row:
    def many(call: Callable[[Floats], Any]) -> Work:
        return lambda: [call(x) for _ in range(CALLS)]

    (ours, theirs), _ = in_turns([many(model.predict), many(other)], 2 * turns)
    ours, theirs = ours / CALLS, theirs / CALLS
    return Row(case, ours, beside, theirs, f"<= {most:g} ms", ours <= 1e-3 * most)


def _searches(turns: int, quick: bool) -> list[Row]:
    """`NSSECV(search="full")` beside GridSearchCV, the same points on the same splits."""
    X, y = _objects()
    train, _ = per_class_split(y, 4 if quick else 10, 0)
    X, y = X[train], y[train]
    default = default_param_grid(len(np.unique(y)))
    cases = [(SMALL_GRID, 3, 15.0), (default, 5, 40.0)]
    if quick:
        cases = [({"mu2": [1e-2, 1e-1], "mu3": [0.1, 1.0]}, 2, 15.0)]
    rows = []
    for grid, n_splits, least in cases:
        splits = list(BalancedSplits(n_splits, 0.15, 0).split(X, y))
        model = NSSE.as_published()
        full = NSSECV(grid, cv=splits, estimator=model, search="full", n_voters=1)
        works: list[Work] = [
            lambda full=full: full.fit(X, y),
            lambda grid=grid, splits=splits, model=model: GridSearchCV(model, grid, cv=splits).fit(X, y),
        ]
        (ours, theirs), (found, other) = in_turns(works, 1)
        a, b = (search.cv_results_["mean_test_score"] for search in (found, other))
        same = int(np.sum(np.isclose(a, b, atol=1e-12)))
        n_points = len(ParameterGrid(grid))
        case, note = f"search of {n_points} points, {n_splits} splits", f"{same} scores the same"
        reached = theirs >= least * ours
        rows.append(Row(case, ours, "GridSearchCV", theirs, f">= {least:g} x", reached, note))
    return rows


def _profile(turns: int, quick: bool) -> list[dict[str, Any]]:
    """Stages of the fits and of the search above, in shares of their time."""
    X, y = _objects()
    cases: dict[str, tuple[Work, Any]] = {}
    for n_per_class in PER_CLASS[:1] if quick else PER_CLASS:
        train, _ = per_class_split(y, n_per_class, 0)
        A, b = X[train], y[train]
        cases[f"as published, {len(b)} samples"] = (lambda A=A, b=b: NSSE.as_published().fit(A, b), FIT)
    cases[f"default, {len(b)} samples"] = lambda A=A, b=b: NSSE().fit(A, b), FIT
    few = draw_samples(100 if quick else 500, 10)
    case = f"default, {len(few.y_train)} of {few.source}"
    cases[case] = lambda: NSSE().fit(few.X_train, few.y_train), FIT
    train, _ = per_class_split(y, 4 if quick else 10, 0)
    splits = list(BalancedSplits(2 if quick else 3, 0.15, 0).split(X[train], y[train]))
    grid = {"mu2": [1e-2, 1e-1], "mu3": [0.1, 1.0]} if quick else SMALL_GRID
    full = NSSECV(grid, cv=splits, estimator=NSSE.as_published(), search="full", n_voters=1)
    case = f"search of {len(ParameterGrid(grid))} points, {len(splits)} splits"
    cases[case] = lambda: full.fit(X[train], y[train]), SEARCH
    found = []
    for case, (work, stages) in cases.items():
        (seconds,), (model,) = in_turns([work], turns)
        parts = shares(partial(in_turns, [work], turns), stages)
        # How many times the embedding was solved for at one σ.
        solved = model.n_iter_ if isinstance(model, NSSE) else model.counts_["factorisations"]
        found.append(
            {
                "case": case,
                "milliseconds": float(f"{1e3 * seconds:.4g}"),
                "solved": int(solved),
                "shares": {stage: float(f"{share:.3g}") for stage, share in parts.items()},
            }
        )
        told = ", ".join(f"{stage} {share:.0%}" for stage, share in parts.items() if share >= 0.005)
        print(f"{case}: {1e3 * seconds:.3g} ms, {solved} solved; {told}", flush=True)
    return found


def _objects() -> tuple[Floats, Labels]:
    """COIL-20; where it is not there, digits by their number and parity: twenty classes as well."""
    try:
        data = load_dataset("coil20")
    except FileNotFoundError:
        samples = draw_samples(1600, 10)
        return samples.X_train, 2 * samples.y_train + np.arange(len(samples.y_train)) % 2
    return np.asarray(data.X, dtype=np.float64), data.y


def _literal(model: NSSE, X: Floats, y: Labels) -> Literal:
    codes = np.unique(y, return_inverse=True)[1]
    settings = {name: getattr(model, name) for name in SHARED}
    return literal_nsse(X, codes, model.coef_.shape[1], mu3=mu3_of(model), **settings)


def _table(rows: Sequence[Row]) -> str:
    header = ["case", "ms", "beside", "ms", "ratio", "asked", "reached", "note"]
    lines = [
        [
            row.case,
            f"{1e3 * row.ours:.3g}",
            row.beside,
            f"{1e3 * row.theirs:.3g}",
            f"{row.ratio:.2f}",
            row.asked,
            "yes" if row.reached else "no",
            row.note,
        ]
        for row in rows
    ]
    return text_table(header, lines)


PARTS = ("small_fits", "images", "weights", "points", "searches", "profile")


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--turns", type=int, default=5, help="turns of each (default: 5)")
    parser.add_argument("--quick", action="store_true", help="some rows, on few samples")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--out", type=Path, default=RESULTS / "small_fits.json")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
