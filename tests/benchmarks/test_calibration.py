"""The study of probabilities: its draws, and its verdicts on rows made by hand."""

import importlib
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SPLITS = 3


@pytest.fixture
def calibration(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("calibration")


def test_draws_of_digits(calibration, monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("NSSE_DATA", raising=False)
    options = ["--splits", "1", "--parts", "draws", "--sets", "digits"]
    rows = calibration.main([*options, "--rows", str(tmp_path / "rows.csv")])
    told = {(row.method, row.measure): row.value for row in rows}
    for alpha in (0.05, 0.1, 0.2):
        for method in ("NSSE()", "SVC"):
            mean, squared = (told[method, f"{what} {alpha}"] for what in ("coverage", "squared"))
            assert abs(mean - (1 - alpha)) < 0.03
            assert mean**2 <= squared
    # Sets that allow for a move hold at least as much as others, and are larger.
    assert told["NSSE()", "held coverage 0.1"] >= told["NSSE()", "moved coverage 0.1"]
    assert told["NSSE()", "held size 0.1"] > told["NSSE()", "moved size 0.1"]
    assert "over 10 draws" in capsys.readouterr().out
    again = calibration.main([*options, "--rows", str(tmp_path / "rows.csv")])
    assert len(again) == len(rows)  # nothing is measured twice


def rows_of(calibration, part, told):
    """A row for each split of (set, method, measure) and a value, or one for each."""
    return [
        calibration.Row(part, name, seed, method, measure, float(np.broadcast_to(value, SPLITS)[seed]))
        for (name, method, measure), value in told.items()
        for seed in range(SPLITS)
    ]


def test_verdict_on_coverage(calibration):
    def told(mean, variance):
        return {
            **{("a", "NSSE()", f"coverage {alpha}"): mean(alpha) for alpha in (0.05, 0.1, 0.2)},
            **{
                ("a", "NSSE()", f"squared {alpha}"): mean(alpha) ** 2 + variance
                for alpha in (0.05, 0.1, 0.2)
            },
            **{("a", "NSSE()", f"step {alpha}"): 0.001 for alpha in (0.05, 0.1, 0.2)},
        }

    error = 0.01  # of 30 draws
    for shift, good in ((-1.9 * error, 3), (-2.1 * error, 0), (0.001 + 1.9 * error, 3), (0.03, 0)):
        rows = rows_of(calibration, "draws", told(lambda a, s=shift: 1 - a + s, 30 * error**2))
        (said,) = [text for text in calibration.verdicts(rows) if text.startswith("Coverage of sets by")]
        assert "over 30 draws" in said
        assert f"{good} of 3 sets and α" in said
        assert ("Not so: a at 0.05" in said) == (good == 0)


def test_verdicts_on_losses_and_weights(calibration):
    losses = {"NSSE()": 0.2, "NSSECV()": 0.5, "SVC": 0.3, "LDA": 0.1, "logistic": 0.4, "forest": 0.6}
    rows = rows_of(calibration, "probabilities", {("a", m, "log-loss"): v for m, v in losses.items()})
    rows += rows_of(calibration, "probabilities", {("a", calibration.RAW, "log-loss"): [0.1, 0.3, 0.3]})
    values = {calibration.BALANCED: 80.0, calibration.SVM_BALANCED: 80.0}
    rows += rows_of(
        calibration, "weights", {("b", m, "balanced accuracy"): v for m, v in values.items()}
    )
    said = " ".join(calibration.verdicts(rows))
    assert "of NSSE() in 1 and of NSSECV() in 0, of 1 sets" in said
    assert "raw margins: 1 of 3 splits" in said
    assert "1 of 1 sets" in said
