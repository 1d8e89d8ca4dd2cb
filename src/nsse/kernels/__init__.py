"""Distances and the Gaussian kernel: everything that has a σ, and nothing else.

``distances`` computes ‖x_i − z_j‖² once per fit; ``gaussian`` turns those numbers into Ψ for any σ;
``interpolation`` solves with it; ``metric`` gives distances in metrics that shorten some axes.
"""

from nsse.kernels.distances import (
    LARGEST,
    SMALLEST,
    Shifted,
    as_dense,
    check_distinct,
    complete_squares,
    dense_product,
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
from nsse.kernels.rows import KernelRows, precision_of, squared_distances_between

__all__ = [
    "LARGEST",
    "SMALLEST",
    "KernelRows",
    "Shifted",
    "SplitDistances",
    "as_dense",
    "check_distinct",
    "complete_squares",
    "dense_product",
    "fill_gaussian",
    "gaussian",
    "gaussian_log_derivative",
    "gradient_factor",
    "interpolation_coefficients",
    "kernel_slope",
    "median_distance",
    "precision_of",
    "squared_distances",
    "squared_distances_between",
]
