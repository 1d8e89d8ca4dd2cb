"""Compute many tasks, one row each. Rows are stored when they finish, so that a run can continue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from nsse._support.errors import rule_error
from nsse._support.progress import progress_bar
from reproduction.rows import Row, RowFile, Task


@dataclass(frozen=True)
class Failure:
    """A task that failed, and the reason. Nothing is stored, and the next run tries it again."""

    task: Task
    reason: str


@dataclass(frozen=True)
class Outcome:
    """The result of a run: rows found in the file, rows computed, tasks that failed."""

    found: int
    computed: int
    failures: tuple[Failure, ...] = ()

    def __str__(self) -> str:
        return f"Rows: {self.found} found, {self.computed} computed, {len(self.failures)} failed."

    @property
    def reasons(self) -> list[str]:
        """One line for each reason of failures, with the number of tasks."""
        counts = Counter(failure.reason for failure in self.failures)
        first = {failure.reason: failure.task for failure in reversed(self.failures)}
        more = {reason: f" (and {n - 1} more rows)" if n > 1 else "" for reason, n in counts.items()}
        return [f"{first[reason]}: {reason}{others}" for reason, others in more.items()]


def run_tasks(
    tasks: Iterable[Task], work: Callable[[Task], Row], rows: RowFile, n_jobs: int = 1
) -> Outcome:
    """Compute the missing rows. Each is stored when it finishes.

    BLAS runs on one thread, so that a row does not depend on the number of workers. An exception is a
    failure of that task alone. Ctrl-C ends the run, and the computed rows stay.
    """
    tasks = list(dict.fromkeys(tasks))
    waiting = [task for task in tasks if task not in rows]
    failures: list[Failure] = []
    computed = 0
    with rows.claimed():
        # One task at a time, because joblib would return a batch of quick tasks only when all are done.
        parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
        handed_out = (delayed(_attempt)(work, task) for task in waiting)
        try:
            # A worker can die while this call hands out the first tasks.
            with (
                closing(parallel(handed_out)) as results,
                progress_bar(len(waiting), "rows", None) as advance,
            ):
                for result in results:
                    advance()
                    if isinstance(result, Failure):
                        failures.append(result)
                    else:
                        rows.add(result)
                        computed += 1
        except (KeyboardInterrupt, BrokenProcessPool) as error:
            state = f"{computed} of {len(waiting)} rows were computed and are in {str(rows.path)!r}."
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(f"{state} Start again to continue.") from None
            cure = "Start again with fewer --jobs to continue."
            raise RuntimeError(
                f"A worker process was killed, perhaps because memory ran out. {state} {cure}"
            ) from error
    failures.sort(key=lambda failure: tasks.index(failure.task))
    outcome = Outcome(len(tasks) - len(waiting), computed, tuple(failures))
    print(outcome)
    return outcome


def _attempt(work: Callable[[Task], Row], task: Task) -> Row | Failure:
    try:
        with threadpool_limits(1):
            return work(task)
    except Exception as error:
        return Failure(task, f"{type(error).__name__}: {error}")


def chosen(option: str, given: Sequence[str] | None, known: Iterable[str]) -> list[str]:
    """Return the given names if all are known, or all known names if none is given."""
    available = list(known)
    for name in given or ():
        if name not in available:
            raise rule_error(option, "contain known names", name, f"Use {', '.join(available)}.")
    return list(given or available)
