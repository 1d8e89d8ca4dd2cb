"""One version, everywhere it is said; what is packed holds what its tests read."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import nsse

ROOT = Path(__file__).parents[1]


def test_the_citation_and_the_changelog_speak_of_this_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", citation, re.MULTILINE)[1] == nsse.__version__
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {nsse.__version__}" in changelog


def test_the_hosted_checks_run_the_commands_of_the_local_ones():
    local = re.findall(r"^make .+$", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^ +- run: (make .+)$", workflow, re.MULTILINE)) == sorted(local)


def test_the_hosted_checks_run_on_the_pythons_that_the_package_names():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    matrix = re.search(r"python: \[(.+)\]", workflow)[1]
    assert re.findall(r"3\.\d+", matrix) == named
    assert project["requires-python"] == f">={named[0]}"
