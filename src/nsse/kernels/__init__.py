"""Radial kernels k(u, v) = κ(‖u − v‖²/σ²), and the base class for your own."""

from nsse.kernels.base import Kernel
from nsse.kernels.exponential import Exponential
from nsse.kernels.gaussian import Gaussian
from nsse.kernels.matern32 import Matern32

__all__ = ["Exponential", "Gaussian", "Kernel", "Matern32"]
