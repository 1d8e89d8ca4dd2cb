"""Many tasks, one row each, on disk as each finishes; started again, it goes on where it was.

Workers compute, this process writes. Which workers is joblib's business: processes by default, or
whatever ``joblib.parallel_config`` names around the call ("threading", "dask", ...).
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from joblib import Parallel, delayed

from nsse._progress import progress_bar
from nsse._threads import one_blas_thread
from nsse.evaluation.store import RowStore
from nsse.evaluation.tasks import Row, Task

Work: TypeAlias = Callable[[Task], Row]


@dataclass(frozen=True)
class Failure:
    """A task that gave no row: nothing of it is stored, and the next run tries it again.

    Attributes
    ----------
    task : Task
        Which.
    reason : str
        The error in a line.
    trace : str
        Where it was raised.

    See Also
    --------
    nsse.evaluation.run_tasks : Counts them in its `Outcome`.

    Examples
    --------
    >>> from nsse.evaluation import Failure, Task
    >>> Failure(Task("digits", "NN", n_train=7, seed=0), "too few samples", "").reason
    'too few samples'
    """

    task: Task
    reason: str  # kind and message of the exception
    trace: str

    def __str__(self) -> str:
        return f"{self.task}: {self.reason}"


@dataclass(frozen=True)
class Outcome:
    """What a run did: rows found in the store, rows computed, tasks that failed.

    Attributes
    ----------
    found, computed : int
        Rows that were there, and rows that are new.
    failures : tuple of Failure
        Tasks without a row.

    See Also
    --------
    nsse.evaluation.run_tasks : Gives it.

    Examples
    --------
    >>> from nsse.evaluation import Outcome
    >>> Outcome(found=3, computed=7).failures
    ()
    """

    found: int
    computed: int
    failures: tuple[Failure, ...] = ()

    @property
    def reasons(self) -> list[str]:
        """One line per reason of a failure, with the number of rows that it cost."""
        groups: dict[str, list[Failure]] = {}
        for failure in self.failures:
            groups.setdefault(failure.reason, []).append(failure)
        more = {
            reason: f" (and {len(group) - 1} rows more)" for reason, group in groups.items() if group[1:]
        }
        return [f"{group[0]}{more.get(reason, '')}" for reason, group in groups.items()]


def run_tasks(
    tasks: Iterable[Task],
    work: Work,
    store: RowStore,
    *,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Outcome:
    """Compute the rows that `store` lacks, each written as it finishes.

    Parameters
    ----------
    tasks : iterable of Task
        What is to be measured; a task named twice is computed once.
    work : callable
        ``work(task)`` gives the row of a task. It must be picklable where workers are processes, and
        runs with BLAS on one thread, so that a row does not depend on the number of workers. An
        exception is a failure of that task alone.
    store : RowStore
        Where rows are looked up and written. One run at a time may use it.
    n_jobs : int or None, default=None
        Number of workers, as in joblib: None is one, or what ``joblib.parallel_config`` says; -1 is
        one per processor.
    progress : bool or None, default=None
        Show a bar with an estimate of the time left on stderr (needs rich). None shows it where
        stderr is a terminal and rich is installed.

    Returns
    -------
    Outcome
        Counts, and the failures with their reasons.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C. The message says how many rows are stored.
    RuntimeError
        If another run holds the store, or a worker process was killed.

    See Also
    --------
    nsse.evaluation.RowStore : Where rows are kept.
    nsse.evaluation.compare : Small comparisons, at once.

    Notes
    -----
    joblib before 1.4 hands results over in the order of the tasks. There a row that is finished
    before an earlier task waits for it, and a process killed in between computes it again.

    Examples
    --------
    >>> import tempfile
    >>> from nsse.evaluation import Row, RowStore, Task, run_tasks
    >>> tasks = [Task("digits", "NN", n_train=7, seed=seed) for seed in range(3)]
    >>> def work(task):
    ...     return Row(task, error=0.1, fit_seconds=0.0, predict_seconds=0.0)
    >>> with tempfile.TemporaryDirectory() as folder, RowStore(f"{folder}/rows.sqlite") as store:
    ...     first, again = (run_tasks(tasks, work, store, progress=False) for _ in range(2))
    >>> first.computed, again.found
    (3, 3)
    """
    tasks = list(dict.fromkeys(tasks))
    with store.claimed():
        stored = {row.task for row in store.rows()}  # reading them all finds damage before the work
        waiting = [task for task in tasks if task not in stored]
        failures: list[Failure] = []
        computed = 0
        with (
            progress_bar(len(waiting), "rows", progress) as advance,
            _told(lambda: computed, len(waiting), store),
        ):
            for result in _results(waiting, work, n_jobs):
                if isinstance(result, Failure):
                    failures.append(result)
                else:
                    store.add(result)
                    computed += 1
                advance()
    order = {task: position for position, task in enumerate(tasks)}
    failures.sort(key=lambda failure: order[failure.task])
    return Outcome(len(tasks) - len(waiting), computed, tuple(failures))


def _results(tasks: list[Task], work: Work, n_jobs: int | None) -> Iterator[Row | Failure]:
    """Results as they come; closing the generator stops the workers."""
    # One task at a time: joblib would tie quick ones into batches, and a batch is written when its
    # last task is done.
    parallel = _parallel(n_jobs=n_jobs, batch_size=1)
    results = parallel(delayed(_attempt)(work, task) for task in tasks)
    try:
        yield from results
    finally:
        results.close()


def _parallel(**settings: Any) -> Parallel:
    try:
        return Parallel(return_as="generator_unordered", **settings)
    except ValueError:  # joblib before 1.4
        return Parallel(return_as="generator", **settings)


def _attempt(work: Work, task: Task) -> Row | Failure:
    try:
        with one_blas_thread():
            row = work(task)
        if not isinstance(row, Row) or row.task != task:
            raise TypeError(f"`work` must give the row of its task. Got {row!r}. Return Row(task, ...).")
        return row
    except Exception as error:
        return Failure(task, f"{type(error).__name__}: {error}", traceback.format_exc())


@contextmanager
def _told(computed: Callable[[], int], n_waiting: int, store: RowStore) -> Iterator[None]:
    """Say what was done when a run ends before its time."""

    def state() -> str:
        return f"{computed()} of {n_waiting} rows were computed and are in {str(store.path)!r}"

    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{state()}. Start again to go on.") from None
    except BrokenProcessPool as error:
        raise RuntimeError(
            f"A worker process was killed, perhaps for want of memory: {state()}. "
            "Start again with a smaller `n_jobs` to go on."
        ) from error
