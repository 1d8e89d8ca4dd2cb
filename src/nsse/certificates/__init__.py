"""Certify how far a prediction can be trusted, by proofs about the map instead of more data.

- ``radii``: the distance within which no change of x changes its label, through pipelines,
- ``margins``, ``slopes``: by how much one member of a model prefers the label around a sample,
- ``front``, ``map_bounds``: bounds of steps and maps, with rounding errors,
- ``accuracy``: the share of samples that are right and have a radius above a limit, as a scorer,
- ``lipschitz``: Proposition 1, tighter bounds, and the steepest place that was found,
- ``theorem``: Theorem 1 of the paper, term by term,
- ``generalization``: radii and distances of samples with labels,
- ``selective``: rejection of uncertain predictions, and the risk that remains,
- ``conformal``: sets of labels with a guarantee, and samples of no known class,
- ``reliability``: the quality of probabilities.

A decision is known as affine functions of f with classes (`nsse.scores`), a map by its Gram matrix
(`nsse.maps`). The mathematics is in ``docs/research/derivation.md``.
"""

from nsse.certificates.accuracy import CertifiedAccuracy, certified_accuracy
from nsse.certificates.conformal import ConformalClassifier, typicality
from nsse.certificates.generalization import GeneralizationReport, generalization_report
from nsse.certificates.lipschitz import LipschitzBounds, lipschitz_bounds
from nsse.certificates.radii import certified_radius
from nsse.certificates.selective import RiskCoverage, Selection, SelectivePredictor, risk_coverage
from nsse.certificates.theorem import Theorem1, theorem_1

__all__ = [
    "CertifiedAccuracy",
    "ConformalClassifier",
    "GeneralizationReport",
    "LipschitzBounds",
    "RiskCoverage",
    "Selection",
    "SelectivePredictor",
    "Theorem1",
    "certified_accuracy",
    "certified_radius",
    "generalization_report",
    "lipschitz_bounds",
    "risk_coverage",
    "theorem_1",
    "typicality",
]
