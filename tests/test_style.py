"""One statement is one line: what ruff does not check."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import nsse

PACKAGE = Path(nsse.__file__).parent
MOST_TARGETS = 2
# Files with packed assignments that were written before this check. Take a file out with its last one.
OLDER = {
    "certificates/conformal.py": 1,
    "certificates/theorem.py": 1,
    "io/checks.py": 1,
    "io/onnx.py": 2,
    "report/explorer/charts.py": 1,
    "report/explorer/pictures.py": 2,
    "report/explorer/profiles.py": 1,
    "report/explorer/sheet.py": 1,
    "report/explorer/why.py": 1,
    "report/explorer/write.py": 1,
    "stack.py": 1,
}


def packed_assignments(source: str) -> Iterator[int]:
    """Find assignments of three or more values to as many targets; results of a call can be unpacked."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            targets = [one for one in node.targets if isinstance(one, ast.Tuple)]
            if any(len(one.elts) > MOST_TARGETS for one in targets):
                yield node.lineno


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("a, b, c = 1, 2, 3", [1]),
        ("def f():\n    self.a, b, c = x, y, z", [2]),
        ("a, b = b, a", []),
        ("a, b, c = f(x)", []),
        ("a, b, c = (f(x) for x in y)", []),
        ("a = 1, 2, 3", []),
    ],
)
def test_the_check_finds_packed_assignments(source, lines):
    assert list(packed_assignments(source)) == lines


def test_no_line_assigns_three_values():
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        lines = list(packed_assignments(path.read_text(encoding="utf-8")))
        name = path.relative_to(PACKAGE).as_posix()
        if len(lines) > OLDER.get(name, 0):
            found[name] = lines
    assert not found, "write one assignment per line"
