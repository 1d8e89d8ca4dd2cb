"""How much memory can be had, by files as Linux writes them; fits that are told there is too little."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import nsse
from nsse import NSSE, NSSECV
from nsse._machine import available_memory
from nsse.estimators import _memory
from peaks import environment

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


@pytest.mark.parametrize("top", ["sys/fs/cgroup", "sys/fs/cgroup/unified"])
@pytest.mark.parametrize("where", ["", "/a", "/a/b"])
def test_groups_of_the_second_kind_and_those_above_them(machine, top, where):
    files = {
        "proc/self/cgroup": "0::/a/b\n",
        f"{top}/memory.max": "max\n",
        f"{top}{where}/memory.max": "6000000000\n",
        f"{top}{where}/memory.current": "3000000000\n",
        f"{top}{where}/memory.stat": "anon 1\ninactive_file 1000000000\n",
    }
    assert machine(files) == 4 * GB


@pytest.mark.parametrize("where", ["", "/docker/0a1b"])
def test_groups_of_the_first_kind(machine, where):
    """In a container the path is that of the host, and the limit lies at the top of what is mounted."""
    folder = f"sys/fs/cgroup/memory{where}"
    files = {
        "proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/docker/0a1b\n",
        f"{folder}/memory.limit_in_bytes": "2000000000\n",
        f"{folder}/memory.usage_in_bytes": "500000000\n",
        f"{folder}/memory.stat": "total_inactive_file 100000000\n",
    }
    assert machine(files) == 1_600_000_000
    assert machine(files | {f"{folder}/memory.limit_in_bytes": "9223372036854771712\n"}) == FREE


def test_a_group_beyond_its_limit_has_nothing_left(machine):
    files = {
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/memory.max": "1000\n",
        "sys/fs/cgroup/memory.current": "2000\n",
    }
    assert machine(files) == 0


def test_what_cannot_be_read_is_not_known(machine, tmp_path):
    assert machine({"proc/self/cgroup": "nonsense\n0::\n:::\n", "proc/self/status": "\n"}) == FREE


def test_this_machine_tells():
    room = available_memory()
    assert room is not None
    assert 10**6 < room < 2**50


@pytest.mark.skipif(sys.platform != "linux", reason="limits of a process are those of Linux here")
def test_the_limit_of_a_process_counts():
    program = (
        "import resource\nfrom nsse._machine import available_memory\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({6 * GB}, {6 * GB}))\nprint(available_memory())"
    )
    run = [sys.executable, "-c", program]
    told = int(subprocess.run(run, env=environment(), check=True, capture_output=True).stdout)
    assert told < 6 * GB


# ------------------------------------------------------------------------------------------- fits


class BegunError(Exception):
    """Work has begun."""


@pytest.fixture
def no_work(monkeypatch):
    def stop(*_, **__):
        raise BegunError

    monkeypatch.setattr("nsse.estimators._learning.learned_metric", stop)
    monkeypatch.setattr("nsse.selection.nssecv.searched_samples", stop)


@pytest.mark.parametrize("model", [NSSE(), NSSE.as_published(), NSSECV()])
def test_a_fit_that_is_too_large_is_refused_before_it_starts(model, monkeypatch, no_work):
    X = np.random.default_rng(0).standard_normal((12_000, 4)).astype(np.float32)
    y = np.arange(12_000) % 3
    monkeypatch.setattr(_memory, "available_memory", lambda: 5 * GB)
    before = vars(model).copy()
    with pytest.raises(MemoryError) as caught:
        model.fit(X, y)
    told = str(caught.value)
    assert "`n_landmarks` must be given where all samples as centres take more memory" in told
    assert "Got None: 12,000 samples of 4 features take 5.8 GB. 5.0 GB can be had." in told
    assert "Take n_landmarks=3000" in told
    assert vars(model) == before
    for room in (7 * GB, None):
        monkeypatch.setattr(_memory, "available_memory", lambda room=room: room)
        with pytest.raises(BegunError):
            model.fit(X, y)


def test_few_centres_and_few_samples_are_not_held_up(monkeypatch, blobs):
    monkeypatch.setattr(_memory, "available_memory", lambda: 0)
    NSSE().fit(blobs.X, blobs.codes)
    X = np.random.default_rng(0).standard_normal((3000, 4))
    NSSE(n_landmarks=50).fit(X, np.arange(3000) % 3)
    with pytest.raises(MemoryError, match="3,000 samples"):
        NSSE().fit(X, np.arange(3000) % 3)


def test_sparse_samples_take_what_they_hold(monkeypatch, no_work):
    rows = np.arange(4000)
    X = sparse.csr_array((1.0 + rows, (rows, 50 * rows)), shape=(4000, 200_000))
    monkeypatch.setattr(_memory, "available_memory", lambda: GB)
    with pytest.raises(BegunError):
        NSSE(metric="euclidean").fit(X, np.arange(4000) % 3)
    with pytest.raises(MemoryError, match="200,000 features"):  # a metric makes rows dense
        NSSE().fit(X, np.arange(4000) % 3)


def test_what_is_refused_is_what_is_estimated():
    """The least that a fit takes, which the estimate is never below."""
    for n in (4000, 12_000, 100_000):
        least = _memory.exact_memory(n, 50, 9, condition=1.0)
        assert least <= nsse.NSSE(metric="euclidean").estimate_memory(n, 50)
        # Where K itself is factorised one matrix less is held, which only the samples tell.
        assert 0.85 * least <= nsse.NSSE.as_published().estimate_memory(n, 50)
        assert least == pytest.approx(40 * n**2, rel=0.05)
