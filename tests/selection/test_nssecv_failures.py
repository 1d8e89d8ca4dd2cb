"""NSSECV when something goes wrong: points that fail, wrong words, interrupts."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.exceptions import FitFailedWarning, NotFittedError

import nsse
from nsse import NSSE, NSSECV
from peaks import environment
from searches import AT_A_SCALE, SPLITS, X, Y, split_scores

pytestmark = pytest.mark.filterwarnings("ignore::nsse.ScaleAtBoundWarning")


# ---------------------------------------------------------------------------------- what cannot be had


def test_a_point_that_cannot_be_fitted_scores_nan_and_is_named():
    grid = {"n_components": [3, 9, 61], "mu2": [0.01, 0.1], "sigma": [0.5]}
    with pytest.warns(FitFailedWarning) as caught:
        search = NSSECV(grid, cv=SPLITS, estimator=NSSE.as_published()).fit(X, Y)
    (warning,) = caught
    assert warning.filename == __file__
    message = str(warning.message)
    assert "2 of 6 grid points could not be fitted on every split" in message
    assert "'n_components': 61" in message
    assert "`n_components` must not exceed the number of training samples, 60. Got 61." in message
    assert ".." not in message
    failed = np.array([params["n_components"] == 61 for params in search.cv_results_["params"]])
    np.testing.assert_array_equal(np.isnan(search.cv_results_["mean_test_score"]), failed)
    np.testing.assert_array_equal(np.isnan(search.cv_results_["mean_sigma"]), failed)
    assert set(search.cv_results_["rank_test_score"][failed]) == {5}
    plain = NSSECV(grid | {"n_components": [3, 9]}, cv=SPLITS, estimator=NSSE.as_published()).fit(X, Y)
    np.testing.assert_array_equal(split_scores(search)[:, ~failed], split_scores(plain))
    assert search.best_params_ == plain.best_params_


@pytest.mark.filterwarnings("ignore::nsse.ConditioningWarning")
def test_a_scale_at_which_the_kernel_has_no_rank_scores_nan():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 4
    X = (y + 0.2 * rng.normal(size=40))[:, np.newaxis]
    grid = {"sigma": [0.2, 1e4], "n_components": [3]}
    with pytest.warns(FitFailedWarning, match=r"'sigma': 10000.0.*rank of the kernel"):
        search = NSSECV(grid, n_repeats=2, estimator=NSSE.as_published()).fit(X, y)
    assert search.best_params_["sigma"] == 0.2


def test_many_failures_are_counted_not_listed():
    grid = {"n_components": [2, *range(61, 71)], "sigma": [0.5]}
    with pytest.warns(FitFailedWarning, match="10 of 11 grid points"):
        NSSECV(grid, cv=SPLITS, estimator=NSSE.as_published()).fit(X, Y)
    with pytest.warns(FitFailedWarning, match="and 7 more"):
        NSSECV(
            {"n_components": [2, 65], "sigma": [0.5], "mu1": np.arange(1, 11.0)},
            cv=SPLITS,
            estimator=NSSE.as_published(),
        ).fit(X, Y)


def test_if_all_fail_the_reasons_are_given_and_nothing_is_fitted():
    search = NSSECV({"n_components": [70, 80]}, cv=SPLITS)
    with pytest.raises(
        ValueError, match="No point of `param_grid` could be fitted on every split"
    ) as error:
        search.fit(X, Y)
    assert "Got 70." in str(error.value)
    assert "Got 80." in str(error.value)
    assert vars(search) == vars(NSSECV({"n_components": [70, 80]}, cv=SPLITS))
    with pytest.raises(NotFittedError):
        search.predict(X)


def test_a_failed_fit_keeps_the_one_before():
    search = NSSECV(AT_A_SCALE, cv=SPLITS, estimator=NSSE.as_published()).fit(X, Y)
    before = search.best_estimator_
    with pytest.raises(ValueError, match="mu2"):
        search.set_params(param_grid={"mu2": [-1.0]}).fit(X, Y)
    assert search.best_estimator_ is before


def never(estimator, X, y):
    raise AssertionError("some work was done")


@pytest.mark.parametrize("search", ["full", "sequential"])
@pytest.mark.parametrize(
    ("grid", "options", "message"),
    [
        ({"mu1": [1.0], "mu2": [0.1, -1.0]}, {}, "`mu2` must be a positive, finite number. Got -1.0"),
        ({"mu1": [1.0], "mu9": [0.1]}, {}, "Invalid parameter 'mu9'"),
        ({"mu1": [1.0]}, {"search": "random"}, "`search` must be one of"),
        ({"mu1": [1.0]}, {"n_repeats": 0}, "`n_repeats` must be a whole number"),
        ({"mu1": [1.0]}, {"validation_fraction": 1.0}, "`validation_fraction` must be less than 1"),
        ({"mu1": [1.0]}, {"validation_fraction": -0.1}, "`validation_fraction` must be a finite number"),
        ({"mu1": [1.0]}, {"estimator": nsse.LFDA()}, "`estimator` must be an NSSE"),
        ({"mu1": [1.0]}, {"cv": []}, "`cv` must give splits with samples"),
        ({"mu1": [1.0]}, {"cv": [(range(80), [])]}, "`cv` must give splits with samples"),
    ],
)
def test_what_is_wrong_is_said_before_any_work(search, grid, options, message):
    model = NSSECV(
        grid,
        **{"search": search, "scoring": never, "n_repeats": 2, "estimator": NSSE.as_published()}
        | options,
    )
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": ["mu1"]}, r"`order` must name each parameter of the grid once, \['mu1', 'mu2'\]"),
        ({"order": ["mu1", "mu2", "mu3"]}, "`order` must name each parameter"),
        ({"start": {"mu3": 1.0}}, r"`start` must name parameters of the grid. Got \['mu3'\]"),
        ({"start": {"mu2": -1.0}}, "`mu2` must be a positive"),
        ({"n_rounds": 0}, "`n_rounds` must be a whole number"),
        ({"param_grid": [{"mu1": [1.0]}]}, "`param_grid` must be one dict"),
    ],
)
def test_wrong_words_about_a_sequential_search(options, message):
    options = {"param_grid": {"mu1": [1.0], "mu2": [0.1]}, "scoring": never} | options
    with pytest.raises(ValueError, match=message):
        NSSECV(search="sequential", n_repeats=2, **options).fit(X, Y)


# ------------------------------------------------------------------------------------------ interrupts


class InterruptAtCall:
    """A score during whose n-th use Ctrl-C is pressed."""

    def __init__(self, at):
        self.at, self.calls = at, 0

    def __call__(self, estimator, X, y):
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return float(np.mean(estimator.predict(X) == y))


@pytest.mark.parametrize(("at", "n_scored"), [(2, 0), (5, 1), (12, 2)])
def test_an_interrupt_says_how_far_it_was(at, n_scored):
    search = NSSECV(AT_A_SCALE, cv=SPLITS, scoring=InterruptAtCall(at), estimator=NSSE.as_published())
    with pytest.raises(KeyboardInterrupt, match=f"{n_scored} of 3 splits were scored on 4 grid points"):
        search.fit(X, Y)
    assert not hasattr(search, "n_features_in_")


# A process started in the background ignores SIGINT, and so do its children unless told otherwise.
INTERRUPTED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from sklearn.datasets import load_digits
from nsse import NSSECV
X, y = load_digits(return_X_y=True)
search = NSSECV(search="full", n_repeats=200, n_jobs={n_jobs})
print("ready", flush=True)
try:
    search.fit(X[:400], y[:400])
except KeyboardInterrupt as interrupt:
    print(interrupt, sorted(name for name in vars(search) if name.endswith("_")), flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal on POSIX only")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_a_real_process_cleanly(n_jobs):
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED.format(n_jobs=n_jobs)],
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(1.0)
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=60)
        except BaseException:
            process.kill()
            raise
    assert process.returncode == 0, errors
    assert re.match(r"NSSECV was interrupted: \d+ of 200 splits were scored on 432 grid points.", output)
    assert output.strip().endswith("[]")
    assert "Traceback" not in errors
