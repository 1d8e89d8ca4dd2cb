"""What holds for every compared method alike: a name in `nsse.methods` is enough to be tested here."""

from __future__ import annotations

import copy
import pickle
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import oracles_methods as oracle
import pytest
from scipy import sparse
from scipy.stats import ortho_group
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from nsse import methods
from nsse.exceptions import DegenerateEmbeddingWarning
from nsse.maps import LinearMap
from nsse.scores import fitted_temperature

DEFAULTS = [kind() for kind in vars(methods).values() if isinstance(kind, type)]
# Other routes through the same code: numbers of neighbours, other widths and units.
VARIANTS = [
    methods.SUPLAP(3, mu=0.1, n_neighbors_between=10),
    methods.SUPLAP(3, n_neighbors=3, n_neighbors_between=5),
    methods.NYS(3, sigma=3.0, length_unit=1.0),
    methods.SPE(3, alpha=0.05, n_neighbors=10),
    methods.LDE(2, beta=0.5),
    methods.LFDA(2, n_neighbors=3, metric="plain"),
    methods.LFDA(2, metric="orthonormalized"),
    methods.IsoKRR(2, alpha=0.1, n_neighbors=8),
    methods.MReg(gamma_A=1e-3, normalized=False, unlabeled=-1),
    methods.SemiRBF(2, n_neighbors=4, unlabeled=-1),
    methods.KDA(2, sigma=2.0, reg=0.01),
    methods.KDA(2, kernel="linear", length_unit=1.0),
    methods.LPP(2, supervised=True, n_neighbors=3, beta=0.5),
    methods.LPP(2, supervised=True, n_neighbors=None),
    methods.NPE(2, n_neighbors=8, reg=0.1),
    methods.NPPE(2, degree=3, pca=5),
    methods.MFA(2, n_neighbors=3, n_pairs=None),
]
MODELS = [*DEFAULTS, *VARIANTS]
# Parameters that change which kind of map or graph is computed. Others use the same checks of inputs.
CHECKED = [
    *DEFAULTS,
    methods.LFDA(1, affinity="ones", metric="plain", reg=0.1),
    methods.KDA(kernel="linear"),
    methods.LPP(supervised=True, n_neighbors=None),
]
TOLERANCE = 1e-9
WARNED = f"{DegenerateEmbeddingWarning.__module__}.{DegenerateEmbeddingWarning.__name__}"
UNDETERMINED = pytest.mark.filterwarnings(f"ignore::{WARNED}")

every_model = pytest.mark.parametrize("model", MODELS, ids=str)
every_method = pytest.mark.parametrize("model", DEFAULTS, ids=str)


@pytest.fixture(scope="module")
def new():
    """Samples that no model was fitted on, some of their values zero."""
    X = np.random.default_rng(0).standard_normal((20, 5))
    return np.where(X < -1, 0.0, X)


@pytest.fixture(scope="module")
def known(blobs):
    """Factory: ``known(model)`` is that model fitted on the blobs, once for all tests; read only."""

    @cache
    def fitted_once(name):
        return fitted(next(model for model in MODELS if str(model) == name), *blobs)

    return lambda model: fitted_once(str(model))


def fitted(model, X, y):
    return clone(model).fit(X, y)


def assert_close(Y, Z, tolerance=TOLERANCE):
    np.testing.assert_allclose(Y, Z, rtol=0, atol=tolerance * np.abs(Z).max())


@pytest.mark.slow
@UNDETERMINED
@parametrize_with_checks(CHECKED)
def test_contract_of_scikit_learn(estimator, check):
    check(estimator)


