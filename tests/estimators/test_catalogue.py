"""The catalogue: the paper's eleven columns, each ready to fit, each exchangeable in one line."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import nsse
from nsse.estimators.catalogue import catalogue
from nsse.evaluation import compare, summarize

COLUMNS = ["NSSE", "SUPLAP", "SVM", "NN", "LFDA", "LDA", "LDE", "NYS", "SPE", "IsoKRR", "MReg"]


def test_columns_of_the_paper_in_its_order():
    assert list(catalogue()) == COLUMNS


def test_nsse_is_the_published_one():
    assert catalogue()["NSSE"].get_params() == nsse.NSSE.as_published().get_params()


def test_every_method_of_ours_is_listed():
    public = [getattr(nsse, name) for name in nsse.__all__ if name != "__version__"]
    ours = {part for part in public if isinstance(part, type) and hasattr(part, "fit")}
    # Searches, a metric for any of them, and a method that the paper cites but does not measure.
    ours -= {nsse.NSSECV, nsse.SequentialSearchCV, nsse.WithinMetric, nsse.SemiRBF}
    listed = {type(method) for method in catalogue().values()}
    assert ours <= listed


@pytest.mark.parametrize("name", COLUMNS)
def test_method_is_ready(name, digits):
    train = np.arange(len(digits.X)) % 2 == 0
    method = clone(catalogue()[name]).fit(digits.X[train], digits.codes[train])
    assert method.score(digits.X[~train], digits.codes[~train]) > 0.6


def test_one_line_exchanges_adds_or_leaves_out():
    other = LogisticRegression()
    assert catalogue(SVM=other)["SVM"] is other
    assert list(catalogue(SVM=other)) == COLUMNS
    assert list(catalogue(logistic=other)) == [*COLUMNS, "logistic"]
    assert "NN" not in catalogue(NN=None)


def test_estimators_are_new_at_every_call():
    first, second = catalogue(), catalogue()
    assert all(first[name] is not second[name] for name in COLUMNS)


def test_catalogue_goes_to_the_comparison(digits):
    methods = catalogue(NSSE=None, SPE=None)
    rows = summarize(compare(methods, digits.X, digits.codes, sizes=[5], seeds=[0]))
    assert [row.method for row in rows] == list(methods)
