"""One estimator that several threads fit at the same time."""

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from nsse import NSSE, SmoothEmbedding
from nsse.methods import LFDA

X, Y = load_digits(return_X_y=True)
N_THREADS = 8
PATIENCE = 60.0  # seconds until a thread that does not come is missed, on a machine with other work


def at_once(work, tasks):
    """Call ``work`` on every task, on a thread each, all of which begin at the same time."""
    start = threading.Barrier(len(tasks))

    def waiting(task):
        start.wait(PATIENCE)
        return work(task)

    with ThreadPoolExecutor(len(tasks)) as pool:
        return list(pool.map(waiting, tasks))


@pytest.mark.parametrize("model", [SmoothEmbedding(), NSSE(sigma=1.0), LFDA()], ids=str)
def test_fits_of_one_estimator_end_with_the_state_of_one_of_them(model):
    # Samples of other numbers, classes and features: no two of the fits agree in any shape.
    tasks = [(X[: 60 + 7 * k, : 64 - k], Y[: 60 + 7 * k] % (k + 2)) for k in range(N_THREADS)]
    for _ in range(3):
        assert at_once(lambda task: model.fit(*task), tasks) == [model] * N_THREADS
        k = len(model.classes_) - 2
        again = clone(model).fit(*tasks[k])
        assert vars(model).keys() == vars(again).keys()
        np.testing.assert_array_equal(model.embedding_, again.embedding_)
        np.testing.assert_array_equal(model.transform(X[:, : 64 - k]), again.transform(X[:, : 64 - k]))


def test_updates_of_one_estimator_are_all_learned():
    first, *chunks = np.array_split(np.arange(900), N_THREADS + 1)
    start = SmoothEmbedding(centers=40).partial_fit(X[first], Y[first])
    model, expected = pickle.loads(pickle.dumps(start)), clone(start).partial_fit(X[first], Y[first])
    at_once(lambda part: model.partial_fit(X[part], Y[part]), chunks)
    for part in chunks:
        expected.partial_fit(X[part], Y[part])
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-8)


def test_an_estimator_that_was_fitted_in_threads_is_copied_and_pickled():
    model = SmoothEmbedding()
    at_once(lambda n: model.fit(X[:n], Y[:n]), [100, 101, 102])
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.transform(X), model.transform(X))
    assert not hasattr(clone(model), "map_")
