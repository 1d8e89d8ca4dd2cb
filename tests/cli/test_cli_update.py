"""``nsse update``: a file that learns more, and forgets."""

import numpy as np
import pytest
from commands import run, told
from sklearn.datasets import load_iris

import nsse

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


def table(path, which):
    lines = ["a,b,c,d,kind"]
    lines += [",".join([*map(str, X[k]), NAMES[k]]) for k in which]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def model(tmp_path):
    data = table(tmp_path / "first.csv", range(0, 100, 2))  # two kinds
    run("fit", data, "--label", "kind", "--updatable", "--out", tmp_path / "model.nsse")
    return tmp_path / "model.nsse"


def test_more_samples_are_learned_and_forgotten(model, tmp_path):
    more = table(tmp_path / "more.csv", range(1, 150, 2))
    result = told("update", model, more, "--out", tmp_path / "more.nsse")
    assert result["n_samples"] == 75
    assert result["new"] == ["virginica"]
    before, after = nsse.load(model), nsse.load(tmp_path / "more.nsse")
    assert after.score(X, NAMES) > 0.9
    assert before.predict(X).tolist().count("virginica") == 0
    said = run("update", tmp_path / "more.nsse", more, "--forget").stdout
    assert "Forgot 75 samples: 2 classes now." in said
    assert "Gone: virginica." in said
    back = nsse.load(tmp_path / "more.nsse")
    np.testing.assert_allclose(back.decision_function(X), before.decision_function(X), atol=1e-6)
    assert told("evaluate", tmp_path / "more.nsse", table(tmp_path / "t.csv", range(100)))["n_wrong"] < 9


def test_what_cannot_be_updated_is_said_in_one_line_and_the_file_stays(model, tmp_path):
    plain = tmp_path / "plain.nsse"
    run("fit", tmp_path / "first.csv", "--label", "kind", "--out", plain)
    more = table(tmp_path / "more.csv", range(1, 150, 2))
    assert "nsse fit --updatable" in run("update", plain, more, code=2).stderr
    before = model.read_bytes()
    error = run("update", model, more, "--forget", code=2).stderr
    assert "`DATA` must hold known classes only" in error
    assert len(error.strip().splitlines()) == 1
    assert model.read_bytes() == before
    tune = run("fit", tmp_path / "first.csv", "--tune", "--updatable", "--out", plain, code=2).stderr
    assert "--updatable" in tune
