"""Tables 1 to 7 as they are printed: errors in percent (``printed.csv``), and seconds.

Örnek and Vural, "Nonlinear supervised dimensionality reduction via smooth regular embeddings",
Pattern Recognition 87, 2019; Errors are means over 20 random splits.
"""

from __future__ import annotations

import csv
from pathlib import Path

METHODS = ("NSSE", "SUPLAP", "SVM", "NN", "LFDA", "LDA", "LDE", "NYS", "SPE", "IsoKRR", "MReg")

# Data sets in the order of their tables, 1 to 6.
TABLES = {
    "yale": "Yale",
    "coil20": "COIL-20",
    "orl": "ORL",
    "fei": "FEI",
    "csie": "ROBOTICS-CSIE",
    "mit_cbcl": "MIT-CBCL",
}

# Data set -> training samples per class -> method -> error in percent.
PRINTED: dict[str, dict[int, dict[str, float]]] = {name: {} for name in TABLES}
with Path(__file__).with_name("printed.csv").open(newline="", encoding="utf-8") as _file:
    for _line in csv.DictReader(_file):
        _errors = {method: float(_line[method]) for method in METHODS}
        PRINTED[_line["dataset"]][int(_line["n_train"])] = _errors

# Table 7: data set -> training samples in all -> seconds of one run of NSSE, MATLAB on a laptop.
RUN_TIMES: dict[str, dict[int, float]] = {
    "coil20": {140: 0.81, 300: 1.45, 600: 5.45},
    "fei": {100: 0.82, 200: 1.52, 350: 3.74},
    "csie": {280: 2.22, 560: 8.33, 840: 14.99},
}

# Training samples per class behind the figures of the error against d.
DIMENSION_FIGURES = {"yale": 10, "coil20": 10, "orl": 2, "fei": 2, "csie": 7, "mit_cbcl": 10}


def printed_error(dataset: str, n_train: int, method: str) -> float | None:
    """Return the printed error in percent, or None if there is none."""
    return PRINTED.get(dataset, {}).get(n_train, {}).get(method)
