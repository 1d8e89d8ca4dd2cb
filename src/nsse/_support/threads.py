"""Control threads: BLAS uses one, and our blocks use as many as the user allows.

NumPy and SciPy each bring an OpenBLAS with its own pool. The threads of a pool wait for each other by
spinning. If a matrix is small, or if anything else runs, two of them can take a hundred times longer
than one. The bits of a product also depend on how BLAS divides it. Every BLAS call therefore runs on one
thread, and large products are divided into blocks for a plain thread pool. Nothing spins, and the result
has the same bits for every number of threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Task = TypeVar("Task")

WORTH_A_THREAD = 500_000
FEW_ROWS = 1000
DONE: Any = object()


class _Limit:
    """A counted limit for the pools that a whole process shares (OpenBLAS on plain threads).

    The first block that is entered sets one thread, and the last one that is left restores the limit, in
    whichever Python threads they are. Nested limits would fail if two of them overlap, because the one
    that is left last would restore the limit that the other one had set.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.before: list[tuple[Any, int]] = []
        self.allowed = 1


_LIMIT = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run the block with BLAS on one thread. Inside it, `in_parallel` may still use several."""
    with _LIMIT.lock:
        if _LIMIT.inside == 0:
            _LIMIT.allowed = max((pool.num_threads for pool in _all_pools()), default=1)
            _LIMIT.before = [(p, p.num_threads) for p in _shared_pools() if p.num_threads > 1]
            for pool, _ in _LIMIT.before:
                _set_threads(pool, 1)
        _LIMIT.inside += 1
    try:
        with _limit_of_this_thread():
            yield
    finally:
        with _LIMIT.lock:
            _LIMIT.inside -= 1
            if _LIMIT.inside == 0:
                for pool, before in _LIMIT.before:
                    _set_threads(pool, before)


def threads_for(n_rows: int) -> AbstractContextManager[Any]:
    """Use one BLAS thread for matrices of few rows, and all allowed threads otherwise."""
    return one_blas_thread() if n_rows < FEW_ROWS else nullcontext()


def in_parallel(work: Callable[[Task], Any], tasks: Iterable[Task], n_values: int) -> None:
    """Call ``work`` on every task, on as many threads as the user allows BLAS to have.

    ``n_values`` is the size of the result, because small results are not worth a second thread. The
    first exception of a task is raised here, and so is an interruption. Tasks that have not begun are
    then dropped.
    """
    tasks = list(tasks)
    with one_blas_thread():
        n_threads = min(_LIMIT.allowed, len(tasks))
        if n_threads <= 1 or n_values < WORTH_A_THREAD:
            for task in tasks:
                work(task)
            return

        waiting, lock = iter(tasks), threading.Lock()

        def drain() -> None:
            nonlocal waiting
            with _limit_of_this_thread():
                while True:
                    with lock:
                        task = next(waiting, DONE)
                    if task is DONE:
                        return
                    try:
                        work(task)
                    except BaseException:
                        with lock:
                            waiting = iter(())  # no thread begins another task
                        raise

        # The calling thread works too. This saves waking up one thread, which matters if the work is
        # short.
        helpers = [_helpers().submit(drain) for _ in range(n_threads - 1)]
        try:
            drain()
        finally:
            # Threads that have not begun are not needed, because no task is left. No thread waits for a
            # helper that waits for its own helpers, also if calls are nested.
            busy = [helper for helper in helpers if not helper.cancel()]
            wait(busy)
        for helper in busy:
            helper.result()


@cache
def _helpers() -> ThreadPoolExecutor:
    """Return a pool of threads that is reused, because starting one takes longer than many products."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="nsse")


if hasattr(os, "register_at_fork"):  # the threads do not follow into a forked process
    os.register_at_fork(after_in_child=_helpers.cache_clear)


@cache
def _controller() -> ThreadpoolController:
    # Finding the loaded libraries takes milliseconds. They do not change after NumPy and SciPy are
    # imported.
    import scipy.linalg  # noqa: F401

    return ThreadpoolController().select(user_api="blas")


@cache
def _all_pools() -> list[Any]:
    return list(_controller().lib_controllers)


@cache
def _shared_pools() -> list[Any]:
    """Return the BLAS libraries whose limit holds for the process and not for each thread."""
    return [pool for pool in _all_pools() if getattr(pool, "threading_layer", None) == "pthreads"]


def _limit_of_this_thread() -> AbstractContextManager[Any]:
    if len(_shared_pools()) == len(_all_pools()):
        return nullcontext()
    return _controller().limit(limits=1, user_api="blas")


def _set_threads(pool: Any, number: int) -> None:
    # Newer versions of threadpoolctl heed only the Python thread that set a limit first. Our count may
    # be brought to zero by another one, so we go round that rule where it exists.
    getattr(pool, "_real_set_num_threads", pool.set_num_threads)(number)
