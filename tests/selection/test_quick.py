"""The quick tuner: what every point scores, who races on, what is best; and samples that are odd."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import scale

from nsse import WithinMetric
from nsse.selection import quick
from nsse.selection.quick import n_splits_for, quick_search
from nsse.selection.quick_grid import QuickGrid
from nsse.selection.splits import BalancedSplits

SMALL = QuickGrid((0.0, 1.0), (np.inf, 1.0), (0.5, 2.0), (1e-3, 1.0))


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(y))[:45]
    return scale(X)[chosen], y[chosen].astype(np.intp)


def splits_of(X, codes, number=3):
    return list(BalancedSplits(number, 0.2, 0).split(X, codes))


def literal_labels(X, codes, X_new, point):
    """Literally: samples in the metric, one kernel matrix, one solve, and one sample after another."""
    metric = WithinMetric(point["shrinkage"], relevance=point["relevance"]).fit(X, codes)
    X, X_new = metric.transform(X), metric.transform(X_new)
    far = np.array([[np.sum((a - b) ** 2) for b in X] for a in X])
    unit = np.sqrt(np.median(far[np.triu_indices(len(X), 1)]))
    sigma = point["sigma"] * unit
    K = np.exp(-far / sigma**2)
    K_new = np.exp(-np.array([[np.sum((a - b) ** 2) for b in X] for a in X_new]) / sigma**2)
    E = np.eye(codes.max() + 1)[codes]
    shares = E.mean(axis=0)
    # Of two classes a constant costs as much as one sample; of more, more than there are.
    N, price = len(K), 1.0 if codes.max() == 1 else 1e12
    if point["reader"] == "scores":
        A, A_new = np.c_[K, np.ones(N)], np.c_[K_new, np.ones(len(K_new))]
        penalties = np.diag(np.r_[np.full(N, point["mu2"]), price])
        C = np.linalg.solve(A.T @ A + penalties, A.T @ (E - shares))
        return np.argmax(A_new @ C + shares, axis=1)
    # f weighted by √τ has the inner products k(x)' T⁻¹KG (G'KT⁻¹KG)⁻¹ G'KT⁻¹ k(z).
    T = K @ (np.eye(N) - np.ones((N, N)) / (N + price)) @ K + point["mu2"] * np.eye(N)
    G = np.linalg.svd(E / np.sqrt(E.sum(axis=0)) - np.sqrt(shares) / np.sqrt(N))[0][:, : codes.max()]
    A = np.linalg.solve(T, K @ G)
    inner = A @ np.linalg.solve(G.T @ K @ A, A.T)
    labels = []
    for k in K_new:
        squares = [(k - row) @ inner @ (k - row) for row in K]
        labels.append(codes[int(np.argmin(squares))])
    return np.array(labels)


def accuracy(labels, truth, codes):
    """Of every class that is held out, in the proportions of all samples."""
    right = {c: np.mean(labels[truth == c] == c) for c in set(truth.tolist())}
    sizes = {c: np.sum(codes == c) for c in right}
    return sum(sizes[c] * right[c] for c in right) / sum(sizes.values())


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_point_scores_what_a_literal_fit_does(wine, n_classes):
    X, codes = (part[wine[1] < n_classes] for part in wine)
    splits = splits_of(X, codes)
    table = quick_search(X, codes, splits, SMALL).table(mu1=1.0, mean_class_size=1.0)
    assert len(table.points) == 32
    for point, row in zip(table.points, table.scores, strict=True):
        for (train, valid), score in zip(splits, row, strict=True):
            labels = literal_labels(X[train], codes[train], X[valid], point)
            assert score == pytest.approx(accuracy(labels, codes[valid], codes)), point


def test_the_weight_of_a_fit_follows_from_nu(wine):
    result = quick_search(*wine, splits_of(*wine, 1), SMALL)
    table = result.table(mu1=0.5, mean_class_size=15.0)
    assert [point["mu2"] for point in table.points[:4]] == [7.5e-3, 7.5e-3, 7.5, 7.5]
    assert table.points[0] == {
        "relevance": 0.0,
        "shrinkage": np.inf,
        "sigma": 0.5,
        "mu2": 7.5e-3,
        "reader": "scores",
    }


def test_those_behind_are_not_tried_again(wine, monkeypatch):
    monkeypatch.setattr(quick, "RACE", {2: 2, 3: 1})
    result = quick_search(*wine, splits_of(*wine, 5), SMALL)
    tried = ~np.isnan(result.scores).all(axis=(4, 5))
    assert tried.sum(axis=(1, 2, 3)).tolist() == [8, 8, 2, 1, 1]
    assert result.n_decompositions == 20
    after_two = result.scores[:2].mean(axis=0).max(axis=(3, 4))
    assert after_two[tried[2]].min() >= after_two[~tried[2]].max()
    table = result.table(1.0, 1.0)
    assert np.isnan(table.means).sum() == 28
    assert np.isfinite(table.means[result.voters(table)[0]])


def test_votes_are_of_different_metrics_scales_and_readers(wine):
    result = quick_search(*wine, splits_of(*wine), SMALL)
    table = result.table(1.0, 1.0)
    everyone = result.voters(table, 99)
    assert 2 < len(everyone) == len(set(everyone)) <= 16
    assert result.voters(table, 2) == everyone[:2]
    assert table.means[everyone[0]] == np.nanmax(table.means)
    assert np.all(np.diff(table.means[everyone]) <= 1e-12)
    lines = {line_of(table.points[row]) for row in everyone}
    assert len(lines) == len(everyone)
    best = table.scores[everyone[0]]
    least = best.mean() - 2 * best.std(ddof=1) / np.sqrt(len(best)) - 1e-9
    assert table.means[everyone].min() >= least
    # Those left out are worse, or another weight of a line that votes.
    for row in set(range(32)) - set(everyone):
        assert table.means[row] < least or line_of(table.points[row]) in lines


def line_of(point):
    """All of a point but its weight."""
    return tuple(value for name, value in point.items() if name != "mu2")


@pytest.mark.slow
def test_many_samples_race_on_few_of_them(monkeypatch):
    X, y = load_digits(return_X_y=True)
    X, codes = X[:300], y[:300].astype(np.intp)
    monkeypatch.setattr(quick, "MANY", 100)
    monkeypatch.setattr(quick, "FEW", 50)
    monkeypatch.setattr(quick, "FINAL_ROWS", 3 * 240)
    sizes = []
    on = quick.Trained.on
    monkeypatch.setattr(
        quick.Trained, "on", lambda codes, *rest: sizes.append(len(codes)) or on(codes, *rest)
    )
    result = quick_search(X, codes, splits_of(X, codes, 6))
    assert [size > 200 for size in sizes] == [False] * 4 + [True] * 3
    assert result.scores.shape[0] == 3
    tried = ~np.isnan(result.scores).all(axis=(4, 5))
    assert tried.sum(axis=(1, 2, 3)).tolist() == [quick.FINALISTS] * 3
    table = result.table(1.0, 1.0)
    assert np.nanmax(table.means) > 0.9


def test_another_score_is_asked_for_every_point(wine):
    X, codes = wine
    asked = []

    def score(labels, truth):
        asked.append(len(labels))
        return -float(np.sum(labels != truth))

    splits = splits_of(X, codes, 1)
    mistakes = quick_search(X, codes, splits, SMALL, score=score).scores
    assert mistakes.min() < mistakes.max() <= 0.0
    np.testing.assert_array_equal(mistakes, np.round(mistakes))
    assert asked == [len(splits[0][1])] * 32


def test_a_class_counts_by_its_size():
    """Nine samples of one class and two of another: one of each is held out, and the first decides."""
    X = np.r_[np.arange(9.0), 0.1, 8.1][:, np.newaxis]
    codes = np.repeat([0, 1], [9, 2])
    split = (np.array([0, 1, 2, 3, 4, 5, 6, 7, 9]), np.array([8, 10]))
    grid = QuickGrid((0.0,), (np.inf,), (0.3,), (1e-3,), ("scores",))
    assert quick_search(X, codes, [split], grid).scores.item() == pytest.approx(9 / 11)


def test_sparse_samples_score_as_dense_ones(wine):
    X, codes = wine
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    splits = splits_of(X, codes)
    dense = quick_search(X, codes, splits, SMALL).scores
    np.testing.assert_array_equal(quick_search(sparse.csr_array(X), codes, splits, SMALL).scores, dense)


ODD = {
    "three samples": (np.array([[0.0, 1.0], [1.0, 2.0], [3.0, 1.0]]), [0, 0, 1]),
    "a class of one": (np.arange(12.0).reshape(6, 2) ** 2, [0, 0, 0, 1, 1, 2]),
    "more features than samples": (np.random.default_rng(0).normal(size=(8, 40)), [0, 1] * 4),
    "constant features": (np.c_[np.arange(8.0), np.ones((8, 2))], [0, 0, 0, 0, 1, 1, 1, 1]),
    "duplicates": (np.repeat([[0.0, 0.0], [1.0, 0.0]], 4, axis=0), [0, 0, 0, 0, 1, 1, 1, 1]),
    "all of one place in training": (np.array([[0.0], [0.0], [0.0], [1.0]]), [0, 0, 1, 1]),
}


@pytest.mark.parametrize(("X", "y"), ODD.values(), ids=ODD.keys())
def test_odd_samples_have_scores(X, y):
    codes = np.array(y)
    scores = quick_search(X, codes, splits_of(X, codes)).scores
    tried = scores[~np.isnan(scores)]
    assert len(tried) > 0
    assert np.all((tried >= 0) & (tried <= 1))


def test_a_class_that_a_split_does_not_train_is_never_right(wine):
    X, codes = wine
    train, valid = np.flatnonzero(codes != 1), np.flatnonzero(codes == 1)
    assert np.all(quick_search(X, codes, [(train, valid)], SMALL).scores == 0.0)


def test_stopped_after_a_split_it_has_that_one(wine):
    def stop():
        raise KeyboardInterrupt

    result = quick_search(*wine, splits_of(*wine), SMALL, advance=stop)
    assert result.interrupted
    assert len(result.scores) == 1
    assert not quick_search(*wine, splits_of(*wine), SMALL).interrupted


def test_readers_that_do_not_exist_are_refused(wine):
    grid = QuickGrid(readers=("scores", "tea leaves"))
    with pytest.raises(ValueError, match=r"`readers` must be among .* Got \['tea leaves'\]"):
        quick_search(*wine, splits_of(*wine), grid)


@pytest.mark.parametrize(("n_samples", "n_splits"), [(3, 16), (100, 16), (200, 10), (900, 8)])
def test_fewer_samples_have_more_splits(n_samples, n_splits):
    assert n_splits_for(n_samples) == n_splits