def test_the_method_of_the_guide_is_one(blobs):
    """The class that CONTRIBUTING.md shows does what the others do."""
    guide = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    room = vars(import_module("nsse.methods._method")) | {"__name__": __name__}
    exec(shown, room)
    one = room["Corners"](sigma=0.5).fit(*blobs)
    assert one.score(*blobs) == 1.0
    assert_close(one.transform(blobs.X), one.embedding_)
    assert (one.certified_radius(blobs.X) > 0).any()
    with pytest.raises(ValueError, match="`sigma` must be a positive"):
        room["Corners"](sigma=0.0).fit(*blobs)


@every_model
def test_no_label_changes_within_the_certified_radius(known, new, model):
    one = known(model)
    if isinstance(model, methods.NYS | methods.SPE | methods.NPPE):
        with pytest.raises(TypeError, match="kernel or linear map"):
            one.certified_radius(new)
        return
    radii = one.certified_radius(new)
    assert (radii > 0).mean() > 0.5
    rng = np.random.default_rng(0)
    for _ in range(20):
        step = rng.standard_normal(new.shape)
        step *= (0.999 * np.minimum(radii, 1e3) / np.linalg.norm(step, axis=1))[:, np.newaxis]
        np.testing.assert_array_equal(one.predict(new + step), one.predict(new))


# What must not matter


@every_model
def test_order_of_samples(known, blobs, new, model):
    order = np.random.default_rng(0).permutation(len(blobs.X))
    one, other = known(model), fitted(model, blobs.X[order], blobs.codes[order])
    assert_close(other.transform(new), one.transform(new))
    assert_close(other.embedding_, one.embedding_[order])
    assert other.scores_.temperature == pytest.approx(one.scores_.temperature, rel=1e-6)


@every_model
def test_rotation_of_the_features(known, blobs, new, model):
    if isinstance(model, methods.NPPE):
        pytest.skip("powers of features are no powers of rotated ones")
    Q = ortho_group.rvs(5, random_state=0)
    other = fitted(model, blobs.X @ Q, blobs.codes)
    assert_close(other.transform(new @ Q), known(model).transform(new))


@every_model
def test_names_and_order_of_classes(known, blobs, new, model):
    one = known(model)
    names = np.array(["a", "b", "c", "d"])
    if model.get_params().get("unlabeled") is None:
        named = fitted(model, blobs.X, names[blobs.codes])
        np.testing.assert_array_equal(named.embedding_, one.embedding_)
        np.testing.assert_array_equal(named.predict(new), names[one.predict(new)])
    other = fitted(model, blobs.X, 3 - blobs.codes)
    Y, Z = other.transform(new), one.transform(new)
    Y = Y[:, ::-1] if isinstance(model, methods.MReg) else Y  # a score for every class
    assert_close(Y * np.where(np.sum(Y * Z, axis=0) < 0, -1.0, 1.0), Z)
    np.testing.assert_array_equal(3 - other.predict(new), one.predict(new))


@every_model
@pytest.mark.parametrize("unit", [1e-160, 1e-6, 1e5, 1e160])
def test_unit_of_the_samples(known, blobs, new, model, unit):
    one, other = known(model), clone(model)
    if getattr(model, "length_unit", "median") != "median":
        other.set_params(length_unit=unit * model.length_unit)
    if isinstance(one.map_, LinearMap) and unit in (1e-160, 1e160):
        with pytest.raises(ValueError, match=r"`X` must have values between 1e-100 and 1e\+100"):
            other.fit(unit * blobs.X, blobs.codes)
        return
    other.fit(unit * blobs.X, blobs.codes)
    # Orthonormal columns keep the unit of the samples.
    keeps_unit = getattr(model, "metric", None) == "orthonormalized"
    scale = unit if keeps_unit else 1.0
    assert_close(other.transform(unit * new) / scale, one.transform(new))
    np.testing.assert_array_equal(other.predict(unit * new), one.predict(new))


@every_model
def test_batch_in_which_a_sample_comes(known, new, model):
    one = known(model)
    whole = one.transform(new)
    alone = np.vstack([one.transform(new[[i]]) for i in range(len(new))])
    assert_close(alone, whole, 1e-11)  # sums of large terms of either sign, in another order


