"""What probabilities, sets of labels and class weights are worth, beside other classifiers.

    NSSE_DATA=<folder> python benchmarks/calibration.py                  # measure what is missing
    NSSE_DATA=<folder> python benchmarks/calibration.py --tables-only --page docs/probabilities.md

Probabilities: log-loss and expected calibration error (15 bins of the largest probability) on digits,
COIL-20, ORL, Yale and four tables of ``keel/balanced``. Sets: coverage and mean size of
`ConformalClassifier` on half of the test samples of the same sets, calibrated on the other half, over
several halves of every split. Draws: the same over ten halves of each of ten splits, with what they
vary by, and for samples that were moved within a radius. Weights: balanced accuracy on two-class sets
of ``keel/imbalanced`` with about 20 samples of one class to one of the other, and on five classes of two
tables, thinned likewise; tuned weights: the same of searches. Of these digits and ORL are in the half on
which the defaults of NSSE were chosen, the others are not. Every case writes its rows as it finishes; a
run that is started again goes on. What was to be shown is printed last, as it came out.
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
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from breadth import Samples, drawn, loaded
from common import RESULTS, append_records, markdown_table, read_records, text_table
from nsse import NSSE, NSSECV
from nsse.certificates import ConformalClassifier
from nsse.certificates.conformal import class_scores, least_strangeness, strangeness, threshold
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
SKEWED = (*IMBALANCED, *(f"thinned {name}" for name in THINNED))
STRATIFIED = StratifiedKFold(3, shuffle=True, random_state=0)
ALPHAS = (0.05, 0.1, 0.2)
HALVES = 20
DRAWS = 10  # of every split, in which samples are calibrated on and asked about
MOVED = 0.25  # of the median certified radius: how far samples are moved
RAW = "NSSE() at τ = 1"
BALANCED = 'NSSE(class_weight="balanced")'
SVM_BALANCED = 'SVC(class_weight="balanced")'
TUNED_BALANCED = 'NSSECV(class_weight="balanced")'
TUNED_SVM = "SVC, balanced, C and γ searched"
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
    print("", *verdicts(rows), sep="\n")
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


def draws(name: str, seed: int) -> Lines:
    """Coverage and size of sets over draws, and the same where samples were moved within a radius."""
    kind, per_class = SETS[name]
    samples = drawn(kind, name, per_class, seed)
    assert samples is not None
    X, truth, lines = samples.X_test, samples.truth, []
    for method, model in {"NSSE()": NSSE(), "SVC": SVC(C=10)}.items():
        model.fit(samples.X, samples.codes)
        strange = strangeness(class_scores(model, X))
        for alpha in ALPHAS:
            found = _drawn_sets(strange, strange, truth, alpha, seed)
            lines += [(method, f"{what} {alpha}", value) for what, value in found]
        if isinstance(model, NSSE):
            radius = MOVED * float(np.median(model.certified_radius(X)))
            moved = _moved(samples, X, model.predict(X), 0.999 * radius)
            for way, seen in (
                ("moved", strangeness(class_scores(model, moved))),
                ("held", least_strangeness(model, moved, radius)),
            ):
                found = _drawn_sets(strange, seen, truth, 0.1, seed)
                lines += [(method, f"{way} {what} 0.1", value) for what, value in found]
    return lines


def _drawn_sets(
    strange: Floats, seen: Floats, truth: Ints, alpha: float, seed: int
) -> list[tuple[str, float]]:
    """Of some samples, calibrated on the others as they are: means over draws, and of the squares."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(DRAWS):
        some, rest = np.array_split(rng.permutation(len(truth)), 2)
        q = threshold(strange[some, truth[some]], alpha)
        sets = seen[rest] <= q
        covered = float(sets[np.arange(len(rest)), truth[rest]].mean())
        found.append((covered, covered**2, float(sets.sum(axis=1).mean()), 1.0 / (len(some) + 1)))
    names = ("coverage", "squared", "size", "step")
    return list(zip(names, np.mean(found, axis=0).tolist(), strict=True))


