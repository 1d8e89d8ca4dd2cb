"""The check of prose counts what it should, and fails above its limits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("textstat", reason="textstat comes with the test extra")

SCRIPT = Path(__file__).parents[1] / "release" / "prose.py"
GOOD = "Pass a list of optimistic labels to it. " * 30
BAD = {
    "splices": "The map is smooth: it changes little. ",
    "beside": "The error is lower beside an SVM. ",
    "those of": "The errors are lower than those of an SVM. ",
    "persons": "The report knows the errors. ",
    "openings": "Of many samples some are left out. ",
    "british": "The neighbours are labelled. ",
}


def run(*arguments):
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def page(folder, text):
    (folder / "page.md").write_text(text, encoding="utf-8")
    return folder / "page.md"


def test_good_prose_passes(tmp_path):
    done = run(page(tmp_path, f"# Title\n\n{GOOD}\n"))
    assert done.returncode == 0, done.stdout
    assert "240" in done.stdout


@pytest.mark.parametrize("rule", BAD)
def test_each_mistake_is_found_and_shown(tmp_path, rule):
    path = page(tmp_path, GOOD + 5 * BAD[rule])
    done = run(path)
    assert done.returncode == 1
    assert f"{rule}: " in done.stdout.splitlines()[-1]
    assert run(path, "--show", rule).stdout.count("page.md: …") >= 5


def test_code_tables_formulas_and_links_are_no_prose(tmp_path):
    bad = "".join(BAD.values())
    table = f"| {bad} |\n|---|\n"
    hidden = f"```\nbeside\n```\n\n{table}\n    {bad}\n\n<!-- {bad} -->\n[text](neighbour.md) `colour`\n"
    assert run(page(tmp_path, GOOD + "\n\n" + hidden)).returncode == 0


@pytest.mark.parametrize("rule", BAD)
def test_docstrings_are_checked_apart_from_pages(tmp_path, rule):
    module = tmp_path / "module.py"
    module.write_text(f'"""Title.\n\n{5 * BAD[rule]}\n"""\n', encoding="utf-8")
    done = run(page(tmp_path, 50 * GOOD), tmp_path)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith(f"{rule}: ")
    assert "matches in all docstrings are too many" in done.stdout


def test_names_types_and_examples_of_docstrings_are_no_prose(tmp_path):
    module = tmp_path / "module.py"
    hidden = "Parameters\n----------\nof : those of beside\n    Rows.\n\n>>> beside\n"
    module.write_text(f'"""{GOOD}\n\n{hidden}"""\n', encoding="utf-8")
    done = run(module)
    assert done.returncode == 0, done.stdout


def test_wide_code_and_misspelled_words_are_found(tmp_path):
    line = "x = 1" + 75 * " " + "# far"
    done = run(page(tmp_path, f"{GOOD}\n\n```python\n{line}\n```\n"))
    assert done.returncode == 1
    assert "page.md:4: more than 79 columns" in done.stdout
    misspelled = "rec" + "ieve"
    done = run(page(tmp_path, f"{GOOD} You {misspelled} a label."))
    assert done.returncode == 1
    assert "receive" in done.stdout


def test_pages_that_a_program_makes_are_left_out(tmp_path):
    (tmp_path / "api").mkdir()
    page(tmp_path / "api", BAD["british"])
    page(tmp_path, GOOD)
    assert run(tmp_path).returncode == 0
