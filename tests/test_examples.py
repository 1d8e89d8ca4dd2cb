"""The examples of the docstrings run, each in a namespace of its own, from any folder."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

import nsse

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def examples() -> list[doctest.DocTest]:
    """Every docstring of the package that has an example, public or not."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    names = ["nsse", *(found.name for found in pkgutil.walk_packages(nsse.__path__, "nsse."))]
    modules = [import_module(name) for name in names if not name.endswith("__main__")]
    return [example for module in modules for example in finder.find(module) if example.examples]


# Those that render pictures, or search.
SLOW = ("load_image_folder", "write_images", "SequentialSearchCV")
EXAMPLES = [
    pytest.param(one, id=one.name, marks=[pytest.mark.slow] * one.name.endswith(SLOW))
    for one in examples()
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_run(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    failed = doctest.DocTestRunner(optionflags=FLAGS).run(example, out=said.append).failed
    assert not failed, "".join(said)


ROOMS = ["nsse", *(f"nsse.{room}" for room in nsse._MODULES if room != "estimators")]


@pytest.mark.parametrize("room", ROOMS)
def test_what_people_import_shows_an_example_and_its_relatives(room):
    module = import_module(room)
    told = {name: getattr(module, name).__doc__ for name in module.__all__ if name != "__version__"}
    assert [name for name, text in told.items() if ">>>" not in text] == []
    assert [name for name, text in told.items() if "See Also\n" not in text] == []
