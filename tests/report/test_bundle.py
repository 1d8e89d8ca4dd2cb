"""The page's modules: joined to one script, each name in one place, nothing that nobody needs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import nsse.report.explorer
from nsse.report.explorer.bundle import bundled

FOLDER = Path(nsse.report.explorer.__file__).parent
MODULES = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.js")}


def joined(folder, **modules):
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    return bundled(folder)


def test_the_committed_modules_are_all_joined_once_and_in_order():
    script = bundled()
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    heads = {name: text.splitlines()[0] for name, text in MODULES.items()}
    assert all(script.count(head) == 1 for head in heads.values())
    for name, text in MODULES.items():
        for other in re.findall(r'from "\./(\w+\.js)"', text):
            assert script.index(heads[other]) < script.index(heads[name])


def test_every_export_is_imported_somewhere():
    exported = re.findall(r"^export (?:async )?\w+ (\w+)", "\n".join(MODULES.values()), re.MULTILINE)
    imports = re.findall(r"^import \{([^}]+)\}", "\n".join(MODULES.values()), re.MULTILINE)
    assert set(exported) == {name.strip() for names in imports for name in names.split(",")}
    assert len(exported) > 30


@pytest.mark.parametrize("ending", ["js", "css", "html", "d.ts"])
def test_lines_are_short(ending):
    lines = [line for path in FOLDER.glob(f"*.{ending}") for line in path.read_text("utf-8").splitlines()]
    assert lines
    assert [line for line in lines if len(line) > 110] == []


def test_a_module_stands_after_those_that_it_imports(tmp_path):
    script = joined(
        tmp_path,
        main='import { b } from "./second.js";\nimport { a } from "./first.js";\nb(a);\n',
        first="export const a = 1;\n",
        second='import { a } from "./first.js";\nexport function b(x) {\n  return a + x;\n}\n',
    )
    assert script == "const a = 1;\n\nfunction b(x) {\n  return a + x;\n}\n\nb(a);\n"


@pytest.mark.parametrize(("main", "other", "message"), [
    ('import { a } from "./other.js";\nfunction b() {}\n', "export const a = 1;\nclass b {}\n",
     "b is declared in other.js and in main.js"),
    ('import { a } from "./other.js";\n', "const a = 1;\n", "main.js imports a; other.js has no such export"),
    ('import { a as b } from "./other.js";\n', "export const a = 1;\n", "imports a as b"),
    ('import { a } from "./other.js";\nexport const b = 1;\n',
     'import { b } from "./main.js";\nexport const a = 1;\n', "main.js -> other.js -> main.js"),
    ('import * as other from "./other.js";\n', "export const a = 1;\n", "of a form that is not joined: import"),
    ("const a = 1;\nexport { a };\n", "", "of a form that is not joined: export { a }"),
    ("const a = 1;\nexport default a;\n", "", "of a form that is not joined: export default"),
])  # fmt: skip
def test_what_cannot_be_joined_is_refused(tmp_path, main, other, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        joined(tmp_path, main=main, other=other)
