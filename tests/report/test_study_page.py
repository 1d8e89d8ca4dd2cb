"""The page of a study: verdicts follow from numbers; figures show what they were given."""

from __future__ import annotations

import numpy as np
import pytest

from nsse.evaluation import Row, Task
from nsse.evaluation.ranks import alike
from nsse.evaluation.reading import TIE, read
from nsse.report import study_figures as figures
from nsse.report.study_page import StudyPage, Verdict, rank_table

METHODS = ("NSSECV", "NSSE", "NSSE, Euclidean", "SVC", "random forest")
SIZES = (5, 10, 20, 50)


def reading_of(errors, names="abcdef"):
    """Rows whose errors are ``errors(set number, size, method number)``, in shares."""
    rows = [
        Row(
            Task(name, method, size, 0),
            errors(number, size, place),
            0.1 * (place + 1),
            0.0,
            details={"train": 2 * size, "features": 10 * (number + 1), "classes": 2},
        )
        for number, name in enumerate(names)
        for size in SIZES
        for place, method in enumerate(METHODS)
    ]
    return read(rows, METHODS)[0]


@pytest.fixture(scope="module")
def reading():
    """NSSECV wins on the first three sets and loses to the forest on the others; never beside SVC."""

    def errors(number, size, place):
        bonus = (-0.1 if number < 3 else 0.1) if place == 4 else 0.02 * place
        return 0.4 - bonus * (place == 4) + 0.02 * place * (place != 4) - size / 1000

    return reading_of(errors)


@pytest.mark.parametrize(
    ("counts", "take"),
    [
        ((4, 9, 2), "`NSSECV()`"),
        ((3, 9, 2), "either"),
        ((2, 9, 3), "either"),
        ((2, 9, 4), "SVC"),
        ((0, 9, 0), "either"),
    ],
)
def test_who_wins_twice_as_often_is_taken(counts, take):
    assert Verdict(2.0, "SVC", 3.0, *counts).take == take


def page_of(reading):
    first, last = reading.of_sets("abc"), reading.of_sets("def")
    kinds = {"like the first": (first, first), "like the last": (last, last), "absent": (
        reading.of_sets(""), reading.of_sets(""),
    )}  # fmt: skip
    return StudyPage(reading, first, last, kinds, "made", "rows.jsonl", "images", "study", 3, TIE).text()


def test_the_page_says_where_it_wins_and_where_it_loses(reading):
    text = page_of(reading)
    wins = "- **Wins**: like the first."
    assert wins in text
    assert "- **Loses**: like the last (take random forest)." in text
    assert "6 data sets with 5, 10, 20 and 50 training samples per class" in text
    assert "3 that lack a method are left out" in text
    assert "absent" not in text.partition("*Rank*")[0]
    lines = [line for line in text.splitlines() if line.startswith("| d |")]
    # 0.4 against 0.3 at every size: lost by 10 points.
    assert lines[0].endswith("| random forest | +10.0 |")


def test_ranks_of_a_table_are_those_of_the_reading(reading):
    table = rank_table(reading)
    line = next(line for line in table.splitlines() if line.startswith("| **NSSECV** |"))
    cells = [cell.strip().strip("*") for cell in line.strip("|").split("|")]
    sizes = [reading.of_sizes(size).ranks["NSSECV"] for size in SIZES]
    expected = [*sizes, reading.of_sizes(5, 10, 20).ranks["NSSECV"], reading.ranks["NSSECV"]]
    np.testing.assert_allclose([float(cell) for cell in cells[1:-1]], expected, atol=5e-3)


def lines_named(figure, name):
    return [line for axes in figure.axes for line in axes.lines if line.get_gid() == name]


def words_of(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def test_the_bar_is_as_long_as_the_critical_difference(reading):
    figure = figures.rank_figure({"all": reading}, alike)
    (bar,) = lines_named(figure, "difference")
    start, end = bar.get_xdata()
    assert end - start == pytest.approx(reading.critical_difference)
    joined = [tuple(line.get_xdata()) for line in lines_named(figure, "alike")]
    expected = alike(list(reading.ranks.values()), reading.critical_difference)
    np.testing.assert_allclose(joined, np.add(expected, [-0.06, 0.06]))
    for method in METHODS:
        assert any(method in word for word in words_of(figure))


def test_errors_are_drawn_by_size(reading):
    figure = figures.size_figure({"all": {size: reading.of_sizes(size) for size in SIZES}}, "made")
    (line,) = lines_named(figure, "SVC")
    assert list(line.get_xdata()) == list(SIZES)
    expected = [reading.of_sizes(size).mean_error("SVC") for size in SIZES]
    np.testing.assert_allclose(line.get_ydata(), expected)


def test_names_at_the_ends_of_lines_do_not_touch(reading):
    ends = {str(k): 10.0 + 0.01 * k for k in range(12)} | {"top": 20.0}
    heights = sorted(figures._spread(ends, 0.5, 9.0, 20.0).values())
    assert np.diff(heights).min() >= 0.5 - 1e-9
    assert heights[-1] <= 20.0


def test_seconds_and_errors_are_where_the_dots_are(reading):
    figure = figures.time_figure({"all": reading}, "made")
    for method in METHODS:
        (dot,) = lines_named(figure, method)
        assert dot.get_xdata()[0] == pytest.approx(reading.seconds(method))
        assert dot.get_ydata()[0] == pytest.approx(reading.mean_error(method))


def test_counts_are_written_into_the_bars(reading):
    figure = figures.duel_figure({"all": reading.duels("NSSECV")}, "made")
    forest = next(duel for duel in reading.duels("NSSECV") if duel.other == "random forest")
    assert (forest.wins, forest.ties, forest.losses) == (12, 0, 12)
    assert words_of(figure).count("12") == 2
