"""Tables 1 to 7 as they are printed: misclassification rates in per cent, and seconds.

Örnek and Vural, "Nonlinear supervised dimensionality reduction via smooth regular embeddings",
Pattern Recognition 87, 2019; errors are averages over 20 random splits.
"""

from __future__ import annotations

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

# Training samples per class -> errors, in the order of METHODS.
_ROWS: dict[str, dict[int, tuple[float, ...]]] = {
    "yale": {
        6: (22.09, 23.10, 29.43, 63.48, 26.89, 35.86, 20.05, 19.47, 63.81, 22.58, 19.89),
        10: (12.60, 12.92, 15.17, 52.89, 40.63, 63.97, 21.79, 11.88, 53.19, 12.58, 12.36),
        15: (7.52, 7.95, 9.09, 43.57, 10.78, 57.87, 7.95, 7.84, 43.41, 7.11, 6.90),
        20: (5.02, 5.60, 6.14, 37.51, 7.42, 52.80, 5.16, 6.43, 38.31, 4.61, 4.50),
        30: (2.56, 2.57, 2.99, 30.13, 3.22, 46.43, 3.04, 4.63, 32.46, 2.38, 2.35),
    },
    "coil20": {
        7: (8.09, 10.97, 10.38, 13.90, 17.93, 11.84, 20.86, 13.87, 13.90, 11.17, 8.49),
        10: (4.97, 6.81, 6.93, 10.22, 13.59, 7.68, 16.84, 9.38, 10.22, 7.07, 5.44),
        15: (2.79, 3.85, 4.60, 6.88, 11.32, 4.22, 14.01, 5.70, 6.88, 3.96, 3.05),
        20: (1.25, 2.04, 3.23, 4.51, 9.53, 2.29, 12.64, 3.34, 4.54, 2.00, 1.31),
        30: (0.53, 0.80, 2.27, 2.31, 7.08, 0.99, 13.28, 1.56, 2.44, 0.79, 0.73),
    },
    "orl": {
        2: (14.11, 16.04, 19.74, 19.34, 27.70, 21.18, 24.92, 17.03, 19.34, 14.81, 14.85),
        3: (8.00, 9.49, 10.70, 12.96, 14.89, 13.13, 12.74, 11.06, 12.96, 8.63, 8.38),
        5: (3.90, 5.32, 4.35, 6.92, 8.10, 7.74, 7.05, 6.90, 6.92, 4.23, 4.13),
    },
    "fei": {
        2: (20.86, 27.07, 35.38, 32.13, 29.83, 30.93, 30.05, 31.91, 32.13, 26.42, 25.03),
        4: (8.05, 12.46, 12.85, 19.45, 12.90, 12.56, 10.80, 19.20, 19.45, 11.06, 10.77),
        7: (5.00, 6.42, 9.09, 10.86, 9.74, 5.40, 7.77, 11.53, 11.23, 5.03, 5.40),
    },
    "csie": {
        7: (13.56, 27.23, 23.97, 34.46, 24.87, 29.43, 25.13, 34.87, 34.53, 24.29, 20.32),
        14: (4.38, 11.74, 8.78, 17.80, 11.97, 14.15, 9.74, 17.36, 17.84, 9.04, 5.86),
        21: (2.83, 6.52, 4.77, 10.09, 6.99, 10.57, 5.88, 9.85, 9.76, 4.81, 3.08),
    },
    "mit_cbcl": {
        10: (6.48, 7.31, 9.91, 14.43, 12.32, 18.44, 9.69, 15.03, 14.43, 6.53, 6.55),
        20: (2.49, 3.38, 4.18, 5.65, 8.36, 8.38, 6.02, 6.06, 5.66, 2.50, 2.85),
        40: (0.77, 1.22, 1.52, 1.46, 5.29, 3.18, 2.97, 1.84, 2.05, 0.71, 0.97),
    },
}

# Data set -> training samples per class -> method -> error in per cent.
PRINTED: dict[str, dict[int, dict[str, float]]] = {
    dataset: {size: dict(zip(METHODS, row, strict=True)) for size, row in rows.items()}
    for dataset, rows in _ROWS.items()
}

# Table 7: data set -> training samples in all -> seconds of one run of NSSE, MATLAB on a laptop.
RUN_TIMES: dict[str, dict[int, float]] = {
    "coil20": {140: 0.81, 300: 1.45, 600: 5.45},
    "fei": {100: 0.82, 200: 1.52, 350: 3.74},
    "csie": {280: 2.22, 560: 8.33, 840: 14.99},
}

# Training samples per class behind the figures of the error against d.
DIMENSION_FIGURES = {"yale": 10, "coil20": 10, "orl": 2, "fei": 2, "csie": 7, "mit_cbcl": 10}


def printed_error(dataset: str, n_train: int, method: str) -> float | None:
    """The error in per cent that the paper prints; None where it prints none."""
    return PRINTED.get(dataset, {}).get(n_train, {}).get(method)