def _moved(samples: Samples, X: Floats, labels: Ints, length: float) -> Floats:
    """Samples moved so far towards the nearest training sample of another class than they are given."""
    D2 = euclidean_distances(X, samples.X, squared=True)
    D2[labels[:, np.newaxis] == samples.codes] = np.inf
    steps = samples.X[D2.argmin(axis=1)] - X
    norms = np.linalg.norm(steps, axis=1, keepdims=True)
    return X + steps * (length / np.maximum(norms, length))


def tuned_weights(name: str, seed: int) -> Lines:
    """Balanced accuracy of searches with and without weights of classes."""
    grid = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": ["scale", 0.01, 0.03, 0.1, 0.3]}
    return _balanced_accuracies(
        name,
        seed,
        {
            "NSSECV()": NSSECV(progress=False),
            TUNED_BALANCED: NSSECV(class_weight="balanced", progress=False),
            TUNED_SVM: GridSearchCV(
                SVC(class_weight="balanced"), grid, scoring="balanced_accuracy", cv=STRATIFIED
            ),
        },
    )


def weights_of_classes(name: str, seed: int) -> Lines:
    """Balanced accuracy with and without weights of classes."""
    models = {
        "NSSE()": NSSE(),
        BALANCED: NSSE(class_weight="balanced"),
        "SVC": SVC(C=10),
        SVM_BALANCED: SVC(C=10, class_weight="balanced"),
    }
    return _balanced_accuracies(name, seed, models)


def _balanced_accuracies(name: str, seed: int, models: dict[str, Any]) -> Lines:
    samples = _thinned(name, seed) if name.startswith("thinned ") else _imbalanced(name, seed)
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
    "weights": (SKEWED, weights_of_classes),
    "draws": (tuple(SETS), draws),
    "tuned weights": (SKEWED, tuned_weights),
}

Table = tuple[str, list[str], list[list[str]]]


