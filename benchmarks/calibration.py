"""What probabilities, sets of labels and class weights are worth, beside other classifiers.

    NSSE_DATA=<folder> python benchmarks/calibration.py                  # measure what is missing
    NSSE_DATA=<folder> python benchmarks/calibration.py --tables-only --page docs/probabilities.md

Probabilities: log-loss and expected calibration error (15 bins of the largest probability) on digits,
COIL-20, ORL, Yale and four tables of ``keel/balanced``. Sets: coverage and mean size of
`ConformalClassifier` on half of the test samples of the same sets, calibrated on the other half, over
several halves of every split. Weights: balanced accuracy on two-class sets of ``keel/imbalanced`` with
about 20 samples of one class to one of the other, and on five classes of two tables, thinned likewise.
Of these digits and ORL are in the half on which the defaults of NSSE were chosen, the others are not.
Every case writes its rows as it finishes; a run that is started again goes on.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from breadth import Samples, drawn, loaded
from common import RESULTS, append_records, markdown_table, read_records, text_table
from nsse import NSSE, NSSECV
from nsse.certificates import ConformalClassifier
from nsse.extensions import softmax

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

SETS = {
    "digits": ("images", 20),
    "coil20": ("images", 20),
    "orl": ("images", 5),
    "yale": ("images", 20),
    "pima": ("balanced", 50),
    "segment": ("balanced", 20),
    "sonar": ("balanced", 30),
    "vowel": ("balanced", 20),
}
IMBALANCED = (
    "abalone9-18",
    "car-good",
    "ecoli4",
    "flare-F",
    "glass-0-1-6_vs_5",
    "yeast-1-4-5-8_vs_7",
    "yeast4",
    "yeast5",
)
THINNED = ("segment", "vowel")
ALPHAS = (0.05, 0.1, 0.2)
HALVES = 20
RAW = "NSSE() at τ = 1"
BALANCED = 'NSSE(class_weight="balanced")'
BINS = 15


@dataclass(frozen=True)
class Row:
    """One number of a method on a split of a set; ``part`` says which table it belongs to."""

    part: str
    name: str
    seed: int
    method: str
    measure: str
    value: float

    @property
    def case(self) -> tuple[str, str, int]:
        """What it was measured on."""
        return self.part, self.name, self.seed


def main(arguments: Sequence[str] | None = None) -> list[Row]:
    """Measure what is missing, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--parts", nargs="+", choices=tuple(PARTS), default=tuple(PARTS))
    parser.add_argument("--sets", nargs="+", help="only these")
    parser.add_argument("--rows", type=Path, default=RESULTS / "calibration.csv")
    parser.add_argument("--tables-only", action="store_true", help="print what the rows say")
    parser.add_argument("--page", type=Path, help="write a page of what the rows say")
    options = parser.parse_args(arguments)
    if not options.tables_only:
        done = {row.case for row in read_rows(options.rows)}
        for case in _cases(options):
            if case in done:
                continue
            with warnings.catch_warnings(), threadpool_limits(1):
                warnings.simplefilter("ignore")  # regressions of few samples have much to say
                part, name, seed = case
                rows = [Row(*case, *line) for line in PARTS[part][1](name, seed)]
            append_records(options.rows, map(astuple, rows), [field.name for field in fields(Row)])
            print(*case, flush=True)
    rows = read_rows(options.rows)
    for title, header, lines in tables(rows):
        print(f"\n{title}\n\n{text_table(header, lines)}")
    if options.page is not None:
        options.page.write_text(page_text(rows), encoding="utf-8")
    return rows


def read_rows(path: Path) -> list[Row]:
    """What was measured so far."""
    return read_records(path, Row, (str, str, int, str, str, float))


def _cases(options: argparse.Namespace) -> Iterator[tuple[str, str, int]]:
    for seed in range(options.splits):
        for part in options.parts:
            for name in PARTS[part][0]:
                if options.sets is None or name in options.sets:
                    yield part, name, seed


Lines = list[tuple[str, str, float]]


def probabilities(name: str, seed: int) -> Lines:
    """Log-loss, calibration error and error of every method, and times of NSSE."""
    kind, per_class = SETS[name]
    samples = drawn(kind, name, per_class, seed)
    assert samples is not None
    lines: Lines = []
    for method, model in _methods().items():
        model.fit(samples.X, samples.codes)
        lines += _quality(method, model.predict_proba(samples.X_test), samples.truth)
        if method.startswith("NSSE"):
            label, chance = (
                _seconds(ask, samples.X_test) for ask in (model.predict, model.predict_proba)
            )
            lines.append((method, "time ratio", chance / label))
        if method == "NSSE()":
            scores = model.classifier_._scores(model.transform(samples.X_test))
            lines += _quality(RAW, softmax(scores, 1.0), samples.truth)
    return lines


def _methods() -> dict[str, Any]:
    return {
        "NSSE()": NSSE(),
        "NSSECV()": NSSECV(progress=False),
        # What SVC(probability=True) was in scikit-learn before 1.9.
        "SVC": CalibratedClassifierCV(SVC(C=10), ensemble=False),
        "LDA": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        "logistic": LogisticRegression(max_iter=500),
        "forest": RandomForestClassifier(200, random_state=0),
    }


def _quality(method: str, P: Floats, truth: Ints) -> Lines:
    own = np.clip(P[np.arange(len(truth)), truth], 1e-15, None)
    labels = P.argmax(axis=1)
    return [
        (method, "log-loss", float(-np.log(own).mean())),
        (method, "ECE", calibration_error(P.max(axis=1), labels == truth)),
        (method, "error", 100.0 * float(np.mean(labels != truth))),
    ]


