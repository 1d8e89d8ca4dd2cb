"""A method is one file and its name in `__all__`: the one in CONTRIBUTING.md does all that ours do."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import check_estimator

import nsse
from nsse import estimators
from nsse.certificates import answers, lipschitz_bounds
from nsse.estimators._direct import DirectClassifier
from nsse.estimators._gaussian_map import GaussianMapClassifier, measured_distances
from nsse.estimators._parameters import check_number
from nsse.exports import checks, converter, names
from nsse.extensions import kernel_ridge
from nsse.kernels import gaussian

GUIDE = Path(__file__).parents[2] / "CONTRIBUTING.md"


@pytest.fixture
def shown(monkeypatch):
    """The class of the guide, as if its file stood in the room."""
    (block,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    room = {
        "DirectClassifier": DirectClassifier,
        "GaussianMapClassifier": GaussianMapClassifier,
        "check_number": check_number,
        "gaussian": gaussian,
        "kernel_ridge": kernel_ridge,
        "measured_distances": measured_distances,
        "np": np,
        "__name__": __name__,
    }
    exec(block, room)
    monkeypatch.setattr(sys.modules[__name__], "Corners", room["Corners"], raising=False)  # for pickles
    return room["Corners"]


def test_the_method_of_the_guide_works(shown, blobs):
    model = shown(sigma=0.5).fit(blobs.X, blobs.codes)
    said = answers(model, blobs.X)
    assert model.score(blobs.X, blobs.codes) == 1.0
    np.testing.assert_array_equal(said.embedding, model.transform(blobs.X))
    assert (said.radius > 0).any()
    assert lipschitz_bounds(model).best > 0
    assert isinstance(converter.graph_of(model), converter.GaussianGraph)
    with pytest.raises(ValueError, match="`sigma` must be a positive"):
        shown(sigma=0.0).fit(blobs.X, blobs.codes)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_the_method_of_the_guide_keeps_the_contract_of_scikit_learn(shown):
    check_estimator(shown())


def test_its_name_is_all_that_files_and_graphs_need():
    methods = [getattr(estimators, name) for name in estimators.__all__]
    methods = [kind for kind in methods if issubclass(kind, BaseEstimator)]
    assert set(methods) <= set(names.WRITTEN.values())
    for kind in methods:
        assert any(issubclass(kind, known) for known in checks.OURS), kind.__name__
    assert set(estimators.__all__) - {"SelectivePredictor", "ConformalClassifier"} <= set(nsse.__all__)
