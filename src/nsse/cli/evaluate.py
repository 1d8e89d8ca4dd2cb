"""``nsse evaluate``: measure the errors of a model on labeled samples that it has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nsse._support.errors import Described, listed, rule_error
from nsse.cli.models import Opened, radii_of, read
from nsse.cli.options import Data, Json, KnownLabel, Model, NewOptions
from nsse.cli.screen import Screen, plain_table, running

if TYPE_CHECKING:
    from rich.table import Table

    from nsse._support.types import LabelsLike
    from nsse.datasets import Inputs

REFUSED = (0.1, 0.2)  # shares of the predictions
MOST = 10  # classes in a list


class Confusion(NamedTuple):
    """Counts of samples of class i (row) labeled j (column), and samples and mistakes per class."""

    classes: list[Any]
    counts: Any
    totals: Any
    wrong: Any


def evaluate(
    model: Model, data: Data, new: NewOptions, label: KnownLabel = None, as_json: Json = False
) -> None:
    """Compare the labels of a model with the true ones: error, confusions, probabilities, rejections."""
    with running(as_json) as screen:
        from sklearn.metrics import confusion_matrix

        opened, inputs = read(model, data, new, screen, label=label, labeled=True)
        classes = opened.last.classes_
        _check_known(classes, inputs.y, data)
        with screen.busy(f"Labeling {len(inputs.X)} samples"):
            labels = opened.model.predict(inputs.X)
        counts = confusion_matrix(inputs.y, labels, labels=classes)
        totals = counts.sum(axis=1)
        _tell(screen, Confusion(classes.tolist(), counts, totals, totals - counts.diagonal()))
        _tell_probabilities(screen, opened, inputs)
        _tell_coverage(screen, opened, inputs, labels != inputs.y)


def _check_known(classes: Any, y: LabelsLike, data: Path) -> None:
    unknown = sorted(set(y.tolist()) - set(classes.tolist()))
    if unknown:
        got = Described(f"{data} with {listed([str(label) for label in unknown], MOST)}")
        cure = f"It knows {listed([str(label) for label in classes.tolist()], MOST)}."
        raise rule_error("DATA", "contain only classes of the model", got, cure)


def _tell(screen: Screen, confusion: Confusion) -> None:
    """Print the error, the error of always predicting the largest class, and the confusions."""
    classes, counts, totals, wrongs = confusion
    n, wrong = int(totals.sum()), int(wrongs.sum())
    of_largest = 1.0 - float(totals.max()) / n
    each = zip(classes, totals.tolist(), wrongs.tolist(), strict=True)
    screen.result = {
        "n_samples": n,
        "n_wrong": wrong,
        "error": wrong / n,
        "error_of_largest_class": of_largest,
        "per_class": [
            {"label": label, "n_samples": n, "n_wrong": wrong, "error": wrong / n if n else None}
            for label, n, wrong in each
        ],
        "confusion": {"classes": classes, "counts": counts.tolist()},
    }
    screen.say(f"Error {100 * wrong / n:.1f} %: {wrong} of {n} samples got a wrong label.")
    largest, share = classes[int(totals.argmax())], 100 * of_largest
    screen.say(f"Always predicting {largest}, the largest class here, has an error of {share:.1f} %.")
    matrix = _matrix(confusion)
    if screen.fits(matrix):
        screen.show(matrix)
    elif wrong:
        _show_mistakes(screen, confusion)


def _matrix(confusion: Confusion) -> Table:
    """Return every class with its error, and the labels that its samples got."""
    numbers = ["samples", "error", *(f"→ {label}" for label in confusion.classes)]
    table = plain_table("class", *numbers, right=numbers)
    for i, label in enumerate(confusion.classes):
        counts = [str(count) if count else "·" for count in confusion.counts[i].tolist()]
        table.add_row(str(label), str(confusion.totals[i]), _share(confusion, i), *counts)
    return table


def _show_mistakes(screen: Screen, confusion: Confusion) -> None:
    """Print the classes with the largest errors, and the wrong labels that their samples got."""
    errors = confusion.wrong / confusion.totals.clip(1)
    worst = [i for i in (-errors).argsort(kind="stable").tolist() if errors[i]]
    table = plain_table("class", "samples", "error", "predicted as", right=("samples", "error"))
    for i in worst[:MOST]:
        order = (-confusion.counts[i]).argsort(kind="stable").tolist()
        others = [j for j in order if j != i and confusion.counts[i, j]]
        labels = ", ".join(f"{confusion.classes[j]} ({confusion.counts[i, j]})" for j in others)
        table.add_row(str(confusion.classes[i]), str(confusion.totals[i]), _share(confusion, i), labels)
    screen.show(table)
    if rest := worst[MOST:]:
        screen.say(f"… and {len(rest)} more with {confusion.wrong[rest].sum()} mistakes.")


def _share(confusion: Confusion, i: int) -> str:
    total = confusion.totals[i]
    return f"{100 * confusion.wrong[i] / total:.1f} %" if total else "–"


def _tell_probabilities(screen: Screen, opened: Opened, inputs: Inputs) -> None:
    """Show the log-loss, and how often labels with a given probability are correct."""
    import numpy as np

    from nsse.certificates.reliability import EDGES, log_loss, reliability_curve

    P = opened.model.predict_proba(inputs.X)
    codes = np.searchsorted(opened.last.classes_, np.asarray(inputs.y))
    curve = reliability_curve(P.max(axis=1), P.argmax(axis=1) == codes, EDGES)
    screen.result["log_loss"] = log_loss(P, codes)
    screen.result["reliability"] = [
        {"from": low, "to": high, "n_samples": n, "probability": mean, "right": right}
        for low, high, n, mean, right in curve
    ]
    screen.say(f"Log-loss {screen.result['log_loss']:.3f}. Calibration, with 95 % intervals:")
    numbers = ("probability", "samples", "mean", "correct", "interval")
    table = plain_table(*numbers, right=numbers)
    for each in curve:
        below, above = each.interval
        shares = (
            f"{100 * each.mean:.1f} %",
            f"{100 * each.right:.1f} %",
            f"{100 * below:.0f}–{100 * above:.0f} %",
        )
        table.add_row(f"{each.low:g} to {each.high:g}", str(each.n), *shares)
    screen.show(table)


def _tell_coverage(screen: Screen, opened: Opened, inputs: Inputs, wrong: Any) -> None:
    """Print the error without the least certain predictions."""
    from nsse.certificates.selective import risk_coverage_curve

    radii, why = radii_of(opened, inputs.X)
    if radii is None:
        screen.say(f"No certified radii. {why}")
        return
    curve = risk_coverage_curve(radii, wrong)
    errors = {share: 1.0 - curve.accuracy_at(1.0 - share) for share in REFUSED}
    points = [{"coverage": 1.0 - share, "error": error} for share, error in errors.items()]
    screen.result["risk_coverage"] = points
    parts = [f"{100 * error:.1f} % without {100 * share:.0f} %" for share, error in errors.items()]
    where = " in feature space" if opened.preparation["kind"] == "encoded" else ""
    screen.say(f"Error if the smallest certified radii{where} are rejected: {', '.join(parts)}.")
