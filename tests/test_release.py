"""One version, everywhere it is said; what is packed holds what its tests read."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import nsse

ROOT = Path(__file__).parents[1]


def test_the_citation_and_the_changelog_speak_of_this_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", citation, re.MULTILINE)[1] == nsse.__version__
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {nsse.__version__}" in changelog


def test_the_installed_package_is_of_this_version():
    assert version("nsse") == nsse.__version__
