"""Supervised embeddings that also work for new samples.

>>> from nsse import SmoothEmbedding

- `SmoothEmbedding` is the recommended estimator. It is a scikit-learn classifier and transformer.
- `SmoothEmbeddingCV` chooses its hyperparameters by cross-validation.
- `NSSE` is the method of the paper.
- `SequentialSearchCV` applies the paper's rule for choosing weights, one at a time, to any estimator.
- `WithinMetric` is the learned metric alone, as a transformer.
- `save` and `load` write and read model files. `to_onnx` exports a model.

Everything else is in a module of its own, for example `nsse.certificates`, `nsse.plot` and
`nsse.methods`. Modules import only modules to their left in the table of ARCHITECTURE.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nsse.io.files import load, save
    from nsse.io.onnx import to_onnx
    from nsse.metrics import WithinMetric
    from nsse.published import NSSE
    from nsse.search import SmoothEmbeddingCV
    from nsse.sequential import SequentialSearchCV
    from nsse.smooth import SmoothEmbedding

__all__ = [
    "NSSE",
    "SequentialSearchCV",
    "SmoothEmbedding",
    "SmoothEmbeddingCV",
    "WithinMetric",
    "__version__",
    "load",
    "save",
    "to_onnx",
]
__version__ = "0.4.0"

# Names and modules are imported at first use, so that `nsse --help` and `import nsse` are fast.
_HOME_OF = {
    "NSSE": "nsse.published",
    "SequentialSearchCV": "nsse.sequential",
    "SmoothEmbedding": "nsse.smooth",
    "SmoothEmbeddingCV": "nsse.search",
    "WithinMetric": "nsse.metrics",
    "load": "nsse.io.files",
    "save": "nsse.io.files",
    "to_onnx": "nsse.io.onnx",
}
_MODULES = (
    "augment",
    "centers",
    "certificates",
    "comparisons",
    "datasets",
    "devices",
    "exceptions",
    "explanations",
    "io",
    "kernels",
    "methods",
    "metrics",
    "plot",
    "report",
    "splits",
    "unlabeled",
)


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    if name in _MODULES:
        return import_module(f"nsse.{name}")
    raise AttributeError(f"module 'nsse' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
