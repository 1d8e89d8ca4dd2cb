"""Tasks and rows as data, and the file that keeps them."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nsse.evaluation import Row, RowStore, Task, software_versions

TASK = Task(
    "digits", "NN", n_train=7, seed=0, d=3, parameters={"b": 2, "a": [1, None]}, protocol="paper"
)


def row_of(task: Task, error: float = 0.25) -> Row:
    return Row(
        task, error, fit_seconds=1.5, predict_seconds=0.5, chosen={"mu1": 0.1}, details={"k": [1]}
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.sqlite"


# Tasks.


def test_key_is_the_canonical_json_of_all_fields() -> None:
    fields = {
        "dataset": "digits",
        "method": "NN",
        "n_train": 7,
        "seed": 0,
        "d": 3,
        "parameters": {"a": [1, None], "b": 2},
        "protocol": "paper",
    }
    assert TASK.key == json.dumps(fields, sort_keys=True, separators=(",", ":"))
    assert Task.from_key(TASK.key) == TASK


def test_equal_tasks_have_one_key_however_they_are_written() -> None:
    written = Task(
        "digits",
        "NN",
        n_train=np.int64(7),
        seed=np.int32(0),
        d=3,
        parameters={"a": (1.0, None), "b": np.float64(2.0)},
        protocol="paper",
    )
    assert written.key == TASK.key
    assert len({written, TASK}) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"dataset": "orl"},
        {"method": "SVM"},
        {"n_train": 8},
        {"seed": 1},
        {"d": None},
        {"d": 4},
        {"parameters": {"a": [1, None], "b": 2.5}},
        {"parameters": {}},
        {"protocol": "honest"},
    ],
)
def test_every_field_makes_another_task(change: dict) -> None:
    other = replace(TASK, **change)
    assert other.key != TASK.key
    assert other != TASK


@pytest.mark.parametrize(
    ("change", "wording"),
    [
        ({"dataset": ""}, r"`dataset` must be a string that is not empty\. Got ''"),
        ({"n_train": 0}, r"`n_train` must be a whole number from 1 upwards\. Got 0\. Pass 1"),
        ({"n_train": 2.5}, r"`n_train` must be a whole .* Got 2\.5"),
        ({"seed": -1}, r"`seed` must be a whole number from 0 upwards\. Got -1"),
        ({"seed": None}, r"`seed` must be .* Got None"),
        ({"d": True}, r"`d` must be .* Got True"),
        ({"parameters": {"mu1": np.nan}}, r"`parameters` must hold only finite .* Got nan"),
        ({"parameters": {"f": abs}}, r"`parameters` must hold only .* Got <built-in function abs>"),
        ({"parameters": {1: 2}}, r"`parameters` must hold only .* Got \{1: 2\}"),
    ],
)
def test_a_task_that_cannot_be_written_down_is_refused(change: dict, wording: str) -> None:
    with pytest.raises(ValueError, match=f"^{wording}"):
        replace(TASK, **change)


@pytest.mark.parametrize(
    ("change", "wording"),
    [
        (
            {"error": 1.01},
            r"`error` must be a share from 0 to 1\. Got 1\.01\. Look at NN on digits, 7 per",
        ),
        ({"error": np.nan}, r"`error` must be a share from 0 to 1\. Got nan"),
        ({"fit_seconds": -1.0}, r"`fit_seconds` must be a time of 0 seconds or more\. Got -1\.0"),
        ({"predict_seconds": np.inf}, r"`predict_seconds` must be a time .* Got inf"),
        ({"chosen": {"model": object}}, r"`chosen` must hold only"),
    ],
)
def test_a_row_that_cannot_be_is_refused(change: dict, wording: str) -> None:
    with pytest.raises(ValueError, match=f"^{wording}"):
        replace(row_of(TASK), **change)


def test_a_row_knows_its_software() -> None:
    versions = row_of(TASK).versions
    assert versions == software_versions()
    assert versions["numpy"] == np.__version__
    assert set(versions) == {"python", "nsse", "numpy", "scipy", "scikit-learn", "joblib"}


# The file.


def test_rows_come_back_as_they_were_from_another_connection(path: Path) -> None:
    with RowStore(path) as store:
        assert store.add(row_of(TASK))
        with RowStore(path) as other:
            assert other.rows() == [row_of(TASK)]
            assert TASK in other
            assert replace(TASK, seed=1) not in other


def test_a_task_has_one_row_and_the_first_stays(path: Path) -> None:
    with RowStore(path) as store:
        assert store.add(row_of(TASK, 0.25))
        assert not store.add(row_of(TASK, 0.5))
        assert [row.error for row in store.rows()] == [0.25]
        assert len(store) == 1


def test_rows_are_in_the_order_of_their_keys(path: Path) -> None:
    tasks = [replace(TASK, seed=seed) for seed in (2, 0, 1)]
    with RowStore(path) as store:
        for task in tasks:
            store.add(row_of(task))
        assert [row.task.seed for row in store.rows()] == [0, 1, 2]


def test_a_removed_row_is_gone(path: Path) -> None:
    with RowStore(path) as store:
        store.add(row_of(TASK))
        assert store.remove(TASK)
        assert not store.remove(TASK.key)
        assert store.rows() == []


def test_folder_is_made_and_one_file_is_left(tmp_path: Path) -> None:
    with RowStore(tmp_path / "a" / "b" / "rows.sqlite") as store:
        store.add(row_of(TASK))
    assert [file.name for file in (tmp_path / "a" / "b").iterdir()] == ["rows.sqlite"]


@pytest.mark.slow
def test_a_row_is_on_disk_when_add_returns(path: Path) -> None:
    """The process ends without closing anything, as a kill would end it."""
    program = f"""
