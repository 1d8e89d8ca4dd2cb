"""Running many tasks: every row once, whatever happens in between."""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import textwrap
import time
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pytest

import nsse
from nsse.evaluation import Outcome, Row, RowStore, Task, per_class_split, run_tasks

N_TASKS = 6


def tasks(n: int = N_TASKS) -> list[Task]:
    return [Task("made", "half", n_train=3, seed=seed) for seed in range(n)]


def halve(task: Task, log: str | None = None) -> Row:
    """A row whose error follows from the seed; every call leaves a line in the log."""
    if log is not None:
        with open(log, "a", encoding="utf-8") as file:
            file.write(f"{task.seed}\n")
    return Row(task, error=1.0 / (task.seed + 2), fit_seconds=0.0, predict_seconds=0.0)


def halve_even(task: Task) -> Row:
    if task.seed % 2:
        raise FileNotFoundError(f"no image obj{task.seed}__0.png")
    return halve(task)


def too_few(task: Task) -> Row:
    per_class_split(np.repeat([1, 2], 3), task.n_train, task.seed)
    return halve(task)


def wrong_row(task: Task) -> Row:
    return halve(Task("made", "half", n_train=3, seed=99))


def die(task: Task) -> Row:
    os.kill(os.getpid(), signal.SIGKILL)
    return halve(task)


@pytest.fixture
def store(tmp_path: Path):
    with RowStore(tmp_path / "rows.sqlite") as opened:
        yield opened


def errors(store: RowStore) -> dict[int, float]:
    return {row.task.seed: row.error for row in store.rows()}


ALL = {seed: 1.0 / (seed + 2) for seed in range(N_TASKS)}


def test_every_task_has_its_row(store: RowStore) -> None:
    assert run_tasks(tasks(), halve, store) == Outcome(found=0, computed=N_TASKS)
    assert errors(store) == ALL


def test_no_row_is_computed_twice(store: RowStore, tmp_path: Path) -> None:
    log = tmp_path / "log"
    work = partial(halve, log=str(log))
    run_tasks(tasks(3) + tasks(3), work, store)
    assert run_tasks(tasks(), work, store) == Outcome(found=3, computed=3)
    assert run_tasks(tasks(), work, store) == Outcome(found=N_TASKS, computed=0)
    assert log.read_text().split() == [str(seed) for seed in range(N_TASKS)]


def test_rows_are_on_disk_before_the_next_is_asked_for(store: RowStore, tmp_path: Path) -> None:
    seen = []

    def count(task: Task) -> Row:
        with RowStore(store.path) as other:
            seen.append(len(other))
        return halve(task)

    run_tasks(tasks(), count, store)
    assert seen == list(range(N_TASKS))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_workers_of_any_kind_give_the_same_rows(store: RowStore, backend: str) -> None:
    with joblib.parallel_config(backend=backend):
        assert run_tasks(tasks(), halve, store, n_jobs=2).computed == N_TASKS
    assert errors(store) == ALL


@pytest.mark.slow
def test_workers_of_a_dask_cluster_give_the_same_rows(store: RowStore) -> None:
    distributed = pytest.importorskip("distributed", reason="a cluster needs dask.distributed")
    with distributed.Client(processes=False, n_workers=1, dashboard_address=":0"):  # noqa: SIM117
        with joblib.parallel_config(backend="dask"):
            assert run_tasks(tasks(), halve, store).computed == N_TASKS
    assert errors(store) == ALL


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_failure_is_reported_others_go_on_and_it_is_tried_again(store: RowStore, n_jobs: int) -> None:
    outcome = run_tasks(tasks(), halve_even, store, n_jobs=n_jobs)
    assert (outcome.found, outcome.computed) == (0, 3)
    assert [failure.task.seed for failure in outcome.failures] == [1, 3, 5]
    assert str(outcome.failures[0]) == (
        "half on made, 3 per class, seed 1, protocol honest: FileNotFoundError: no image obj1__0.png"
    )
    assert "in halve_even" in outcome.failures[0].trace
    assert set(errors(store)) == {0, 2, 4}
    assert run_tasks(tasks(), halve, store) == Outcome(found=3, computed=3)
    assert errors(store) == ALL


def test_a_class_with_too_few_images_is_named(store: RowStore) -> None:
    (failure,) = run_tasks(tasks(1), too_few, store).failures
    rule = "`n_per_class` must be smaller than every class, and class 1 has 3 samples. Got 3."
    assert f"half on made, 3 per class, seed 0, protocol honest: ValueError: {rule}" in str(failure)


def test_work_must_give_the_row_of_its_task(store: RowStore) -> None:
    (failure,) = run_tasks(tasks(1), wrong_row, store).failures
    assert "TypeError: `work` must give the row of its task. Got Row(" in failure.reason
    (failure,) = run_tasks(tasks(1), print, store).failures
    assert "Got None" in failure.reason
    assert len(store) == 0


def test_a_damaged_row_is_named_before_any_work(store: RowStore) -> None:
    run_tasks(tasks(1), halve, store)
    store._connection.execute("UPDATE rows SET result = replace(result, '0.5', '0.1')")
    with pytest.raises(OSError, match=r"Got '.*rows\.sqlite' with a damaged row for"):
        run_tasks(tasks(), wrong_row, store)


