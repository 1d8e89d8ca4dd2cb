"""The line of a sample's card that says why: witnesses are training rows, columns have their names."""

import re

import numpy as np
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nsse
from nsse import SmoothEmbedding, SmoothEmbeddingCV
from nsse.report import Samples
from nsse.report.explorer.models import find
from nsse.report.explorer.why import reasons

WINE = load_wine(as_frame=True)
X, Y = WINE.data.to_numpy(), WINE.target.to_numpy()
NAMES = list(WINE.data.columns)
MODEL = make_pipeline(StandardScaler(), SmoothEmbedding()).fit(X[::2], Y[::2])


def test_a_line_names_label_rival_witnesses_and_columns():
    lines = reasons(find(MODEL, Samples(X[1::2], Y[1::2])), NAMES)
    found = nsse.explanations.explain(MODEL, X[1::2])
    assert len(lines) == len(found) == 89
    for row in (0, 40, 88):
        assert lines[row].startswith(f"{found.label[row]} over {found.rival[row]} by ")
        best = found.influential[row][found.weights[row] > 0][0]
        named = re.search(r"training rows for it: (\d+)", lines[row])
        assert int(named[1]) == best
        assert NAMES[np.abs(found.contribution[row]).argmax()] in lines[row]


def test_there_is_no_line_where_training_samples_are_no_centres():
    few = SmoothEmbedding(centers=20).fit(X[::2], Y[::2])
    vote = SmoothEmbeddingCV(n_voters=2, grid={"sigma": [0.5, 1.0]}).fit(X[::2], Y[::2])
    for model in (few, vote):
        assert reasons(find(model, Samples(X[1::2], Y[1::2])), NAMES) == []
    assert reasons(find(MODEL, Samples(None)), NAMES) == []
