"""Comparisons of two models agree with counts by hand."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nsse import NSSE, SmoothEmbedding, SmoothEmbeddingCV
from nsse.comparisons import compare


@pytest.fixture(scope="module")
def data(make_blobs):
    return make_blobs((40, 30, 30), n_features=5)


def test_a_model_compared_with_itself_shows_no_change(data):
    model = SmoothEmbedding().fit(data.X, data.codes)
    same = compare(model, model, data.X)
    assert not same.changed.any()
    assert same.changes == {}
    np.testing.assert_allclose(same.moved, 0.0)
    np.testing.assert_allclose(same.shared_neighbors, 1.0)
    assert "0 of 100 predictions changed" in repr(same)


def test_changes_are_counted(data):
    one = SmoothEmbedding().fit(data.X[::2], data.codes[::2])
    names = np.array(["a", "b", "c"])
    shifted = SmoothEmbedding().fit(data.X[1::2], data.codes[1::2])
    found = compare(one, shifted, data.X, n_neighbors=3)
    labels = one.predict(data.X), shifted.predict(data.X)
    np.testing.assert_array_equal(found.changed, labels[0] != labels[1])
    assert sum(found.changes.values()) == found.changed.sum()
    for (old, new), count in found.changes.items():
        assert count == np.sum((labels[0] == old) & (labels[1] == new))
    P, Q = one.predict_proba(data.X), shifted.predict_proba(data.X)
    np.testing.assert_allclose(found.moved, np.abs(P - Q).sum(axis=1) / 2)
    sample = 7
    shares = []
    for model in (one, shifted):
        F = model.transform(data.X)
        order = np.argsort(np.linalg.norm(F - F[sample], axis=1), kind="stable")
        shares.append([k for k in order if k != sample][:3])
    assert found.shared_neighbors[sample] == len(set(shares[0]) & set(shares[1])) / 3
    words = SmoothEmbedding().fit(data.X[1::2], names[data.codes[1::2]])
    assert compare(one, words, data.X).changed.all()


def test_added_classes_are_listed_for_pipelines_searches_and_nsse(data):
    few = data.codes < 2
    old = make_pipeline(StandardScaler(), SmoothEmbedding()).fit(data.X[few], data.codes[few])
    for new in (SmoothEmbeddingCV(max_members=2, grid={"sigma": [1.0]}), NSSE()):
        found = compare(old, new.fit(data.X, data.codes), data.X)
        assert (found.removed_classes, found.added_classes) == ([], [2])
        assert "Added classes: 2." in repr(found)
        assert found.moved[data.codes == 2].mean() > 0.5
    with pytest.raises(ValueError, match="`n_neighbors` must be less than the 4 samples"):
        compare(old, old, data.X[:4])
