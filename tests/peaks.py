"""What a fit takes at its peak, measured in a process of its own beside what was estimated."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import nsse

SOURCES = str(Path(nsse.__file__).parents[1])

# Imports once, and forks for every program it is sent: the peak of a child begins with what it holds.
PARENT = """
import json, os, sys, traceback, warnings
import numpy as np
from nsse import NSSE, NSSECV
warnings.simplefilter("ignore")
def peak():  # unlike ru_maxrss this does not begin with what the parent process had
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        try:
            exec(json.loads(line), globals())
            sys.stdout.flush()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    if os.waitpid(child, 0)[1]:
        print("nan", flush=True)
"""
PROGRAM = """
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


@contextmanager
def measuring() -> Iterator[Callable[..., float]]:
    """A function that tells the estimated bytes over the measured ones; NaN where a fit failed."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:

        def estimate_over_peak(
            model: str, shape: tuple[int, int], samples: str, warm_up: str, n_classes: int = 10
        ) -> float:
            """All arguments but the shape and the number of classes are lines of Python."""
            program = PROGRAM.format(
                model=model, shape=shape, samples=samples, warm_up=warm_up, n_classes=n_classes
            )
            print(json.dumps(program), file=parent.stdin, flush=True)
            return float(parent.stdout.readline())

        yield estimate_over_peak
