"""Every command and the report evaluate the map once at every sample."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import nsse
from nsse import NSSE, NSSECV
from nsse.cli.app import app
from nsse.report.explorer.models import COMPARED, Samples, find

pytest.importorskip("skops", reason="model files need skops")

N_NEW = 60


@pytest.fixture
def evaluated(monkeypatch) -> list[int]:
    """Rows of every evaluation of a map."""
    rows: list[int] = []
    kind = type(NSSE().fit([[0.0], [0.1], [2.0], [2.1]], [0, 0, 1, 1]).expansion_)
    evaluate = kind.__call__

    def counted(self, X):
        rows.append(X.shape[0])
        return evaluate(self, X)

    monkeypatch.setattr(kind, "__call__", counted)
    return rows


@pytest.fixture(params=["one map", "pipeline", "vote"])
def case(request, tmp_path):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    model = {
        "one map": NSSE(2),
        "pipeline": make_pipeline("passthrough", StandardScaler(), NSSE(2)),
        "vote": NSSECV(n_voters=3, n_repeats=2, random_state=0),
    }[request.param].fit(X[N_NEW:], y[N_NEW:])
    nsse.save(model, tmp_path / "m.nsse")
    np.savez(tmp_path / "new.npz", X=X[:N_NEW], y=y[:N_NEW])
    return model, X[:N_NEW], y[:N_NEW], tmp_path, len(getattr(model, "voters_", [model]))


@pytest.mark.slow
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_a_command_evaluates_every_sample_once(case, evaluated, command):
    model, X, y, folder, n_maps = case
    labels, embedding = model.predict(X), model.transform(X)
    evaluated.clear()
    arguments = [command, str(folder / "m.nsse"), str(folder / "new.npz"), "--json"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    # Besides, few rows on which a file is tried when it is opened.
    assert evaluated.count(N_NEW) == n_maps
    assert sum(evaluated) < N_NEW * (n_maps + 1)
    told = json.loads(result.stdout)
    if command == "evaluate":
        assert told["n_wrong"] == np.count_nonzero(labels != y)
        return
    assert [row["label"] for row in told["predictions"]] == labels.tolist()
    training = model[-1].embedding_ if hasattr(model, "steps") else model.embedding_
    nearest = np.linalg.norm(embedding[:, np.newaxis] - training, axis=2).min(axis=1)
    np.testing.assert_allclose([row["distance"] for row in told["predictions"]], nearest, atol=1e-12)


@pytest.mark.slow
def test_a_report_evaluates_every_sample_once(case, evaluated):
    model, X, y, _, n_maps = case
    labels, embedding = model.predict(X), model.transform(X)
    evaluated.clear()
    findings = find(model, Samples(X, y))
    # Besides, some centres, to see whether they are the training samples.
    assert sum(evaluated) == N_NEW * n_maps + COMPARED
    np.testing.assert_array_equal(findings.test.predicted, labels)
    np.testing.assert_array_equal(findings.test.embedding, embedding)
    if n_maps > 1:
        alone = model.best_estimator_.predict(X)
        assert findings.n_otherwise == np.count_nonzero(alone != labels)
