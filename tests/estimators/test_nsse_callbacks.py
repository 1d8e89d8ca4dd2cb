"""Watching a search: a callback per evaluation, and the log."""

from __future__ import annotations

import io
import logging
import pickle
from contextlib import contextmanager

import numpy as np
import pytest

from nsse import NSSE

RNG = np.random.default_rng(0)
Y = np.arange(60) % 3
X = 40 * RNG.normal(size=(3, 5))[Y] + 30 * RNG.normal(size=(60, 5))

SOLVERS = pytest.mark.parametrize("solver", ["joint", "alternating"])


# -------------------------------------------------------------------------------- callback(step)


@SOLVERS
def test_every_step_in_order(solver):
    steps = []
    model = NSSE.as_published(callback=steps.append, solver=solver).fit(X, Y)
    assert tuple(steps) == model.trace_.steps
    assert len(steps) > 1
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
        assert step.stage in {"scan", "joint", "embedding", "scale"}


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


@pytest.mark.parametrize("answer", [None, False, 0, "go on", 1.0])
def test_other_answers_do_not(answer):
    model = NSSE.as_published(callback=lambda step: answer).fit(X, Y)
    assert len(model.trace_) == len(NSSE.as_published().fit(X, Y).trace_)


@pytest.mark.parametrize("landmarks", [None, 12])
def test_a_fit_without_a_search_calls_nothing(landmarks):
    def fail(step):
        raise AssertionError("called")

    options = {"sigma": 0.5, "n_landmarks": landmarks}
    model = NSSE.as_published(callback=fail, **options).fit(X, Y)
    np.testing.assert_array_equal(model.embedding_, NSSE.as_published(**options).fit(X, Y).embedding_)


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
