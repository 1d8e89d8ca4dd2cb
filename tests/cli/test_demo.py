"""``nsse demo``: what it leaves behind, that it is true, and how it fails."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from commands import rows_of, run, told
from sklearn.datasets import load_digits

import nsse
from nsse.datasets import per_class_split

ROOT = Path(__file__).parents[2]
FILES = "embedding.png", "embedding.csv", "errors.csv"
OURS = "SmoothEmbedding, shifts"
OTHERS = "SVM", "SVM, shifts", "LDA, shrinkage", "1-NN"


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "made" / "here"
    return run("demo", "--out", out, "--splits", "1"), out


@pytest.mark.slow
def test_it_leaves_its_files_and_nothing_else_and_says_where(demo):
    result, out = demo
    assert {path.name for path in out.iterdir()} == set(FILES)
    assert all(path.stat().st_size > 100 for path in out.iterdir())
    assert all(str(out / name) in result.stdout for name in FILES)
    assert result.stdout.splitlines()[-1].startswith("Next: ")


@pytest.mark.slow
def test_errors_agree_with_a_recomputation(demo):
    result, out = demo
    errors = {(row["method"], int(row["n_per_class"])): row for row in rows_of(out / "errors.csv")}
    X, y = load_digits(return_X_y=True)
    train, test = per_class_split(y, 20, seed=0)
    distances = ((X[test, np.newaxis] - X[train]) ** 2).sum(axis=2)
    shifts = nsse.augment.Images((8, 8), rotate=None)
    by_hand = {
        "1-NN": y[train][distances.argmin(axis=1)],
        OURS: nsse.SmoothEmbedding(augment=shifts).fit(X[train], y[train]).predict(X[test]),
    }
    for method, predicted in by_hand.items():
        row = errors[method, 20]
        error = 100 * np.mean(predicted != y[test])
        assert float(row["error_percent"]) == pytest.approx(error, abs=1e-4)
        assert (row["standard_error_percent"], row["splits"]) == ("", "1")
        assert f"{error:.1f}" in next(line for line in result.stdout.splitlines() if method in line)


@pytest.mark.slow
def test_the_table_of_samples_is_that_of_the_model(demo):
    result, out = demo
    rows = rows_of(out / "embedding.csv")
    X, y = load_digits(return_X_y=True)
    train = [k for k, row in enumerate(rows) if row["set"] == "train"]
    model = nsse.SmoothEmbedding().fit(X[train], y[train])
    assert [int(row["index"]) for row in rows] == list(range(len(y)))
    assert [int(row["label"]) for row in rows] == y.tolist()
    Y = np.array([[float(row[f"y{k}"]) for k in range(1, 10)] for row in rows])
    np.testing.assert_allclose(Y, model.transform(X), atol=1e-9)
    predicted = np.array([int(row["predicted"]) for row in rows])
    np.testing.assert_array_equal(predicted, model.predict(X))
    test = np.setdiff1d(np.arange(len(y)), train)
    wrong = np.sum(predicted[test] != y[test])
    share = f"{wrong / len(test):.1%}"
    assert f"In the class map, {wrong} of {len(test)} new digits are wrong ({share})." in result.stdout
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{share} of the new digits are wrong" in readme


@pytest.mark.slow
def test_it_speaks_json(tmp_path):
    result = told("demo", "--out", tmp_path, "--splits", "1")
    assert {*OTHERS, OURS, "SmoothEmbedding"} <= {row["method"] for row in result["errors"]}
    assert len(result["files"]) == len(FILES)


def test_an_out_that_is_no_folder_is_one_line_and_exit_code_2(tmp_path):
    (tmp_path / "taken").write_text("kept")
    for out in (tmp_path / "taken", tmp_path / "taken" / "below"):
        result = run("demo", "--out", out, "--splits", "1", code=2)
        (line,) = result.stderr.splitlines()
        assert line.startswith(f"nsse: `--out` must be a folder that can be written. Got {out}")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
    assert (tmp_path / "taken").read_text() == "kept"


def test_missing_matplotlib_is_found_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr("nsse.cli.demo._compared", lambda *_: pytest.fail("worked for nothing"))
    result = run("demo", "--out", tmp_path, "--splits", "1", code=2)
    assert result.stderr == "nsse: Figures need matplotlib. Install it: pip install 'nsse[plot]'\n"
    assert list(tmp_path.iterdir()) == []
