"""A study: which rows, in which order, of which samples; the methods; a process of its own."""

from __future__ import annotations

import os
import signal
import sys

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import KNeighborsClassifier

from nsse.evaluation import Row, RowStore, Task, per_class_split, rivals, run_tasks
from nsse.evaluation.apart import apart
from nsse.evaluation.reading import read
from nsse.evaluation.study import Study, StudyMethod, StudySet, drawn, goes, half_of


def made(n_per_class, n_features=4, n_classes=3):
    """Samples whose classes lie apart in every feature."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), n_per_class)
    return 50.0 + 9.0 * rng.normal(size=(len(y), n_features)) + 30.0 * y[:, np.newaxis], y


def nearest(shape):
    return KNeighborsClassifier(1)


class Pid(ClassifierMixin, BaseEstimator):
    """Labels are the number of the process."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), os.getpid())


def pid(shape):
    return Pid()


SETS = (StudySet("small", made, (8,)), StudySet("large", made, (30,)))
METHODS = (StudyMethod("nearest", nearest), StudyMethod("LDA", rivals.shrinkage_lda))
STUDY = Study(SETS, METHODS, sizes=(5, 10), n_splits=2)
BUILDERS = {
    "svc": rivals.svc,
    "lda": rivals.shrinkage_lda,
    "logistic": rivals.logistic,
    "neighbors": rivals.neighbors,
    "forest": rivals.forest,
    "boosting": rivals.boosting,
    "nca": rivals.nca,
    "kernel_pca_lda": rivals.kernel_pca_lda,
    "umap": rivals.supervised_umap,
}


@pytest.fixture
def store(tmp_path):
    with RowStore(tmp_path / "rows.sqlite") as opened:
        yield opened


def test_all_have_their_first_split_before_any_has_its_second():
    tasks = STUDY.tasks()
    told = [(task.seed, task.n_train, task.dataset, task.method) for task in tasks]
    cells = [(5, "small"), (5, "large"), (10, "large")]  # 8 samples of a class are not 10
    assert told == [
        (seed, *cell, method.name) for seed in (0, 1) for cell in cells for method in METHODS
    ]
    assert len(set(tasks)) == len(tasks)


def test_a_set_goes_as_far_as_its_smallest_class():
    y = np.repeat([0, 1], [6, 9])
    assert goes(y, 5)
    assert not goes(y, 6)
    assert not goes(np.repeat(np.arange(300), 6), 5)  # 1500 training samples are too many


