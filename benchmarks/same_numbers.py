"""The numbers of the whole library on fixed inputs, stored once and compared after a change of its form.

    python benchmarks/same_numbers.py --store      # before the change: writes results/same_numbers.npz
    python benchmarks/same_numbers.py              # after it: what differs, and by how much

A change of form moves no number: every value must agree to 1e-9 of the largest in its array, labels and
choices exactly. Signs, orders and seeds are fixed by the library itself, so arrays are compared as they
are. Rounding differs between processors: store and compare on one machine.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid

import nsse
from common import RESULTS, text_table
from nsse import LDE, LFDA, NSSE, NSSECV, NYS, SPE, SUPLAP, IsoKRR, MReg
from nsse.certificates import lipschitz_bounds, risk_coverage, theorem_1
from nsse.estimators.catalogue import DEFAULTS_0_1

STORED = RESULTS / "same_numbers.npz"
LARGEST = 1e-9
# Values of an array that are stored: a fixed sample of the larger ones.
MOST = 300

Numbers = dict[str, Any]


def digits(n_samples: int) -> tuple[Any, Any, Any, Any]:
    """Training and test digits."""
    X, y = load_digits(return_X_y=True)
    return X[:n_samples] / 16.0, y[:n_samples], X[1000:1200] / 16.0, y[1000:1200]


def fitted(model: Any, X: Any, y: Any, X_new: Any) -> Numbers:
    """What a fitted model says of itself and of new samples."""
    model.fit(X, y)
    return told(model, X_new)


def told(model: Any, X_new: Any) -> Numbers:
    """The attributes and answers of a fitted model that are numbers."""
    out: Numbers = {"transform": model.transform(X_new), "predict": model.predict(X_new)}
    for name in ("embedding_", "coef_", "sigma_", "objective_", "eigenvalues_", "n_iter_"):
        with suppress(AttributeError):
            out[name] = getattr(model, name)
    trace = getattr(model, "trace_", None)
    if trace is not None:
        table = trace.to_dict()
        out |= {f"trace {name}": table[name] for name in table if name not in ("seconds", "stage")}
    return out


def exact_fits() -> Iterator[tuple[str, Numbers]]:
    """One fit for every way through the exact solver."""
    X, y, X_new, _ = digits(200)
    variants: dict[str, dict[str, Any]] = {
        "default": {},
        "alternating": {"solver": "alternating"},
        "given sigma": {"sigma": 0.8},
        "few dimensions": {"n_components": 4, "mu2": 0.1},
        "more dimensions than classes": {"n_components": 14},
        "weights far apart": {"mu1": 100.0, "mu2": 1e-5},
        "all neighbours": {"n_neighbors": None},
        "units of X": {"length_unit": 1.0, "mu3": 1.0},
        "wide range": {"sigma_range": (0.03, 30.0)},
    }
    for name, parameters in variants.items():
        yield f"exact, {name}", fitted(NSSE.as_published(**parameters), X, y, X_new)
    yield (
        "exact, float32",
        fitted(NSSE.as_published(), X.astype(np.float32), y, X_new.astype(np.float32)),
    )
    yield "exact, sparse", fitted(NSSE.as_published(), sparse.csr_array(X), y, sparse.csr_array(X_new))
    yield (
        "exact, duplicates",
        fitted(NSSE.as_published(), np.vstack([X, X[:20]]), np.hstack([y, y[:20]]), X_new),
    )
    yield "exact, two classes", fitted(NSSE.as_published(), X[y < 2], y[y < 2], X_new)
    large, labels, X_new, _ = digits(900)
    yield "exact, subsamples", fitted(NSSE.as_published(), large, labels, X_new)
    clouds, labels = make_blobs(90, 6, centers=5, cluster_std=4.0, random_state=3)
    yield "exact, overlapping", fitted(NSSE.as_published(mu2=0.1), clouds, labels, clouds[:40] + 0.1)


def landmark_fits() -> Iterator[tuple[str, Numbers]]:
    """Landmarks: three sources of rows, every selector, two precisions."""
    import dask.array as da

    X, y, X_new, _ = digits(900)
    for name in ("kmeans", "per-class", "random", "kmeans++"):
        yield (
            f"landmarks, {name}",
            fitted(NSSE.as_published(n_landmarks=120, landmarks=name), X, y, X_new),
        )
    yield "landmarks, given", fitted(NSSE.as_published(landmarks=np.arange(0, 900, 9)), X, y, X_new)
    yield (
        "landmarks, float32",
        fitted(NSSE.as_published(n_landmarks=120), X.astype(np.float32), y, X_new),
    )
    yield "landmarks, sparse", fitted(NSSE.as_published(n_landmarks=120), sparse.csr_array(X), y, X_new)
    blocks = [(X[i : i + 300], y[i : i + 300]) for i in range(0, 900, 300)]
    yield "landmarks, blocks", told(NSSE.as_published(n_landmarks=120).fit_blocks(blocks), X_new)
    cut = da.from_array(X, chunks=(250, -1))
    yield "landmarks, Dask", fitted(NSSE.as_published(n_landmarks=120), cut, y, X_new)
    many = np.tile(X, (6, 1)) + np.random.default_rng(0).normal(scale=0.05, size=(5400, X.shape[1]))
    yield "landmarks, two blocks", fitted(NSSE.as_published(n_landmarks=300), many, np.tile(y, 6), X_new)


def choices() -> Iterator[tuple[str, Numbers]]:
    """Model selection: scores of every point, and what was chosen."""
    X, y, X_new, _ = digits(150)
    grid = {"mu1": [1.0], "mu2": [0.001, 0.1], "mu3": [None, 0.1], "n_components": [5, 9]}
    grid["n_neighbors"] = [3, 5]
    for name, parameters in {
        "sweep": {},
        "best point alone": {"n_voters": 1},
        "sequential": {"search": "sequential"},
        "alternating": {
            "estimator": NSSE.as_published(solver="alternating", n_sigmas=8),
            "n_repeats": 1,
        },
        "landmarks": {"estimator": NSSE.as_published(n_landmarks=60)},
    }.items():
        search = NSSECV(grid, **{"n_repeats": 3, "estimator": NSSE.as_published(), **parameters}).fit(
            X, y
        )
        yield f"selection, {name}", _choice(search) | told(search, X_new)
    given = NSSECV(
        {"sigma": [0.5, 1.0], "mu2": [0.01, 0.1]}, n_repeats=3, estimator=NSSE.as_published()
    ).fit(X, y)
    yield "selection, given sigma", _choice(given) | told(given, X_new)
    iris = load_iris()
    default = NSSECV(search="full", n_repeats=2).fit(iris.data[::3], iris.target[::3])
    yield "selection, default grid", _choice(default) | told(default, iris.data)


def _choice(search: NSSECV) -> Numbers:
    results = search.cv_results_
    return {
        "scores": results["mean_test_score"],
        "scales": results["mean_sigma"],
        "best": search.best_index_,
        "voters": len(search.voters_),
    }


def methods() -> Iterator[tuple[str, Numbers]]:
    """The methods of the paper's tables, with the parameters that the stored numbers have."""
    X, y, X_new, _ = digits(200)
    for method in (SUPLAP, LFDA, LDE, NYS, SPE, IsoKRR, MReg):
        name = method.__name__
        yield f"method, {name}", fitted(method(**DEFAULTS_0_1.get(name, {})), X, y, X_new)


