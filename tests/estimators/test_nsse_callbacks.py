"""Watching a fit: callbacks of ours, callbacks of scikit-learn, and the log."""

from __future__ import annotations

import io
import logging
import pickle
from contextlib import contextmanager

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.utils.fixes import parse_version

from nsse import NSSE

RNG = np.random.default_rng(0)
Y = np.arange(60) % 3
X = 40 * RNG.normal(size=(3, 5))[Y] + 30 * RNG.normal(size=(60, 5))

SOLVERS = pytest.mark.parametrize("solver", ["joint", "alternating"])


# -------------------------------------------------------------------------------- callback(step)


@pytest.mark.parametrize(
    "parameters", [{}, {"solver": "alternating"}, {"sigma": 0.5}], ids=["joint", "alternating", "fixed"]
)
def test_every_step_in_order(parameters):
    steps = []
    model = NSSE.as_published(callback=steps.append, **parameters).fit(X, Y)
    assert tuple(steps) == model.trace_.steps
    assert len(steps) > 1 or "sigma" in parameters
    iterations = [step.iteration for step in steps]
    assert iterations == sorted(iterations)
    assert iterations[0] == 0
    # In the units of X, as `sigma_` is.
    best = min(steps, key=lambda step: step.objective)
    assert best.sigma == model.sigma_
    assert best.objective == model.objective_
    low, high = model.sigma_range
    assert all(low <= step.sigma / model.length_unit_ * 1.0001 for step in steps)
    assert all(step.sigma / model.length_unit_ * 0.9999 <= high for step in steps)
    for step in steps:
        parts = step.within + step.between + step.regularity + step.scale
        assert step.objective == pytest.approx(parts, rel=1e-9)
        assert step.seconds > 0
        assert step.stage in {"scan", "joint", "embedding", "scale", "fixed"}


@pytest.mark.slow
def test_a_large_problem_is_watched_too():
    labels = np.arange(800) % 4
    samples = RNG.normal(size=(4, 5))[labels] + RNG.normal(size=(800, 5))
    steps = []
    model = NSSE.as_published(callback=steps.append).fit(samples, labels)
    assert tuple(steps) == model.trace_.steps
    assert [step.stage for step in steps] == ["joint"] * len(steps)


def test_watching_changes_nothing():
    watched = NSSE.as_published(callback=lambda step: None).fit(X, Y)
    np.testing.assert_array_equal(watched.embedding_, NSSE.as_published().fit(X, Y).embedding_)


@SOLVERS
@pytest.mark.parametrize("yes", [True, np.True_], ids=["True", "numpy's True"])
def test_true_ends_the_search(solver, yes):
    def stop_at_second(step):
        seen.append(step)
        return yes if len(seen) == 2 else None

    seen = []
    model = NSSE.as_published(solver=solver, sigma_init=0.2, callback=stop_at_second).fit(X, Y)
    assert len(seen) == len(model.trace_) == 2
    best = min(seen, key=lambda step: step.objective)
    assert (model.sigma_, model.objective_) == (best.sigma, best.objective)
    # What is left is a whole model, if not the best one.
    np.testing.assert_allclose(model.transform(X), model.embedding_, rtol=0, atol=1e-9)
    assert model.objective_ > NSSE.as_published(solver=solver).fit(X, Y).objective_
    assert pickle.loads(pickle.dumps(model.set_params(callback=None))).predict(X).shape == (60,)


@SOLVERS
def test_the_best_step_seen_is_kept_not_the_last(solver):
    costs = []

    def stop_when_worse(step):
        costs.append(step.objective)
        return step.objective > min(costs)

    model = NSSE.as_published(solver=solver, callback=stop_when_worse).fit(X, Y)
    assert model.objective_ == min(costs)


@pytest.mark.slow
@SOLVERS
@pytest.mark.parametrize("answer", [None, False, 0, "go on", 1.0])
def test_other_answers_do_not(solver, answer):
    model = NSSE.as_published(solver=solver, callback=lambda step: answer).fit(X, Y)
    assert len(model.trace_) == len(NSSE.as_published(solver=solver).fit(X, Y).trace_)


def test_a_stop_at_a_given_scale_is_no_failure():
    model = NSSE.as_published(sigma=0.5, callback=lambda step: True).fit(X, Y)
    np.testing.assert_array_equal(model.embedding_, NSSE.as_published(sigma=0.5).fit(X, Y).embedding_)


# -------------------------------------------------------------------- callbacks of scikit-learn 1.9


