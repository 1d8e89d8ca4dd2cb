"""Certificates under test: tightness of the bounds, attacks inside the radii, what radii say of errors.

Writes ``results/certificates.json``, the page ``docs/certificates.md`` and its two figures.

    NSSE_DATA=<folder> python benchmarks/certificates.py
    python benchmarks/certificates.py --quick --datasets digits      # a minute, nothing in docs/
    python benchmarks/certificates.py --page-only                    # the page anew from the JSON
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC

from certificates_attack import changed
from certificates_page import page_text, tables
from common import DOCS, RESULTS, best_time, versions, write_json
from nsse import NSSE, SUPLAP, IsoKRR, MReg
from nsse.certificates import certified_radius, generalization_report, lipschitz_bounds, theorem_1
from nsse.certificates.rejection import risk_coverage_curve
from nsse.datasets import Dataset, load_dataset
from nsse.estimators.catalogue import DEFAULTS_0_1
from nsse.evaluation import per_class_split
from nsse.report import generalization_figure, risk_coverage_figure, save_figure

# Training samples per class.
SIZES = {"digits": 20, "coil20": 10, "orl": 5, "yale": 10}
FEW = {"digits": 7, "coil20": 7, "orl": 3, "yale": 10}
TITLES = {"digits": "digits", "coil20": "COIL-20", "orl": "ORL", "yale": "Extended Yale B"}
ATTACKED = ("digits", "coil20", "orl")
FACTORS = (0.5, 0.9, 1.0, 1.5, 2.0, 3.0)  # of the certified radius
RAW_FACTORS = (0.5, 0.9, 1.0, 3.0, 10.0, 30.0)  # of that in the units of a table
COVERAGE = 0.8
METHODS = {
    "NSSE": NSSE.as_published(),
    "SUPLAP": SUPLAP(**DEFAULTS_0_1["SUPLAP"]),
    "MReg": MReg(),
    "IsoKRR": IsoKRR(**DEFAULTS_0_1["IsoKRR"]),
}
READERS = {
    "NSSE, 1-NN": NSSE.as_published(),
    "NSSE, scores": NSSE.as_published(classifier="scores"),
    "NSSE, class means, scores": NSSE.as_published(
        mu2=1.0, normalization="classes", classifier="scores"
    ),
}
OTHERS = {
    "5-NN": NSSE.as_published(classifier=KNeighborsClassifier(5)),
    "nearest centroid": NSSE.as_published(classifier=NearestCentroid()),
    "logistic regression": NSSE.as_published(classifier=LogisticRegression(C=1000.0, max_iter=1000)),
    "linear SVM": NSSE.as_published(classifier=LinearSVC(C=1000.0, random_state=0)),
    "1-NN in the within-class metric": NSSE.as_published(metric="within", shrinkage=0.3),
    "SUPLAP, 1-NN": SUPLAP(**DEFAULTS_0_1["SUPLAP"]),
    "MReg": MReg(),
}
# Tables in the units they come in, behind steps, with training samples per class.
PIPELINES = {
    "wine, standardised": (load_wine, 30, make_pipeline(StandardScaler(), NSSE())),
    "wine, standardised, ten axes": (
        load_wine,
        30,
        make_pipeline(StandardScaler(), PCA(10, whiten=True), NSSE()),
    ),
    "breast cancer, standardised": (load_breast_cancer, 50, make_pipeline(StandardScaler(), NSSE())),
    "breast cancer, scaled to [0, 1]": (load_breast_cancer, 50, make_pipeline(MinMaxScaler(), NSSE())),
    "digits, standardised": (load_digits, 20, make_pipeline(StandardScaler(), NSSE())),
    "digits, forty axes": (load_digits, 20, make_pipeline(PCA(40), NSSE())),
}


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    options = _parse(argv)
    if options.page_only:
        record = json.loads(options.out.read_text(encoding="utf-8"))
    else:
        record = _measured(options)
        write_json(options.out, record)
        print(tables(record))
    if not options.quick:
        options.markdown.write_text(page_text(record), encoding="utf-8")
        print(f"written: {options.markdown.name}")
    return record


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--splits", type=int, default=5, help="random splits per data set")
    parser.add_argument("--quick", action="store_true", help="one split, few points, no page")
    parser.add_argument("--page-only", action="store_true", help="write the page from the JSON")
    parser.add_argument("--out", type=Path, default=RESULTS / "certificates.json")
    parser.add_argument("--markdown", type=Path, default=DOCS / "certificates.md")
    parser.add_argument("--images", type=Path, default=DOCS / "images")
    options = parser.parse_args(argv)
    if options.quick:
        options.splits = 1
    return options


def _measured(options: argparse.Namespace) -> dict[str, Any]:
    names, quick = options.datasets, options.quick
    seeds = range(options.splits)
    most = 60 if quick else None
    methods = ["NSSE"] if quick else list(METHODS)
    attacks = [
        _attacked(name, title, model, most)
        for title, model in READERS.items()
        for name in names
        if name in ATTACKED
    ]
    if "digits" in names:
        attacks += [_attacked("digits", title, model, most or 300) for title, model in OTHERS.items()]
    ranked = {name: [_ranked(name, seed) for seed in seeds] for name in names}
    record = {
        "tightness": [_tightness(name, method, seeds) for name in names for method in methods],
        "attacks": attacks,
        "pipelines": [_attacked_pipeline(title, most) for title in PIPELINES],
        "factors": FACTORS,
        "raw_factors": RAW_FACTORS,
        "ranking": [_ranking(name, pairs) for name, pairs in ranked.items()],
        "coverage": COVERAGE,
        "theorem": [_theorem(name) for name in names] + [_theorem_of_blobs()],
        "generalization": [] if quick else _generalization(names, options.images),
        "speed": _speed(500 if quick else 10_000),
        "splits": options.splits,
        "versions": versions(),
    }
    if not quick:
        _draw_curves(ranked, options.images)
    return record


@cache
def _data(name: str) -> Dataset:
    return load_dataset(name)


def _split(name: str, n_per_class: int, seed: int) -> tuple[Any, Any, Any, Any]:
    data = _data(name)
    train, test = per_class_split(data.y, n_per_class, seed)
    return data.X[train], data.y[train], data.X[test], data.y[test]


def _tightness(name: str, method: str, seeds: Sequence[int]) -> dict[str, Any]:
    """Bounds and median radii, means over the splits."""
    rows = []
    for seed in seeds:
        X, y, X_test, _ = _split(name, SIZES[name], seed)
        model = clone(METHODS[method]).fit(X, y)
        radii = {
            f"radius_{bound}": float(np.median(model.certified_radius(X_test, bound=bound)))
            for bound in ("directional", "rkhs", "proposition_1")
        }
        units = {"sigma_in_units": model.sigma_ / model.length_unit_}
        rows.append(lipschitz_bounds(model).to_dict() | units | radii)
    means = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
    return {"dataset": name, "method": method, "n_per_class": SIZES[name], **means}


def _attacked(name: str, title: str, model: Any, most: int | None) -> dict[str, Any]:
    """How many labels change inside multiples of the certified radius."""
    X, y, X_test, _ = _split(name, SIZES[name], 0)
    return {"dataset": name, "model": title, **_attack(clone(model).fit(X, y), X_test[:most], FACTORS)}


def _attacked_pipeline(title: str, most: int | None) -> dict[str, Any]:
    """The same in the units in which a table comes."""
    load, n_per_class, model = PIPELINES[title]
    X, y = load(return_X_y=True)
    train, test = per_class_split(y, n_per_class, 0)
    return {"model": title, **_attack(clone(model).fit(X[train], y[train]), X[test][:most], RAW_FACTORS)}


def _attack(model: Any, X_test: Any, factors: Sequence[float]) -> dict[str, Any]:
    radius = certified_radius(model, X_test)
    certified = radius > 0
    counts = [
        int(changed(model, X_test[certified], f * radius[certified], starts=4, steps=20, seed=1).sum())
        for f in factors
    ]
    points = {"n_points": int(certified.sum()), "n_without": int((~certified).sum())}
    return {**points, "radius": float(np.median(radius)), "changed": counts}


def _ranked(name: str, seed: int) -> tuple[Any, Any]:
    X, y, X_test, y_test = _split(name, FEW[name], seed)
    model = NSSE.as_published().fit(X, y)
    return model.certified_radius(X_test), model.predict(X_test) != y_test


def _ranking(name: str, pairs: Sequence[tuple[Any, Any]]) -> dict[str, Any]:
    curves = [risk_coverage_curve(*pair) for pair in pairs]
    plain = np.array([1 - curve.error for curve in curves])
    kept = np.array([curve.accuracy_at(COVERAGE) for curve in curves])
    gain = kept - plain
    deviation = float(np.std(gain, ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else None
    return {
        "dataset": name,
        "n_per_class": FEW[name],
        "accuracy": float(plain.mean()),
        "accuracy_covered": float(kept.mean()),
        "gain": float(gain.mean()),
        "gain_error": deviation,
        "area": float(np.mean([curve.area for curve in curves])),
    }


def _draw_curves(ranked: dict[str, list[tuple[Any, Any]]], images: Path) -> None:
    shown = [name for name in ("orl", "yale") if name in ranked]
    if not shown:
        return
    curves = {
        f"{TITLES[name]}, {FEW[name]} training images per class": risk_coverage_curve(
            *(np.concatenate(column) for column in zip(*ranked[name], strict=True))
        )
        for name in shown
    }
    splits = len(ranked[shown[0]])
    figure = risk_coverage_figure(
        curves,
        coverage=COVERAGE,
        title="The certified radius knows where NSSE errs",
        caption=f"NSSE() with default parameters; unseen images of {splits} random splits, pooled."
        " Dashed: the error when nothing is withheld.",
    )
    save_figure(figure, images / "certificates_risk.png", "png")


def _theorem(name: str) -> dict[str, Any]:
    X, y, _, _ = _split(name, SIZES[name], 0)
    return {"dataset": TITLES[name], **_plain(theorem_1(NSSE.as_published().fit(X, y), X, y).to_dict())}


def _theorem_of_blobs() -> dict[str, Any]:
    """Two tight classes far apart, where the theorem has something to say."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 150)
    X = np.column_stack([8.0 * y, np.zeros(300)]) + rng.uniform(-0.1, 0.1, (300, 2))
    return {"dataset": "two squares", **_plain(theorem_1(NSSE.as_published().fit(X, y), X, y).to_dict())}


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and np.isnan(value) else value
        for key, value in row.items()
    }


