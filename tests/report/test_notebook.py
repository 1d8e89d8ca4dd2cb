"""Tests that notebooks show a figure or a report at the end of a cell."""

from __future__ import annotations

from html import unescape

import pytest

from browser import READY, wait_for
from nsse import SmoothEmbedding
from nsse.report import Samples, notebook, write_report


@pytest.fixture(scope="module")
def fitted(digits):
    return SmoothEmbedding().fit(digits.X[::2], digits.codes[::2])


@pytest.fixture(scope="module")
def unseen(digits):
    return digits.X[1::2], digits.codes[1::2]


def test_a_report_stands_in_a_frame_of_its_own(fitted, unseen, tmp_path):
    written = write_report(tmp_path / "r.html", fitted, Samples(*unseen), title='"Digits" <b>')
    html = written._repr_html_()
    assert html.startswith("<iframe ")
    head, source = html.split(' srcdoc="')
    assert 'sandbox="allow-scripts"' in head  # and no other permission
    source, _, rest = source.partition('"')
    assert rest == "></iframe>"
    assert unescape(source) == (tmp_path / "r.html").read_text(encoding="utf-8")


def test_pictures_large_and_lost_reports(fitted, unseen, tmp_path, monkeypatch):
    written = write_report(tmp_path / "r.svg", fitted, Samples(*unseen))
    assert 'src="data:image/svg+xml;base64,' in written._repr_html_()
    monkeypatch.setattr(notebook, "INLINE_BYTES", 1000)
    assert "Open" in written._repr_html_()
    assert "<img" not in written._repr_html_()
    (tmp_path / "r.svg").unlink()
    assert "does not exist any more" in written._repr_html_()


def test_the_framed_report_draws_itself(browser, fitted, unseen, tmp_path):
    written = write_report(tmp_path / "r.html", fitted, Samples(*unseen))
    page = f"<!DOCTYPE html><meta charset=utf-8><body>{written._repr_html_()}"
    (tmp_path / "notebook.html").write_text(page, encoding="utf-8")
    browser.get((tmp_path / "notebook.html").as_uri())
    browser.switch_to.frame(0)
    wait_for(browser, READY)
    drawn = browser.execute_script("return window.nsse.stage.drawn.total")
    alone = browser.execute_script(
        "try { return window.parent.document.title } catch (e) { return null }"
    )
    browser.switch_to.default_content()
    assert drawn == 200
    assert alone is None
