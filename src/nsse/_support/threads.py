"""Threads, set on purpose: BLAS on one, our own panels on as many as the user allows.

NumPy and SciPy each bring an OpenBLAS with a pool of its own. The threads of a pool wait for each other
by spinning: on a small matrix, or when anything else runs on the machine, two of them can take a
hundred times longer than one. And the bits of a product depend on how BLAS cut it up. Here every BLAS
call runs on one thread, and large products are cut into panels of our own that a plain thread pool
works through: nothing spins, and the result has the same bits whatever the number of threads.
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

    The first to enter sets one thread, the last to leave restores, whichever Python threads they are.
    Nested limits would go wrong when two of them overlap: the one that leaves last would restore the
    limit that the other had set.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.before: list[tuple[Any, int]] = []
        self.allowed = 1


_LIMIT = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run the block with BLAS on one thread; `in_parallel` inside it may still use several."""
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

    ``n_values`` is the size of the result: small ones are not worth a second thread. The first
    exception of a task is raised here, and so is an interruption; tasks that have not begun are left.
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
                            waiting = iter(())  # nobody begins another one
                        raise

        # The thread that asks works too: one thread less to wake, which counts where work is short.
        helpers = [_helpers().submit(drain) for _ in range(n_threads - 1)]
        try:
            drain()
        finally:
            # Whoever has not begun is not needed: no task is left. Nobody waits for a helper that
            # waits in turn for its own, however calls are nested.
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
    # Finding the loaded libraries takes milliseconds; they do not change once NumPy and SciPy are in.
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