def certificates() -> Iterator[tuple[str, Numbers]]:
    """Radii for every kind of classifier, bounds, Theorem 1, rejection."""
    X, y, X_new, y_new = digits(200)
    classifiers = {
        "1-NN": "nearest",
        "5-NN": KNeighborsClassifier(5),
        "centroid": NearestCentroid(),
        "linear": LogisticRegression(),
    }
    for name, classifier in classifiers.items():
        model = NSSE.as_published(classifier=classifier).fit(X, y)
        radii = {bound: model.certified_radius(X_new, bound=bound) for bound in ("directional", "rkhs")}
        yield f"radius, {name}", radii
    model = NSSE.as_published().fit(X, y)
    yield "bounds", _fields(lipschitz_bounds(model, X[:50]))
    yield "Theorem 1", _fields(theorem_1(model, X, y))
    yield "rejection", _fields(risk_coverage(model, X_new, y_new))
    vote = NSSECV(
        {"mu2": [0.01, 0.1], "n_components": [5, 9]}, n_repeats=3, estimator=NSSE.as_published()
    ).fit(X, y)
    yield "radius, vote", {"directional": vote.certified_radius(X_new)}


def _fields(record: Any) -> Numbers:
    return {name: value for name, value in vars(record).items() if _is_numbers(value)}


def _is_numbers(value: Any) -> bool:
    return np.asarray(value).dtype.kind in "bif"


