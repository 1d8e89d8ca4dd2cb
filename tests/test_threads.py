"""Threads: one for BLAS while we work, the user's number after, and the same bits for any number."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
import warnings

import numpy as np
import pytest
import threadpoolctl
from scipy.spatial.distance import cdist

from nsse._support.threads import WORTH_A_THREAD, in_parallel, one_blas_thread
from nsse.kernels import Gaussian
from nsse.ridge import KernelSums

LARGE = WORTH_A_THREAD
PATIENCE = 60.0  # seconds until a thread that does not come is missed, on a machine with other work


def set_blas_threads(n_threads):
    for library in threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers:
        library.set_num_threads(n_threads)
        # Newer threadpoolctl lets one Python thread at a time set limits: give that right back.
        getattr(library, "clear_controlling_thread", lambda: None)()


@pytest.fixture
def two_threads():
    """BLAS on two threads, as on a user's machine, whatever this one was started with."""
    before = max(blas_threads())
    set_blas_threads(2)
    if blas_threads() != {2}:
        pytest.skip("this BLAS cannot be given two threads")
    yield
    set_blas_threads(before)


def blas_threads():
    info = threadpoolctl.threadpool_info()
    return {library["num_threads"] for library in info if library["user_api"] == "blas"}


def names_of_workers(n_values, meet=1):
    """Names of the threads that did four tasks; ``meet`` of them must be at work at the same time."""
    names, meeting = [], threading.Barrier(meet)

    def work(task):
        meeting.wait(PATIENCE)
        names.append(threading.current_thread().name)

    in_parallel(work, range(4), n_values)
    return names


def test_an_interruption_leaves_what_has_not_begun(two_threads):
    """Others would go on with all tasks while the one who was interrupted waits for them."""
    begun, main = [], threading.main_thread()
    other_began, interrupted = threading.Event(), threading.Event()

    def work(task):
        begun.append(task)
        if threading.current_thread() is main:
            assert other_began.wait(PATIENCE)
            interrupted.set()
            raise KeyboardInterrupt
        other_began.set()
        assert interrupted.wait(PATIENCE)
        time.sleep(0.05)  # what the main thread needs to be heard

    with one_blas_thread(), pytest.raises(KeyboardInterrupt):
        in_parallel(work, range(400), LARGE)
    assert len(begun) < 200


# The limit


def test_blas_has_one_thread_inside_and_the_users_number_after(two_threads):
    with one_blas_thread():
        assert blas_threads() == {1}
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_limit_is_lifted_after_an_exception(two_threads):
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert blas_threads() == {2}


def together(*targets):
    workers = [threading.Thread(target=target) for target in targets]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def test_threads_that_overlap_leave_the_limit_as_they_found_it(two_threads):
    """The first to enter leaves first, and lives on: the other one has to restore what it never set."""
    seen = {}
    first_inside, second_inside, first_out, second_out = (threading.Event() for _ in range(4))

    def first():
        with one_blas_thread():
            first_inside.set()
            second_inside.wait(PATIENCE)
        seen["after the first left"] = blas_threads()
        first_out.set()
        second_out.wait(PATIENCE)

    def second():
        first_inside.wait(PATIENCE)
        with one_blas_thread():
            second_inside.set()
            first_out.wait(PATIENCE)
            seen["second inside"] = blas_threads()
        seen["after both left"] = blas_threads()
        second_out.set()

    together(first, second)
    assert seen == {"after the first left": {1}, "second inside": {1}, "after both left": {2}}
    assert blas_threads() == {2}


def test_a_limit_of_the_users_own_does_not_keep_blas_from_one_thread(two_threads):
    """A worker thread inside the main thread's `threadpool_limits`: as in a joblib threading backend."""
    seen = []

    def work():
        with one_blas_thread():
            seen.append(blas_threads())
        seen.append(blas_threads())

    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        together(work)
    assert seen == [{1}, {2}]


@pytest.mark.slow
def test_many_threads_at_once_leave_the_limit_as_they_found_it(two_threads):
    inside = []

    def enter_often():
        for _ in range(30):
            with one_blas_thread():
                inside.append(blas_threads())

    together(*[enter_often] * 4)
    assert all(threads == {1} for threads in inside)
    assert len(inside) == 120
    assert blas_threads() == {2}


# The tasks


@pytest.mark.parametrize("n_values", [1, LARGE])
def test_every_task_is_done_once(two_threads, n_values):
    done = []
    in_parallel(done.append, iter(range(50)), n_values)
    in_parallel(pytest.fail, [], n_values)
    assert sorted(done) == list(range(50))


def test_large_results_use_as_many_threads_as_blas_was_given(two_threads):
    here = {threading.current_thread().name}
    assert len(set(names_of_workers(LARGE, meet=2))) == 2
    with one_blas_thread():  # ours is no limit of the user's
        assert len(set(names_of_workers(LARGE, meet=2))) == 2
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        assert set(names_of_workers(LARGE)) == here
    assert set(names_of_workers(LARGE - 1)) == here  # not worth a second thread


@pytest.mark.parametrize("n_values", [1, LARGE])
def test_the_exception_of_a_task_is_raised_and_the_limit_lifted(two_threads, n_values):
    def work(task):
        if task == 2:
            raise RuntimeError(f"task {task} failed")

    with pytest.raises(RuntimeError, match="task 2 failed"):
        in_parallel(work, range(4), n_values)
    assert blas_threads() == {2}


def test_calls_inside_calls_end(two_threads):
    """More of them than there are threads: nobody may wait for a helper that never begins."""
    done = []

    def inner(task):
        time.sleep(0.001)
        done.append(task)

    def middle(task):
        in_parallel(inner, range(3), LARGE)

    def outer(task):
        in_parallel(middle, range(3), LARGE)

    in_parallel(outer, range(8), LARGE)
    assert len(done) == 8 * 3 * 3


@pytest.mark.slow
def test_threads_stay_from_one_call_to_the_next(two_threads):
    here = threading.current_thread().name
    helpers = set().union(*(names_of_workers(LARGE, meet=2) for _ in range(20))) - {here}
    assert 1 <= len(helpers) <= os.cpu_count()
    assert helpers <= {thread.name for thread in threading.enumerate()}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_has_threads_of_its_own(two_threads):
    names_of_workers(LARGE, meet=2)  # this process has its helpers, which do not follow
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn about a fork beside threads
        context = multiprocessing.get_context("fork")
        child = context.Process(target=names_of_workers, args=(LARGE, 2))
        child.start()
    child.join(PATIENCE)
    hangs = child.is_alive()
    child.kill()
    child.join()
    assert not hangs
    assert child.exitcode == 0


# The bits


def test_sums_of_products_have_the_same_bits(two_threads):
    rng = np.random.default_rng(0)
    Z, codes, weights = rng.normal(size=(1300, 6)), rng.integers(3, size=1300), rng.random(1300)
    of_block = KernelSums(Gaussian().at(2.0), Z[:1100], 3)  # three panels, the last one narrow
    several = of_block(Z, codes, weights)
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        one = of_block(Z, codes, weights)
    np.testing.assert_array_equal(several.products, one.products)
    np.testing.assert_array_equal(several.by_class, one.by_class)
    K = np.exp(-cdist(Z, Z[:1100], "sqeuclidean") / 4.0)
    np.testing.assert_allclose(np.tril(one.products), np.tril(K.T * weights @ K), atol=1e-9)
    np.testing.assert_allclose(one.by_class, K.T * weights @ np.eye(3)[codes], atol=1e-10)
