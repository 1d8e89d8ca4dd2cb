"""Tests that plots of explanations show the numbers of `explain`, for all kinds of samples."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_digits, load_wine
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nsse
from nsse import SmoothEmbedding

X, Y = load_digits(return_X_y=True)
DIGITS = SmoothEmbedding().fit(X[::9], Y[::9])


def test_a_map_over_pixels_is_what_explain_gives(tmp_path):
    drawn = nsse.plot.explanation(DIGITS, X[1:4], shape=(8, 8))
    found = DIGITS.explain(X[1:4])
    np.testing.assert_allclose(drawn.frame["contribution"], found.contribution.ravel())
    np.testing.assert_allclose(drawn.frame["gradient"], found.gradient.ravel())
    assert len(drawn.figure.axes) == 3
    over = drawn.figure.axes[1].images[1].get_array()
    np.testing.assert_allclose(over, found.contribution[1].reshape(8, 8))
    assert drawn.figure.axes[0].get_title("left").startswith(f"{found.label[0]} over {found.rival[0]}")
    drawn.save(tmp_path / "explained.png")


def test_tables_have_bars_with_the_names_of_their_columns():
    wine = load_wine(as_frame=True)
    model = make_pipeline(StandardScaler(), SmoothEmbedding()).fit(wine.data[::3], wine.target[::3])
    drawn = nsse.plot.explanation(model, wine.data.iloc[[1]])
    bars = drawn.figure.axes[0].patches
    found = nsse.explanations.explain(model, wine.data.iloc[[1]]).contribution[0]
    widest = max(bars, key=lambda bar: abs(bar.get_width()))
    assert widest.get_width() == pytest.approx(found[np.abs(found).argmax()])
    names = [label.get_text() for label in drawn.figure.axes[0].get_yticklabels()]
    assert names[-1] == wine.data.columns[np.abs(found).argmax()][:22]
    assert isinstance(drawn.frame, pd.DataFrame)


def test_many_features_are_a_curve_and_an_encoder_is_named():
    curve = nsse.plot.explanation(DIGITS, X[1:2])
    assert len(curve.figure.axes[0].collections[0].get_segments()) == 63
    encoded = make_pipeline(RBFSampler(n_components=20, random_state=0, gamma=1e-3), SmoothEmbedding())
    drawn = nsse.plot.explanation(encoded.fit(X[::9], Y[::9]), X[:1])
    assert any("output of RBFSampler" in text.get_text() for text in drawn.figure.texts)
    axes = Figure().subplots()
    assert not nsse.plot.explanation(DIGITS, X[:1], kind="bars", ax=axes).is_alone
    assert len(axes.patches) == 12


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"X": X[:20]}, "`X` must contain 1 to 12 samples"),
        ({"X": X[:2], "shape": (5, 5)}, "`shape` must have 64 pixels"),
        ({"X": X[:2], "kind": "pie"}, "`kind` must be"),
        ({"X": X[:2], "names": ["a"]}, "`names` must name every feature"),
        ({"X": X[:2], "target": 77}, "`target` must be labels of training samples"),
    ],
)
def test_what_cannot_be_drawn_is_said(given, words):
    with pytest.raises(ValueError, match=words):
        nsse.plot.explanation(DIGITS, **given)
