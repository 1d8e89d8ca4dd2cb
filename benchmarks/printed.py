"""Tables 1 to 3 of the paper: misclassification rates in per cent, by training samples per class.

Örnek and Vural, "Nonlinear supervised dimensionality reduction via smooth regular embeddings",
Pattern Recognition 87, 2019; averages over 20 random splits.
"""

from __future__ import annotations

METHODS = ("NSSE", "SUPLAP", "SVM", "NN", "LFDA", "LDA", "LDE", "NYS", "SPE", "IsoKRR", "MReg")

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
}

# The paper does not say whether images were divided by their norm: COIL-20 is run in both ways.
RAW = "coil20-raw"

# Data set -> training samples per class -> method -> error in per cent.
PRINTED: dict[str, dict[int, dict[str, float]]] = {
    dataset: {size: dict(zip(METHODS, row, strict=True)) for size, row in rows.items()}
    for dataset, rows in (_ROWS | {RAW: _ROWS["coil20"]}).items()
}
