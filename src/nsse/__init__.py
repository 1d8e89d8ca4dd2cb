"""Supervised embeddings that hold on new data.

>>> from nsse import SmoothEmbedding

`SmoothEmbedding` is what we recommend, `SmoothEmbeddingCV` chooses its parameters, `NSSE` is the method
of the paper; all are scikit-learn transformers and classifiers. Beside them: `WithinMetric`, the metric
alone; `SequentialSearchCV`, the paper's rule for weights; the methods that the paper compares;
`nsse.augment`, `nsse.centers`, `nsse.certificates`, `nsse.datasets`, `nsse.kernels`, `nsse.plot`,
`nsse.report` and `nsse.splits`; `save`, `load` and `to_onnx`; `explain`, `compare` and `plane`, also of
pipelines.

``ls`` shows the method: affine, distances, kernels, graphs → rows → metric, centers → ridge, maps,
scores → unlabeled, augment → estimator, votes, pipelines → smooth → search → certificates, io, report →
cli; imports point to the left only.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nsse._support.warnings import (
        ConditioningWarning,
        DegenerateEmbeddingWarning,
        ScaleAtBoundWarning,
    )
    from nsse.comparisons import compare
    from nsse.devices import to_device
    from nsse.explanations import explain
    from nsse.io.files import load, save
    from nsse.io.onnx import to_onnx
    from nsse.methods import (
        ESLLE,
        KDA,
        LDE,
        LFDA,
        LPP,
        MFA,
        NPDE,
        NPE,
        NPPE,
        NYS,
        SOLDE,
        SPE,
        SUPLAP,
        IsoKRR,
        MReg,
        SemiRBF,
    )
    from nsse.metrics import WithinMetric
    from nsse.planes import plane
    from nsse.published import NSSE
    from nsse.search import SmoothEmbeddingCV
    from nsse.sequential import SequentialSearchCV
    from nsse.smooth import SmoothEmbedding
    from nsse.unlabeled import Smooth, Spread

__all__ = [
    "ESLLE",
    "KDA",
    "LDE",
    "LFDA",
    "LPP",
    "MFA",
    "NPDE",
    "NPE",
    "NPPE",
    "NSSE",
    "NYS",
    "SOLDE",
    "SPE",
    "SUPLAP",
    "ConditioningWarning",
    "DegenerateEmbeddingWarning",
    "IsoKRR",
    "MReg",
    "ScaleAtBoundWarning",
    "SemiRBF",
    "SequentialSearchCV",
    "Smooth",
    "SmoothEmbedding",
    "SmoothEmbeddingCV",
    "Spread",
    "WithinMetric",
    "__version__",
    "compare",
    "explain",
    "load",
    "plane",
    "save",
    "to_device",
    "to_onnx",
]
__version__ = "0.3.0"

# Found at first use, so that `nsse --help` and `import nsse` do not wait for scikit-learn.
_HOME = {
    "nsse._support.warnings": (
        "ConditioningWarning",
        "DegenerateEmbeddingWarning",
        "ScaleAtBoundWarning",
    ),
    "nsse.comparisons": ("compare",),
    "nsse.devices": ("to_device",),
    "nsse.explanations": ("explain",),
    "nsse.io": ("load", "save", "to_onnx"),
    "nsse.metrics": ("WithinMetric",),
    "nsse.planes": ("plane",),
    "nsse.published": ("NSSE",),
    "nsse.search": ("SmoothEmbeddingCV",),
    "nsse.sequential": ("SequentialSearchCV",),
    "nsse.smooth": ("SmoothEmbedding",),
    "nsse.unlabeled": ("Smooth", "Spread"),
}
# What has no home of its own is a method.
_HOME_OF = dict.fromkeys(__all__, "nsse.methods")
_HOME_OF |= {name: home for home, names in _HOME.items() for name in names}
_ROOMS = ("augment", "centers", "certificates", "datasets", "io", "methods", "plot", "report", "splits")


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    if name in _ROOMS:
        return import_module(f"nsse.{name}")
    raise AttributeError(f"module 'nsse' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS])
