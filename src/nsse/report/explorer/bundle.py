"""Join the modules of the page to one script, because a page on disk cannot import other files."""

from __future__ import annotations

import re
from importlib.resources import files
from importlib.resources.abc import Traversable

from nsse._support.errors import rule_error

FIRST = "main.js"
# The only form of import has names between braces, and the only form of export precedes a declaration.
_IMPORT = re.compile(r'^import \{[^}]+\} from "\./(\w+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) )", re.MULTILINE)
_OTHER_FORM = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
# Comments with types, which the page does not need.
_TYPES = re.compile(r"^ */\*\*(?:(?!\*/).)*\*/\n", re.MULTILINE | re.DOTALL)


def bundled(folder: Traversable | None = None) -> str:
    """Return the first module and all that it needs, each after its imports.

    TypeScript and ESLint check that imported names are exported, and that names are declared once.
    """
    modules: dict[str, str] = {}
    _collect(files("nsse.report.explorer") if folder is None else folder, FIRST, modules)
    return "\n".join(modules.values())


def _collect(folder: Traversable, module: str, modules: dict[str, str]) -> None:
    """Append a module after its imports, without imports, types and the word export."""
    text = (folder / module).read_text(encoding="utf-8")
    for other in _IMPORT.findall(text):
        if other not in modules:
            _collect(folder, other, modules)
    modules[module] = plain = _EXPORT.sub("", _IMPORT.sub("", _TYPES.sub("", text)))
    left = _OTHER_FORM.search(plain)
    if left:
        rule = "import names in braces and export where it declares"
        raise rule_error(module, rule, left[0], "Write it in that form.")
