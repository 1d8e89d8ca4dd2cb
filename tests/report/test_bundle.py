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
    texts = [path.read_text(encoding="utf-8") for path in FOLDER.glob(f"*.{ending}")]
    assert texts
    assert [line for text in texts for line in text.splitlines() if len(line) > 110] == []


def test_a_module_stands_after_those_that_it_imports(tmp_path):
    script = joined(
        tmp_path,
        main='import { b } from "./second.js";\nimport { a } from "./first.js";\nb(a);\n',
        first="export const a = 1;\n",
        second='import { a } from "./first.js";\nexport function b(x) {\n  return a + x;\n}\n',
    )
    assert script == "const a = 1;\n\nfunction b(x) {\n  return a + x;\n}\n\nb(a);\n"


def test_comments_with_types_stay_behind(tmp_path):
    kept = "// Why.\nconst a = [\n  /** @type {any} */ (1),\n];\n"
    typed = "/** @type {number[]} */\n" + kept + "/**\n * @typedef {number} N\n */\n  /** @type {N} */\n"
    assert joined(tmp_path, main=typed) == kept


NEED_A = 'import { a } from "./other.js";\n'
HAVE_A = "export const a = 1;\n"
REFUSED = {
    "two homes": (NEED_A + "function b() {}\n", HAVE_A + "class b {}\n", "`b` must be declared once"),
    "not exported": (NEED_A, "const a = 1;\n", "`main.js` must import what other.js exports. Got ['a']"),
    "renamed": ('import { a as b } from "./other.js";\n', HAVE_A, "Got ['a as b']"),
    "circle": (
        NEED_A,
        'import { b } from "./main.js";\n' + HAVE_A,
        "['main.js', 'other.js', 'main.js']",
    ),
    "all of it": ('import * as other from "./other.js";\n', HAVE_A, "must import names in braces"),
    "export later": ("const a = 1;\nexport { a };\n", "", "Got 'export { a };'"),
    "default": ("const a = 1;\nexport default a;\n", "", "Got 'export default a;'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_joined_is_refused(tmp_path, case):
    main, other, message = REFUSED[case]
    with pytest.raises(ValueError, match=re.escape(message)):
        joined(tmp_path, main=main, other=other)
