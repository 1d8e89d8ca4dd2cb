"""Tests of the explanation on the card of a sample: training samples of both sides, and columns."""

import numpy as np
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nsse
from nsse import SmoothEmbedding
from nsse.report import Samples
from nsse.report.explorer.models import find
from nsse.report.explorer.why import reasons

WINE = load_wine(as_frame=True)
X, Y = WINE.data.to_numpy(), WINE.target.to_numpy()
NAMES = list(WINE.data.columns)
MODEL = make_pipeline(StandardScaler(), SmoothEmbedding()).fit(X[::2], Y[::2])


def test_entries_name_the_rival_the_columns_and_the_samples_of_both_sides():
    entries = reasons(find(MODEL, Samples(X[1::2], Y[1::2])), NAMES)
    found = nsse.explanations.explain(MODEL, X[1::2])
    assert len(entries) == len(found) == 89
    for row in (0, 40, 88):
        entry, weights = entries[row], found.weights[row]
        assert entry["rival"] == str(found.rival[row])
        assert entry["words"].startswith(f"Score {found.margin[row]:.2f} above {found.rival[row]}: ")
        assert NAMES[np.abs(found.contribution[row]).argmax()] in entry["words"]
        for side, sign in (("support", 1), ("oppose", -1)):
            assert entry[side] == found.influential[row][sign * weights > 0][:4].tolist()


def test_there_are_no_entries_if_training_samples_are_not_centers():
    few = SmoothEmbedding(centers=20, standardize=True).fit(X[::2], Y[::2])
    assert reasons(find(few, Samples(X[1::2], Y[1::2])), NAMES) == []
    assert reasons(find(MODEL, Samples(None)), NAMES) == []
