"""How NSSECV works: in how much memory, and what it shows meanwhile."""

from __future__ import annotations

import io
import sys

import pytest

from nsse import NSSECV
from nsse._progress import progress_bar
from searches import SPLITS, X, Y

# ---------------------------------------------------------------------------------------------- memory


SAMPLES = (
    "X = 2 * np.random.default_rng(0).normal(size=(10, n))[y]"
    " + np.random.default_rng(1).normal(size=(N, n))"
)
WARM_UP = "NSSE.as_published().fit(X[:60], y[:60])\nNSSECV(n_repeats=1).fit(X[:60], y[:60])"

MODELS = {
    "NSSE": ("NSSE.as_published()", (1500, 30)),
    "NSSE by default": ("NSSE()", (1500, 30)),
    "NSSE with many features": ("NSSE.as_published(sigma=0.5)", (1500, 1500)),
    "NSSE, ill-conditioned": ("NSSE.as_published(sigma=2.0, mu2=1e-9)", (1500, 20)),
    "NSSECV": ("NSSECV(n_repeats=2)", (1200, 30)),
    "NSSECV, many features": (
        "NSSECV(estimator=NSSE(metric='within', shrinkage=0.5), n_repeats=2)",
        (800, 1500),
    ),
    "NSSECV, with landmarks": ("NSSECV(estimator=NSSE(n_landmarks=200), n_repeats=2)", (3000, 30)),
}


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak")
@pytest.mark.parametrize("name", MODELS)
def test_memory_is_estimated_well(estimate_over_peak, name):
    assert 1 / 1.3 < estimate_over_peak(*MODELS[name], SAMPLES, WARM_UP) < 1.3


def test_memory_grows_with_classes():
    assert NSSECV().estimate_memory(1000, 20, n_classes=40) > NSSECV().estimate_memory(1000, 20)


# -------------------------------------------------------------------------------------------- progress


def test_a_bar_is_shown_on_request_only(capsys):
    NSSECV(cv=SPLITS, n_voters=1).fit(X, Y)
    NSSECV(cv=SPLITS, n_voters=1, progress=False).fit(X, Y)
    assert capsys.readouterr() == ("", "")
    pytest.importorskip("rich")
    NSSECV(cv=SPLITS, n_voters=1, progress=True).fit(X, Y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "rounds" in err
    assert "3/3" in err


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_person_at_a_terminal_sees_the_bar(monkeypatch):
    pytest.importorskip("rich")
    for shown, terminal, expected in ((None, True, True), (None, False, False), (False, True, False)):
        stream = Terminal() if terminal else io.StringIO()
        monkeypatch.setattr(sys, "stderr", stream)
        with progress_bar(2, "steps", shown) as advance:
            advance()
            advance()
        assert ("2/2" in stream.getvalue()) == expected


def test_a_bar_without_rich_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    search = NSSECV(cv=SPLITS, progress=True)
    with pytest.raises(ImportError, match=r"pip install 'nsse\[cli\]'"):
        search.fit(X, Y)
    assert not hasattr(search, "n_features_in_")


def test_verbose_tells_what_was_computed(caplog):
    with caplog.at_level("INFO", logger="nsse"):
        NSSECV(cv=SPLITS, verbose=1).fit(X, Y)
    # Of all the fits of a search, not a line each.
    assert [record.getMessage() for record in caplog.records] == [
        "896 grid points on 3 splits: 140 eigendecompositions"
    ]
