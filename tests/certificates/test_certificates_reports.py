"""Theorem 1, reports and selection beside their definitions, and their figures."""

import numpy as np
import pytest
from oracles_certificates import separation as literal_separation
from oracles_certificates import theorem_terms
from sklearn.base import clone

from nsse import LFDA, NSSE, MReg
from nsse.certificates import (
    RiskCoverage,
    SelectivePredictor,
    generalization_report,
    lipschitz_bounds,
    risk_coverage,
    theorem_1,
)
from nsse.certificates.generalization import calibration, separation
from nsse.certificates.rejection import risk_coverage_curve


@pytest.fixture(scope="module")
def model(blobs):
    return NSSE.as_published(sigma=1.0).fit(blobs.X, blobs.codes)


@pytest.fixture(scope="module")
def unseen(make_blobs):
    """More samples of the same four clouds, in another order than they were trained."""
    data = make_blobs((22, 17, 12, 9))
    noise = np.random.default_rng(9).standard_normal(data.X.shape)
    order = np.random.default_rng(8).permutation(len(data.codes))
    return data.X[order] + 0.7 * noise, data.codes[order]


@pytest.fixture(scope="module")
def squares():
    """Two tight classes far apart, where Theorem 1 speaks."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = np.column_stack([8.0 * y, np.zeros(120)]) + rng.uniform(-0.1, 0.1, (120, 2))
    return X, y, NSSE.as_published().fit(X, y)


@pytest.mark.parametrize("delta", [0.05, 0.4, 1.1, 3.0])
def test_terms_of_the_theorem_are_their_definitions(delta, model, blobs):
    found = theorem_1(model, blobs.X, blobs.codes, delta=delta, epsilon=0.01, Q=2.0)
    gamma, A, eta = theorem_terms(blobs.X, model.expansion_(blobs.X), blobs.codes, delta)
    assert found.gamma == pytest.approx(gamma)
    assert found.A_delta == pytest.approx(A)
    np.testing.assert_allclose(found.eta_estimate, eta)
    assert found.lipschitz == pytest.approx(lipschitz_bounds(model, max_iter=0).best)
    assert found.left == pytest.approx(found.lipschitz * delta + np.sqrt(3) * 0.01 + A)
    assert found.right == found.gamma / 2
    assert found.met == (found.left <= found.right)
    assert found.met == (delta == 0.05)
    assert np.isnan(found.bound_estimate).all()
    assert found.class_sizes.tolist() == [22, 17, 12, 9]


def test_bound_of_the_theorem_is_its_formula(squares):
    X, y, model = squares
    found = theorem_1(model, X, y, delta=0.2, epsilon=0.02, Q=15.0)
    assert found.met
    n, eta, L = 60, found.eta_estimate, found.lipschitz
    literal = 1 - np.exp(-2 * (n * eta - 15) ** 2 / n) - 2 * np.exp(-15 * 0.02**2 / (2 * L**2 * 0.2**2))
    np.testing.assert_allclose(found.bound_estimate, literal)
    assert found.worst_bound_estimate == literal.min()
    best_q = theorem_1(model, X, y, delta=0.2, epsilon=0.02)
    assert np.all(best_q.bound_estimate >= found.bound_estimate)
    best = theorem_1(model, X, y)
    assert best.met
    assert best.left == best.right
    for delta in np.linspace(0.02, best.largest_delta, 30):
        other = theorem_1(model, X, y, delta=delta).worst_bound_estimate
        assert np.isnan(other) or other <= best.worst_bound_estimate + 1e-3
    assert 0.99 < best.worst_bound_estimate <= 1
    assert best.to_dict()["bound_estimate"] == best.worst_bound_estimate


def test_too_few_samples_for_q_silence_the_theorem(squares):
    X, y, model = squares
    silent = theorem_1(model, X, y, delta=0.2, epsilon=0.02, Q=60.0)
    assert silent.met
    assert np.isnan(silent.bound_estimate).all()


@pytest.mark.parametrize("epsilon", [None, 1e-3])
@pytest.mark.parametrize("which", ["squares", "blobs"])
def test_largest_delta_is_the_last_that_meets_the_condition(epsilon, which, model, blobs, squares):
    X, y, fitted = squares if which == "squares" else (blobs.X, blobs.codes, model)
    largest = theorem_1(fitted, X, y, epsilon=epsilon).largest_delta
    small = epsilon or 1e-12
    assert largest > 0
    at = theorem_1(fitted, X, y, delta=largest * (1 - 1e-6), epsilon=small)
    beyond = theorem_1(fitted, X, y, delta=largest * (1 + 1e-6), epsilon=small)
    assert at.met
    assert not beyond.met


def test_theorem_without_any_room():
    """A sample in two classes: γ = 0, and no δ will do."""
    X = np.array([[0.0], [1.0], [1.0], [2.0], [2.5]])
    model = NSSE.as_published(n_components=1, sigma=1.0).fit(X, [0, 0, 1, 1, 1])
    found = theorem_1(model, X, [0, 0, 1, 1, 1])
    assert found.gamma == 0
    assert found.largest_delta == found.epsilon == 0
    assert not found.met


def test_separation_is_its_definition(blobs, unseen):
    Y, y = blobs.X[:, :2], np.where(np.arange(60) == 7, 11, blobs.codes)  # a class of one sample
    X, labels = unseen
    new = separation(Y, y, X[:, :2], labels, same=False)
    np.testing.assert_allclose(
        new, [literal_separation(Y, y, *pair) for pair in zip(X[:, :2], labels, strict=True)]
    )
    old = separation(Y, y, Y, y, same=True)
    np.testing.assert_allclose(old, [literal_separation(Y, y, Y[k], y[k], skip=k) for k in range(60)])
    assert old[7] == -1
    twins = separation(
        np.zeros((4, 1)), np.array([0, 0, 1, 1]), np.zeros((1, 1)), np.array([0]), same=False
    )
    assert twins.tolist() == [0.0]


def test_report_finds_structure(model, blobs, unseen):
    X, y = unseen
    report = generalization_report(model, X, y, n_permutations=9)
    assert report.p_value == 0.1
    assert report.gap == pytest.approx(report.train_separation.mean() - report.test_separation.mean())
    assert report.gap > 0
    assert report.permuted_train.min() > 0  # shuffled labels are separated in training, too
    assert report.permuted_test.max() < report.test_separation.mean()
    assert report.test_error == pytest.approx(1 - model.score(X, y))
    assert report.calibration.ranking > 0.6
    given = generalization_report(model, X, y, blobs.X, blobs.codes, n_permutations=9)
    assert given.to_dict() == report.to_dict()
    none = generalization_report(model, X, y, n_permutations=0)
    assert none.p_value == 1.0
    assert np.isnan(none.to_dict()["permuted_train_separation"])


@pytest.mark.slow
def test_meaningless_labels_have_even_p_values(model, blobs, unseen):
    X, y = unseen
    p_values = []
    for seed in range(10):
        shuffled = np.random.default_rng(seed).permutation(blobs.codes)
        nonsense = clone(model).fit(blobs.X, shuffled)
        p_values.append(generalization_report(nonsense, X, y, n_permutations=9).p_value)
    assert 0.3 < np.mean(p_values) < 0.8
    assert len(set(p_values)) > 3


def test_warnings_of_shuffled_fits_are_counted(blobs, unseen):
    """A range of σ too narrow for labels without meaning."""
    with pytest.warns(UserWarning, match="sigma"):
        model = NSSE.as_published(sigma_range=(0.9, 1.0)).fit(blobs.X, blobs.codes)
    assert generalization_report(model, *unseen, n_permutations=2).n_warned == 2


def test_models_that_forget_their_samples_ask_for_them(blobs, unseen):
    model = MReg().fit(blobs.X, blobs.codes)
    with pytest.raises(ValueError, match=r"`X_train` must be given for this model.*Pass `X_train`"):
        generalization_report(model, *unseen)
    with pytest.raises(ValueError, match=r"`X_train` must come together with `y_train`"):
        generalization_report(model, *unseen, blobs.X)
    assert generalization_report(model, *unseen, blobs.X, blobs.codes, n_permutations=1).gap > 0
    with pytest.raises(
        ValueError, match=r"`n_permutations` must be a whole number, 0 or more\. Got 1\.5"
    ):
        generalization_report(model, *unseen, blobs.X, blobs.codes, n_permutations=1.5)
    with pytest.raises(TypeError, match="'LFDA'"):
        generalization_report(LFDA().fit(blobs.X, blobs.codes), *unseen)


def test_centres_in_another_order_are_not_taken_for_the_samples(blobs, unseen):
    model = NSSE.as_published(sigma=1.0).fit(blobs.X, blobs.codes)
    model.centers_ = model.centers_[::-1]
    with pytest.raises(ValueError, match=r"`X_train` must be given for this model"):
        generalization_report(model, *unseen)


def test_calibration_counts_every_sample_once():
    rng = np.random.default_rng(0)
    radius, wrong = rng.random(47), rng.random(47) < 0.3
    bins = calibration(radius, wrong)
    assert bins.count.sum() == 47
    assert (bins.error * bins.count).sum() == pytest.approx(wrong.sum())
    assert np.all(bins.upper[:-1] <= bins.lower[1:])
    pairs = [(r, w) for r in radius[~wrong] for w in radius[wrong]]
    assert bins.ranking == pytest.approx(np.mean([r > w for r, w in pairs]))
    tied = calibration(np.array([0.0, np.inf, np.inf]), np.array([True, True, False]))
    assert tied.ranking == 0.75
    assert np.isnan(calibration(radius, np.zeros(47, dtype=bool)).ranking)


def test_curve_is_its_definition():
    radius = np.array([0.0, 3.0, 1.0, 3.0, np.inf, 0.0])
    wrong = np.array([True, True, False, False, False, False])
    curve = risk_coverage_curve(radius, wrong)
    assert curve.radius.tolist() == [np.inf, 3.0, 1.0, 0.0]
    np.testing.assert_allclose(curve.coverage, np.array([1, 3, 4, 6]) / 6)
    np.testing.assert_allclose(curve.risk, [0, 1 / 3, 1 / 4, 2 / 6])
    assert curve.error == pytest.approx(1 / 3)
    assert curve.accuracy_at(0) == 1
    assert curve.accuracy_at(0.5) == pytest.approx(2 / 3)
    assert curve.accuracy_at(0.51) == pytest.approx(3 / 4)
    assert curve.area == pytest.approx((0 * 1 + 2 / 3 + 1 / 4 + 2 / 3) / 6)
    assert curve.to_dict()["risk"] == curve.risk.tolist()
    with pytest.raises(ValueError, match=r"`coverage` must lie between 0 and 1\. Got 80"):
        curve.accuracy_at(80)


def test_radius_ranks_mistakes(model, unseen):
    curve = risk_coverage(model, *unseen)
    assert isinstance(curve, RiskCoverage)
    assert curve.error == pytest.approx(1 - model.score(*unseen))
    assert curve.accuracy_at(0.7) > 1 - curve.error
    assert curve.area < curve.error


def test_selected_are_those_with_large_radii(model, unseen):
    X, _ = unseen
    radius = model.certified_radius(X)
    threshold = float(np.median(radius))
    labels, accepted, radii = SelectivePredictor(model, radius=threshold).fit().select(X)
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_array_equal(accepted, radius >= threshold)
    np.testing.assert_array_equal(radii, radius)
    careful = SelectivePredictor(model, coverage=0.8, rejected=-1).fit(X)
    assert careful.radius_ in radius
    predicted = careful.predict(X)
    assert predicted.dtype == labels.dtype
    kept = predicted != -1
    assert kept.sum() == 48
    np.testing.assert_array_equal(predicted[kept], labels[kept])
    assert (
        SelectivePredictor(model, coverage=1.0, rejected=-1).fit(X).predict(X).tolist()
        == labels.tolist()
    )


@pytest.mark.parametrize("rejected", [None, "unknown kind"])
def test_rejected_are_marked_whatever_the_labels(rejected, blobs, unseen):
    words = np.array(["ant", "bee", "cat", "dog"])[blobs.codes]
    for y in (words, blobs.codes):
        model = NSSE.as_published(sigma=1.0).fit(blobs.X, y)
        careful = SelectivePredictor(model, coverage=0.5, rejected=rejected).fit(unseen[0])
        predicted = careful.predict(unseen[0])
        accepted = careful.select(unseen[0]).accepted
        assert all(label == rejected for label in predicted[~accepted])
        np.testing.assert_array_equal(predicted[accepted], model.predict(unseen[0])[accepted])


def words_of(figure):
    texts = [text.get_text() for text in figure.texts]
    return texts + [text.get_text() for axes in figure.axes for text in axes.texts]


@pytest.mark.slow
def test_curves_are_drawn_as_they_are(model, unseen, tmp_path):
    pytest.importorskip("matplotlib")
    from nsse.report import risk_coverage_figure, save_figure

    curve = risk_coverage(model, *unseen)
    figure = risk_coverage_figure({"one": curve, "two": curve}, coverage=0.7, title="Both")
    assert len(figure.axes) == 2
    (line,) = (line for line in figure.axes[1].lines if line.get_gid() == "risk")
    np.testing.assert_allclose(line.get_xydata(), 100 * np.column_stack([curve.coverage, curve.risk]))
    words = words_of(figure)
    assert {"Both", "one", "two", f"{100 * curve.error:.1f} % of all"} <= set(words)
    assert f"{100 * (1 - curve.accuracy_at(0.7)):.1f} % at 70 %\ncoverage" in words
    save_figure(figure, tmp_path / "risk", "png")
    with pytest.raises(ValueError, match=r"`curves` must hold at least one curve"):
        risk_coverage_figure({})


@pytest.mark.slow
@pytest.mark.parametrize("n_permutations", [0, 3])
def test_reports_are_drawn_as_they_are(n_permutations, model, unseen, tmp_path):
    pytest.importorskip("matplotlib")
    from nsse.report import generalization_figure, save_figure

    report = generalization_report(model, *unseen, n_permutations=n_permutations)
    figure = generalization_figure(report)
    separations, shuffles, errors = figure.axes
    lines = {line.get_gid(): line for axes in figure.axes for line in axes.lines}
    np.testing.assert_allclose(lines["unseen"].get_xdata(), np.sort(report.test_separation))
    np.testing.assert_allclose(lines["shuffled-unseen"].get_xdata(), report.permuted_test)
    heights = [bar.get_height() for bar in errors.patches]
    np.testing.assert_allclose(heights, 100 * report.calibration.error)
    assert f"({n_permutations} shuffles)" in shuffles.get_xlabel()
    assert f"{report.train_separation.mean():.2f} in training" in words_of(figure)[0]
    assert separations.get_xlabel() == "separation"
    save_figure(figure, tmp_path / "report", "png")
