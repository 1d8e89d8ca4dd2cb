"""What is to be measured, and what was: a task and its row.

A task is data: its key is one canonical line of JSON, the same for the same task in every process and
on every machine. It decides whether a row is there already.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from numbers import Integral, Real
from typing import Any

from nsse._errors import rule_error

_PACKAGES = ("nsse", "numpy", "scipy", "scikit-learn", "joblib")


@dataclass(frozen=True)
class Task:
    """One fit to be measured.

    Attributes
    ----------
    dataset : str
        Name of the data set.
    method : str
        Name of the method.
    n_train : int
        Training samples per class.
    seed : int
        Seed of the split.
    d : int or None
        Dimension of the embedding; None where the method has none or chooses it itself.
    parameters : mapping of str to numbers, strings, None, and lists or mappings of these
        Everything else that changes the result, such as the weights or the grid they come from.
    protocol : str
        How parameters are chosen, for example ``"paper"`` or ``"honest"``.

    See Also
    --------
    nsse.evaluation.run_tasks : Computes them.

    Examples
    --------
    >>> from nsse.evaluation import Task
    >>> task = Task("digits", "NN", n_train=7, seed=0)
    >>> Task.from_key(task.key) == task
    True
    """

    dataset: str
    method: str
    n_train: int
    seed: int
    d: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    protocol: str = "honest"

    def __post_init__(self) -> None:
        for name in ("dataset", "method", "protocol"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value:
                raise rule_error(name, "be a string that is not empty", value, "Name it.")
        for name, least in (("n_train", 1), ("seed", 0), ("d", 1)):
            object.__setattr__(self, name, _whole(name, getattr(self, name), least))
        object.__setattr__(self, "parameters", plain(self.parameters, "parameters"))

    @property
    def key(self) -> str:
        """The task as one line of canonical JSON."""
        return canonical(asdict(self))

    @classmethod
    def from_key(cls, key: str) -> Task:
        """Read a task from its key."""
        return cls(**json.loads(key))

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        d = "" if self.d is None else f", d = {self.d}"
        what = f"{self.method} on {self.dataset}, {self.n_train} per class{d}, seed {self.seed}"
        more = f", {canonical(self.parameters)}" if self.parameters else ""
        return f"{what}, protocol {self.protocol}{more}"


@dataclass(frozen=True)
class Row:
    """What a task gave.

    Attributes
    ----------
    task : Task
        What was measured.
    error : float
        Share of test samples given a wrong label, in [0, 1].
    fit_seconds, predict_seconds : float
        Time taken.
    chosen : mapping
        Parameters that the method chose itself.
    details : mapping
        Whatever else is worth keeping, for example the error at every d.
    versions : mapping of str to str
        Software behind the row; that of this process unless given.

    See Also
    --------
    nsse.evaluation.RowStore : Where rows are kept.

    Examples
    --------
    >>> from nsse.evaluation import Row, Task
    >>> task = Task("digits", "NN", n_train=7, seed=0)
    >>> Row(task, error=0.1, fit_seconds=0.0, predict_seconds=0.2).task.method
    'NN'
    """

    task: Task
    error: float
    fit_seconds: float
    predict_seconds: float
    chosen: Mapping[str, Any] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=lambda: software_versions())

    def __post_init__(self) -> None:
        for name, most in (("error", 1.0), ("fit_seconds", math.inf), ("predict_seconds", math.inf)):
            value = getattr(self, name)
            number = float(value) if isinstance(value, Real) else math.nan
            if not 0.0 <= number <= most or math.isinf(number):
                rule = "be a share from 0 to 1" if name == "error" else "be a time of 0 seconds or more"
                raise rule_error(name, rule, value, f"Look at {self.task}.")
            object.__setattr__(self, name, number)
        for name in ("chosen", "details", "versions"):
            object.__setattr__(self, name, plain(getattr(self, name), name))


def software_versions() -> dict[str, str]:
    """Versions of Python and of the packages that decide a result.

    See Also
    --------
    nsse.evaluation.Row : Remembers them.

    Examples
    --------
    >>> from nsse.evaluation import software_versions
    >>> "numpy" in software_versions()
    True
    """
    return {"python": platform.python_version(), **{name: _version(name) for name in _PACKAGES}}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "not installed"


def canonical(value: Any) -> str:
    """One line of JSON: keys sorted, no spaces; plain values only."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def plain(value: Any, name: str) -> Any:
    """Bring a value to what JSON gives back, so that equal values have one spelling.

    Whole floats become integers (1.0 equals 1), NumPy scalars Python numbers, tuples lists.
    """
    if value is None or isinstance(value, str | bool):
        return str(value) if isinstance(value, str) else value
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return plain(value.item(), name)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, list | tuple):
        return [plain(item, name) for item in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: plain(item, name) for key, item in value.items()}
    rule = (
        "hold only finite numbers, strings, booleans, None, and lists or mappings (by strings) of these"
    )
    raise rule_error(name, rule, value, "Pass its name or its parameters instead.")


def _whole(name: str, value: Any, least: int) -> int | None:
    if value is None and name == "d":
        return None
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise rule_error(
            name, f"be a whole number from {least} upwards", value, f"Pass {least} or more."
        )
    return int(value)
