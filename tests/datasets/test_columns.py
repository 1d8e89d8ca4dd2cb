"""Tables as people have them: other separators and encodings, categories, gaps, and columns of ids."""

from __future__ import annotations

import codecs
import cProfile
import datetime
import json

import numpy as np
import pytest
from table_files import written

from nsse.datasets import Preparation, TableEncoder, load_inputs, load_inputs_like
from nsse.datasets._preparation import check_preparation

polars = pytest.importorskip("polars", reason="tables need Polars: pip install 'nsse[tables]'")

PLAIN = "length,width,kind\n1.5,2,short\n-3,4.25,long\n5e-1,6,short\n"


def test_semicolons_and_commas_in_numbers_are_seen_and_told(tmp_path):
    plain = load_inputs(written(tmp_path, PLAIN), "kind")
    assert plain.notes == ()
    points = load_inputs(written(tmp_path, PLAIN.replace(",", ";")), "kind")
    assert points.notes == ("It is written with semicolons between columns.",)
    commas = load_inputs(written(tmp_path, PLAIN.replace(",", ";").replace(".", ",")), "kind")
    assert commas.notes == (
        "It is written with semicolons between columns, with commas for decimal points.",
    )
    tabs = load_inputs(written(tmp_path, PLAIN.replace(",", "\t")), "kind")
    assert tabs.notes == ("It is written with tabs between columns.",)
    for other in (points, commas, tabs):
        np.testing.assert_array_equal(other.X, plain.X)
        assert other.y.tolist() == plain.y.tolist()
        assert other.preparation == plain.preparation


def test_a_name_in_quotation_marks_may_hold_separators(tmp_path):
    commas = written(tmp_path, '"a;b;c","d""3","e,f",kind\n1,2,3,x\n3,4,5,x\n5,6,7,y\n')
    assert load_inputs(commas, "kind").preparation["columns"] == ["a;b;c", 'd"3', "e,f"]
    semicolons = written(tmp_path, "size (cm, wet);b;kind\n1;2;x\n3;4;x\n5;6;y\n")
    assert load_inputs(semicolons, "kind").preparation["columns"] == ["size (cm, wet)", "b"]


def test_points_among_decimal_commas_are_not_guessed_at(tmp_path):
    # 1.234 is twelve hundred to some and little more than one to others.
    for second in ("1.234", "1.234,5"):
        path = written(tmp_path, f"a;b;kind\n0,5;7;x\n1,5;{second};x\n2,5;9;y\n")
        with pytest.raises(ValueError, match=rf"column b\. Got '{second}' in row 2"):
            load_inputs(path, "kind")
    # Where columns are separated by commas, no number has one.
    with pytest.raises(ValueError, match=r"column a\. Got '1,5' in row 1"):
        load_inputs(written(tmp_path, 'a,kind\n"1,5",x\n2.5,x\n3,y\n'), "kind")


@pytest.mark.parametrize(
    ("encoding", "note"),
    [
        ("utf-8", ()),
        ("utf-8-sig", ()),
        ("latin-1", ("It is written in Latin-1.",)),
        ("utf-16", ("It is written in UTF-16.",)),
    ],
)
def test_encodings_are_seen_and_told(encoding, note, tmp_path):
    content = "größe,art\n1,grün\n2,grün\n3,weiß\n"
    inputs = load_inputs(written(tmp_path, content.encode(encoding)), "art")
    assert inputs.preparation["columns"] == ["größe"]
    assert inputs.y.tolist() == ["grün", "grün", "weiß"]
    assert inputs.notes == note


def test_what_windows_wrote_is_read(tmp_path):
    content = b"a,kind\n1,\x84quoted\x93\n2,\x84quoted\x93\n3,\x80\n"
    assert load_inputs(written(tmp_path, content), "kind").y.tolist() == ["„quoted“", "„quoted“", "€"]
    # A letter cut in two at the end of a block is no end of UTF-8.
    long = "a,kind\n" + "1,ä\n" * 250_000 + "2,b\n"
    assert load_inputs(written(tmp_path, long), "kind").notes == ()
    assert codecs.BOM_UTF8 not in long.encode()


