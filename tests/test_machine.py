"""How much memory can be had, by files as Linux writes them; fits that are told there is too little."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from nsse import NSSE, SmoothEmbedding
from nsse._support import machine as machine_memory
from nsse._support.machine import available_memory
from nsse.centers import CentersPerClass, KMeansCenters, RandomCenters

GB = 10**9
MEMINFO = "MemTotal:       32000000 kB\nMemAvailable:   16000000 kB\nSwapFree:        1000000 kB\n"
FREE = 17_000_000 * 1024


@pytest.fixture
def machine(tmp_path):
    """A root folder, in which files are written by their path."""

    def write(**files):
        for name, text in ({"proc/meminfo": MEMINFO} | files["files"]).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return available_memory(tmp_path)

    return lambda files=None: write(files=files or {})


def test_the_machine_has_what_is_available_and_swap(machine):
    assert machine() == FREE


@pytest.mark.parametrize("where", ["", "/a", "/a/b"])
def test_the_group_of_the_process_and_those_above_it(machine, where):
    files = {
        "proc/self/cgroup": "5:cpu,cpuacct:/x\n0::/a/b\n",
        "sys/fs/cgroup/memory.max": "max\n",
        f"sys/fs/cgroup{where}/memory.max": "6000000000\n",
        f"sys/fs/cgroup{where}/memory.current": "3000000000\n",
        f"sys/fs/cgroup{where}/memory.stat": "anon 1\ninactive_file 1000000000\n",
    }
    assert machine(files) == 4 * GB
    assert machine(files | {f"sys/fs/cgroup{where}/memory.max": "1000\n"}) == 0  # beyond its limit


def test_what_cannot_be_read_is_not_known(machine, tmp_path):
    assert machine({"proc/self/cgroup": "nonsense\n0::\n:::\n"}) == FREE


def test_without_proc_psutil_is_asked(tmp_path):
    psutil = pytest.importorskip("psutil", reason="systems other than Linux need psutil")
    assert 0 < available_memory(tmp_path) <= psutil.virtual_memory().total


def test_this_machine_tells():
    room = available_memory()
    assert room is not None
    assert 10**6 < room < 2**50


@pytest.mark.parametrize("model", [SmoothEmbedding(centers=None), NSSE()])
def test_a_fit_that_is_too_large_is_refused_before_it_starts(model, monkeypatch):
    monkeypatch.setattr(machine_memory, "available_memory", lambda: GB)
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    with pytest.raises(MemoryError, match="needs about"):
        model.fit(X, np.arange(20_000) % 3)
    assert not hasattr(model, "map_")


def test_few_centres_and_few_samples_are_not_held_up(monkeypatch, blobs):
    monkeypatch.setattr(machine_memory, "available_memory", lambda: GB)
    SmoothEmbedding().fit(blobs.X, blobs.codes)
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    SmoothEmbedding(centers=50).fit(X, np.arange(20_000) % 3)


def test_what_is_estimated_grows_with_what_is_fitted():
    small, large = (SmoothEmbedding(centers=None).estimate_memory(n, 50) for n in (1000, 4000))
    assert 8 * 3 * 1000**2 < small < large / 8
    assert SmoothEmbedding().estimate_memory(60_000, 50) < 8 * 6 * 5000**2


CENTERS = [
    np.int64(3000),
    np.uint16(3000),
    KMeansCenters(3000),
    CentersPerClass(np.int64(3000)),
    RandomCenters(3000),
    np.arange(3000),
    list(range(3000)),
    np.zeros((3000, 50)),
    sparse.csr_array((3000, 50)),
    "auto",
    lambda rows, rng: rows.source.take(np.arange(3000)),
]


@pytest.mark.parametrize("centers", CENTERS, ids=lambda centers: type(centers).__name__)
def test_centers_of_every_kind_count_in_an_estimate(centers):
    expected = SmoothEmbedding(centers=3000).estimate_memory(60_000, 50)
    assert SmoothEmbedding(centers=centers).estimate_memory(60_000, 50) == expected
    assert expected > 8 * 5 * 3000**2


def test_no_more_centers_than_samples_count_in_an_estimate():
    expected = SmoothEmbedding(centers=None).estimate_memory(700, 50)
    for centers in ("auto", 3000, KMeansCenters(3000), np.arange(700)):
        assert SmoothEmbedding(centers=centers).estimate_memory(700, 50) == expected
