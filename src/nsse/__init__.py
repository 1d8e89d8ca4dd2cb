"""Nonlinear Supervised Smooth Embedding: supervised maps that hold on new data.

>>> from nsse import NSSE

``NSSE`` is a scikit-learn transformer and classifier. The rooms of the package follow the method:
``datasets``, ``invariances`` → ``graphs``, ``kernels`` → ``solvers``, ``extensions``, ``landmarks`` →
``certificates`` → ``estimators`` → ``selection`` → ``evaluation``, ``exports`` → ``report``, ``cli``;
imports point to the left only.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nsse.estimators import (
        LDE,
        LFDA,
        NSSE,
        NYS,
        SPE,
        SUPLAP,
        ConditioningWarning,
        DegenerateEmbeddingWarning,
        IsoKRR,
        MReg,
        ScaleAtBoundWarning,
        SemiRBF,
        WithinMetric,
    )
    from nsse.exports import load, save, to_onnx
    from nsse.selection import NSSECV, SequentialSearchCV

__all__ = [
    "LDE",
    "LFDA",
    "NSSE",
    "NSSECV",
    "NYS",
    "SPE",
    "SUPLAP",
    "ConditioningWarning",
    "DegenerateEmbeddingWarning",
    "IsoKRR",
    "MReg",
    "ScaleAtBoundWarning",
    "SemiRBF",
    "SequentialSearchCV",
    "WithinMetric",
    "__version__",
    "load",
    "save",
    "to_onnx",
]
__version__ = "0.2.0"

# Found at first use, so that `nsse --help` and `import nsse` do not wait for scikit-learn.
_ROOM_OF = dict.fromkeys((name for name in __all__ if name != "__version__"), "nsse.estimators")
_ROOM_OF |= dict.fromkeys(("load", "save", "to_onnx"), "nsse.exports")
_ROOM_OF |= dict.fromkeys(("NSSECV", "SequentialSearchCV"), "nsse.selection")
_ROOMS = (
    "certificates",
    "datasets",
    "estimators",
    "evaluation",
    "exports",
    "invariances",
    "plot",
    "report",
    "selection",
)


def __getattr__(name: str) -> Any:
    if name in _ROOM_OF:
        return getattr(import_module(_ROOM_OF[name]), name)
    if name in _ROOMS:
        return import_module(f"nsse.{name}")
    raise AttributeError(f"module 'nsse' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS])
