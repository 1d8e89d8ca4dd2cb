"""The same table in Python and on the command line: one encoder, one model, one error."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from commands import rows_of, run, told
from sklearn.pipeline import make_pipeline

import nsse
from nsse import SmoothEmbedding
from nsse.datasets import TableEncoder

pandas = pytest.importorskip("pandas", reason="data frames come from pandas")
pytest.importorskip("polars", reason="tables need Polars: pip install 'nsse[tables]'")


def credits(n, seed):
    """A table like those of banks: amounts, categories, truth values, dates, gaps and a row id."""
    rng = np.random.default_rng(seed)
    job = rng.choice(["clerk", "smith", "none at all", "farmer"], n)
    amount = np.round(np.exp(rng.normal(8.0, 1.0, n)), 2)
    months = rng.integers(6, 60, n)
    owns = rng.random(n) < 0.4
    since = [
        str(datetime.date(2010, 1, 1) + datetime.timedelta(days=int(d)))
        for d in rng.integers(0, 4000, n)
    ]
    risk = 0.4 * np.log(amount) + 0.04 * months - 1.2 * owns + (job == "smith") - (job == "farmer")
    frame = pandas.DataFrame(
        {
            "customer_id": rng.permutation(n) + 1000,
            "amount": np.where(rng.random(n) < 0.05, np.nan, amount),
            "months": months,
            "job": np.where(rng.random(n) < 0.05, None, job),
            "owns_home": owns,
            "since": since,
            "branch": "north",
            "result": np.where(risk + rng.normal(0, 0.7, n) > 4.3, "bad", "good"),
        }
    )
    return frame


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    folder, frames = tmp_path_factory.mktemp("bank"), (credits(200, 0), credits(300, 1))
    for name, frame in zip(("train", "test"), frames, strict=True):
        frame.to_csv(folder / f"{name}.csv", index=False)
    run(
        "fit",
        folder / "train.csv",
        "--label",
        "result",
        "--id",
        "customer_id",
        "--out",
        folder / "m.nsse",
    )
    return folder, *frames


def test_python_and_the_command_line_have_the_same_error(bank):
    folder, train, test = bank
    read = pandas.read_csv(folder / "train.csv"), pandas.read_csv(folder / "test.csv")
    for first, second in ((train, test), read):
        X, new = (frame.drop(columns=["customer_id", "result"]) for frame in (first, second))
        model = make_pipeline(TableEncoder(), SmoothEmbedding(standardize=True))
        model.fit(X, first["result"])
        error = np.mean(model.predict(new) != second["result"])
        assert told("evaluate", folder / "m.nsse", folder / "test.csv")["error"] == pytest.approx(error)
        assert 0.05 < error < 0.3
        run("predict", folder / "m.nsse", folder / "test.csv", "--out", folder / "p.csv")
        assert [row["label"] for row in rows_of(folder / "p.csv")] == model.predict(new).tolist()


def test_the_file_of_a_command_takes_data_frames(bank):
    folder, _, test = bank
    model = nsse.load(folder / "m.nsse")
    run("predict", folder / "m.nsse", folder / "test.csv", "--out", folder / "p.csv")
    # Label and row ids may be there, as they were in the training table.
    assert model.predict(test).tolist() == [row["label"] for row in rows_of(folder / "p.csv")]


def test_a_pipeline_of_python_is_read_by_the_commands(bank):
    folder, train, test = bank
    columns = ["amount", "months", "job"]
    model = make_pipeline(TableEncoder(), SmoothEmbedding(standardize=True))
    model.fit(train[columns], train["result"])
    nsse.save(model, folder / "own.nsse")
    test[[*columns, "result"]].to_csv(folder / "own.csv", index=False)
    found = told("evaluate", folder / "own.nsse", folder / "own.csv", "--label", "result")
    assert found["error"] == pytest.approx(np.mean(model.predict(test[columns]) != test["result"]))


def test_rows_with_unknown_categories_are_marked_and_the_others_are_predicted(bank):
    folder, _, test = bank
    new = test.copy()
    new.loc[3, "job"] = "astronaut"
    new.to_csv(folder / "new.csv", index=False)
    said = run("predict", folder / "m.nsse", folder / "new.csv", "--out", folder / "n.csv").stdout
    assert "Unknown categories in 1 row, treated as none of the known ones." in said
    assert "No certified radii. A radius is for features that can change by small amounts" in said
    run("predict", folder / "m.nsse", folder / "test.csv", "--out", folder / "p.csv")
    rows, before = rows_of(folder / "n.csv"), rows_of(folder / "p.csv")
    assert [row["unknown_categories"] for row in rows] == [str(int(k == 3)) for k in range(300)]
    assert rows[:3] + rows[4:] == before[:3] + before[4:]
    assert "radius" not in rows[0]


def test_a_graph_of_a_table_takes_its_columns(bank):
    onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX: pip install 'nsse[onnx]'")
    folder, _, test = bank
    result = told("export", folder / "m.nsse", "--onnx", folder / "m.onnx", "--dtype", "float64")
    assert list(result["inputs"]) == ["amount", "months", "job", "owns_home", "since"]
    session = onnxruntime.InferenceSession(folder / "m.onnx", providers=["CPUExecutionProvider"])
    days = (pandas.to_datetime(test["since"]) - pandas.Timestamp("1970-01-01")).dt.days
    numbers = test[["amount", "months", "owns_home"]].astype(float).assign(since=days.astype(float))
    feeds = {name: numbers[[name]].to_numpy() for name in numbers}
    feeds["job"] = test[["job"]].fillna("").to_numpy(dtype=object)
    (label,) = session.run(["label"], feeds)
    assert label.tolist() == nsse.load(folder / "m.nsse").predict(test).tolist()


def test_a_report_of_a_table_has_the_columns_of_the_user(bank):
    folder, *_ = bank
    told("report", folder / "m.nsse", folder / "test.csv", "--out", folder / "r.html")
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert '"columns":["amount","months","job","owns_home","since"]' in page
    assert "omitted, because this table has categories" in page