import os
from nsse.evaluation import Row, RowStore, Task
store = RowStore({str(path)!r})
store.add(Row(Task("digits", "NN", n_train=7, seed=0), 0.25, 0.0, 0.0))
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", program], check=False)
    assert done.returncode == -9
    with RowStore(path) as store:
        assert [row.error for row in store.rows()] == [0.25]


@pytest.mark.slow
def test_an_unfinished_row_leaves_no_trace(path: Path) -> None:
    """The row is in the transaction, but the process ends before its end."""
    program = f"""
import os, sqlite3
from nsse.evaluation import RowStore
store = RowStore({str(path)!r})
connection = store._connection
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN IMMEDIATE")
for i in range(2000):  # enough to reach the file before the end of the transaction
    connection.execute("INSERT INTO rows VALUES (?, ?, ?)", (str(i), "x" * 1000, ""))
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9
    assert path.with_name("rows.sqlite-journal").exists()
    with RowStore(path) as store:
        assert store.rows() == []


# Damage.


def test_a_file_that_is_no_store_is_named_and_left_alone(path: Path) -> None:
    path.write_bytes(b"not a database, but longer than a header" * 50)
    before = path.read_bytes()
    wording = (
        r"^`store` must be a file of rows .*Got '.*rows\.sqlite' \(file is not a database\)\. Restore"
    )
    with pytest.raises(OSError, match=wording):
        RowStore(path)
    assert path.read_bytes() == before


def test_a_database_of_someone_else_is_refused(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(OSError, match=r"rows\.sqlite' \(a database of another kind or version\)"):
        RowStore(path)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        OSError, match=r"`store` must be a file of rows .* \(unable to open database file\)"
    ):
        RowStore(tmp_path)


@pytest.mark.slow
def test_a_cut_file_is_named(path: Path) -> None:
    with RowStore(path) as store:
        for seed in range(200):
            store.add(row_of(replace(TASK, seed=seed)))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(OSError, match=r"^`store` must be .*Got '.*rows\.sqlite' \(.+\)\. Restore"):
        RowStore(path)


def test_a_changed_row_is_named_and_can_be_removed(path: Path) -> None:
    with RowStore(path) as store:
        store.add(row_of(TASK))
        store.add(row_of(replace(TASK, seed=1)))
    with sqlite3.connect(path) as connection:
        changed = """UPDATE rows SET result = replace(result, '0.25', '0.05') WHERE task = ?"""
        assert connection.execute(changed, (TASK.key,)).rowcount == 1
    connection.close()
    with RowStore(path) as store:
        with pytest.raises(
            OSError, match=r"Got '.*rows\.sqlite' with a damaged row for '.*\"seed\":0"
        ) as caught:
            store.rows()
        assert TASK.key in str(caught.value)
        store.remove(TASK.key)
        assert [row.task.seed for row in store.rows()] == [1]


def test_one_run_at_a_time_and_readers_are_free(path: Path) -> None:
    refused = pytest.raises(RuntimeError, match=r"`store` must serve one run at a time\. Got '.*sqlite'")
    with RowStore(path) as store, RowStore(path) as other:
        with store.claimed():
            with refused, other.claimed():
                pass
            assert other.rows() == []
        with other.claimed():
            pass
