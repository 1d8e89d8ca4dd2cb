"""The site as it was built: a page for every name and command, no dead link, the report alive.

``make docs`` builds it and runs these, with `NSSE_SITE` naming its folder; elsewhere they skip.
"""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import typer

import nsse
from nsse.cli.app import app

SITE = Path(os.environ.get("NSSE_SITE", "none")).resolve()
EXAMPLES = Path(__file__).parents[2] / "examples"
pytestmark = pytest.mark.skipif(
    "NSSE_SITE" not in os.environ, reason="the site is looked at when it is built: make docs"
)

# What a newcomer asks, and the page that answers, with a word that must stand on it.
QUESTIONS = {
    "what is it for": ("explanation/how_it_works.html", "how-it-works"),
    "when not": ("explanation/benchmarks.html", "use-something-else-when"),
    "install": ("howto/install.html", "install"),
    "my folder of images": ("tutorials/images.html", "from-a-folder-of-images-to-an-onnx-file"),
    "my table": ("tutorials/table.html", "from-a-table-to-a-report"),
    "tune": ("howto/hyperparameters.html", "choose-hyperparameters"),
    "save": ("howto/deploy.html", "save-and-load"),
    "deploy": ("howto/deploy.html", "export-to-onnx"),
    "speed": ("howto/many_samples.html", "what-to-expect"),
    "cite": ("howto/install.html", "cite"),
}


class Anchors(HTMLParser):
    """What a page points at, and what can be pointed at in it."""

    def __init__(self, text):
        super().__init__()
        self.targets, self.parts, self.names = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.names |= {given[key] for key in ("id", "name") if given.get(key)}
        target = given.get("href") if tag in ("a", "link") else given.get("src")
        if target:
            self.targets.append(target)
        if target and tag != "a":
            self.parts.append(target)


@pytest.fixture(scope="module")
def pages():
    """All pages but the report itself, whose links are its own, and templates of the theme."""
    found = [path for path in SITE.rglob("*.html") if "_static" not in path.parts]
    found.remove(SITE / "digits.html")
    return {path: Anchors(path.read_text(encoding="utf-8")) for path in found}


def inside(path, target):
    """The file and the anchor that a link means; None where it leads elsewhere."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return None
    place = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    return place, unquote(parts.fragment)


def test_no_link_is_dead(pages):
    dead = []
    for path, page in pages.items():
        for place, anchor in filter(None, (inside(path, target) for target in page.targets)):
            named = place not in pages or not anchor or anchor in pages[place].names
            if not place.exists() or not named:
                dead.append(f"{path.relative_to(SITE)} -> {place.name}#{anchor}")
    assert dead == []
    assert sum(len(page.targets) for page in pages.values()) > 1000


def test_pages_need_no_network(pages):
    parts = [part for page in pages.values() for part in page.parts]
    assert len(parts) > 100
    assert [part for part in parts if urlsplit(part).netloc] == []


def public_names():
    rooms = ["nsse", *(f"nsse.{room}" for room in nsse._MODULES)]
    for room in rooms:
        for name in import_module(room).__all__:
            if name != "__version__":
                at_the_top = room != "nsse" and name in nsse.__all__
                yield f"nsse.{name}" if at_the_top else f"{room}.{name}"


def test_every_public_name_has_a_page():
    names = set(public_names())
    assert {"nsse.NSSE", "nsse.plot.class_map", "nsse.certificates.SelectivePredictor"} <= names
    assert {"nsse.SmoothEmbedding", "nsse.augment.Images", "nsse.centers.KMeansCenters"} <= names
    assert [name for name in sorted(names) if not (SITE / "api" / f"{name}.html").is_file()] == []


def test_every_command_has_a_page_with_an_example():
    commands = typer.main.get_command(app).commands
    assert {"fit", "datasets"} <= set(commands)
    for name, command in commands.items():
        page = (SITE / "commands" / f"{name}.html").read_text(encoding="utf-8")
        text = re.sub(r"<[^>]+>", "", page)
        assert f"$ nsse {name} " in text, name
        for word in getattr(command, "commands", {}):
            assert f"nsse {name} {word} " in text, word


def test_questions_are_answered_within_two_clicks(pages):
    front = SITE / "index.html"
    reached, edge = {front}, {front}
    for _ in range(2):
        edge = {
            link[0]
            for path in edge
            for link in (inside(path, target) for target in pages[path].targets)
            if link is not None and link[0] in pages
        }
        reached |= edge
    for question, (name, anchor) in QUESTIONS.items():
        assert SITE / name in reached, question
        assert anchor in pages[SITE / name].names, question


def test_all_examples_ran():
    examples = sorted(EXAMPLES.glob("plot_*.py"))
    assert len(examples) >= 8
    for example in examples:
        assert (SITE / "gallery" / f"{example.stem}.html").is_file()
        picture = SITE.parents[1] / "gallery/images/thumb" / f"sphx_glr_{example.stem}_thumb.png"
        assert picture.is_file(), "an example without a picture"


def test_a_plot_of_ours_is_shown_once():
    page = (SITE / "gallery/plot_01_first_map.html").read_text(encoding="utf-8")
    assert len(set(re.findall(r"sphx_glr_plot_01_first_map_\d+\.png", page))) == 1


@pytest.mark.slow
def test_the_report_lives_on_the_front_page(browser):
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get((SITE / "index.html").as_uri())
    frame = browser.find_element("css selector", "iframe.live-report")
    browser.execute_script("arguments[0].scrollIntoView()", frame)
    browser.switch_to.frame(frame)
    try:
        ready = "return Boolean(window.nsse?.ready)"
        WebDriverWait(browser, 60).until(lambda driver: driver.execute_script(ready))
        points, drawn = browser.execute_script(
            "const s = window.nsse.stage; return [s.points.n, s.drawn.total]"
        )
        assert points == drawn == 10 * (12 + 15)
    finally:
        browser.switch_to.default_content()