MIXED = """id;soil;length;width;kind
7;clay;1;10;x
8;sand;;20;x
9;clay;5;?;y
10;;2;40;y
"""


def test_categories_medians_and_ids_travel_as_plain_data(tmp_path):
    inputs = load_inputs(written(tmp_path, MIXED), "kind", id="id")
    # Medians of 1, 5, 2 and of 10, 20, 40; a missing category is none of those known.
    expected = [[1, 0, 1, 10], [0, 1, 2, 20], [1, 0, 5, 20], [0, 0, 2, 40]]
    np.testing.assert_array_equal(inputs.X, expected)
    assert inputs.names == ["7", "8", "9", "10"]
    told = {
        "kind": "table",
        "columns": ["soil", "length", "width"],
        "label": "kind",
        "ignored": [],
        "id": "id",
        "categories": {"soil": ["clay", "sand"]},
        "medians": {"length": 2.0, "width": 20.0},
    }
    assert inputs.preparation == told
    assert inputs.preparation.features == ["soil=clay", "soil=sand", "length", "width"]
    assert str(inputs.preparation) == "3 columns (1 with categories: 4 features)"
    assert inputs.notes == (
        "It is written with semicolons between columns.",
        "Missing numbers, filled in with the medians of their columns: length 1, width 1.",
        "Missing categories, treated as none of the known ones: soil 1.",
        "Categories, a feature each: soil: clay, sand.",
    )
    read = Preparation.from_dict(json.loads(json.dumps(inputs.preparation.to_dict())))
    assert check_preparation(read, 4) == told
    # Other rows get what was found out here, not medians and categories of their own.
    new = written(tmp_path, "width,length,soil\n1,,sand\n,100,clay\n", "new.csv")
    again = load_inputs_like(new, told)
    np.testing.assert_array_equal(again.X, [[0, 1, 2, 1], [1, 0, 100, 20]])
    assert again.names is None
    assert again.notes == (
        "Missing numbers, filled in with the medians of their columns: length 1, width 1.",
    )
    assert load_inputs_like(written(tmp_path, MIXED), told).names == inputs.names


