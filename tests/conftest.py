"""Small labelled sets and problems that several test files share; all arrays are read-only."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.datasets import load_digits

from browser import running_browser
from nsse.datasets import load_dataset


class Labelled(NamedTuple):
    """Samples sorted by class, with the class of each as an integer."""

    X: np.ndarray
    codes: np.ndarray


def read_only(array):
    array = np.array(array)
    array.flags.writeable = False
    return array


def blobs_of(counts, n_features=5, seed=0, spread=2.0):
    """Gaussian clouds with overlapping means, one per class."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(counts)), counts)
    means = spread * rng.standard_normal((len(counts), n_features))
    return Labelled(
        read_only(means[codes] + rng.standard_normal((len(codes), n_features))), read_only(codes)
    )


# A browser, a cluster of processes, another runtime: slow by themselves.
SLOW_FIXTURES = {"browser", "client"}
SLOW_PLACES = {
    "benchmarks",
    "golden",
    "test_browser.py",
    "test_browser_live.py",
    "test_cli_shell.py",
    "test_dask.py",
    "test_commands.py",
}


def pytest_ignore_collect(collection_path, config):
    """`make quick` does not even import them."""
    is_slow = collection_path.name in SLOW_PLACES and config.option.markexpr == "not slow"
    return True if is_slow else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what `make quick` leaves out; single tests that take long are marked where they stand."""
    for item in items:
        if SLOW_FIXTURES & set(item.fixturenames) or SLOW_PLACES & set(item.path.parts):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def make_blobs():
    """Factory: ``make_blobs(counts, n_features=5, seed=0)``."""
    return blobs_of


@pytest.fixture(scope="session")
def blobs():
    """Sixty samples in four classes of unequal size."""
    return blobs_of((22, 17, 12, 9))


@pytest.fixture(scope="session")
def digits():
    """Two hundred digits, sorted by class."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:200], y[:200]
    order = np.argsort(y, kind="stable")
    return Labelled(read_only(X[order] / 16.0), read_only(y[order].astype(np.intp)))


@pytest.fixture(scope="session")
def digit_images():
    """Scikit-learn's digits as images."""
    return load_dataset("digits")


@pytest.fixture(autouse=True)
def closed_figures():
    """No figure outlives its test: once pyplot is imported it keeps every one."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """A cache of its own for every test process: none is read or written outside."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NSSE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def nsse_data():
    """Folder of the real data sets; tests that need it are skipped where there is none."""
    folder = os.environ.get("NSSE_DATA")
    if not folder:
        pytest.skip("NSSE_DATA does not name a folder with the real data")
    return Path(folder)


@pytest.fixture
def run_page(tmp_path, monkeypatch):
    """Factory: ``run_page("howto/deploy.md")`` runs the Python blocks of a page in order."""

    def run(name):
        page = Path(__file__).parents[1] / "docs" / name
        blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        monkeypatch.chdir(tmp_path)
        names: dict[str, object] = {"n_blocks": len(blocks)}
        for block in blocks:
            exec(block, names)
        return names

    return run


@pytest.fixture(scope="session")
def browser():
    """The driver of a real browser without network; without one, tests fail in CI and skip elsewhere."""
    with running_browser() as driver:
        yield driver


@pytest.fixture(scope="module")
def mixed(make_blobs):
    """Classes of one and two samples among larger ones, in any order."""
    X, codes = make_blobs((14, 1, 2, 15))
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], codes[order]


@pytest.fixture
def cache(tmp_path_factory, monkeypatch):
    """A folder of the test's own for what is kept from one call to the next."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("NSSE_CACHE", str(folder))
    return folder