def _generalization(names: Sequence[str], images: Path) -> list[dict[str, Any]]:
    rows = []
    for name in names:
        X, y, X_test, y_test = _split(name, FEW[name], 0)
        report = generalization_report(NSSE.as_published().fit(X, y), X_test, y_test, n_permutations=19)
        rows.append({"dataset": name, "n_per_class": FEW[name], **_plain(report.to_dict())})
        if name == "coil20":
            caption = f"NSSE() on {TITLES[name]}, {FEW[name]} training images per class, one split."
            figure = generalization_figure(report, caption=caption)
            save_figure(figure, images / "certificates_generalization.png", "png")
    return rows


def _speed(n_points: int) -> dict[str, Any]:
    """Seconds for many radii against 2000 samples in 20 dimensions, beside those of `predict`."""
    rng = np.random.default_rng(0)
    means = rng.standard_normal((21, 100))
    y, y_new = np.arange(2000) % 21, np.arange(n_points) % 21
    model = NSSE.as_published(sigma=1.0).fit(means[y] + 0.6 * rng.standard_normal((2000, 100)), y)
    X = means[y_new] + 0.6 * rng.standard_normal((n_points, 100))
    predict, _ = best_time(lambda: model.predict(X), 2)
    radius, _ = best_time(lambda: model.certified_radius(X), 2)
    return {"n_points": n_points, "predict_seconds": predict, "radius_seconds": radius}


if __name__ == "__main__":
    main()
