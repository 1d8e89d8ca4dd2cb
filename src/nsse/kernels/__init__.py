"""Distances and the Gaussian kernel: everything that has a σ, and nothing else.

``distances`` computes ‖x_i − z_j‖² once per fit; ``gaussian`` turns those numbers into Ψ for any σ;
``interpolation`` solves with it. ``products`` gives a row the same bits in any batch.
``metric`` gives distances in metrics that shorten some axes.
"""

from nsse.kernels.distances import (
    LARGEST,
    SMALLEST,
    Multiply,
    Shifted,
    as_dense,
    check_distinct,
    complete_squares,
    median_distance,
    squared_distances,
)
from nsse.kernels.gaussian import (
    fill_gaussian,
    gaussian,
    gaussian_log_derivative,
    gradient_factor,
    kernel_slope,
)
from nsse.kernels.interpolation import interpolation_coefficients
from nsse.kernels.metric import SplitDistances
from nsse.kernels.products import row_products, vector_product
from nsse.kernels.rows import KernelRows, precision_of, squared_distances_between

__all__ = [
    "LARGEST",
    "SMALLEST",
    "KernelRows",
    "Multiply",
    "Shifted",
    "SplitDistances",
    "as_dense",
    "check_distinct",
    "complete_squares",
    "fill_gaussian",
    "gaussian",
    "gaussian_log_derivative",
    "gradient_factor",
    "interpolation_coefficients",
    "kernel_slope",
    "median_distance",
    "precision_of",
    "row_products",
    "squared_distances",
    "squared_distances_between",
    "vector_product",
]
