"""What long work shows: a bar where a person is looking, log lines where they are wanted."""

import logging
import sys

import pytest

from nsse import SmoothEmbedding, SmoothEmbeddingCV

SEARCH = {"grid": {"sigma": [0.5, 1.0]}, "max_members": 1}


def test_a_terminal_shows_a_bar_and_others_nothing(blobs, capsys, monkeypatch):
    SmoothEmbeddingCV(**SEARCH).fit(blobs.X, blobs.codes)
    assert capsys.readouterr() == ("", "")
    pytest.importorskip("rich")
    SmoothEmbeddingCV(**SEARCH, verbose=1).fit(blobs.X, blobs.codes)
    told = capsys.readouterr()
    assert "left:" in told.err
    assert told.out == ""


def test_a_bar_that_is_wanted_needs_rich(blobs, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    with pytest.raises(ImportError, match=r"needs rich.*pip install 'nsse\[cli\]'"):
        SmoothEmbeddingCV(**SEARCH, verbose=1).fit(blobs.X, blobs.codes)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    SmoothEmbeddingCV(**SEARCH).fit(blobs.X, blobs.codes)  # one that is not is left out
    assert capsys.readouterr() == ("", "")


def test_a_verbose_fit_says_what_it_did(blobs, caplog):
    logger = logging.getLogger("nsse")
    SmoothEmbedding(verbose=1).fit(blobs.X, blobs.codes)
    (record,) = caplog.records
    assert record.getMessage().startswith("SmoothEmbedding: 60 rows, 60 centers")
    assert logger.level == logging.NOTSET
    caplog.clear()
    SmoothEmbedding().fit(blobs.X, blobs.codes)
    assert caplog.records == []


def test_without_a_handler_of_the_application_stderr_shows_it(blobs, capsys, monkeypatch):
    monkeypatch.setattr(logging.getLogger("nsse"), "hasHandlers", lambda: False)
    SmoothEmbedding(verbose=1).fit(blobs.X, blobs.codes)
    assert capsys.readouterr().err.startswith("[nsse] SmoothEmbedding: 60 rows, 60 centers, sigma ")
    assert logging.getLogger("nsse").handlers == []