@every_model
def test_sparse_samples(blobs, new, model):
    X = np.where(blobs.X > 0, blobs.X, 0.0)
    one, other = fitted(model, X, blobs.codes), fitted(model, sparse.csr_array(X), blobs.codes)
    for rows in (new, sparse.csr_array(new)):
        assert_close(other.transform(rows), one.transform(rows), 1e-7)
        np.testing.assert_array_equal(other.predict(rows), one.predict(rows))


# What must stay


@every_model
def test_single_precision(known, blobs, new, model):
    other = fitted(model, blobs.X.astype(np.float32), blobs.codes)
    embedded = other.transform(new.astype(np.float32))
    assert embedded.dtype == other.embedding_.dtype == np.float32
    assert_close(embedded, known(model).transform(new.astype(np.float32)), 1e-5)


@every_model
def test_embedding_is_what_transform_gives(known, blobs, model):
    one = known(model)
    embedded = one.transform(blobs.X)
    assert_close(embedded, one.embedding_)
    np.testing.assert_array_equal(clone(model).fit_transform(*blobs), embedded)


@every_model
def test_label_is_that_of_the_nearest_sample_or_of_the_largest_score(known, blobs, new, model):
    one = known(model)
    if isinstance(model, methods.MReg):
        expected = one.classes_[one.transform(new).argmax(axis=1)]
    else:
        nearest = KNeighborsClassifier(1).fit(one.embedding_, blobs.codes)
        expected = nearest.predict(one.transform(new))
    np.testing.assert_array_equal(one.predict(new), expected)
    decision, probabilities = one.decision_function(new), one.predict_proba(new)
    np.testing.assert_array_equal(one.classes_[decision.argmax(axis=1)], expected)
    np.testing.assert_array_equal(one.classes_[probabilities.argmax(axis=1)], expected)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


@pytest.mark.parametrize("model", [m for m in DEFAULTS if not isinstance(m, methods.MReg)], ids=str)
def test_temperature_comes_from_samples_that_were_left_out(make_blobs, model):
    X, codes = make_blobs((9, 7, 1), n_features=3)
    one = fitted(model, X, codes)
    values, own = oracle.left_out_neighbors(one.embedding_, codes, 3)
    assert len(own) == 16  # one is alone in its class
    expected = fitted_temperature(values, own, np.ones(16))
    assert one.scores_.temperature == pytest.approx(expected, rel=1e-6)


@every_model
def test_pickle_and_clone(known, new, model):
    one = known(model)
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.transform(new), one.transform(new))
    np.testing.assert_array_equal(again.predict(new), one.predict(new))
    bare = clone(one)
    assert not [name for name in vars(bare) if name.endswith("_")]
    assert str(bare.get_params()) == str(one.get_params())


@every_method
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames(known, blobs, model, library):
    frames = pytest.importorskip(library)
    X = frames.DataFrame(dict(zip("pqrst", blobs.X.T, strict=True)))
    one = fitted(model, X, blobs.codes).set_output(transform=library)
    embedded = one.transform(X)
    assert list(one.feature_names_in_) == list("pqrst")
    names = [f"{type(model).__name__.lower()}{i}" for i in range(one.embedding_.shape[1])]
    assert list(embedded.columns) == list(one.get_feature_names_out()) == names
    assert_close(np.asarray(embedded), known(model).transform(blobs.X))


# Hard cases


@every_model
@UNDETERMINED
def test_duplicates_share_their_coordinates(blobs, model):
    X, codes = np.repeat(blobs.X, 2, axis=0), np.repeat(blobs.codes, 2)
    one = fitted(model, X, codes)
    assert np.all(np.isfinite(one.embedding_))
    assert_close(one.embedding_[::2], one.embedding_[1::2], 1e-8)
    assert one.score(X, codes) > 0.9


