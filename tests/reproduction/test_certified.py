"""Certified accuracy with few labels: exact radii, attacks, choices and the page."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from nsse import SmoothEmbedding, SmoothEmbeddingCV
from nsse.certificates import certified_accuracy, certified_radius
from reproduction.certified import page, sets
from reproduction.certified.attack import lead_gradients, withstands
from reproduction.certified.benchmark import measured, tasks_of
from reproduction.certified.cells import least_distance, linear_radii, nearest_neighbor_radii
from reproduction.certified.methods import FOLDS, METHODS, RADII, searched
from reproduction.commands import main
from reproduction.rows import RowFile, Task


def blobs(seed=0, n_classes=3, n=12, n_features=2):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), n)
    return rng.normal(size=(len(y), n_features)) + 2.0 * rng.normal(size=(n_classes, n_features))[y], y


def nearest_change(predict, x, furthest):
    """Return the smallest distance to another label on a fine polar grid around x."""
    angles = np.linspace(0, 2 * np.pi, 361)
    lengths = np.linspace(0, furthest, 401)
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    around = x + (lengths[:, np.newaxis, np.newaxis] * directions).reshape(-1, 2)
    changed = (predict(around) != predict(x[np.newaxis])).reshape(len(lengths), -1).any(axis=1)
    return lengths[np.argmax(changed)] if changed.any() else np.inf


@pytest.mark.parametrize("seed", range(3))
def test_radii_of_the_nearest_neighbor_are_exact(seed):
    Z, y = blobs(seed)
    X = blobs(seed + 50)[0][::6]
    radii = nearest_neighbor_radii(Z, y, X)

    def predict(points):
        return y[((points[:, np.newaxis] - Z) ** 2).sum(axis=2).argmin(axis=1)]

    for x, radius in zip(X, radii, strict=True):
        found = nearest_change(predict, x, 2.0 * radius + 0.1)
        assert radius <= found + 1e-9
        assert found <= radius + 0.02 * radius + 0.01


def test_radii_of_the_nearest_neighbor_are_the_same_in_more_dimensions():
    Z, y = blobs()
    X = blobs(7)[0]
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(50, 50)))[0][:2]
    expected = nearest_neighbor_radii(Z, y, X)
    np.testing.assert_allclose(nearest_neighbor_radii(Z @ turn, y, X @ turn), expected, atol=1e-9)


def test_a_least_distance_problem_may_have_no_solution():
    assert least_distance(np.array([[1.0], [-1.0]]), np.array([1.0, 1.0])) == np.inf
    assert least_distance(np.array([[2.0, 0.0]]), np.array([3.0])) == pytest.approx(1.5)
    assert least_distance(np.eye(2), np.array([3.0, 4.0])) == pytest.approx(5.0)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", [LogisticRegression(), LinearSVC(random_state=0)])
def test_radii_of_linear_classifiers_are_exact(model, n_classes):
    X, y = blobs(3, n_classes)
    model.fit(X, y)
    for x, radius in zip(X[::5], linear_radii(model, X[::5]), strict=True):
        found = nearest_change(model.predict, x, 2.0 * radius + 0.1)
        assert radius <= found + 1e-9
        assert found <= radius + 0.02 * radius + 0.01


@pytest.mark.parametrize("decision", ["scores", "nearest"])
def test_gradients_of_an_attack_agree_with_differences(decision):
    X, y = blobs(1, n_features=4)
    model = SmoothEmbedding(decision=decision).fit(X, y)
    x, label, step = X[:5] + 0.1, y[:5], 1e-6

    def lead(points):
        values = model.scores_.values(model.map_(points))
        own = values[np.arange(len(points)), label].copy()
        values[np.arange(len(points)), label] = -np.inf
        return values.max(axis=1) - own

    found = lead_gradients(model, x, label)
    for column in range(4):
        moved = step * np.eye(4)[column]
        slope = (lead(x + moved) - lead(x - moved)) / (2 * step)
        np.testing.assert_allclose(found[:, column], slope, atol=1e-5)


@pytest.mark.parametrize("model", [SmoothEmbedding(), SmoothEmbeddingCV()])
def test_attacks_succeed_far_away_and_never_within_the_radius(model):
    X, y = blobs(2, n=20, n_features=5)
    X_new, y_new = blobs(2, n=20, n_features=5)
    X_new = X_new + 0.05
    model.fit(X, y)
    right = model.predict(X_new) == y_new
    radii = certified_radius(model, X_new)
    for radius in (0.05, 0.3, 1.0):
        holds = withstands(model, X_new, y_new, radius, X, y)
        assert not np.any(right & (radii >= radius) & ~holds)
    assert withstands(model, X_new, y_new, 20.0, X, y).mean() < 0.5
    assert np.array_equal(withstands(model, X_new, y_new, 1e-12, X, y), right)


def test_choices_are_those_of_the_scorer():
    X, y = blobs(4, n=20, n_features=5)
    grid = {"sigma": [0.4, 1.0, 2.5], "smoothness": [0.01, 1.0]}
    found = searched(SmoothEmbedding(), grid, certified_radius, False)(X, y)
    for radius in (0.0, 0.25, 1.0):
        scoring = certified_accuracy(radius)
        search = GridSearchCV(SmoothEmbedding(), grid, scoring=scoring, cv=FOLDS).fit(X, y)
        assert found[radius].chosen == search.best_params_


def test_lengths_of_spectra_are_about_those_of_mnist(monkeypatch):
    X, y = blobs(5, n_classes=2, n=30, n_features=8)
    monkeypatch.setattr(sets, "samples", lambda name: (1000.0 * X, y))
    own, codes, new, _ = sets.split("spectra_wine", 10, 0)
    apart = np.linalg.norm(own[:, np.newaxis] - own, axis=2)[np.triu_indices(len(own), 1)]
    assert np.median(apart) == pytest.approx(sets.MEDIAN_DISTANCE)
    assert np.bincount(codes).tolist() == [10, 10]
    assert len(new) == 40
    assert sets.sizes_of("spectra_wine", (10, 20, 50)) == [10, 20]


def test_the_first_split_comes_first():
    tasks = tasks_of(["digits"], list(METHODS), (10, 20), 2)
    assert [task.seed for task in tasks] == sorted(task.seed for task in tasks)
    assert [task.n_train for task in tasks[: len(METHODS) + 1]] == [10] * len(METHODS) + [20]


def test_certified_accuracy_is_at_most_attacked_accuracy():
    row = measured(Task("digits", "SmoothEmbedding", 5, 0, None, {"recipe": 1}, "certified"))
    for tuned in row.details["tuned"].values():
        certified, attacked = tuned["certified"], tuned["attacked"]
        assert all(certified[radius] <= attacked[radius] for radius in attacked)
        curve = [certified[str(radius)] for radius in (0.0, *RADII)]
        assert curve == sorted(curve, reverse=True)


def test_rows_and_the_page_are_made_by_the_command(tmp_path, capsys):
    command = ["certified", "--out", str(tmp_path), "--sets", "digits", "--sizes", "10", "--splits", "1"]
    methods = ["1-NN", "SmoothEmbeddingCV", "logistic regression"]
    assert main([*command, "--methods", *methods]) == 0
    assert "3 computed" in capsys.readouterr().out
    assert main(["certified", "--out", str(tmp_path), "--page"]) == 0
    text = (tmp_path / "certified.md").read_text(encoding="utf-8")
    assert "all 60,000 samples of MNIST certify more at large radii" in text
    assert "MNIST with 10 labels per class was not measured" in text
    rows = RowFile(tmp_path / "rows.jsonl").rows()
    frame = page.frame_of(rows)
    own = frame[(frame["line"] == "1-NN, exact cells") & (frame["radius"] == 0.5)]["certified"].iloc[0]
    assert f"{100 * own:.1f}" in page.table_of(frame)


def test_a_page_needs_rows(tmp_path, capsys):
    assert main(["certified", "--out", str(tmp_path), "--page"]) == 2
    assert "must hold rows" in capsys.readouterr().err
