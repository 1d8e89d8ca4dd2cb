"""NSSECV when something goes wrong: wrong words, interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from sklearn.exceptions import NotFittedError

import nsse
from nsse import NSSE, NSSECV
from peaks import environment
from searches import SPLITS, X, Y

# ---------------------------------------------------------------------------------- what cannot be had


def test_a_failed_fit_keeps_the_one_before():
    search = NSSECV(cv=SPLITS, n_voters=1).fit(X, Y)
    before = search.best_estimator_
    with pytest.raises(ValueError, match="mu2"):
        search.set_params(estimator=NSSE(mu2=-1.0)).fit(X, Y)
    assert search.best_estimator_ is before


def never(estimator, X, y):
    raise AssertionError("some work was done")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": NSSE(mu2=-1.0)}, "`mu2` must be a positive, finite number. Got -1.0"),
        ({"n_repeats": 0}, "`n_repeats` must be a whole number"),
        ({"n_voters": 0}, "`n_voters` must be"),
        ({"validation_fraction": 1.0}, "`validation_fraction` must be less than 1"),
        ({"validation_fraction": -0.1}, "`validation_fraction` must be a finite number"),
        ({"estimator": nsse.LFDA()}, "`estimator` must be an NSSE"),
        ({"cv": []}, "`cv` must give splits with samples"),
        ({"cv": [(range(80), [])]}, "`cv` must give splits with samples"),
    ],
)
def test_what_is_wrong_is_said_before_any_work(options, message):
    model = NSSECV(**{"scoring": never, "n_repeats": 2} | options)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "n_features_in_")
    with pytest.raises(NotFittedError):
        model.predict(X)


# ------------------------------------------------------------------------------------------ interrupts


# A process started in the background ignores SIGINT, and so do its children unless told otherwise.
INTERRUPTED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from sklearn.datasets import load_digits
from nsse import NSSECV
X, y = load_digits(return_X_y=True)
search = NSSECV(n_repeats=5000)
print("ready", flush=True)
print(search.fit(X[:200], y[:200]).n_splits_, search.score(X[200:], y[200:]), flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal on POSIX only")
def test_ctrl_c_ends_a_real_process_cleanly():
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(4.0)
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=60)
        except BaseException:
            process.kill()
            raise
    assert process.returncode == 0, errors
    n_splits, score = map(float, output.split())
    assert n_splits < 5000
    assert score > 0.8
    assert f"NSSECV was interrupted after {n_splits:.0f} of 5000 rounds" in errors
    assert "Traceback" not in errors
