"""`estimate_memory` of models with landmarks, beside the peak of a fit."""

from __future__ import annotations

import sys

import pytest

from peaks import estimate_over_peak

# Made in place: no temporary of their size may hide the peak of the fit.
SAMPLES = """
X = np.random.default_rng(1).standard_normal((N, n), dtype=np.float32)
for c, mean in enumerate(2 * np.random.default_rng(0).normal(size=(10, n)).astype(np.float32)):
    X[c::10] += mean
"""
WARM_UP = 'NSSECV({"sigma": [0.5]}, estimator=NSSE(n_landmarks=12), n_repeats=1).fit(X[:60], y[:60])'

MODELS = {
    "many landmarks": ("NSSE(n_landmarks=3000, sigma=0.7)", (8000, 50)),
    "the choice of sigma": ("NSSE(n_landmarks=1000)", (8000, 50)),
    "many features": ("NSSE(n_landmarks=800, sigma=0.7)", (10000, 1000)),
    "many samples": ("NSSE(9, n_landmarks=100, sigma=0.7)", (400000, 8)),
}


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak")
@pytest.mark.parametrize("name", MODELS)
def test_memory_is_estimated_well(name):
    assert 1 / 1.3 < estimate_over_peak(*MODELS[name], SAMPLES, WARM_UP) < 1.3