def tables(rows: list[Row]) -> list[Table]:
    """Means over the splits: a line per set, a column per method."""
    wanted = (
        ("probabilities", "log-loss", "{:.3f}"),
        ("probabilities", "ECE", "{:.3f}"),
        ("probabilities", "error", "{:.2f}"),
        ("probabilities", "time ratio", "{:.2f}"),
        *(("draws", f"{what} {alpha}", "{:.3f}") for alpha in ALPHAS for what in ("coverage", "size")),
        ("weights", "balanced accuracy", "{:.1f}"),
        ("tuned weights", "balanced accuracy", "{:.1f}"),
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


def verdicts(rows: list[Row]) -> list[str]:
    """What was to be shown, and how it came out."""
    found = [_of_losses(rows), _of_temperature(rows), _of_times(rows)]
    found += [_of_coverage(rows, method) for method in ("NSSE()", "SVC")]
    found += [_of_moved(rows), _of_weights(rows, "weights", BALANCED, SVM_BALANCED)]
    found.append(_of_weights(rows, "tuned weights", TUNED_BALANCED, TUNED_SVM))
    return [text for text in found if text]


def _means(rows: list[Row], part: str, measure: str) -> dict[str, dict[str, float]]:
    """Means over splits, by set and method."""
    values: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if (row.part, row.measure) == (part, measure):
            values.setdefault(row.name, {}).setdefault(row.method, []).append(row.value)
    return {
        name: {method: float(np.mean(v)) for method, v in methods.items()}
        for name, methods in values.items()
    }


def _of_losses(rows: list[Row]) -> str:
    means = _means(rows, "probabilities", "log-loss")
    rivals = ("SVC", "LDA", "logistic", "forest")

    def first_two(method: str) -> int:
        return sum(
            sum(found[rival] < found[method] for rival in rivals) < 2
            for found in means.values()
            if method in found
        )

    if not means:
        return ""
    told = " and ".join(f"of {m} in {first_two(m)}" for m in ("NSSE()", "NSSECV()"))
    return f"Log-loss lowest or second lowest among the four others: {told}, of {len(means)} sets."


def _of_temperature(rows: list[Row]) -> str:
    losses = {
        (row.name, row.seed, row.method): row.value
        for row in rows
        if (row.part, row.measure) == ("probabilities", "log-loss")
    }
    more = {
        key[:2]: losses[(*key[:2], "NSSE()")] - loss for key, loss in losses.items() if key[2] == RAW
    }
    if not more:
        return ""
    worse = {key: value for key, value in more.items() if value > 0.0}
    by = f", by at most {max(worse.values()):.3f} ({', '.join(sorted({k[0] for k in worse}))})"
    names = sorted({name for name, _ in more})
    means = [np.mean([value for key, value in more.items() if key[0] == name]) for name in names]
    return (
        f"Log-loss with the temperature above that of the raw margins: {len(worse)} of {len(more)} "
        f"splits{by if worse else ''}; of the means over splits, {sum(m > 0.0 for m in means)} of "
        f"{len(means)} sets."
    )


def _of_times(rows: list[Row]) -> str:
    means = _means(rows, "probabilities", "time ratio")
    most = max((v for found in means.values() for v in found.values()), default=0.0)
    return (
        f"Time of predict_proba over that of predict, largest mean of a set: {most:.2f}." if most else ""
    )


def _of_coverage(rows: list[Row], method: str) -> str:
    """Beside 1 − α, and ⌈(n + 1)(1 − α)⌉/(n + 1), which it is for n samples without ties."""
    off: list[str] = []
    n = n_draws = 0
    for alpha in ALPHAS:
        low = 1.0 - alpha
        for name, mean, error, step, count in _covered(rows, method, "", alpha):
            n, n_draws = n + 1, count
            if not low - 2.0 * error <= mean <= low + step + 2.0 * error:
                off.append(f"{name} at {alpha}: {mean:.4f} ± {error:.4f}")
    if not n:
        return ""
    told = f" Not so: {'; '.join(off)}." if off else ""
    return (
        f"Coverage of sets by {method} within two standard errors of 1 − α to 1 − α + 1/(n + 1), over "
        f"{n_draws} draws: {n - len(off)} of {n} sets and α.{told}"
    )


def _of_moved(rows: list[Row]) -> str:
    moved = {name: mean for name, mean, *_ in _covered(rows, "NSSE()", "moved ", 0.1)}
    held = list(_covered(rows, "NSSE()", "held ", 0.1))
    if not held:
        return ""
    kept = sum(mean >= 0.9 - 2.0 * error for _, mean, error, *_ in held)
    sizes = _means(rows, "draws", "held size 0.1")
    listed = "; ".join(
        f"{name} {mean:.3f} (without {moved[name]:.3f}), size {sizes[name]['NSSE()']:.2f}"
        for name, mean, *_ in held
    )
    return (
        f"Coverage of sets at α = 0.1 that allow for a radius, a quarter of the median certified one, "
        f"of samples moved so far towards another class, at least 0.9 less two standard errors: {kept} "
        f"of {len(held)} sets. {listed}."
    )


def _covered(
    rows: list[Row], method: str, way: str, alpha: float
) -> Iterator[tuple[str, float, float, float, int]]:
    """Set, mean coverage, its standard error, 1/(n + 1) and the number of draws."""
    told = {
        what: _means(rows, "draws", f"{way}{what} {alpha}") for what in ("coverage", "squared", "step")
    }
    n_splits = len({row.seed for row in rows if row.part == "draws"})
    for name in (name for name, found in told["coverage"].items() if method in found):
        mean, squared, step = (told[what][name][method] for what in ("coverage", "squared", "step"))
        count = n_splits * DRAWS
        yield name, mean, float(np.sqrt(max(squared - mean**2, 0.0) / count)), step, count


def _of_weights(rows: list[Row], part: str, method: str, rival: str) -> str:
    means = _means(rows, part, "balanced accuracy")
    at_least = sum(found[method] >= found[rival] for found in means.values())
    if not means:
        return ""
    return f"Balanced accuracy of {method} at least that of {rival}: {at_least} of {len(means)} sets."


def _cell(values: list[float] | None, form: str) -> str:
    return "–" if values is None else form.format(np.mean(values))


def page_text(rows: list[Row]) -> str:
    """``docs/probabilities.md``: how it is done, in words, and what it is worth, in numbers."""
    head = (Path(__file__).resolve().parent / "calibration_page.md").read_text(encoding="utf-8")
    parts = [
        f"### {title}\n\n{markdown_table(header, lines)}\n" for title, header, lines in tables(rows)
    ]
    shown = "\n".join(f"- {text}" for text in verdicts(rows))
    return f"{head}\n{shown}\n\n" + "\n".join(parts)


if __name__ == "__main__":
    main()