def test_samples_are_standardised_by_the_training_samples_alone():
    X, y = made(30)
    X = np.column_stack([X, np.full(len(X), 7.0)])
    task = Task("large", "LDA", 10, 3)
    train, test, y_train, y_test = drawn(X, y, task)
    np.testing.assert_allclose(train.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(train.std(axis=0), [1, 1, 1, 1, 0], atol=1e-12)
    assert np.bincount(y_train).tolist() == [10, 10, 10]
    # Test samples changed tenfold change no training sample.
    moved = X.copy()
    moved[per_class_split(y, 10, 3)[1]] *= 10
    again, other, _, _ = drawn(moved, y, task)
    np.testing.assert_array_equal(again, train)
    assert not np.allclose(other, test)
    assert len(test) == len(y_test) == 60


def test_a_row_has_error_seconds_shape_and_choice(store):
    study = Study(SETS, [StudyMethod("k-NN", rivals.neighbors)], sizes=(5,), n_splits=1)
    assert run_tasks(study.tasks(), study, store).computed == 2
    small = next(row for row in store.rows() if row.task.dataset == "small")
    assert small.details == {"train": 15, "test": 9, "features": 4, "classes": 3, "warnings": {}}
    assert small.chosen["n_neighbors"] in (1, 3, 5, 9)
    assert 0 <= small.error < 0.4
    assert small.fit_seconds > 0


def test_an_unknown_task_is_refused():
    with pytest.raises(ValueError, match=r"must name a set and a method of this study.* 'other'"):
        STUDY(Task("other", "LDA", 5, 0))


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("shape", [(2, 2, 5), (320, 3, 5), (4, 12, 10)], ids=str)
def test_every_rival_learns_from_few_samples(name, shape):
    if name == "umap":
        pytest.importorskip("umap")
    n_features, n_classes, size = shape
    study = Study(
        [StudySet("made", made, (size + 10, n_features, n_classes))],
        [StudyMethod(name, BUILDERS[name], apart=name == "umap")],
        sizes=(size,),
        n_splits=1,
    )
    (task,) = study.tasks()
    assert study(task).error < 0.8 * (1 - 1 / n_classes)


@pytest.mark.slow
def test_a_cluster_gives_the_same_errors(store):
    distributed = pytest.importorskip("distributed", reason="a cluster needs dask.distributed")
    with distributed.Client(processes=False, n_workers=1, dashboard_address=":0"):  # noqa: SIM117
        with joblib.parallel_config(backend="dask"):
            assert run_tasks(STUDY.tasks(), STUDY, store).computed == 12
    assert {row.task: row.error for row in store.rows()} == {t: STUDY(t).error for t in STUDY.tasks()}


def test_halves_are_for_ever():
    names = ("coil20", "yale", "orl", "digits", "mnist", "wine", "iris", "breast_cancer", "wdbc")
    halves = {name: half_of(name) for name in names}
    assert [name for name in names if halves[name] == "report"] == ["coil20", "yale", "iris"]


# A process of its own.


def process_and_sum(*numbers):
    return os.getpid(), sum(numbers)


def divide(one, other):
    sys.stdout.write("not an answer")
    return one / other


def end():
    os.kill(os.getpid(), signal.SIGKILL)


def test_it_is_another_process_and_stays():
    (first, total), (second, _) = apart(process_and_sum, 1, 2), apart(process_and_sum)
    assert total == 3
    assert first == second != os.getpid()


def test_an_exception_comes_back_and_the_process_goes_on():
    before, _ = apart(process_and_sum)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        apart(divide, 1, 0)
    assert apart(divide, 6, 3) == 2
    assert apart(process_and_sum)[0] == before


def test_a_killed_process_is_told_and_replaced():
    before, _ = apart(process_and_sum)
    with pytest.raises(RuntimeError, match=r"Got none from the one of 'end' \(it ended with -9\)"):
        apart(end)
    assert apart(process_and_sum)[0] != before


def test_a_method_may_run_apart():
    study = Study(SETS, [StudyMethod("pid", pid, apart=True)], sizes=(5,), n_splits=1)
    row = study(study.tasks()[0])
    assert row.error == 1.0  # no class is called by the number of a process
    assert row.fit_seconds >= 0


# What the rows say.


def row(name, size, seed, method, error, seconds=1.0):
    task = Task(name, method, size, seed)
    return Row(task, error, seconds, 0.0, details={"train": 9, "features": 4, "classes": 2})


def test_a_split_counts_where_all_methods_have_it():
    rows = [row("a", 5, seed, m, e) for seed in (0, 1) for m, e in (("x", 0.2), ("y", 0.1))]
    rows += [row("a", 5, 2, "x", 1.0), row("b", 5, 0, "x", 1.0)]
    reading, left_out = read(rows, ("x", "y"))
    assert left_out == 1
    (case,) = reading.cases
    assert (case.name, case.n_splits, case.errors) == ("a", 2, {"x": 20.0, "y": 10.0})
    assert reading.splits == (2, 2)


def test_sizes_of_a_set_are_one_line_of_the_test():
    errors = {("a", 5): (0.4, 0.2), ("a", 10): (0.1, 0.2), ("b", 5): (0.3, 0.1)}
    rows = [
        row(name, size, 0, method, error, seconds=2.0)
        for (name, size), pair in errors.items()
        for method, error in zip(("x", "y"), pair, strict=True)
    ]
    reading, _ = read(rows, ("x", "y"))
    np.testing.assert_allclose(reading.set_errors, [[25, 20], [30, 10]])
    np.testing.assert_allclose(reading.case_errors, [[40, 20], [10, 20], [30, 10]])
    assert reading.ranks == {"x": 2.0, "y": 1.0}
    assert reading.by_rank == ["y", "x"]
    (duel,) = reading.duels("x")
    assert (duel.wins, duel.ties, duel.losses) == (1, 0, 2)
    assert reading.of_sizes(5).mean_error("x") == pytest.approx(35)
    assert reading.of_sets(["b"]).names == ["b"]
    assert reading.seconds("x") == 2.0


def test_seconds_are_means_over_splits():
    rows = [row("a", 5, seed, "x", 0.2, seconds) for seed, seconds in ((0, 1.0), (1, 3.0))]
    reading, _ = read(rows, ("x",))
    assert reading.seconds("x") == 2.0
