"""The page's modules as one script: a page opened from disk cannot import from other files."""

from __future__ import annotations

import re
from importlib.resources import files
from importlib.resources.abc import Traversable

from nsse._support.errors import rule_error

FIRST = "main.js"
# The one form of import, names between braces; and the one of export, before what is declared.
_IMPORT = re.compile(r'^import \{([^}]+)\} from "\./(\w+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) )", re.MULTILINE)
_OTHER_FORM = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
# Comments with types: the page does not read them.
_TYPES = re.compile(r"^ */\*\*(?:(?!\*/).)*\*/\n", re.MULTILINE | re.DOTALL)
# One name in a statement: ESLint sees to that.
_DECLARED = re.compile(r"^(export )?(?:async function|function|class|const) (\w+)", re.MULTILINE)


def bundled(folder: Traversable | None = None) -> str:
    """The first module and all that it needs, each after those that it imports."""
    modules: dict[str, str] = {}
    _collect(files("nsse.report.explorer") if folder is None else folder, FIRST, (), modules)
    home: dict[str, str] = {}
    for module, text in modules.items():
        for name in _declared(text):
            if name in home:
                raise rule_error(name, "be declared once", [home[name], module], "Rename one of them.")
            home[name] = module
    return "\n".join(_joinable(module, text) for module, text in modules.items())


def _collect(folder: Traversable, module: str, way: tuple[str, ...], modules: dict[str, str]) -> None:
    """Read a module after those that it imports; `way` leads to it."""
    if module in way:
        raise rule_error(module, "not import itself", [*way, module], "Move what both need to a third.")
    if module in modules:
        return
    text = (folder / module).read_text(encoding="utf-8")
    for names, other in _IMPORT.findall(text):
        _collect(folder, other, (*way, module), modules)
        exported = {"", *_declared(modules[other], exported=True)}
        unknown = {name.strip() for name in names.split(",")} - exported
        if unknown:
            raise rule_error(module, f"import what {other} exports", sorted(unknown), "Export it there.")
    modules[module] = text


def _declared(text: str, exported: bool = False) -> list[str]:
    """Names in the outermost scope of a module."""
    return [name for export, name in _DECLARED.findall(text) if export or not exported]


def _joinable(module: str, text: str) -> str:
    """A module without its imports, its types and the word export."""
    plain = _EXPORT.sub("", _IMPORT.sub("", _TYPES.sub("", text)))
    left = _OTHER_FORM.search(plain)
    if left:
        rule = "import names in braces and export where it declares"
        raise rule_error(module, rule, left[0], "Write it in that form.")
    return plain