class Recorder:
    """A `FitCallback` that writes down what it is told and may ask for an end."""

    def __init__(self, stop_after=None, want_models=False):
        self.events, self.models = [], []
        self.stop_after, self.want_models = stop_after, want_models

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.events.append(f"end {context.task_name}")
        self.models.append((fitted_estimator, X, y))
        steps = sum(event.startswith("end") for event in self.events)
        return self.stop_after is not None and steps >= self.stop_after


def test_older_versions_lack_set_callbacks():
    has = parse_version(sklearn.__version__) >= parse_version("1.9")
    assert hasattr(NSSE.as_published(), "set_callbacks") is has
    assert NSSE.as_published().fit(X, Y).score(X, Y) > 0.8


@SOLVERS
def test_tasks_of_a_fit(solver):
    pytest.importorskip("sklearn.callback")
    recorder = Recorder()
    model = NSSE.as_published(solver=solver).set_callbacks(recorder).fit(X, Y)
    stages = [step.stage for step in model.trace_]
    tasks = [event for stage in stages for event in (f"begin {stage}", f"end {stage}")]
    assert recorder.events == ["setup", "begin fit", *tasks, "end fit", "teardown"]
    np.testing.assert_array_equal(
        model.embedding_, NSSE.as_published(solver=solver).fit(X, Y).embedding_
    )
    assert not hasattr(model, "_callback_fit_ctx")


def test_a_callback_can_use_the_model_as_it_stands():
    pytest.importorskip("sklearn.callback")
    recorder = Recorder()
    final = NSSE.as_published().set_callbacks(recorder).fit(X, Y)
    *partial, (last, samples, labels) = recorder.models
    assert len(partial) == len(final.trace_)
    for step, (model, _, _) in zip(final.trace_, partial, strict=True):
        assert model.sigma_ == step.sigma
        assert model.predict(X).shape == (60,)
    best, _, _ = partial[int(np.argmin(final.trace_.column("objective")))]
    np.testing.assert_array_equal(best.transform(X), final.transform(X))
    np.testing.assert_array_equal(last.transform(X), final.transform(X))
    np.testing.assert_array_equal(samples, X)
    np.testing.assert_array_equal(labels, Y)


@pytest.mark.slow
def test_a_model_of_a_subsample_is_read_by_the_scores_of_all_samples(make_blobs):
    """Its rows stand for classes of other sizes: the weights count those."""
    pytest.importorskip("sklearn.callback")
    data = make_blobs((3000, 1000, 700), n_features=3, seed=2, spread=1.0)
    recorder = Recorder()
    options = {"mu1": 0.5, "mu2": 1.0, "n_landmarks": 40, "normalization": "classes"}
    NSSE.as_published(classifier="scores", **options).set_callbacks(recorder).fit(data.X, data.codes)
    sizes = np.bincount(data.codes)
    *partial, (last, _, _) = recorder.models
    for model, _, _ in partial:
        rows = len(model.embedding_)
        assert rows < 4700
        means = np.array([model.transform(data.X[data.codes == c]).mean(axis=0) for c in range(3)])
        scatter = sizes @ (means - sizes @ means / sizes.sum()) ** 2
        np.testing.assert_allclose(scatter, 1.0, rtol=0.2)  # the subsample's are 1
        assert np.all(model.classifier_.scatters > 0.8)  # what separates, and more
    excess = last.eigenvalues_ / (0.5 * 4700 / 3)
    np.testing.assert_allclose(last.classifier_.scatters, 1 + excess, rtol=1e-6)


@SOLVERS
def test_a_callback_of_scikit_learn_ends_the_search(solver):
    pytest.importorskip("sklearn.callback")
    recorder = Recorder(stop_after=2)
    model = NSSE.as_published(solver=solver, sigma_init=0.2).set_callbacks(recorder).fit(X, Y)
    assert len(model.trace_) == 2
    assert model.objective_ == model.trace_.column("objective").min()
    assert recorder.events[-2:] == ["end fit", "teardown"]


def test_callbacks_are_torn_down_after_a_failure():
    pytest.importorskip("sklearn.callback")
    recorder = Recorder()

    def fail(step):
        raise RuntimeError("callback")

    model = NSSE.as_published(callback=fail).set_callbacks(recorder)
    before = dict(vars(model))
    with pytest.raises(RuntimeError, match="callback"):
        model.fit(X, Y)
    assert recorder.events[-1] == "teardown"
    assert vars(model) == before
    model.set_params(callback=None).fit(X, Y)
    assert recorder.events[-2:] == ["end fit", "teardown"]


