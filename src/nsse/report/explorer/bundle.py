"""The page's modules as one script: a page opened from disk may not import, so they share one function."""

from __future__ import annotations

import re
from importlib.resources import files
from importlib.resources.abc import Traversable

FIRST = "main.js"
# The one form of import, names between braces; and the one of export, before what is declared.
_IMPORT = re.compile(r'^import \{([^}]+)\} from "\./(\w+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) )", re.MULTILINE)
_OTHER_FORM = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
_DECLARED = re.compile(r"^(export )?(?:async function|function|class|const) (\w+)", re.MULTILINE)


def bundled(folder: Traversable | None = None) -> str:
    """The first module and all that it needs, each after those that it imports; names may not collide."""
    folder = files("nsse.report.explorer") if folder is None else folder
    modules: dict[str, str] = {}
    _collect(folder, FIRST, (), modules)
    home: dict[str, str] = {}
    for module, text in modules.items():
        for name in _names(text):
            if name in home:
                raise ValueError(f"{name} is declared in {home[name]} and in {module}.")
            home[name] = module
    return "\n".join(_joinable(module, text) for module, text in modules.items())


def _collect(folder: Traversable, module: str, way: tuple[str, ...], modules: dict[str, str]) -> None:
    """Read a module after those that it imports."""
    if module in way:
        raise ValueError(f"Modules import each other: {' -> '.join((*way, module))}.")
    if module in modules:
        return
    text = (folder / module).read_text(encoding="utf-8")
    for names, other in _IMPORT.findall(text):
        _collect(folder, other, (*way, module), modules)
        unknown = {name.strip() for name in names.split(",")} - {"", *_names(modules[other], exported=True)}
        if unknown:
            raise ValueError(f"{module} imports {', '.join(sorted(unknown))}; {other} has no such export.")
    modules[module] = text


def _names(text: str, exported: bool = False) -> list[str]:
    """What a module declares in its outermost scope, one name in a statement (see eslint.config.js)."""
    return [name for export, name in _DECLARED.findall(text) if export or not exported]


def _joinable(module: str, text: str) -> str:
    """A module without its imports and without the word export."""
    plain = _EXPORT.sub("", _IMPORT.sub("", text))
    left = _OTHER_FORM.search(plain)
    if left:
        raise ValueError(f"{module} has an import or export of a form that is not joined: {left[0]}")
    return plain
