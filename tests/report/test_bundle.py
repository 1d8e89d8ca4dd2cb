"""Tests of the modules of the page: they are joined to one script, and each name is declared once."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import nsse.report.explorer
from nsse.report.explorer.bundle import bundled
from nsse.report.explorer.profiles import FORMULAS

FOLDER = Path(nsse.report.explorer.__file__).parent
MODULES = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.js")}


def test_the_committed_modules_are_all_joined_once_and_in_order():
    script = bundled()
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    heads = {name: text.splitlines()[0] for name, text in MODULES.items()}
    assert all(script.count(head) == 1 for head in heads.values())
    for name, text in MODULES.items():
        for other in re.findall(r'from "\./(\w+\.js)"', text):
            assert script.index(heads[other]) < script.index(heads[name])


def test_names_are_declared_once_and_exports_imported():
    whole = "\n".join(MODULES.values())
    declared = re.findall(r"^(?:export )?(?:async )?(?:function|class|const) (\w+)", whole, re.MULTILINE)
    assert [name for name, count in Counter(declared).items() if count > 1] == []
    exported = re.findall(r"^export (?:async )?\w+ (\w+)", whole, re.MULTILINE)
    imports = re.findall(r"^import \{([^}]+)\}", whole, re.MULTILINE)
    assert set(exported) == {name.strip() for names in imports for name in names.split(",")}


def test_the_page_has_the_formulas_that_python_does_not_tabulate():
    table = re.search(r"const PROFILES = \{(.*?)\n\};", MODULES["kernels.js"], re.DOTALL).group(1)
    assert tuple(re.findall(r"^  (\w+): ", table, re.MULTILINE)) == FORMULAS


@pytest.mark.parametrize("ending", ["js", "css", "html", "d.ts"])
def test_lines_are_short(ending):
    texts = [path.read_text(encoding="utf-8") for path in FOLDER.glob(f"*.{ending}")]
    assert texts
    assert [line for text in texts for line in text.splitlines() if len(line) > 110] == []


@pytest.mark.parametrize("form", ['import * as a from "./a.js";', "export { a };", "export default a;"])
def test_other_forms_of_import_and_export_are_refused(tmp_path, form):
    (tmp_path / "main.js").write_text(f"const a = 1;\n{form}\n")
    with pytest.raises(ValueError, match=re.escape(f"Got {form!r}")):
        bundled(tmp_path)
