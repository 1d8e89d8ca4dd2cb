"""Attacks on certificates: no point within the certified radius of a sample gets another label.

Projected gradient ascent on the best rival score less the own one, from the sample and from random
points of the ball; gradients are differences of `decision_function`, so that any estimator and any
pipeline is attacked as its users see it, in the units in which its samples come. What counts is
`predict`. Beyond the radius labels should change: an attack that never succeeds proves nothing.

    python benchmarks/certificates.py              # or: make certificates; fails where a label changes
    python benchmarks/certificates.py --points 20 --only wine
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from common import RESULTS, Floats, best_time, show, versions, write_json
from nsse import NSSE, SUPLAP, IsoKRR, MReg
from nsse.certificates import certified_radius, lipschitz_bounds

FACTORS = (0.5, 0.9, 1.0, 3.0, 10.0, 30.0)  # of the certified radius
STARTS, STEPS = 3, 15
LOOK = 5  # steps between looks at the label
DIFFERENCE = 1e-5  # of the radius: how far apart two points are for a slope
# Where, training samples, what.
ATTACKED: dict[str, tuple[Callable[..., Any], int, Any]] = {
    "digits, NSSE()": (load_digits, 200, NSSE()),
    "digits, as published": (load_digits, 200, NSSE.as_published()),
    "digits, as published, scores": (load_digits, 200, NSSE.as_published(classifier="scores")),
    "digits, 60 centres": (load_digits, 500, NSSE(n_landmarks=60)),
    "digits, SUPLAP": (load_digits, 200, SUPLAP()),
    "digits, MReg": (load_digits, 200, MReg()),
    "digits, IsoKRR": (load_digits, 200, IsoKRR()),
    "digits, forty axes": (load_digits, 200, make_pipeline(PCA(40), NSSE())),
    "wine, standardised": (load_wine, 90, make_pipeline(StandardScaler(), NSSE())),
    "wine, whitened": (load_wine, 90, make_pipeline(StandardScaler(), PCA(10, whiten=True), NSSE())),
    "breast cancer, standardised": (load_breast_cancer, 100, make_pipeline(StandardScaler(), NSSE())),
    "breast cancer, in [0, 1]": (load_breast_cancer, 100, make_pipeline(MinMaxScaler(), NSSE())),
}


def changed(model: Any, X: Floats, radius: Floats, seed: int = 0) -> Any:
    """Whether some point found within ``radius`` of each row gets another label."""
    rng, labels = np.random.default_rng(seed), model.predict(X)
    found, radius = np.zeros(len(X), dtype=bool), radius[:, np.newaxis]
    for start in range(STARTS):
        moved = X + _start(start, X, radius, rng)
        for step in range(STEPS):
            ascent = slope(model, moved, labels, DIFFERENCE * radius)
            length = np.linalg.norm(ascent, axis=1, keepdims=True)
            ascent /= np.where(length > 0, length, 1.0)
            moved = _projected(moved + 2.0 * radius * ascent / (1 + step) ** 0.75, X, radius)
            if step % LOOK == LOOK - 1:
                found |= model.predict(moved) != labels
    return found


def slope(model: Any, X: Floats, labels: Any, width: Floats) -> Floats:
    """Gradient at every row of the best rival score less the own score, by differences."""
    n_points, n_features = X.shape
    near = (X[:, np.newaxis] + width[:, np.newaxis] * np.eye(n_features)).reshape(-1, n_features)
    there = lead(model, near, np.repeat(labels, n_features)).reshape(n_points, n_features)
    return there - lead(model, X, labels)[:, np.newaxis]


def lead(model: Any, X: Floats, labels: Any) -> Floats:
    """The best rival score less the score of the label, at every row."""
    scores = model.decision_function(X)
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    own = labels[:, np.newaxis] == model.classes_
    return np.where(own, -np.inf, scores).max(axis=1) - scores[own]


def _start(start: int, X: Floats, radius: Floats, rng: np.random.Generator) -> Floats:
    """The sample itself first, then random points of the sphere or inside it."""
    if start == 0:
        return np.zeros_like(X)
    direction = rng.standard_normal(X.shape)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return direction * radius * (1.0 if start % 2 else rng.random((len(X), 1)))


def _projected(moved: Floats, X: Floats, radius: Floats) -> Floats:
    """Back into the ball, a hair inside: the sum X + change rounds."""
    change = moved - X
    length = np.linalg.norm(change, axis=1, keepdims=True)
    outside = length > radius
    return X + np.where(outside, change * (radius / np.where(outside, length, 1.0)) * (1 - 1e-9), change)


def attacked(title: str, n_points: int) -> dict[str, Any]:
    """How many labels change inside multiples of the certified radius."""
    load, n_train, model = ATTACKED[title]
    X, y = load(return_X_y=True)
    X, X_new, y, _ = train_test_split(X, y, train_size=n_train, stratify=y, random_state=0)
    model.fit(X, y)
    X_new = X_new[:n_points]
    seconds, radius = best_time(lambda: certified_radius(model, X_new), 3)
    predict, _ = best_time(lambda: model.predict(X_new), 3)
    has = radius > 0
    row = {
        "attacked": title,
        "points": int(has.sum()),
        "median_radius": float(f"{np.median(radius):.3g}"),
    }
    for factor in FACTORS:
        row[f"× {factor:g}"] = int(changed(model, X_new[has], factor * radius[has]).sum())
    return row | {"seconds_over_predict": round(seconds / predict, 1)}


def tightness() -> list[dict[str, Any]]:
    """Bounds of the Lipschitz constant of the map, beside the steepest place found."""
    X, y = load_digits(return_X_y=True)
    X, _, y, _ = train_test_split(X / 16.0, y, train_size=200, stratify=y, random_state=0)
    models = {"NSSE()": NSSE(), "as published": NSSE.as_published()}
    return [
        {"model": name} | {key: float(f"{value:.4g}") for key, value in _bounds(model.fit(X, y)).items()}
        for name, model in models.items()
    ]


def _bounds(model: Any) -> dict[str, float]:
    told = lipschitz_bounds(model).to_dict()
    return {key: float(value) for key, value in told.items() if isinstance(value, float)}


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--points", type=int, default=100, help="samples attacked, of each model")
    parser.add_argument("--only", default="", help="titles that begin so")
    parser.add_argument("--out", type=Path, default=RESULTS / "certificates.json")
    options = parser.parse_args(argv)
    titles = [title for title in ATTACKED if title.startswith(options.only)]
    rows, bounds = [attacked(title, options.points) for title in titles], tightness()
    show(rows)
    show(bounds)
    inside = sum(row[f"× {factor:g}"] for row in rows for factor in FACTORS if factor <= 1)
    print(f"{inside} labels changed inside the certified radius")
    record = {"attacks": rows, "inside": inside, "tightness": bounds, "versions": versions()}
    write_json(options.out, record)
    return record


if __name__ == "__main__":
    raise SystemExit(int(main()["inside"] > 0))
