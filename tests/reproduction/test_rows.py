"""Rows on disk, and running many tasks: every row once, whatever happens in between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import joblib
import pytest

from reproduction.rows import Row, RowFile, Task, canonical, plain
from reproduction.running import Outcome, run_tasks

N_TASKS = 6
ROOT = Path(__file__).parents[2]


def tasks(n: int = N_TASKS) -> list[Task]:
    return [Task("made", "half", n_train=3, seed=seed) for seed in range(n)]


def halve(task: Task) -> Row:
    """A row whose error follows from the seed."""
    return Row(task, 1.0 / (task.seed + 2), fit_seconds=0.0, predict_seconds=0.0)


def halve_even(task: Task) -> Row:
    if task.seed % 2:
        raise FileNotFoundError("no image")
    return halve(task)


def die(task: Task) -> Row:
    os.kill(os.getpid(), signal.SIGKILL)
    return halve(task)


def stop_at_three(task: Task) -> Row:
    if task.seed == 3:
        raise KeyboardInterrupt
    return halve(task)


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "new" / "rows.jsonl"


def errors(path: Path) -> dict[int, float]:
    return {row.task.seed: row.error for row in RowFile(path).rows()}


ALL = {seed: 1.0 / (seed + 2) for seed in range(N_TASKS)}


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_every_task_has_its_row_once(path, n_jobs):
    assert run_tasks(tasks(3) + tasks(3), halve, RowFile(path), n_jobs) == Outcome(0, 3)
    assert run_tasks(tasks(), halve, RowFile(path), n_jobs) == Outcome(3, 3)
    assert run_tasks(tasks(), halve, RowFile(path), n_jobs) == Outcome(N_TASKS, 0)
    assert errors(path) == ALL
    assert len(path.read_text().splitlines()) == N_TASKS


def test_a_task_is_the_same_however_its_numbers_are_written():
    one, other = (Task("a", "b", 3, 0, parameters={"mu": value}) for value in (1.0, 1))
    assert one == other
    assert one.key == other.key
    assert one != Task("a", "b", 3, 0, parameters={"mu": 2})
    assert plain({"a": (1.0, 0.5, None)}) == {"a": [1, 0.5, None]}
    assert canonical({"b": 1, "a": [2]}) == '{"a":[2],"b":1}'


def test_rows_come_back_in_the_order_of_their_keys(path):
    rows = RowFile(path)
    with rows.claimed():
        for task in reversed(tasks()):
            rows.add(halve(task))
        assert len(path.read_text().splitlines()) == N_TASKS  # on disk before the run ends
    assert [row.task for row in RowFile(path).rows()] == sorted(tasks(), key=lambda task: task.key)
    text = path.read_text()
    RowFile(path).sort()
    assert path.read_text() == text


def test_an_error_is_a_share():
    with pytest.raises(ValueError, match="`error` must be a fraction from 0 to 1"):
        Row(tasks(1)[0], 12, 0.0, 0.0)


def test_a_torn_last_line_is_computed_again_and_other_damage_named(path):
    run_tasks(tasks(), halve, RowFile(path))
    whole = path.read_text()
    path.write_text(whole[:-30])
    assert len(RowFile(path).rows()) == N_TASKS - 1
    assert run_tasks(tasks(), halve, RowFile(path)).computed == 1
    kept = [line.split('"versions"')[0] for line in path.read_text().splitlines()]
    assert kept == [line.split('"versions"')[0] for line in whole.splitlines()]
    lines = whole.splitlines()
    path.write_text("\n".join([lines[0], lines[1][:-20], *lines[2:]]) + "\n")
    with pytest.raises(ValueError, match=r"'rows\.jsonl', line 2: .*Restore the file"):
        RowFile(path)


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_failure_is_told_others_go_on_and_it_is_tried_again(path, n_jobs):
    outcome = run_tasks(tasks(), halve_even, RowFile(path), n_jobs)
    assert (outcome.computed, [failure.task.seed for failure in outcome.failures]) == (3, [1, 3, 5])
    (reason,) = outcome.reasons
    assert reason.endswith("seed 1: FileNotFoundError: no image (and 2 more rows)")
    assert str(outcome) == "Rows: 0 found, 3 computed, 3 failed."
    assert run_tasks(tasks(), halve, RowFile(path)) == Outcome(3, 3)


def test_an_interrupt_says_what_is_kept(path):
    with pytest.raises(KeyboardInterrupt, match=r"^3 of 6 rows.*Start again to continue\.$"):
        run_tasks(tasks(), stop_at_three, RowFile(path))
    assert sorted(errors(path)) == [0, 1, 2]
    assert run_tasks(tasks(), halve, RowFile(path)) == Outcome(3, 3)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_a_killed_worker_is_told_and_the_rows_stay(path, monkeypatch, seconds):
    """Also where it dies before the next task is handed out."""
    run_tasks(tasks(1), halve, RowFile(path))

    def slowly(function):
        time.sleep(seconds)
        return joblib.delayed(function)

    monkeypatch.setattr("reproduction.running.delayed", slowly)
    with pytest.raises(RuntimeError, match=r"killed.*0 of 5 rows.*fewer --jobs"):
        run_tasks(tasks(), die, RowFile(path), n_jobs=2)
    assert errors(path) == {0: 0.5}


def test_rows_in_use_are_refused(path):
    first = RowFile(path)
    with first.claimed(), pytest.raises(RuntimeError, match="`rows` must be used by one run at a time"):
        run_tasks(tasks(), halve, RowFile(path))
    assert run_tasks(tasks(), halve, RowFile(path)).computed == N_TASKS


# Its task 20 never ends: it is killed there, however busy the machine is.
ENDLESS_RUN = """
import sys, time
from reproduction.rows import Row, RowFile, Task
from reproduction.running import run_tasks

def work(task):
    if task.seed == 20:
        time.sleep(600)
    return Row(task, 0.5, 0.0, 0.0)

run_tasks([Task("made", "slow", 3, seed) for seed in range(50)], work, RowFile(sys.argv[1]))
"""


@pytest.mark.slow
def test_killed_at_once_nothing_is_lost_and_the_lock_is_free(path):
    places = os.pathsep.join([str(ROOT), *sys.path])
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS_RUN, str(path)], env={**os.environ, "PYTHONPATH": places}
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not path.exists() or path.read_bytes().count(b"\n") < 20):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    todo = [Task("made", "slow", 3, seed) for seed in range(50)]
    assert run_tasks(todo, halve, RowFile(path)) == Outcome(20, 30)
