"""`estimate_memory` of models with landmarks, beside the peak of a fit."""

from __future__ import annotations

import sys

import pytest

from nsse import NSSE

# Made in place: no temporary of their size may hide the peak of the fit.
SAMPLES = """
X = np.random.default_rng(1).standard_normal((N, n), dtype=np.float32)
n_classes = y.max() + 1
for c, mean in enumerate(2 * np.random.default_rng(0).normal(size=(n_classes, n)).astype(np.float32)):
    X[c::n_classes] += mean
"""
WARM_UP = """
some = X[:60, :20], np.arange(60) % 3
NSSE.as_published(n_landmarks=12, sigma=0.5).fit(*some)
NSSECV(NSSE(n_landmarks=12), n_repeats=1).fit(*some)
"""

MODELS = {
    "many landmarks": ("NSSE.as_published(n_landmarks=3000, sigma=0.7)", (8000, 50)),
    "the choice of sigma": ("NSSE.as_published(n_landmarks=1000)", (8000, 50)),
    "many samples": ("NSSE.as_published(9, n_landmarks=100, sigma=0.7)", (250000, 8)),
    "a complete graph": ("NSSE.as_published(n_landmarks=300, n_neighbors=None)", (12000, 20)),
    "a metric, exact": ('NSSE.as_published(sigma=0.7, metric="within")', (1500, 3000)),
    "by default": ("NSSE(n_landmarks=800)", (10000, 1000)),
}
OF_CLASSES = {
    "two": ("NSSE.as_published(n_landmarks=300)", (20000, 20), 2),
    "many": ("NSSE.as_published(n_landmarks=400, sigma=0.7)", (20000, 20), 300),
}


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak")
@pytest.mark.parametrize("name", MODELS)
def test_memory_is_estimated_well(estimate_over_peak, name):
    assert 1 / 1.3 < estimate_over_peak(*MODELS[name], SAMPLES, WARM_UP) < 1.3


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak")
@pytest.mark.parametrize("name", OF_CLASSES)
def test_memory_is_estimated_well_whatever_the_classes(estimate_over_peak, name):
    model, shape, n_classes = OF_CLASSES[name]
    assert 1 / 1.3 < estimate_over_peak(model, shape, SAMPLES, WARM_UP, n_classes) < 1.3


def test_number_of_classes_counts():
    model = NSSE.as_published(n_landmarks=500)
    assert model.estimate_memory(50_000, 20, 300) > 4 * model.estimate_memory(50_000, 20)
    assert model.estimate_memory(50_000, 20) == model.estimate_memory(50_000, 20, n_classes=10)


def test_samples_drawn_for_landmarks_count():
    """Means of clusters need ten samples each, drawn samples none but themselves."""
    params = {"n_landmarks": 4000, "sigma": 0.7}
    means, drawn = (
        NSSE.as_published(landmarks=how, **params).estimate_memory(200_000, 5000)
        for how in ("kmeans", "per-class")
    )
    assert means > 1.5 * drawn
    assert NSSE.as_published(**params).estimate_memory(200_000, 5000) == means
