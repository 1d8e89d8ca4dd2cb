"""List the candidates of a search.

A setting determines a kernel matrix by a kernel with its width and by the parameters of the metric. A
candidate is a setting with a smoothness and a decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from nsse._support.errors import rule_error
from nsse._support.parameters import check_choice, check_kernel_width, check_number
from nsse.kernels import Kernel
from nsse.kernels.names import as_kernel
from nsse.metrics.base import Metric, as_metric
from nsse.metrics.names import named_metric, unfitted_metric
from nsse.smooth import SmoothEmbedding

# Smoothnesses that are tried. Augmented samples keep a map smooth, so that less can be best with them.
SMOOTHNESS, SMOOTHNESS_AUGMENTED = (0.01, 0.1, 1.0, 3.0), (0.001, 0.01, 0.1, 1.0)
DECISIONS = ("scores", "nearest")


@dataclass(frozen=True)
class Setting:
    """The parameters that determine a kernel matrix, by name.

    They are augment, unlabeled, kernel, parameters of the metric, and sigma.
    """

    parameters: Mapping[str, Any]

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel with its width in median distances."""
        return as_kernel(self.parameters["kernel"]).at(float(self.parameters["sigma"]))

    @property
    def augment(self) -> Any:
        """The augmentation, or None."""
        return self.parameters["augment"]

    @property
    def unlabeled(self) -> Any:
        """The use of unlabeled samples, or None."""
        return self.parameters["unlabeled"]

    @property
    def metric(self) -> dict[str, Any]:
        """Parameters of the metric."""
        names = [name for name in self.parameters if name.startswith("metric__")]
        return {name.removeprefix("metric__"): self.parameters[name] for name in names}


@dataclass(frozen=True)
class Candidate:
    """A setting with a smoothness and a decision."""

    setting: Setting
    smoothness: float
    decision: str

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the estimator, by name."""
        own = {"smoothness": self.smoothness, "decision": self.decision}
        return {**self.setting.parameters, **own}

    def model(self, base: SmoothEmbedding) -> SmoothEmbedding:
        """Return a copy of the user's estimator with these parameters, not fitted."""
        model: SmoothEmbedding = clone(base)
        return model.set_params(**self.parameters)


@dataclass(frozen=True)
class Grid:
    """The settings, smoothnesses and decisions that a search tries.

    Attributes
    ----------
    metric : Metric
        The metric of the user's estimator, not fitted.
    settings : list of Setting
        Settings for the first augmentation. The first of them is the one of the user's estimator.
    augmentations : list
        The other augmentations.
    smoothness : dict
        Values of λ without augmented samples (False) and with them (True).
    decisions : sequence of str
        Decisions.
    own : Candidate
        The candidate that is the user's estimator, without its use of unlabeled samples.
    """

    metric: Metric
    settings: list[Setting]
    augmentations: list[Any]
    smoothness: Mapping[bool, Sequence[float]]
    decisions: Sequence[str]
    own: Candidate

    @classmethod
    def of(
        cls,
        base: SmoothEmbedding,
        grid: Mapping[str, Sequence[Any]] | None,
        augment: Sequence[Any] | None,
        X: Any,
    ) -> Grid:
        """Combine the values of the user with the suggestions of kernels and metrics."""
        metric = unfitted_metric(base.metric, X)
        given = checked_grid(grid, as_metric(named_metric(base.metric)))
        if not metric.parameters():  # the name "within" means Euclidean distances for sparse samples
            given = {name: values for name, values in given.items() if "__" not in name}
        augmentations = checked_augmentations(augment, base)
        metrics = metric_settings(metric, given)
        own = {name: metric.parameters()[name] for name in metrics[0]}
        kernels = given.get("kernel", [base.kernel])
        first = {"augment": augmentations[0], "unlabeled": None, "kernel": base.kernel}
        of_user = {**first, **prefixed(own), "sigma": float(base.sigma)}
        settings = [Setting(of_user)]
        # Settings with the user's metric come first, so that they win if several are equally good.
        for values in sorted(metrics, key=lambda values: values != own):
            for kernel in kernels:
                for sigma in given.get("sigma", as_kernel(kernel).widths):
                    parameters = {**first, "kernel": kernel, **prefixed(values), "sigma": float(sigma)}
                    settings.append(Setting(parameters))
        smoothness = {
            is_augmented: np.unique([*given.get("smoothness", usual), float(base.smoothness)]).tolist()
            for is_augmented, usual in ((False, SMOOTHNESS), (True, SMOOTHNESS_AUGMENTED))
        }
        decisions = list(dict.fromkeys([base.decision, *given.get("decision", DECISIONS)]))
        candidate = Candidate(settings[0], float(base.smoothness), base.decision)
        return cls(metric, distinct(settings), augmentations[1:], smoothness, decisions, candidate)

    def with_augmentation(self, settings: Sequence[Setting], augment: Any) -> list[Setting]:
        """Return settings with another augmentation."""
        return [Setting({**setting.parameters, "augment": augment}) for setting in settings]

    def every_setting(self) -> list[Setting]:
        """Return all settings, with every augmentation."""
        others = [self.with_augmentation(self.settings, augment) for augment in self.augmentations]
        return [setting for some in (self.settings, *others) for setting in some]

    def of_setting(self, setting: Setting) -> list[Candidate]:
        """Return the candidates of a setting."""
        smoothness = self.smoothness[setting.augment is not None]
        return [Candidate(setting, *pair) for pair in product(smoothness, self.decisions)]

    def with_use(self, setting: Setting, use: Any) -> list[Candidate]:
        """Return the candidates of a setting that use unlabeled samples. They decide by class scores."""
        own = Setting({**setting.parameters, "unlabeled": use})
        return [Candidate(own, smoothness, "scores") for smoothness in self.smoothness[False]]


