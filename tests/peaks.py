"""What a fit takes at its peak, measured in a process of its own beside what was estimated."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nsse

SOURCES = str(Path(nsse.__file__).parents[1])

SCRIPT = """
import warnings
import numpy as np
from nsse import NSSE, NSSECV
warnings.simplefilter("ignore")
def peak():  # unlike ru_maxrss this does not begin with what the parent process had
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
N, n = {shape}
y = np.arange(N) % {n_classes}
{samples}
{warm_up}
model = {model}
before = peak()
model.fit(X, y)
print(model.estimate_memory(N, n, {n_classes}) / (peak() - before))
"""


def environment() -> dict[str, str]:
    """For a process that imports the same nsse, with BLAS on one thread."""
    paths = [SOURCES, *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"}


def estimate_over_peak(
    model: str, shape: tuple[int, int], samples: str, warm_up: str, n_classes: int = 10
) -> float:
    """Estimated bytes over measured ones; all arguments but the shape are lines of Python."""
    script = SCRIPT.format(
        model=model, shape=shape, samples=samples, warm_up=warm_up, n_classes=n_classes
    )
    run = subprocess.run(
        [sys.executable, "-c", script], env=environment(), capture_output=True, text=True, check=True
    )
    return float(run.stdout)
