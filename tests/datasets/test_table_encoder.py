"""`TableEncoder`: tables of pandas, Polars and NumPy as features, alone and in front of a model."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import nsse
from nsse import SmoothEmbedding
from nsse.certificates import certified_radius
from nsse.datasets import TableEncoder, load_inputs

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

FRAMES = (pandas.DataFrame, polars.DataFrame)
both = pytest.mark.parametrize("frame", FRAMES, ids=["pandas", "polars"])


def plants(n=60, seed=0):
    """Kinds of plants that differ in the soil, in height and in the day of flowering."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    soil = np.where(kind == 0, "clay", np.where(rng.random(n) < 0.5, "sand", "loam")).astype(object)
    height = 10.0 + 5.0 * kind + rng.normal(size=n)
    first = datetime.date(2024, 3, 1)
    day = [first + datetime.timedelta(days=int(10 * k + rng.integers(5))) for k in kind]
    gaps = rng.random(n) < 0.1
    return {
        "height": [None if gap else float(h) for gap, h in zip(gaps, height, strict=True)],
        "soil": [None if rng.random() < 0.1 else str(s) for s in soil],
        "wet": [bool(w) for w in rng.random(n) < 0.5],
        "day": day,
        "leaves": rng.integers(1, 9, n).tolist(),
    }, np.array(["Günsel", "Klee", "Heide"])[kind]


def test_it_is_an_estimator_of_scikit_learn():
    check_estimator(TableEncoder(), on_skip=None)


@both
def test_columns_become_features_by_their_definition(frame):
    table = frame(
        {
            "height": [1.0, None, 5.0, 2.0],
            "soil": ["clay", "sand", None, "clay"],
            "wet": [True, False, True, True],
            "day": [datetime.date(1970, 1, day) for day in (1, 2, 3, 4)],
            "written": ["31.01.1970", "1.2.1970", "", "03.01.1970"],
            "text": ["1.5", "?", "-3", "2e0"],
            "unit": ["cm", "cm", "cm", None],
        }
    )
    encoder = TableEncoder().fit(table)
    features = [
        [1, 1, 0, 1, 0, 30, 1.5],
        [2, 0, 1, 0, 1, 31, 1.5],
        [5, 0, 0, 1, 2, 30, -3],
        [2, 1, 0, 1, 3, 2, 2],
    ]
    np.testing.assert_array_equal(encoder.transform(table), features)
    names = ["height", "soil=clay", "soil=sand", "wet", "day", "written", "text"]
    assert encoder.get_feature_names_out().tolist() == names
    assert encoder.constant_ == ["unit"]
    found = encoder.encoded(table)
    assert found.missing_numbers == {"height": 1, "written": 1, "text": 1}
    assert found.missing_categories == {"soil": 1}


@both
def test_frames_and_arrays_give_the_same(frame):
    data, _ = plants()
    encoder = TableEncoder().fit(frame(data))
    other = TableEncoder().fit(np.array(list(data.values()), dtype=object).T)
    np.testing.assert_array_equal(
        other.transform(np.array(list(data.values()), dtype=object).T), encoder.transform(frame(data))
    )
    turned = frame(dict(reversed(data.items())))
    np.testing.assert_array_equal(encoder.transform(turned), encoder.transform(frame(data)))
    for kind in FRAMES:
        np.testing.assert_array_equal(encoder.transform(kind(data)), encoder.transform(frame(data)))


@both
def test_times_with_a_zone_are_taken_in_utc(frame):
    zone = datetime.timezone(datetime.timedelta(hours=2))
    stamps = [datetime.datetime(1970, 1, day, 2, tzinfo=zone) for day in (1, 2, 4)]
    np.testing.assert_array_equal(
        TableEncoder().fit_transform(frame({"when": stamps})), [[0.0], [1.0], [3.0]]
    )


