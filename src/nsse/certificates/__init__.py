"""Certificates: how far a prediction can be trusted, proved from the map and not from more data.

- ``function_space``: the map f = Σ c_i exp(−‖x − z_i‖²/σ²) in the space of its kernel, and its rounding;
- ``decisions``: what classifiers do with f(x), as affine scores;
- ``chances``: how probabilities follow from these, for those who compute them elsewhere;
- ``radii``: the distance within which no change of x changes its label;
- ``steps``: radii through the affine steps of a pipeline, in the units of the samples;
- ``asking``: embedding, label and radius from one evaluation of f;
- ``jacobians``, ``lipschitz``: Proposition 1, tighter bounds, and the steepest place found;
- ``theorem``: Theorem 1 of the paper, term by term;
- ``generalization``, ``rejection``: what radii say on samples with labels, and what they buy;
- ``conformal``: sets of labels with a guarantee, under any change below a radius too.

It receives models and asks them for their map: any Gaussian expansion will do. Figures of what it
returns are in `nsse.report`; the mathematics is in ``docs/certificates.md``.
"""

from importlib import import_module
from typing import Any

from nsse.certificates.asking import Answers, answers, certified_radius
from nsse.certificates.decisions import Decision, decision_of
from nsse.certificates.function_space import FunctionSpace
from nsse.certificates.generalization import GeneralizationReport, generalization_report
from nsse.certificates.lipschitz import LipschitzBounds, lipschitz_bounds, row_sum_bound
from nsse.certificates.models import expansion_of, opened
from nsse.certificates.radii import Certificate
from nsse.certificates.rejection import RiskCoverage, Selection, risk_coverage
from nsse.certificates.theorem import Theorem1, theorem_1

__all__ = [
    "Answers",
    "Certificate",
    "ConformalClassifier",
    "Decision",
    "FunctionSpace",
    "GeneralizationReport",
    "LipschitzBounds",
    "RiskCoverage",
    "Selection",
    "SelectivePredictor",
    "Theorem1",
    "answers",
    "certified_radius",
    "decision_of",
    "expansion_of",
    "generalization_report",
    "lipschitz_bounds",
    "opened",
    "risk_coverage",
    "row_sum_bound",
    "theorem_1",
]


def __getattr__(name: str) -> Any:
    # They have a `fit`, and live with what has one; here are their public names.
    if name in ("ConformalClassifier", "SelectivePredictor"):
        return getattr(import_module("nsse.estimators"), name)
    raise AttributeError(f"module 'nsse.certificates' has no attribute {name!r}")
