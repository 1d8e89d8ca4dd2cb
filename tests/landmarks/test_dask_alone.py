"""Dask in a process of its own, where nothing has imported `distributed` before, or it is not there."""

from __future__ import annotations

import subprocess
import sys

import pytest

from peaks import environment

pytest.importorskip("dask.array", reason="Dask is not installed: pip install 'nsse[dask]'")

SCRIPT = """
import sys
if {is_absent}:
    sys.modules["distributed"] = None  # what imports it now fails, as if it were not installed
import dask.array as da
import numpy as np
from nsse import NSSE
assert sys.modules.get("distributed") is None, "imported too early to show anything"
y = np.arange(600) % 3
X = np.random.default_rng(0).normal(size=(600, 5)) + 3.0 * y[:, np.newaxis]
model = NSSE.as_published(n_landmarks=30, random_state=0).fit(da.from_array(X, chunks=(200, -1)), y)
here = NSSE.as_published(n_landmarks=30, random_state=0).fit(X, y)
np.testing.assert_allclose(model.coef_, here.coef_, atol=1e-9 * np.abs(here.coef_).max())
assert da.ones(10).sum().compute() == 10
if not {is_absent}:
    import dask, distributed
    defaults = dask.config.get("distributed.comm.timeouts")
    assert defaults, "the settings of distributed are gone"
    assert dask.config.get("distributed.admin.large-graph-warning-threshold") != "4 GiB"
print("done")
"""


@pytest.mark.parametrize("is_absent", [False, True], ids=["not imported", "not installed"])
def test_dask_works_during_and_after_a_fit(is_absent):
    if not is_absent:
        pytest.importorskip("distributed", reason="distributed is not installed")
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(is_absent=is_absent)],
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == "done\n"
