"""Where the time of a piece of work goes: the shares of named stages, in seconds of the processor.

A stage is one function of the library or several, timed from call to return where they are looked up; no
stage calls another. A profiler would lengthen what is many small calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any

Stage = tuple[str, ...]  # "module:name" or "module:Class.name", below ``nsse``

FIT: Mapping[str, Stage] = {
    "metric": ("estimators._learning:learned_metric", "extensions.linear:Contraction.parts"),
    "distances": ("estimators._posing:measured_distances",),
    "graph": ("solvers.problem:Problem.build",),
    "kernel": ("solvers.problem:Problem.kernel",),
    "factor": ("solvers.pencil:factorize", "solvers.sample_space:_factor"),
    "eigenpairs": ("solvers.pencil:leading_pairs", "solvers.sample_space:_iterated"),
    "slopes, residuals": ("solvers.pencil:of_pairs", "solvers.pencil:_angle"),
    "trace": ("solvers.recorder:Recorder.record",),
    "temperature": ("estimators._learning:exact_temperature",),
    "map, classifier": ("estimators._learning:usable",),
}
SEARCH: Mapping[str, Stage] = {
    "kernel": ("solvers.problem:Problem.kernel",),
    "Gram matrices": ("solvers.sweep:_Grams.of",),
    "factor": ("solvers.sweep:cholesky",),
    "eigenpairs": ("solvers.sweep:leading_pairs",),
    "slopes, residuals": ("solvers.sweep:refined",),
    "sigma": ("solvers.scale_curve:ScaleCurve.minimum",),
    "interpolation": ("solvers.scale_curve:ScaleCurve.embedding",),
    "labels": ("selection.grid:_labels",),
}


def shares(work: Callable[[], Any], stages: Mapping[str, Stage]) -> dict[str, float]:
    """Parts of the whole that every stage takes, and what is left as "the rest"."""
    seconds = dict.fromkeys(stages, 0.0)
    with ExitStack() as stack:
        for stage, names in stages.items():
            for name in names:
                stack.enter_context(_timed(name, stage, seconds))
        start = time.process_time()
        work()
        whole = time.process_time() - start
    parts = {stage: value / whole for stage, value in seconds.items()}
    return parts | {"the rest": 1.0 - sum(parts.values())}


@contextmanager
def _timed(name: str, stage: str, seconds: dict[str, float]) -> Iterator[None]:
    """Add what a function takes to its stage, as long as this lasts."""
    module, _, path = name.partition(":")
    owner: Any = import_module(f"nsse.{module}")
    *classes, last = path.split(".")
    for one in classes:
        owner = getattr(owner, one)
    held = vars(owner)[last]
    function = held.__func__ if isinstance(held, classmethod) else held

    def timed(*args: Any, **kwargs: Any) -> Any:
        start = time.process_time()
        try:
            return function(*args, **kwargs)
        finally:
            seconds[stage] += time.process_time() - start

    setattr(owner, last, classmethod(timed) if isinstance(held, classmethod) else timed)
    try:
        yield
    finally:
        setattr(owner, last, held)
