"""Points of a parameter grid: parameters of one fit each, and which of them share a sweep over σ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import clone

from nsse.estimators._settings import Settings, check_settings

Params = dict[str, Any]

# One sweep serves all values of these; any other parameter starts another sweep.
SWEPT = ("n_components", "mu1", "mu2", "mu3", "n_neighbors", "beta", "sigma")
# Dimensions that are tried, as shares of n_classes − 1.
SHARES = (0.2, 0.3, 0.4, 0.55, 0.75, 1.0)


def dimensions_below(n_classes: int, shares: tuple[float, ...] = SHARES) -> list[int]:
    """Dimensions up to n_classes − 1, from 2 on where there are so many classes."""
    most = n_classes - 1
    return sorted({min(most, max(2, round(share * most))) for share in shares})


@dataclass(frozen=True)
class GridPoint:
    """Parameters of one fit, checked; ``n_components`` may be None, for n_classes − 1."""

    params: Params
    model: Any
    settings: Settings

    @classmethod
    def of(cls, estimator: Any, params: Params) -> GridPoint:
        """Check the parameters that can be judged without the data."""
        model = with_params(estimator, params)
        return cls(params, model, check_settings(model))

    def weighted(self, n_samples: float, n_classes: int) -> GridPoint:
        """With the weights that so many samples ask for."""
        return replace(self, settings=self.settings.weighted(n_samples, n_classes))

    @property
    def shares(self) -> bool:
        """Whether it can be had from a sweep: Algorithm 1 and weighted classes go their own way."""
        if self.model.class_weight is not None:
            return False
        return self.settings.sigma is not None or self.settings.solver == "joint"

    def has_centers(self, n_samples: int) -> bool:
        """Whether a fit to so many samples has landmarks."""
        plan = self.settings.centers
        return plan is not None and not plan.is_exact_for(n_samples)

    @property
    def family(self) -> tuple[tuple[str, Any], ...]:
        """Equal for points of the same sweep: those that differ in swept parameters only.

        A metric is made of neighbours: those of another number are another metric.
        """
        own = tuple((n, identity(value)) for n, value in self.params.items() if n not in SWEPT)
        metric = self.settings.metric
        return own if metric == "euclidean" else (*own, (metric, self.settings.n_neighbors))


def with_params(estimator: Any, params: Params) -> Any:
    """An unfitted copy with other parameters.

    Unlike scikit-learn's clone it shares what is large, a matrix of weights; unlike `set_params` alone
    it leaves a classifier of the grid as it is when another parameter of the grid changes that.
    """
    own = {name: _unfitted(value) for name, value in estimator.get_params(deep=False).items()}
    changes = {name: _unfitted(value) for name, value in params.items()}
    if set(changes) <= set(own):
        return type(estimator)(**own | changes)  # what `set_params` does, without asking for names again
    return type(estimator)(**own).set_params(**changes)


def identity(value: Any) -> Any:
    """What tells two values of a parameter apart: numbers and names by value, the rest by object."""
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def _unfitted(value: Any) -> Any:
    is_estimator = hasattr(value, "get_params") and not isinstance(value, type)
    return clone(value) if is_estimator else value