@every_model
@pytest.mark.parametrize(("counts", "n_features"), [((6, 5), 40), ((5, 4, 6), 200)])
@UNDETERMINED
def test_fewer_samples_than_features(make_blobs, model, counts, n_features):
    data = make_blobs(counts, n_features=n_features)
    one = clone(model)
    if "n_components" in model.get_params():
        one.set_params(n_components=None)
    one.fit(*data)
    assert np.all(np.isfinite(one.transform(data.X)))
    assert one.score(*data) == 1.0


# Errors

WHOLE, POSITIVE = "a whole number, at least 1", "a positive, finite number"
FINITE_POWERS = "be between 1e-20 and 1e+20"
NOT_NEGATIVE = "a finite number that is not negative"
REFUSED = {
    "n_components": [(0, WHOLE), (1.5, WHOLE), (100_000, "not exceed")],
    "n_neighbors": [(0, WHOLE), (2.5, WHOLE)],
    "n_neighbors_between": [(0, WHOLE), (2.5, WHOLE)],
    "n_rounds": [(0, WHOLE)],
    "beta": [(0, POSITIVE), (-2.0, POSITIVE)],
    "sigma": [(0, POSITIVE), (float("nan"), POSITIVE), (1e-300, FINITE_POWERS), (1e200, FINITE_POWERS)],
    "n_pairs": [(0, WHOLE), (2.5, WHOLE)],
    "degree": [(0, WHOLE), (1.5, WHOLE)],
    "supervised": [("yes", "True or False")],
    "kernel": [("rbf", "one of 'gaussian', 'linear'")],
    "mu": [(-1, NOT_NEGATIVE)],
    "ridge": [(-1e-9, NOT_NEGATIVE)],
    "alpha": [(0, POSITIVE)],
    "overlap": [(1.5, "a number from 0 to 1"), (-0.1, NOT_NEGATIVE)],
    "gamma_A": [(0, POSITIVE)],
    "gamma_I": [(-1, NOT_NEGATIVE)],
    "normalized": [("yes", "True or False")],
    "affinity": [("one", "one of 'local_scaling', 'ones'")],
    "metric": [("x", "one of 'weighted'")],
    "pca": [
        (1.0, "None, a whole number"),
        (True, "None, a whole number"),
        (0, "None, a whole number"),
        (100_000, "not exceed the rank"),
    ],
    "reg": [(-1, NOT_NEGATIVE), (float("nan"), NOT_NEGATIVE)],
    "length_unit": [("mean", "one of 'median'"), (-1, POSITIVE), (0, POSITIVE), (1e-200, "comparable")],
    "unlabeled": [("?", "a number, as the labels are"), ([1], "a number, as the labels are")],
}


def refused(model):
    """What the parameters of a model must not be, each with the rule that says so."""
    names = REFUSED.keys() & model.get_params(deep=False).keys()
    return [(name, value, rule) for name in sorted(names) for value, rule in REFUSED[name]]


@every_method
def test_errors_say_rule_and_value_and_leave_no_trace(known, blobs, model):
    assert len(refused(model)) >= 8
    for start in (model, known(model)):
        for name, value, rule in refused(model):
            one = copy.copy(start).set_params(**{name: value})
            before = dict(vars(one))
            said = rf"`{name}` must (be )?{re.escape(rule)}.* Got {re.escape(repr(value))}"
            with pytest.raises(ValueError, match=said):
                one.fit(*blobs)
            assert vars(one) == before


@every_method
def test_one_class_and_equal_samples_are_refused(known, blobs, model):
    one = copy.copy(known(model))
    before = dict(vars(one))
    with pytest.raises(ValueError, match="`y` must contain samples of at least 2 classes"):
        one.fit(blobs.X[:5], np.zeros(5))
    with pytest.raises(ValueError, match="`X` must"):
        one.fit(np.ones((6, 2)), [0, 0, 0, 1, 1, 1])
    assert vars(one) == before