@both
def test_unknown_categories_are_counted_or_refused(frame):
    table = frame({"soil": ["clay", "sand"] * 2, "sun": ["yes", "no", "no", "yes"]})
    new = frame({"soil": ["loam", "clay", None], "sun": ["maybe", "often", "no"]})
    encoder = TableEncoder().fit(table)
    assert encoder.count_unknown(new).tolist() == [2, 1, 0]
    np.testing.assert_array_equal(encoder.transform(new), [[0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]])
    strict = TableEncoder(handle_unknown="error").fit(table)
    with pytest.raises(ValueError, match=r"column soil, which are clay, sand\. Got 'loam' in row 1"):
        strict.transform(new)


def test_whole_numbers_are_the_same_categories_in_every_type():
    table = pandas.DataFrame({"zone": [10, 9, 10, 9]})
    encoder = TableEncoder(categorical=["zone"]).fit(table)
    assert encoder.categories_ == {"zone": ["10", "9"]}
    for other in ([10.0, np.nan], ["10", None]):
        np.testing.assert_array_equal(
            encoder.transform(pandas.DataFrame({"zone": other})), [[1, 0], [0, 0]]
        )


def refusal(table, **parameters):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the callers look at the message)
        TableEncoder(**parameters).fit(table)
    return str(caught.value)


@both
def test_what_cannot_be_a_feature_is_refused_by_name(frame):
    assert "column customer_id, which looks like a row id (a different integer in every row)" in refusal(
        frame({"customer_id": [3, 1, 2], "a": [1.0, 2.0, 4.0]})
    )
    keep = TableEncoder(keep=["customer_id"]).fit(frame({"customer_id": [3, 1, 2]}))
    assert keep.columns_ == ["customer_id"]
    drop = TableEncoder(drop=["customer_id"]).fit(
        frame({"customer_id": [3, 1, 2], "a": [1.0, 2.0, 4.0]})
    )
    assert drop.columns_ == ["a"]
    assert "column who with 3 different texts in 4 rows" in refusal(frame({"who": ["a", "b", "c", "a"]}))
    assert "column a. Got 'l' in row 3" in refusal(frame({"a": ["1", "2", "l", "l"]}))
    assert "column a. Got -inf in row 2" in refusal(frame({"a": [1.0, -np.inf, 2.0]}))
    assert "a column whose entries differ. Got a, b" in refusal(frame({"a": [1, 1], "b": ["x", "x"]}))
    assert "day or the month may come first" in refusal(frame({"a": ["3/4/2024", "5/6/2024"]}))
    gaps = frame({"a": [1.0, None, None], "b": ["x", "x", None], "c": [1, 2, 3]})
    assert "a (2 missing, first in row 2)" in refusal(gaps, missing="error")
    assert "`missing` must be one of 'median', 'error'. Got 'mean'" in refusal(gaps, missing="mean")
    assert "`categorical` must name columns of the table. Got color" in refusal(
        gaps, categorical=["color"]
    )
    assert "`max_categories` must be a whole number, at least 1" in refusal(gaps, max_categories=0)


@pytest.mark.parametrize("parameter", ["categorical", "keep", "drop"])
def test_one_name_is_no_sequence_of_names(parameter):
    words = refusal(pandas.DataFrame({"id": [3, 1, 2], "a": [1, 2, 4]}), **{parameter: "id"})
    assert f"`{parameter}` must be a sequence of names. Got 'id'. Pass `{parameter}=['id']`." in words


def test_columns_of_arrays_are_dropped_by_their_place():
    X = np.arange(12.0).reshape(4, 3) ** 2
    encoder = TableEncoder(drop=["x1"]).fit(X)
    np.testing.assert_array_equal(encoder.transform(X), X[:, [0, 2]])


@both
def test_row_ids_may_have_gaps(frame):
    words = refusal(frame({"customer_id": [None, 3, 1, 2], "a": [1.0, 2.0, 4.0, 5.0]}))
    assert "column customer_id, which looks like a row id" in words


def test_numbers_that_are_written_as_text_are_row_ids_too():
    words = refusal(pandas.DataFrame({"b": ["1", "?", "3"], "nr": ["2", "1", "3"], "a": [1, 2, 4]}))
    assert "column nr, which looks like a row id" in words


