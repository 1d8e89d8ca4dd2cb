"""The values of the parameter ``kernel``: names of kernels, and objects."""

from __future__ import annotations

from typing import Any

from nsse._support.errors import rule_error, rule_message
from nsse._support.parameters import check_number
from nsse.kernels.base import Kernel
from nsse.kernels.exponential import Exponential
from nsse.kernels.flaws import check_values
from nsse.kernels.gaussian import Gaussian
from nsse.kernels.matern32 import Matern32

NAMES: dict[str, type[Kernel]] = {"gaussian": Gaussian, "exponential": Exponential, "matern32": Matern32}


def as_kernel(kernel: Any) -> Kernel:
    """Return the kernel that a ``kernel`` parameter describes: one of `NAMES`, or an object."""
    names = ", ".join(repr(name) for name in NAMES)
    rule, cure = f"be one of {names}, or a Kernel object", "See nsse.kernels.Kernel for your own."
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise TypeError(rule_message("kernel", rule, kernel, f"Pass an object, {kernel.__name__}()."))
    if isinstance(kernel, str) and kernel in NAMES:
        return NAMES[kernel]()
    if not isinstance(kernel, Kernel):
        raise rule_error("kernel", rule, kernel, cure)
    if not kernel.is_proved:
        if "sigma" in kernel.get_params(deep=False):
            cure = "The width is the parameter `sigma` of the estimator. Choose another name."
            raise rule_error("kernel", "have no parameter named sigma", kernel, cure)
        check_values(kernel)
        check_number(
            "kernel.accuracy", kernel.accuracy, cure="The default is 64 units in the last place."
        )
    return kernel
