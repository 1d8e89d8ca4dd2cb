"""Metrics that the kernel measures in, and the base class for your own."""

from nsse.metrics.base import FixedMetric, Metric
from nsse.metrics.euclidean import Euclidean
from nsse.metrics.within import WithinMetric

__all__ = ["Euclidean", "FixedMetric", "Metric", "WithinMetric"]
