"""Distances and the Gaussian kernel: everything that has a σ, and nothing else.

``distances`` computes ‖x_i − z_j‖² once per fit; ``gaussian`` turns those numbers into Ψ for any σ.
"""

from nsse.kernels.distances import Shifted, check_distinct, median_distance, squared_distances
from nsse.kernels.gaussian import gaussian, gaussian_log_derivative

__all__ = [
    "Shifted",
    "check_distinct",
    "gaussian",
    "gaussian_log_derivative",
    "median_distance",
    "squared_distances",
]
