"""The catalogue: the paper's eleven columns, each ready to fit, each exchangeable in one line."""

from __future__ import annotations

import pytest
from sklearn.linear_model import LogisticRegression

from nsse import NSSE, methods

COLUMNS = ["NSSE", "SUPLAP", "SVM", "NN", "LFDA", "LDA", "LDE", "NYS", "SPE", "IsoKRR", "MReg"]


def test_columns_of_the_paper_in_its_order():
    assert list(methods.catalogue()) == COLUMNS
    assert isinstance(methods.catalogue()["NSSE"], NSSE)


def test_every_method_of_ours_is_listed():
    kinds = {kind for kind in vars(methods).values() if isinstance(kind, type)}
    # The paper cites it, and does not measure it.
    assert kinds - {methods.SemiRBF} <= {type(method) for method in methods.catalogue().values()}


@pytest.mark.parametrize("name", COLUMNS)
def test_method_is_ready(name, digits):
    method = methods.catalogue()[name].fit(digits.X[::2], digits.codes[::2])
    assert method.score(digits.X[1::2], digits.codes[1::2]) > 0.6


def test_one_line_exchanges_adds_or_leaves_out():
    other = LogisticRegression()
    assert methods.catalogue(SVM=other)["SVM"] is other
    assert list(methods.catalogue(SVM=other)) == COLUMNS
    assert list(methods.catalogue(logistic=other)) == [*COLUMNS, "logistic"]
    assert "NN" not in methods.catalogue(NN=None)


def test_estimators_are_new_at_every_call():
    first, second = methods.catalogue(), methods.catalogue()
    assert all(first[name] is not second[name] for name in COLUMNS)
