"""The table of methods: it runs on very little, and what it says follows from its rows."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    """Import a script of the benchmarks as its own folder sees it."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module


@pytest.fixture
def digits_for_all(script, monkeypatch):
    """Digits in the place of every data set."""
    X, y = load_digits(return_X_y=True)
    for module in map(script, ("methods_fits", "methods_table")):
        monkeypatch.setattr(module, "data", lambda name: (X[:300], y[:300]))


def test_rows_page_and_merging(script, digits_for_all, tmp_path):
    table = script("methods_table")
    files = ["--csv", str(tmp_path / "rows.csv"), "--markdown", str(tmp_path / "page.md")]
    options = ["--splits", "2", "--jobs", "1", "--quick", "--datasets", "orl", *files]
    first = table.main([*options, "--methods", "NN", "MReg"])
    assert [row.method for row in first] == ["NN", "MReg"]
    rows = table.main([*options, "--methods", "IsoKRR", "LFDA", "NSSE"])
    assert [row.method for row in rows] == ["NSSE", "NN", "LFDA", "IsoKRR", "MReg"]
    assert [round(row.error, 4) for row in table.main(["--page-only", *files])] == [
        round(row.error, 4) for row in rows
    ]
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    for row in rows:
        assert f"{row.error:.2f} ± {row.standard_error:.2f} ({row.printed:.2f})" in page


def test_cut_embeddings_are_the_embeddings_of_fewer_dimensions(script, digits_for_all):
    """Fitting once and cutting gives the errors of separate fits, for every method that is cut."""
    fits, grids = script("methods_fits"), script("methods_grids")
    X, y = fits.data("orl")
    train, test = fits.per_class_split(y, 6, 0)
    for method, grid in grids.GRIDS.items():
        if grid.largest is None:
            continue
        parameters = next(iter(grid.parameters(coarse=True)))
        by_dimension = fits.test_errors(fits.Task("orl", 6, method, parameters, 0))
        model = grids.candidate(method, parameters, len(train), 10).set_params(n_components=9)
        error = 100 * (1 - model.fit(X[train], y[train]).score(X[test], y[test]))
        cut = by_dimension.get("9", by_dimension["all"])
        assert cut == pytest.approx(error), method


def test_every_method_has_a_grid_and_every_case_a_number(script):
    printed, grids = script("printed"), script("methods_grids")
    assert set(grids.GRIDS) == set(printed.METHODS)
    for rows in printed.PRINTED.values():
        for row in rows.values():
            assert list(row) == list(printed.METHODS)
            assert all(0 < value < 100 for value in row.values())


def test_what_is_far_off_is_listed_with_its_ratio(script):
    page = script("methods_page")
    off = page.Row("orl", 2, "NN", 2 * 19.34, 0.1, 5, "", "")
    near = page.Row("orl", 3, "NN", 12.96, 0.1, 5, "", "")
    listed = page._far([off, near])
    assert re.search(r"orl 2: 38\.68 against 19\.34 \(× 2\.00\)", listed)
    assert "orl 3" not in listed
    assert page._far([near]) == "Nowhere."


def test_standard_error(script):
    table = script("methods_table")
    assert table._error_of_mean([1.0, 3.0]) == pytest.approx(1.0)
    assert np.isnan(table._error_of_mean([1.0]))
