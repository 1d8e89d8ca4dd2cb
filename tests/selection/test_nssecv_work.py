"""How NSSECV works: on workers, in how much memory, and what it shows meanwhile."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
from joblib import parallel_config

from nsse import NSSE, NSSECV, ScaleAtBoundWarning
from nsse._progress import progress_bar
from searches import AT_A_SCALE, SMALL, SPLITS, X, Y, split_scores

pytestmark = pytest.mark.filterwarnings("ignore::nsse.ScaleAtBoundWarning")


# --------------------------------------------------------------------------------------------- workers


def assert_same_search(a, b):
    np.testing.assert_array_equal(split_scores(a), split_scores(b))
    np.testing.assert_array_equal(a.cv_results_["mean_sigma"], b.cv_results_["mean_sigma"])
    assert a.best_params_ == b.best_params_
    assert a.counts_ == b.counts_
    np.testing.assert_array_equal(a.embedding_, b.embedding_)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_workers_change_nothing(backend):
    grid = SMALL | {"length_unit": [20.0, 40.0]}
    alone = NSSECV(grid, cv=SPLITS, estimator=NSSE.as_published()).fit(X, Y)
    with parallel_config(backend=backend):
        assert_same_search(
            NSSECV(grid, cv=SPLITS, n_jobs=2, estimator=NSSE.as_published()).fit(X, Y), alone
        )


@pytest.mark.slow
def test_a_dask_cluster_changes_nothing():
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    alone = NSSECV(SMALL, cv=SPLITS, estimator=NSSE.as_published()).fit(X, Y)
    with (
        distributed.Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0"),
        parallel_config(backend="dask"),
    ):
        assert_same_search(
            NSSECV(SMALL, cv=SPLITS, n_jobs=2, estimator=NSSE.as_published()).fit(X, Y), alone
        )


# ---------------------------------------------------------------------------------------------- memory


SAMPLES = (
    "X = 2 * np.random.default_rng(0).normal(size=(10, n))[y]"
    " + np.random.default_rng(1).normal(size=(N, n))"
)
WARM_UP = (
    'NSSECV({"sigma": [0.5]}, n_repeats=1, estimator=NSSE.as_published()).fit(X[:60], y[:60])\n'
    "NSSECV(n_repeats=1).fit(X[:60], y[:60])"
)

MODELS = {
    "NSSE": ("NSSE.as_published()", (1500, 30)),
    "NSSE by default": ("NSSE()", (1500, 30)),
    "NSSE with many features": ("NSSE.as_published(sigma=0.5)", (1500, 1500)),
    "NSSE, ill-conditioned": ("NSSE.as_published(sigma=2.0, mu2=1e-9)", (1500, 20)),
    "NSSECV": (
        "NSSECV({'mu2': [0.01, 0.1], 'sigma': [0.5, 1.0]}, n_repeats=1, estimator=NSSE.as_published())",
        (1200, 30),
    ),
    "NSSECV with graphs": (
        "NSSECV({'mu2': [0.01], 'n_neighbors': [2, 4, 6, 8], 'sigma': [0.5]}, n_repeats=1, "
        "estimator=NSSE.as_published())",
        (1200, 30),
    ),
    "NSSECV, quick": ("NSSECV(n_repeats=2)", (1200, 30)),
    "NSSECV, quick, many features": (
        "NSSECV(estimator=NSSE(metric='within', shrinkage=0.5), n_repeats=2)",
        (800, 1500),
    ),
    "NSSECV, quick, with landmarks": (
        "NSSECV(estimator=NSSE(n_landmarks=200), n_repeats=2)",
        (3000, 30),
    ),
}


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak")
@pytest.mark.parametrize("name", MODELS)
def test_memory_is_estimated_well(estimate_over_peak, name):
    assert 1 / 1.3 < estimate_over_peak(*MODELS[name], SAMPLES, WARM_UP) < 1.3


def test_memory_grows_with_workers_but_not_beyond_the_splits():
    one, two, many = (
        NSSECV(SMALL, n_repeats=2, n_jobs=n_jobs, estimator=NSSE.as_published()).estimate_memory(
            1000, 20
        )
        for n_jobs in (1, 2, 50)
    )
    assert one < two == many
    assert NSSECV().estimate_memory(1000, 20, n_classes=40) > NSSECV().estimate_memory(1000, 20)


# -------------------------------------------------------------------------------------------- progress


def test_a_bar_is_shown_on_request_only(capsys):
    NSSECV(AT_A_SCALE, cv=SPLITS, estimator=NSSE.as_published()).fit(X, Y)
    NSSECV(AT_A_SCALE, cv=SPLITS, progress=False, estimator=NSSE.as_published()).fit(X, Y)
    assert capsys.readouterr() == ("", "")
    pytest.importorskip("rich")
    NSSECV(AT_A_SCALE, cv=SPLITS, progress=True, estimator=NSSE.as_published()).fit(X, Y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "splits" in err
    assert "3/3" in err


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_person_at_a_terminal_sees_the_bar(monkeypatch):
    pytest.importorskip("rich")
    for shown, terminal, expected in ((None, True, True), (None, False, False), (False, True, False)):
        stream = Terminal() if terminal else io.StringIO()
        monkeypatch.setattr(sys, "stderr", stream)
        with progress_bar(2, "steps", shown) as advance:
            advance()
            advance()
        assert ("2/2" in stream.getvalue()) == expected


def test_a_bar_without_rich_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    search = NSSECV(AT_A_SCALE, cv=SPLITS, progress=True, estimator=NSSE.as_published())
    with pytest.raises(ImportError, match=r"pip install 'nsse\[cli\]'"):
        search.fit(X, Y)
    assert not hasattr(search, "n_features_in_")


def test_verbose_tells_what_was_computed(caplog):
    with caplog.at_level("INFO", logger="nsse"):
        NSSECV(AT_A_SCALE, cv=SPLITS, verbose=1, estimator=NSSE.as_published()).fit(X, Y)
    # Of all the fits of a search, not a line each.
    assert [record.getMessage() for record in caplog.records] == [
        "4 grid points on 3 splits: 6 Gram matrices, 6 factorisations, 3 kernel matrices"
    ]


@pytest.mark.filterwarnings("always::nsse.ScaleAtBoundWarning")
def test_a_warning_of_a_fit_says_whose_parameters_it_names():
    narrow = NSSE.as_published(sigma_range=(0.1, 0.2))
    search = NSSECV({"mu2": [1e-2]}, cv=SPLITS, estimator=narrow, n_voters=1)
    with pytest.warns(
        ScaleAtBoundWarning, match=r"fix `sigma`\. These are parameters of `estimator`\.$"
    ):
        search.fit(X, Y)
    assert "sigma_range" not in search.get_params(deep=False)
