"""The first day of a new user in Python: own data, in the forms in which people have them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, make_blobs
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

import nsse
from nsse import SmoothEmbedding
from nsse.datasets import TableEncoder
from nsse.plot import class_map
from nsse.report import Samples, write_report
from nsse.unlabeled import GraphPenalty, LabelPropagation

pytest.importorskip("matplotlib", reason="Figures: pip install 'nsse[plot]'")


def parts(X, y, train_size=0.5):
    return train_test_split(X, y, train_size=train_size, stratify=y, random_state=0)


def test_every_object_has_one_public_place():
    top = ["NSSE", "SequentialSearchCV", "SmoothEmbedding", "SmoothEmbeddingCV", "WithinMetric"]
    assert nsse.__all__ == [*top, "__version__", "load", "save", "to_onnx"]
    modules = [name for name in dir(nsse) if name not in nsse.__all__]
    places = {}
    for module in [nsse, *(getattr(nsse, name) for name in modules)]:
        for name in module.__all__:
            places.setdefault(getattr(module, name), []).append(f"{module.__name__}.{name}")
    several = [found for found in places.values() if len(found) > 1]
    assert several == [["nsse.WithinMetric", "nsse.metrics.WithinMetric"]]


@pytest.mark.slow
def test_breast_cancer_with_everything_that_a_model_offers(tmp_path):
    X, X_new, y, y_new = parts(*load_breast_cancer(return_X_y=True, as_frame=True))
    model = SmoothEmbedding(standardize=True).fit(X, y)
    assert model.score(X_new, y_new) > 0.95
    assert model.transform(X_new).shape == (len(X_new), 1)
    assert model.left_out_embedding_.shape == (len(X), 1)
    # Radii are in the units of the columns: no sample changes its label within its radius.
    radii = model.certified_radius(X_new)
    steps = np.random.default_rng(0).normal(size=X_new.shape)
    steps *= 0.999 * (radii / np.linalg.norm(steps, axis=1))[:, np.newaxis]
    np.testing.assert_array_equal(model.predict(X_new + steps), model.predict(X_new))
    assert np.median(model.typicality(X_new)) > 0.3
    assert model.explain(X_new[:3]).gradient.shape == (3, 30)
    nsse.save(model, tmp_path / "model.nsse")
    loaded = nsse.load(tmp_path / "model.nsse")
    np.testing.assert_array_equal(loaded.predict_proba(X_new), model.predict_proba(X_new))
    model.plot(X_new, y_new).save(tmp_path / "two.png")
    assert (tmp_path / "two.png").stat().st_size > 10_000


def customers(n=160):
    """A table with numbers in other units, categories, dates, truth values and gaps."""
    rng = np.random.default_rng(0)
    is_good = np.arange(n) % 2 == 0
    table = pd.DataFrame(
        {
            "income": rng.normal(3000, 800, n) + 900 * is_good,
            "age": rng.integers(18, 80, n).astype(float),
            "city": rng.choice(["Oslo", "Rome", "Lima"], n),
            "owns": np.where(is_good, "house", rng.choice(["car", "nothing"], n)),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "married": rng.random(n) < 0.5,
        }
    )
    table.loc[::7, "income"] = np.nan
    table.loc[3::9, "city"] = None
    return table, np.where(is_good, "good", "bad")


@pytest.mark.slow
def test_from_a_table_with_gaps_to_a_report(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    table, y = customers()
    with pytest.raises(ValueError, match=r"text in columns 'city' .*TableEncoder"):
        SmoothEmbedding().fit(table, y)
    X, X_new, y, y_new = parts(table, y)
    model = make_pipeline(TableEncoder(), SmoothEmbedding(standardize=True)).fit(X, y)
    assert model.score(X_new, y_new) > 0.8
    stranger = X_new.head(3).assign(city="Paris")
    assert model.predict(stranger).shape == (3,)
    assert model[0].count_unknown(stranger).tolist() == [1, 1, 1]

    nsse.save(model, tmp_path / "model.nsse")
    loaded = nsse.load(tmp_path / "model.nsse")
    np.testing.assert_array_equal(loaded.predict(X_new), model.predict(X_new))

    known = X_new.dropna()
    session = onnxruntime.InferenceSession(nsse.to_onnx(model, dtype=np.float64).SerializeToString())
    inputs = {name: as_input(known[name]) for name in known}
    (labels,) = session.run(["label"], inputs)
    np.testing.assert_array_equal(labels.astype(str), model.predict(known))

    written = write_report(tmp_path / "report.html", model, Samples(X_new, y_new))
    assert written.path.stat().st_size > 100_000


def as_input(column):
    """A column as the graph takes it: text as strings, dates as days since 1970, numbers as they are."""
    if column.dtype.kind == "M":
        values = (column - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    else:
        values = column.astype(float if column.dtype.kind in "fib" else object)
    return values.to_numpy().reshape(-1, 1)


WORDS = {
    "music": ["guitar sounds loud", "drum keeps the beat", "song is in my ear", "violin needs strings"],
    "football": [
        "goalkeeper saved the ball",
        "striker scored twice",
        "team won",
        "coach trains the team",
    ],
}
STARTS = ["my old", "the new"]
TEXTS = [f"{start} {words}" for own in WORDS.values() for words in own for start in STARTS]
TEXTS += ["a choir sings tonight", "an organ", "the referee showed a card", "a match"]
TOPICS = [*np.repeat(list(WORDS), 8).tolist(), "music", "music", "football", "football"]


def test_twenty_short_texts():
    assert len(TEXTS) == len(TOPICS) == 20
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = make_pipeline(TfidfVectorizer(), SmoothEmbedding()).fit(TEXTS, TOPICS)
    assert model.predict(["the striker won", "a loud drum"]).tolist() == ["football", "music"]
    assert nsse.certificates.certified_radius(model[-1], model[:-1].transform(TEXTS)).min() > 0.0
    found = nsse.explanations.explain(model, ["the striker won"])
    assert {"won", "striker"} <= set(found.to_frame()["feature"])
    assert repr(found).splitlines()[1].startswith("  0: football over music by ")


def test_texts_without_a_known_word_are_not_typical():
    rng = np.random.default_rng(0)
    topics = np.arange(60) % 2
    texts = [
        " ".join([*(f"t{c}{rng.integers(80)}" for _ in range(3)), f"w{rng.integers(9)}"]) for c in topics
    ]
    model = make_pipeline(TfidfVectorizer(), SmoothEmbedding()).fit(texts, topics)
    smallest = 1 / 61
    unknown, known = nsse.certificates.typicality(model, ["quantum physics", "w3"])
    assert unknown == pytest.approx(smallest)
    assert known > smallest
    # If a training text has no word either, such texts are like one of the training texts.
    model = make_pipeline(TfidfVectorizer(), SmoothEmbedding()).fit([*texts[1:], "?"], topics)
    assert nsse.certificates.typicality(model, ["quantum physics"]) > smallest


@pytest.mark.parametrize("use", [GraphPenalty(), LabelPropagation()], ids=lambda use: type(use).__name__)
def test_labels_of_minus_one(use):
    X, y = make_blobs(200, centers=4, n_features=6, random_state=0)
    few = np.where(np.arange(200) % 10 == 0, y, -1)
    model = SmoothEmbedding(unlabeled=use).fit(X, few)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert np.mean(model.transduction_ == y) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3, 10, 100])
def test_pictures_with_few_and_many_classes(n_classes, tmp_path):
    X, y = make_blobs(6 * n_classes, centers=n_classes, n_features=20, random_state=0)
    X, X_new, y, y_new = parts(X, y)
    model = SmoothEmbedding().fit(X, y)
    assert model.score(X_new, y_new) > 0.9
    assert set(model.plot(X, y).frame["set"]) == {"training"}
    assert list(model.plot(X_new, y_new).frame["set"]).count("new") == len(y_new)
    for name, plot in (
        ("map", class_map(model, X_new, y_new)),
        ("training", model.plot(X, y)),
        ("other", class_map(LogisticRegression().fit(X, y), X_new, y_new)),
    ):
        plot.save(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    if n_classes == 2:
        with pytest.raises(ValueError, match="The method plot draws any number of classes"):
            SmoothEmbedding(2).fit(X, y)


@pytest.mark.slow
def test_a_search_has_the_methods_of_a_model():
    X, X_new, y, y_new = parts(*load_digits(return_X_y=True), train_size=150)
    search = nsse.SmoothEmbeddingCV().fit(X, y)
    assert search.score(X_new, y_new) > 0.9
    assert (search.typicality(X_new) <= 0.05).mean() < 0.12
    noise = np.random.default_rng(0).uniform(0, 16, (50, 64))
    assert (search.typicality(noise) <= 0.05).mean() > 0.7
    frame = search.plot(X, y).frame
    assert set(frame["set"]) == {"training"}
    assert len(search.explain(X_new[:3])) == 3