def test_progress_bar(capsys):
    callback = pytest.importorskip("sklearn.callback")
    pytest.importorskip("rich")
    model = NSSE.as_published().set_callbacks(callback.ProgressBar()).fit(X, Y)
    assert "NSSE" in capsys.readouterr().out
    np.testing.assert_array_equal(model.embedding_, NSSE.as_published().fit(X, Y).embedding_)


def test_scoring_monitor():
    callback = pytest.importorskip("sklearn.callback")
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = NSSE.as_published().set_callbacks(monitor).fit(X, Y)
    rows = [row for row in monitor.get_logs().data if "accuracy" in row]
    # one row per step, and one for the whole fit
    assert len(rows) == len(model.trace_) + 1
    assert {row["task_name"] for row in rows} == {"scan", "joint", "fit"}
    (whole,) = (row for row in rows if row["task_name"] == "fit")
    assert whole["accuracy"] == model.score(X, Y)


def test_callbacks_survive_clone():
    pytest.importorskip("sklearn.callback")
    recorder = Recorder()
    clone(NSSE.as_published().set_callbacks(recorder)).fit(X, Y)
    assert recorder.events[-2:] == ["end fit", "teardown"]


# ------------------------------------------------------------------------------------------- log


@contextmanager
def root_logger(*handlers, level=logging.WARNING):
    """The root logger of an application (pytest adds handlers of its own at every test)."""
    root = logging.getLogger()
    before = root.handlers, root.level
    root.handlers = list(handlers)
    root.setLevel(level)
    try:
        yield
    finally:
        root.handlers = before[0]
        root.setLevel(before[1])


def state_of(logger):
    return logger.level, list(logger.handlers), logger.propagate


@SOLVERS
def test_verbose_logs_a_line_or_every_step_to_stderr(capsys, solver):
    logger = logging.getLogger("nsse")
    before = state_of(logger)
    with root_logger():
        model = NSSE.as_published(solver=solver, verbose=1).fit(X, Y)
    out, err = capsys.readouterr()
    d, sigma = model.embedding_.shape[1], model.sigma_
    said = f"[nsse] fitted {len(X)} samples of {len(set(Y))} classes: {d} dimensions, sigma {sigma:.4g}"
    assert err.splitlines() == [f"{said} after {model.n_iter_} steps"]
    with root_logger():
        NSSE.as_published(solver=solver, verbose=2).fit(X, Y)
    out, err = capsys.readouterr()
    *lines, last = err.splitlines()
    assert last.startswith(said)
    assert out == ""
    assert len(lines) == len(model.trace_)
    for line, step in zip(lines, model.trace_, strict=True):
        assert line.startswith(f"[nsse] {step.stage} {step.iteration}: sigma ")
        assert f"objective {step.excess:.6g} above its floor" in line
    assert state_of(logger) == before


def test_silent_unless_asked(capsys):
    with root_logger():
        NSSE.as_published().fit(X, Y)
    assert capsys.readouterr() == ("", "")


def test_a_failed_verbose_fit_leaves_the_logger_as_it_was():
    def fail(step):
        raise RuntimeError("callback")

    logger = logging.getLogger("nsse")
    before = state_of(logger)
    with root_logger(), pytest.raises(RuntimeError, match="callback"):
        NSSE.as_published(verbose=1, callback=fail).fit(X, Y)
    assert state_of(logger) == before


@pytest.mark.parametrize("level", [logging.INFO, logging.WARNING], ids=logging.getLevelName)
def test_the_log_goes_where_the_application_wants_it(capsys, level):
    stream, before = io.StringIO(), state_of(logging.getLogger("nsse"))
    with root_logger(logging.StreamHandler(stream), level=level):
        model = NSSE.as_published(verbose=2).fit(X, Y)
    # Once, and once only: a handler of ours on top of the application's would say everything twice.
    assert len((stream.getvalue() + capsys.readouterr().err).splitlines()) == len(model.trace_) + 1
    assert state_of(logging.getLogger("nsse")) == before


def test_the_application_may_listen_without_verbose(caplog):
    for level in (logging.INFO, logging.DEBUG):
        caplog.clear()
        with caplog.at_level(level, logger="nsse"):
            model = NSSE.as_published().fit(X, Y)
        assert len(caplog.records) == (1 if level == logging.INFO else 1 + len(model.trace_))