@pytest.mark.slow
def test_a_killed_worker_is_told_and_the_rows_stay(store: RowStore) -> None:
    run_tasks(tasks(1), halve, store)
    wording = (
        r"^A worker process was killed.* 0 of 5 rows were computed and are in '.*rows\.sqlite'\. Start"
    )
    with pytest.raises(RuntimeError, match=wording):
        run_tasks(tasks(), die, store, n_jobs=2)
    assert errors(store) == {0: 0.5}


def test_a_store_in_use_is_refused(store: RowStore) -> None:
    refused = pytest.raises(RuntimeError, match="one run at a time")
    with RowStore(store.path) as other, other.claimed(), refused:
        run_tasks(tasks(), halve, store)
    assert run_tasks(tasks(), halve, store).computed == N_TASKS


def test_nothing_is_shown_where_stderr_is_no_terminal(store: RowStore, capfd) -> None:
    run_tasks(tasks(), halve, store)
    assert capfd.readouterr() == ("", "")


def test_the_bar_counts_rows_on_stderr(store: RowStore, capfd) -> None:
    pytest.importorskip("rich", reason="the bar needs rich")
    run_tasks(tasks(), halve, store, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert f"{N_TASKS}/{N_TASKS}" in err


def test_a_bar_without_rich_names_the_extra(store: RowStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with pytest.raises(ImportError, match=r"needs rich.*pip install 'nsse\[cli\]'"):
        run_tasks(tasks(), halve, store, progress=True)
    assert len(store) == 0


# A run in a process of its own, killed or interrupted.

SLOW_RUN = """
import sys, time
from nsse.evaluation import Row, RowStore, Task, run_tasks

def work(task):
    with open(sys.argv[2], "a") as log:
        log.write(f"{task.seed}\\n")
    time.sleep(float(sys.argv[4]))
    return Row(task, 1.0 / (task.seed + 2), 0.0, 0.0, chosen={"k": task.seed % 3})

tasks = [Task("made", "half", n_train=3, seed=seed) for seed in range(30)]
with RowStore(sys.argv[1]) as store:
    outcome = run_tasks(tasks, work, store, n_jobs=int(sys.argv[3]))
print(outcome.found, outcome.computed, len(outcome.failures))
"""


class SlowRun:
    """Thirty rows of 50 ms each, written by a process that can be stopped."""

    def __init__(self, folder: Path, n_jobs: int) -> None:
        self.path, self.log = folder / "rows.sqlite", folder / "log"
        folder.mkdir(exist_ok=True)
        (folder / "run.py").write_text(textwrap.dedent(SLOW_RUN), encoding="utf-8")
        self.command = [
            sys.executable,
            str(folder / "run.py"),
            str(self.path),
            str(self.log),
            str(n_jobs),
            "0.05",
        ]

    def start(self) -> subprocess.Popen:
        path = os.pathsep.join([str(Path(nsse.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        return subprocess.Popen(
            self.command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": path},
            # Where the tests run in the background SIGINT is ignored, and would be by the children.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def wait_for(self, process: subprocess.Popen, n_rows: int) -> None:
        end = time.monotonic() + 60.0
        while self.count() < n_rows:
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < end, "no rows within a minute"
            time.sleep(0.01)

    def count(self) -> int:
        if not self.path.exists():
            return 0
        with RowStore(self.path) as store:
            return len(store)

    def finish(self) -> None:
        """The same run once more, in this process and without waiting."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", [*self.command[1:4], "1", "0.0"])
            runpy.run_path(self.command[1])

    def table(self) -> list[tuple]:
        with RowStore(self.path) as store:
            rows = sorted(store.rows(), key=lambda row: row.task.seed)
        return [(row.task, row.error, row.chosen) for row in rows]


needs_groups = pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")


@pytest.mark.slow
@needs_groups
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_killed_in_the_middle_it_goes_on_and_ends_with_the_same_table(
    tmp_path: Path, n_jobs: int, capsys
) -> None:
    killed = SlowRun(tmp_path / "killed", n_jobs)
    process = killed.start()
    killed.wait_for(process, 5)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    stored = killed.count()
    assert 5 <= stored < 30
    killed.finish()
    assert capsys.readouterr().out.split() == [str(stored), str(30 - stored), "0"]
    assert killed.table() == [(task, 1.0 / (k + 2), {"k": k % 3}) for k, task in enumerate(tasks(30))]
    # Nothing stored was begun again: at most what was under way at the kill appears twice.
    assert 30 <= len(killed.log.read_text().split()) <= 30 + 4 * n_jobs


@pytest.mark.slow
@needs_groups
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_says_what_was_done(tmp_path: Path, n_jobs: int) -> None:
    run = SlowRun(tmp_path / "run", n_jobs)
    process = run.start()
    run.wait_for(process, 4)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode != 0
    state = f"{run.count()} of 30 rows were computed and are in {str(run.path)!r}. Start again to go on."
    assert f"KeyboardInterrupt: {state}" in err