@both
def test_other_columns_are_refused_by_name(frame):
    encoder = TableEncoder(drop=["kind"]).fit(frame({"a": [1, 2], "b": [3, 4], "kind": ["x", "y"]}))
    np.testing.assert_array_equal(encoder.transform(frame({"b": [7], "a": [5]})), [[5, 7]])
    for table, words in (
        ({"a": [1]}, "without b. Add the missing columns"),
        ({"a": [1], "b": [1], "c": [1]}, "with c. Leave the other columns out with `drop`"),
        ({"a": [], "b": []}, "have rows"),
        ({"a": ["1"], "b": ["red"]}, "column b. Got 'red' in row 1"),
    ):
        with pytest.raises(ValueError, match=words):
            encoder.transform(frame(table))


def test_a_lazy_frame_is_refused_with_the_cure():
    with pytest.raises(ValueError, match=r"Got a LazyFrame. Pass `X.collect\(\)`"):
        TableEncoder().fit(polars.LazyFrame({"a": [1, 2]}))


def pipeline():
    return make_pipeline(TableEncoder(), StandardScaler(), SmoothEmbedding())


@both
def test_from_a_frame_to_a_file_and_a_graph(frame, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    data, y = plants()
    new, _ = plants(seed=1)
    new["soil"][3] = "peat"
    model = pipeline().fit(frame(data), y)
    nsse.save(model, tmp_path / "m.nsse")
    loaded = nsse.load(tmp_path / "m.nsse")
    for kind in FRAMES:
        np.testing.assert_array_equal(loaded.predict(kind(new)), model.predict(frame(new)))
        np.testing.assert_allclose(
            loaded.predict_proba(kind(new)), model.predict_proba(frame(new)), atol=1e-9
        )
    assert loaded[0].count_unknown(frame(new)).tolist() == [int(k == 3) for k in range(60)]
    graph = nsse.to_onnx(loaded, dtype=np.float64)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    first = datetime.date(1970, 1, 1)
    columns = {
        "height": np.array(new["height"], dtype=float),
        "soil": np.array([soil or "" for soil in new["soil"]], dtype=object),
        "wet": np.array(new["wet"], dtype=float),
        "day": np.array([(day - first).days for day in new["day"]], dtype=float),
        "leaves": np.array(new["leaves"], dtype=float),
    }
    feeds = {name: values[:, np.newaxis] for name, values in columns.items()}
    label, probabilities = session.run(["label", "probabilities"], feeds)
    assert label.tolist() == model.predict(frame(new)).tolist()
    np.testing.assert_allclose(probabilities, model.predict_proba(frame(new)), atol=1e-9)
    with pytest.raises(ValueError, match="numbers and dates only, because categories do not change"):
        certified_radius(model, frame(new))


@both
def test_a_table_of_numbers_has_radii_and_one_input(frame):
    onnxruntime = pytest.importorskip("onnxruntime")
    data, y = plants()
    numbers = frame({name: data[name] for name in ("height", "day", "leaves")})
    model = pipeline().fit(numbers, y)
    radius = certified_radius(model, numbers)
    assert (radius > 0).mean() > 0.5
    rng = np.random.default_rng(0)
    X = np.where(np.isnan(model[0].transform(numbers)), 0.0, model[0].transform(numbers))
    for _ in range(20):
        step = rng.standard_normal(X.shape)
        moved = X + 0.99 * np.minimum(radius, 1e6)[:, np.newaxis] * step / np.linalg.norm(
            step, axis=1, keepdims=True
        )
        np.testing.assert_array_equal(model[1:].predict(moved), model.predict(numbers))
    session = onnxruntime.InferenceSession(nsse.to_onnx(model, dtype=np.float64).SerializeToString())
    days = model[0].transform(numbers)[:, 1]
    gaps = np.column_stack(
        [np.array(data["height"], dtype=float), days, np.array(data["leaves"], dtype=float)]
    )
    (label,) = session.run(["label"], {"X": gaps})
    assert label.tolist() == model.predict(numbers).tolist()


def test_load_inputs_names_the_class_for_data_frames():
    with pytest.raises(TypeError, match=r"name a file or a folder. Got a DataFrame. .*TableEncoder"):
        load_inputs(pandas.DataFrame({"a": [1]}), label="a")