def onnx_graphs() -> Iterator[tuple[str, Numbers]]:
    """The outputs of exported graphs."""
    import onnxruntime

    X, y, X_new, _ = digits(200)
    for name, model in {
        "1-NN": NSSE.as_published(),
        "linear": NSSE.as_published(classifier=LogisticRegression()),
    }.items():
        graph = nsse.to_onnx(model.fit(X, y)).SerializeToString()
        session = onnxruntime.InferenceSession(graph)
        (feed,) = session.get_inputs()
        answers = session.run(None, {feed.name: X_new.astype(np.float32)})
        yield f"ONNX, {name}", dict(zip([o.name for o in session.get_outputs()], answers, strict=True))


def shell() -> Iterator[tuple[str, Numbers]]:
    """What the commands write, in machine-readable form."""
    from typer.testing import CliRunner

    from nsse.cli.app import app

    X, y, X_new, y_new = digits(150)
    with tempfile.TemporaryDirectory() as folder:
        train, new, model = (str(Path(folder) / name) for name in ("train.npz", "new.npz", "model.nsse"))
        np.savez(train, X=X, y=y)
        np.savez(new, X=X_new, y=y_new)
        commands = [["fit", train, "--out", model], ["predict", model, new], ["evaluate", model, new]]
        for words in commands:
            told = CliRunner().invoke(app, [*words, "--json"], catch_exceptions=False).stdout
            yield f"nsse {words[0]}", dict(_leaves(json.loads(told)))


def _leaves(record: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(record, dict):
        for name, value in record.items():
            yield from _leaves(value, f"{path} {name}".strip())
    elif isinstance(record, list) and record and isinstance(record[0], dict):
        for name in record[0]:
            yield from _leaves([row[name] for row in record], f"{path} {name}".strip())
    elif _is_numbers(record) and not any(word in path for word in ("second", "bytes", "time")):
        yield path, record


PARTS = (exact_fits, landmark_fits, choices, methods, certificates, onnx_graphs, shell)


def compute() -> dict[str, Any]:
    """Every number, by its name."""
    numbers: dict[str, Any] = {}
    for part in PARTS:
        for name, found in part():
            numbers |= {f"{name}: {key}": _sampled(np.asarray(value)) for key, value in found.items()}
        print(f"{part.__name__}: {len(numbers)} arrays so far", flush=True)
    return numbers


def _sampled(values: Any) -> Any:
    flat = values.ravel()
    if len(flat) <= MOST:
        return flat
    return flat[np.sort(np.random.default_rng(0).choice(len(flat), MOST, replace=False))]


def difference(before: Any, after: Any) -> float:
    """The largest difference, relative to the largest value; infinite where the shape differs."""
    if before.shape != after.shape:
        return np.inf
    if before.dtype.kind not in "fi" or after.dtype.kind not in "fi":
        return 0.0 if np.array_equal(before, after) else np.inf
    apart = np.abs(before.astype(float) - after.astype(float))
    both = np.isfinite(before) & np.isfinite(after)
    if not np.array_equal(before[~both], after[~both], equal_nan=True):
        return np.inf
    return float(apart[both].max(initial=0.0) / (np.abs(before[both]).max(initial=0.0) or 1.0))


def compare(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str]]:
    """Every array that is not the same to `LARGEST`, with its difference."""
    found = []
    for name in sorted(before | after):
        if name not in before or name not in after:
            found.append((name, "missing before" if name in after else "missing now"))
        elif not (apart := difference(before[name], after[name])) <= LARGEST:
            found.append((name, f"{apart:.1e}"))
    return found


def main() -> None:
    """Store, or compare and say what differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", action="store_true", help="write the numbers instead of comparing")
    parser.add_argument("--file", type=Path, default=STORED, help="where they are stored")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    numbers = compute()
    if options.store:
        np.savez_compressed(options.file, **numbers)
        print(f"stored: {len(numbers)} arrays in {options.file.name}")
        return
    with np.load(options.file) as stored:
        before = {name: stored[name] for name in stored.files}
    apart = compare(before, numbers)
    same = sum(
        np.array_equal(before[n], numbers[n], equal_nan=before[n].dtype.kind == "f")
        for n in before
        if n in numbers
    )
    print(f"{len(before)} arrays stored, {same} of them the same to the bit")
    if apart:
        raise SystemExit(text_table(["differs by more than 1e-9", "relative"], apart))
    print("all within 1e-9")


if __name__ == "__main__":
    main()