def test_a_table_of_categories_alone(tmp_path):
    path = written(tmp_path, "soil,sun,kind\nclay,yes,x\nclay,no,x\nsand,yes,y\nsand,,y\n")
    with pytest.raises(ValueError, match=r"sun \(1 missing, first in row 4\)\..* `missing=.median.`"):
        load_inputs(path, "kind", table=TableEncoder(missing="error"))
    inputs = load_inputs(path, "kind")
    np.testing.assert_array_equal(inputs.X, [[1, 0, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [0, 1, 0, 0]])
    again = Preparation.from_dict(json.loads(json.dumps(inputs.preparation.to_dict())))
    np.testing.assert_array_equal(load_inputs_like(path, again).X, inputs.X)


def test_rows_with_unknown_categories_are_counted(tmp_path):
    path = written(tmp_path, "soil,sun,kind\nclay,a,x\nclay,b,x\nsand,a,y\nsand,b,y\n")
    known = load_inputs(path, "kind").preparation
    new = load_inputs_like(written(tmp_path, "soil,sun\nclay,a\nloam,c\n,b\n", "new.csv"), known)
    np.testing.assert_array_equal(new.X, [[1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1]])
    assert new.unknown_categories.tolist() == [0, 2, 0]
    assert "Unknown categories in 1 row, treated as none of the known ones." in new.notes


def test_numbers_are_categories_on_request(tmp_path):
    path = written(tmp_path, "zone,a,kind\n10,1,x\n10,2,x\n9,3,y\n9,4,y\n")
    assert load_inputs(path, "kind").X.shape == (4, 2)
    inputs = load_inputs(path, "kind", table=TableEncoder(categorical=["zone"]))
    np.testing.assert_array_equal(inputs.X, [[1, 0, 1], [1, 0, 2], [0, 1, 3], [0, 1, 4]])
    with pytest.raises(
        ValueError, match=r"`categorical` must name columns .* Got color. It has zone, a"
    ):
        load_inputs(path, "kind", table=TableEncoder(categorical=["color"]))


@pytest.mark.parametrize("n_categories", [10, 51])
def test_text_of_many_kinds_is_no_category_unless_it_is_said_to_be(n_categories, tmp_path):
    n_rows = 19 if n_categories == 10 else 204
    rows = "".join(f"name {k % n_categories},{k},{k % 2}\n" for k in range(n_rows))
    path = written(tmp_path, f"who,a,kind\n{rows}")
    message = rf"column who with {n_categories} different texts in {n_rows} rows\. If a column contains"
    with pytest.raises(ValueError, match=message):
        load_inputs(path, "kind")
    assert load_inputs(path, "kind", table=TableEncoder(categorical=["who"])).X.shape == (
        n_rows,
        n_categories + 1,
    )
    assert load_inputs(path, "kind", id="who").names[:2] == ["name 0", "name 1"]


def test_a_slip_among_numbers_makes_no_categories(tmp_path):
    path = written(tmp_path, "a,kind\n1,x\n2,x\nl,y\nl,y\n")
    with pytest.raises(ValueError, match=r"column a. Got 'l' in row 3 .* name it in `categorical`"):
        load_inputs(path, "kind")


@pytest.mark.parametrize(
    "name", ["id", "ID", "Sample_ID", "patient id", "plantId", "Nr", "row", "Unnamed: 0"]
)
def test_what_looks_like_an_id_is_asked_about(name, tmp_path):
    path = written(tmp_path, f"{name},a,kind\n3,1,x\n1,1,x\n2,2,y\n")
    message = rf"column {name}, which looks like a row id \(a different integer in every row\)"
    with pytest.raises(ValueError, match=message):
        load_inputs(path, "kind")
    named = load_inputs(path, "kind", id=name)
    assert (named.names, named.X.shape) == (["3", "1", "2"], (3, 1))
    assert load_inputs(path, "kind", table=TableEncoder(drop=[name])).names is None
    assert load_inputs(path, "kind", table=TableEncoder(keep=[name])).X.shape == (3, 2)


@pytest.mark.parametrize(
    ("name", "entries"),
    [("acid", "312"), ("valid", "312"), ("piano", "312"), ("id", "332"), ("id", ("3.5", "1", "2"))],
)
def test_what_only_sounds_like_an_id_is_a_feature(name, entries, tmp_path):
    a, b, c = entries
    path = written(tmp_path, f"{name},a,kind\n{a},1,x\n{b},1,x\n{c},2,y\n")
    assert load_inputs(path, "kind").X.shape == (3, 2)


def test_gaps_are_refused_on_request_with_all_their_columns(tmp_path):
    path = written(tmp_path, "a,b,c,kind\n1,,1,x\n2,?,,x\n3,,2,y\n")
    with pytest.raises(
        ValueError, match=r"table\.csv: .* b \(3 missing, first in row 1\), c \(1 missing"
    ):
        load_inputs(path, "kind", table=TableEncoder(missing="error"))
    inputs = load_inputs(path, "kind")
    assert inputs.notes[1] == "Left out, the same in every row: b."
    np.testing.assert_array_equal(inputs.X, [[1, 1], [2, 1.5], [3, 2]])
    whole = written(tmp_path, "a,kind\n1,x\n2,x\n3,y\n")
    known = load_inputs(whole, "kind", table=TableEncoder(missing="error")).preparation
    with pytest.raises(ValueError, match=r"columns a \(1 missing, first in row 1\)"):
        load_inputs_like(written(tmp_path, "a\n?\n"), known)


def test_ids_of_rows_may_be_named_later(tmp_path):
    known = load_inputs(written(tmp_path, "a,kind\n1,x\n2,x\n3,y\n"), "kind").preparation
    new = written(tmp_path, "who,a\nann,1\nbob,2\n", "new.csv")
    with pytest.raises(ValueError, match="with who"):
        load_inputs_like(new, known)
    named = load_inputs_like(new, known, id="who")
    assert (named.names, named.preparation["id"]) == (["ann", "bob"], "who")
    assert load_inputs_like(new, {"kind": "array", "n_features": 1}, id="who").names == ["ann", "bob"]


def test_parquet_has_types_of_its_own(tmp_path):
    frame = polars.DataFrame(
        {
            "soil": ["clay", "sand", None, "clay"],
            "wet": [True, False, True, None],
            "kind": ["x", "x", "y", "y"],
        },
        schema_overrides={"soil": polars.Categorical},
    )
    frame.write_parquet(tmp_path / "t.parquet")
    inputs = load_inputs(tmp_path / "t.parquet", "kind")
    np.testing.assert_array_equal(inputs.X, [[1, 0, 1], [0, 1, 0], [0, 0, 1], [1, 0, 1]])


@pytest.mark.parametrize(
    "told",
    [
        {"categories": {"a": ["x", "y"]}},  # two features instead of one
        {"categories": {"z": ["x"]}},
        {"categories": {"a": [1]}},
        {"categories": "ab"},
        {"medians": {"z": 1.0}},
        {"medians": {"a": None}},
        {"medians": {"a": float("nan")}},
        {"medians": 3},
        {"medians": {"a": 1.0}},  # of one column of two
    ],
)
def test_a_table_that_does_not_fit_the_model_is_refused(told):
    with pytest.raises(ValueError, match="`metadata` must say how the 2 features"):
        check_preparation({"kind": "table", "columns": ["a", "b"]} | told, 2)


@pytest.mark.parametrize("color", [True, False, None])
def test_the_shape_of_images_tells_their_channels(color):
    told = {"kind": "images", "size": [4, 5], "unit_norm": False}
    told |= {} if color is None else {"color": color}
    n_features = 60 if color else 20
    preparation = check_preparation(told, n_features)
    assert preparation.image_shape == ((4, 5, 3) if color else (4, 5))
    assert str(preparation) == ("4 x 5 pixels in color" if color else "4 x 5 gray levels")
    assert preparation["color"] == bool(color)
    with pytest.raises(ValueError, match="`metadata` must say"):
        check_preparation(told, 80 - n_features)


def test_dates_are_days_since_1970(tmp_path):
    text = "day,hour,kind\n31.01.2024,2024-01-01 12:00,a\n1.2.2024,2024-01-02 00:00,b\n"
    text += "29.2.2024,1970-01-01 06:00,a\n01.01.1970,2024-03-01 00:00,b\n"
    inputs = load_inputs(written(tmp_path, text), "kind")
    stamps = [["2024-01-31", "2024-01-01T12"], ["2024-02-01", "2024-01-02"]]
    stamps += [["2024-02-29", "1970-01-01T06"], ["1970-01-01", "2024-03-01"]]
    expected = np.array(stamps, dtype="datetime64[h]").astype(float) / 24
    np.testing.assert_allclose(inputs.X, expected, atol=1e-9)
    assert inputs.notes == ("Dates, as days since 1970: day, hour.",)
    assert inputs.preparation["dates"] == {"day": "%d.%m.%Y", "hour": "%Y-%m-%d %H:%M"}
    known = check_preparation(dict(inputs.preparation), 2)
    new = load_inputs_like(written(tmp_path, "hour,day\n2024-03-01 00:00,1.2.2024\n"), known)
    np.testing.assert_allclose(new.X, [[expected[1, 0], expected[3, 1]]])
    with pytest.raises(
        ValueError, match=r"dates as in the training table \(%d.%m.%Y\) in column day. Got '2024-02-01'"
    ):
        load_inputs_like(written(tmp_path, "hour,day\n2024-03-01 00:00,2024-02-01\n"), known)


def test_dates_of_either_order_are_asked_about(tmp_path):
    rows = "3/4/2024,a\n5/6/2024,b\n7/8/2024,a\n9/10/2024,b\n"
    with pytest.raises(ValueError, match=r"Got '3/4/2024'. The day or the month may come first, so"):
        load_inputs(written(tmp_path, "day,kind\n" + rows), "kind")
    inputs = load_inputs(written(tmp_path, "day,kind\n" + rows + "31/12/2024,a\n"), "kind")
    assert inputs.preparation["dates"] == {"day": "%d/%m/%Y"}


def test_dates_of_a_parquet_file(tmp_path):
    days = [datetime.date(1970, 1, day) for day in (1, 2, 3, 4)]
    path = tmp_path / "t.parquet"
    polars.DataFrame({"a": days, "kind": list("xyxy")}).write_parquet(path)
    inputs = load_inputs(path, "kind")
    np.testing.assert_array_equal(inputs.X, [[0.0], [1.0], [2.0], [3.0]])
    np.testing.assert_array_equal(load_inputs_like(path, inputs.preparation).X, inputs.X)


def test_a_constant_column_is_left_out_and_told(tmp_path):
    text = "a,unit,year,kind\n1,cm,2024,x\n2,cm,2024,y\n3,cm,2024,x\n4,cm,2024,y\n"
    inputs = load_inputs(written(tmp_path, text), "kind")
    assert inputs.X.shape == (4, 1)
    assert inputs.notes == ("Left out, the same in every row: unit, year.",)
    new = load_inputs_like(written(tmp_path, "year,a,unit\n2025,7,m\n"), inputs.preparation)
    np.testing.assert_array_equal(new.X, [[7.0]])
    with pytest.raises(ValueError, match=r"a column whose entries differ\. Got a, with"):
        load_inputs(written(tmp_path, "a,kind\n1,x\n1,y\n1,x\n"), "kind")
    assert load_inputs(written(tmp_path, text), "kind", table=TableEncoder(keep=["year"])).X.shape == (
        4,
        2,
    )


def wide(n_columns):
    """A table of numbers with gaps, categories and dates among many plain columns."""
    rng = np.random.default_rng(0)
    names = [f"c{place}" for place in range(n_columns)]
    lines = [",".join([*names, "when", "size", "gaps", "kind"])]
    for row in range(12):
        numbers = [f"{value:.4g}" for value in rng.normal(size=n_columns)]
        others = [f"2024-03-{row + 1:02d}", "sl"[row % 2], ["1.5", "na", "2"][row % 3], "ab"[row % 2]]
        lines.append(",".join(numbers + others))
    return "\n".join(lines) + "\n"


def calls_to_read(path):
    """Calls of functions that reading a table takes."""
    load_inputs(path, "kind")  # imports what is imported at use
    profile = cProfile.Profile()
    profile.runcall(load_inputs, path, "kind")
    return sum(entry.callcount for entry in profile.getstats())


def test_columns_of_numbers_take_few_calls_each(tmp_path):
    few = calls_to_read(written(tmp_path, wide(20), "few.csv"))
    many = calls_to_read(written(tmp_path, wide(220), "many.csv"))
    assert many - few < 200 * 500


def test_all_columns_of_names_are_listed_at_once(tmp_path):
    rows = [f"N{k},{'note ' + str(k) if k % 3 == 0 else ''},{'xy'[k % 2]},{k % 5}" for k in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["bird,comment,kind,count", *rows]), encoding="utf-8")
    names = (
        r"column bird with 60 different texts in 60 rows, column comment with 20 different texts in 20 "
    )
    with pytest.raises(
        ValueError, match=names + r"entries\. .*If a column names the rows, pass it as `id`"
    ):
        load_inputs(tmp_path / "t.csv", "kind")
    with pytest.raises(
        ValueError, match=r"column comment with 20 different texts in 20 entries"
    ) as caught:
        load_inputs(tmp_path / "t.csv", "kind", id="bird")
    assert "`id`" not in str(caught.value)
