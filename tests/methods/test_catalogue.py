"""The catalogue: the paper's eleven columns and what it cites, each described and ready to fit."""

from __future__ import annotations

import pytest
from sklearn.pipeline import Pipeline

from nsse import NSSE, methods
from nsse.maps import KernelMap, LinearMap

COLUMNS = ["NSSE", "SUPLAP", "SVM", "NN", "LFDA", "LDA", "LDE", "NYS", "SPE", "IsoKRR", "MReg"]
NAMES = list(methods.catalogue())


def test_columns_of_the_paper_come_first_and_in_its_order():
    entries = methods.catalogue()
    assert list(entries)[: len(COLUMNS)] == COLUMNS
    assert [name for name, entry in entries.items() if entry.in_tables] == COLUMNS
    assert isinstance(entries["NSSE"].estimator, NSSE)
    assert all(entry.name == name for name, entry in entries.items())


def test_every_method_of_ours_is_listed():
    kinds = {kind for kind in vars(methods).values() if isinstance(kind, type)}
    assert kinds <= {type(entry.estimator) for entry in methods.catalogue().values()}


@pytest.mark.parametrize("name", NAMES)
def test_method_is_ready_and_is_what_its_entry_says(name, digits):
    entry = methods.catalogue()[name]
    method = entry.estimator.fit(digits.X[::2], digits.codes[::2])
    assert method.score(digits.X[1::2], digits.codes[1::2]) > 0.6
    if hasattr(method, "map_"):
        kinds = {"linear map": LinearMap, "sum of Gaussians": KernelMap}
        kind = kinds.get(entry.new_samples, KernelMap if "Gaussian" in entry.new_samples else object)
        assert isinstance(method.map_, kind)
        assert (entry.functions == "linear") == isinstance(method.map_, LinearMap)
    else:
        assert entry.functions == "none" or isinstance(method, Pipeline)


@pytest.mark.parametrize("name", [n for n in NAMES if methods.catalogue()[n].functions != "none"])
def test_supervised_is_who_looks_at_labels(name, digits):
    """Other labels of the same classes give another embedding, or the same where labels are ignored."""
    entry, again = methods.catalogue()[name], methods.catalogue()[name]
    X, codes = digits.X[:120], digits.codes[:120]
    if entry.supervised == "no":  # scale and dimension are chosen by labels
        fixed = {"n_components": 5} | ({"sigma": 1.0} if name == "NYS" else {})
        for one in (entry, again):
            one.estimator.set_params(**fixed)
    one, other = (e.estimator.fit(X, y) for e, y in ((entry, codes), (again, codes[::-1])))
    if isinstance(one, Pipeline):
        one, other = one[:-1], other[:-1]
    Y, Z = abs(one.transform(X)), abs(other.transform(X))  # signs may follow labels
    assert (abs(Y - Z).max() > 1e-6 * Y.max()) == (entry.supervised != "no")


def test_estimators_are_new_at_every_call():
    first, second = methods.catalogue(), methods.catalogue()
    assert all(first[name].estimator is not second[name].estimator for name in NAMES)