def calibration_error(confidence: Floats, right: NDArray[np.bool_]) -> float:
    """Mean over the samples of |share that is right − mean confidence| in their bin."""
    places = np.minimum((confidence * BINS).astype(int), BINS - 1)
    return sum(
        float(np.mean(places == b))
        * abs(float(right[places == b].mean() - confidence[places == b].mean()))
        for b in np.unique(places)
    )


def _seconds(ask: Callable[[Any], Any], X: Any, repeats: int = 7) -> float:
    """The shortest process time of several questions."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        ask(X)
        times.append(time.process_time() - start)
    return min(times)


def sets_of_labels(name: str, seed: int) -> Lines:
    """Coverage and mean size of sets, over halves of the test samples."""
    kind, per_class = SETS[name]
    samples = drawn(kind, name, per_class, seed)
    assert samples is not None
    lines: Lines = []
    rng = np.random.default_rng(seed)
    models = {"NSSE()": NSSE(), "SVC": SVC(C=10)}
    for method, model in models.items():
        model.fit(samples.X, samples.codes)
        held: dict[float, list[tuple[float, float]]] = {alpha: [] for alpha in ALPHAS}
        for _ in range(HALVES):
            order = rng.permutation(len(samples.truth))
            some, rest = np.array_split(order, 2)
            for alpha in ALPHAS:
                calibrated = ConformalClassifier(model, alpha=alpha)
                calibrated.fit(samples.X_test[some], samples.truth[some])
                sets = calibrated.predict_set(samples.X_test[rest])
                covered = float(sets[np.arange(len(rest)), samples.truth[rest]].mean())
                held[alpha].append((covered, float(sets.sum(axis=1).mean())))
        for alpha, found in held.items():
            covered, size = np.mean(found, axis=0)
            lines += [(method, f"coverage {alpha}", covered), (method, f"size {alpha}", size)]
    return lines


def weights_of_classes(name: str, seed: int) -> Lines:
    """Balanced accuracy with and without weights of classes."""
    samples = _thinned(name, seed) if name.startswith("thinned ") else _imbalanced(name, seed)
    models = {
        "NSSE()": NSSE(),
        BALANCED: NSSE(class_weight="balanced"),
        "SVC": SVC(C=10),
        'SVC(class_weight="balanced")': SVC(C=10, class_weight="balanced"),
    }
    return [
        (
            method,
            "balanced accuracy",
            100.0
            * float(
                balanced_accuracy_score(
                    samples.truth, model.fit(samples.X, samples.codes).predict(samples.X_test)
                )
            ),
        )
        for method, model in models.items()
    ]


def _imbalanced(name: str, seed: int) -> Samples:
    _, y = loaded("imbalanced", name)
    samples = drawn("imbalanced", name, min(300, len(y) * 3 // 5) // 2, seed)
    assert samples is not None
    return samples


def _thinned(name: str, seed: int) -> Samples:
    """Five classes of a table, the training samples of which fall from 20 to 1 part."""
    X, y = loaded("balanced", name.removeprefix("thinned "))
    rng = np.random.default_rng(seed)
    classes = rng.permutation(int(y.max()) + 1)[:5]
    most = 60
    train, test = [], []
    for place, c in enumerate(classes):
        members = rng.permutation(np.flatnonzero(y == c))
        n = round(most * 20 ** (-place / 4))
        train.append(members[:n])
        test.append(members[most:])
    rows, asked = np.concatenate(train), np.concatenate(test)
    spread = X[rows].std(axis=0)
    center, spread = X[rows].mean(axis=0), np.where(spread > 0, spread, 1.0)
    return Samples((X[rows] - center) / spread, y[rows], (X[asked] - center) / spread, y[asked])


PARTS: dict[str, tuple[tuple[str, ...], Callable[[str, int], Lines]]] = {
    "probabilities": (tuple(SETS), probabilities),
    "sets": (tuple(SETS), sets_of_labels),
    "weights": ((*IMBALANCED, *(f"thinned {name}" for name in THINNED)), weights_of_classes),
}

Table = tuple[str, list[str], list[list[str]]]


def tables(rows: list[Row]) -> list[Table]:
    """Means over the splits: a line per set, a column per method."""
    wanted = (
        ("probabilities", "log-loss", "{:.3f}"),
        ("probabilities", "ECE", "{:.3f}"),
        ("probabilities", "error", "{:.2f}"),
        ("probabilities", "time ratio", "{:.2f}"),
        *(("sets", f"{what} {alpha}", "{:.3f}") for alpha in ALPHAS for what in ("coverage", "size")),
        ("weights", "balanced accuracy", "{:.1f}"),
    )
    found = []
    for part, measure, form in wanted:
        values: dict[tuple[str, str], list[float]] = {}
        for row in rows:
            if (row.part, row.measure) == (part, measure):
                values.setdefault((row.name, row.method), []).append(row.value)
        if not values:
            continue
        names, methods = (list(dict.fromkeys(key[i] for key in values)) for i in (0, 1))
        n_splits = min(len(v) for v in values.values())
        lines = [[name, *(_cell(values.get((name, m)), form) for m in methods)] for name in names]
        found.append((f"{measure} ({part}, mean of {n_splits} splits)", ["set", *methods], lines))
    return found


def _cell(values: list[float] | None, form: str) -> str:
    return "–" if values is None else form.format(np.mean(values))


def page_text(rows: list[Row]) -> str:
    """``docs/probabilities.md``: how it is done, in words, and what it is worth, in numbers."""
    head = (Path(__file__).resolve().parent / "calibration_page.md").read_text(encoding="utf-8")
    parts = [
        f"### {title}\n\n{markdown_table(header, lines)}\n" for title, header, lines in tables(rows)
    ]
    return head + "\n" + "\n".join(parts)


if __name__ == "__main__":
    main()