def checked_grid(grid: Mapping[str, Sequence[Any]] | None, metric: Metric) -> dict[str, list[Any]]:
    """Return the values that a user wants to be tried, after a check of all of them."""
    if grid is None:
        return {}
    if not isinstance(grid, Mapping):
        cure = 'Pass for example {"sigma": [0.5, 1.0]}.'
        raise rule_error("grid", "be None or a dict of lists of values", grid, cure)
    of_metric = prefixed(metric.parameters())
    known = ["kernel", "sigma", "smoothness", "decision", *of_metric]
    for name in grid:
        if name not in known:
            cure = "Set other parameters on `estimator`."
            if f"metric__{name}" in of_metric:
                cure = f"It is called 'metric__{name}'."
            raise rule_error("grid", f"name parameters among {', '.join(known)}", name, cure)
    found = {name: listed_values(name, values) for name, values in grid.items()}
    for kernel in found.get("kernel", ()):
        as_kernel(kernel)
    for sigma in found.get("sigma", ()):
        check_kernel_width("grid['sigma']", sigma, cure="0.5 to 4 are usual.")
    for smoothness in found.get("smoothness", ()):
        check_number("grid['smoothness']", smoothness, positive=True, cure="0.01 to 3 are usual.")
    for decision in found.get("decision", ()):
        check_choice("grid['decision']", decision, DECISIONS)
    for values in metric_settings(metric, found):
        metric.with_parameters(values).check_parameters()
    return found


def listed_values(name: str, values: Any) -> list[Any]:
    """Return the values of a parameter of a grid as a list."""
    is_list = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping)
    found = list(values) if is_list else []
    if not found:
        cure = f"Pass for example {{{name!r}: [...]}} with one value or more, or leave it out."
        raise rule_error(f"grid[{name!r}]", "be a list of values", values, cure)
    return found


def checked_augmentations(augment: Sequence[Any] | None, base: SmoothEmbedding) -> list[Any]:
    """Return the augmentations to try, the one of the user's estimator or None first."""
    if augment is None:
        return [base.augment]
    is_list = isinstance(augment, Iterable) and not callable(augment) and not isinstance(augment, str)
    found = list(augment) if is_list else []
    are_usable = all(own is None or (callable(own) and not isinstance(own, type)) for own in found)
    if not found or not are_usable:
        cure = "Pass for example [None, nsse.augment.Noise()]."
        raise rule_error("augment", "be a list of augmentations and None", augment, cure)
    return sorted(found, key=lambda own: (own is not base.augment, own is not None))


def metric_settings(metric: Metric, given: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the candidates of a metric with the values of the user."""
    own = {name: values for name, values in given.items() if name.startswith("metric__")}
    names = [name.removeprefix("metric__") for name in own]
    found: list[dict[str, Any]] = []
    for candidate in metric.candidates():
        usual = {name: value for name, value in candidate.items() if name not in names}
        for values in product(*own.values()):
            setting = {**usual, **dict(zip(names, values, strict=True))}
            if setting not in found:
                found.append(setting)
    return found


def prefixed(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of a metric by their names in the estimator."""
    return {f"metric__{name}": value for name, value in parameters.items()}


def distinct(settings: Sequence[Setting]) -> list[Setting]:
    """Return settings without repetitions, in their order."""
    found: dict[str, Setting] = {}
    for setting in settings:
        found.setdefault(repr(dict(setting.parameters)), setting)
    return list(found.values())
