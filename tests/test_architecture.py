"""The map of the package, kept: imports point left, optional packages stay optional."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import nsse

PACKAGE = Path(nsse.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
parsed = cache(ast.parse)


def words(text: str) -> set[str]:
    """The words of a text."""
    return set(text.split())


# Which module or folder of nsse may import which, besides itself and `_support`, which all may. To the
# left only: a circle in the table is a failure of its own. `nsse` is the package's own __init__.
MODEL = {"affine", "distances", "kernels", "maps", "metrics", "rows", "scores"}
ROWS = {"equal_rows", "labels", "rows", "sources"}
MAY_IMPORT = {
    "_support": set(),
    "affine": set(),
    "distances": {"affine"},
    "kernels": {"affine", "distances"},
    "graphs": {"distances"},
    "labels": set(),
    "sources": {"affine"},
    "equal_rows": {"affine"},
    "rows": {"affine", "equal_rows", "labels", "sources"},
    "columns": {"affine", "rows"},
    "hull": set(),
    "metrics": {"affine", "distances", "graphs", "hull", "labels", "rows", "sources"},
    "centers": {"affine", "distances", "rows"},
    "ridge": {"distances", "kernels", "rows"},
    "maps": {"affine", "distances", "kernels", "scores"},
    "ensemble": {"base", "maps", "scores"},
    "scores": set(),
    "unlabeled": {"distances", "graphs", "metrics", "ridge", "rows"},
    "augment": set(),
    "pipelines": {"affine", "datasets", "maps"},
    "class_maps": {"scores"},
    "palette": set(),
    "figures": {"palette"},
    "left_out": {"distances", "ridge", "rows", "scores"},
    "model": MODEL
    | {"centers", "columns", "base", "hull", "left_out", "ridge", "unlabeled"}
    | {"sources"},
    "updates": words("distances left_out maps metrics model ridge rows scores sources"),
    "positions": words("distances equal_rows left_out maps metrics model rows scores sources updates"),
    "updatable": words("affine labels maps metrics model positions rows scores sources updates"),
    "explanations": {"affine", "maps", "pipelines"},
    "devices": {"affine", "kernels", "maps", "scores"},
    "comparisons": {"pipelines"},
    "base": {"labels"},
    "fit_warnings": {"centers", "maps"},
    "memory": {"affine", "centers", "model", "sources"},
    "smooth": words(
        "centers columns base fit_warnings kernels labels memory metrics model "
        "positions rows sources unlabeled updatable updates"
    ),
    "exceptions": set(),
    "published": (MODEL - {"rows"}) | {"base", "exceptions", "graphs", "labels"},
    "methods": (MODEL - {"rows"}) | {"base", "exceptions", "graphs", "published"},
    "splits": set(),
    "sequential": set(),
    "grid": {"kernels", "metrics", "smooth"},
    "candidates": words("columns distances grid kernels model rows smooth splits"),
    "unlabeled_candidates": words(
        "candidates centers columns distances grid model rows smooth sources unlabeled"
    ),
    "halving": words(
        "candidates columns distances grid metrics model smooth unlabeled unlabeled_candidates"
    ),
    "stack": {"candidates"},
    "search": words(
        "base candidates ensemble grid halving maps rows scores smooth sources stack unlabeled "
        "unlabeled_candidates"
    ),
    # Maps and scores, not estimators: these have radii as a method.
    "certificates": {"affine", "distances", "kernels", "maps", "metrics", "pipelines", "scores"},
    # A file says which version wrote it; classes are found by their public names.
    "io": words("affine datasets ensemble kernels maps metrics nsse pipelines scores smooth"),
    "datasets": set(),
    "report": words(
        "affine certificates class_maps datasets base figures kernels maps explanations palette "
        "pipelines plot"
    ),
    "plot": {"base", "certificates", "class_maps", "explanations", "figures", "palette", "pipelines"},
    "cli": {"augment", "centers", "certificates", "datasets", "io", "nsse", "pipelines"}
    | {"figures", "report", "search", "smooth", "unlabeled"},
    "nsse": words("io metrics published search sequential smooth"),
    "__main__": {"cli"},
}
# What may be imported inside functions besides: no fit waits for certificates or figures.
AT_USE = {("base", "certificates"), ("base", "plot"), ("smooth", "certificates")}
AT_USE |= {("search", "certificates")}
AT_USE |= {("base", "comparisons"), ("base", "devices"), ("base", "explanations"), ("base", "figures")}
TESTS = Path(__file__).parent
# What users import, and what tests do: these modules, and of them what they offer.
OFFERED = words(
    "nsse nsse.augment nsse.centers nsse.certificates nsse.cli nsse.cli.app nsse.comparisons "
    "nsse.datasets nsse.devices nsse.exceptions nsse.explanations nsse.io nsse.kernels nsse.methods "
    "nsse.metrics nsse.plot nsse.report nsse.search nsse.splits nsse.unlabeled"
)
# Tests that may import more, folder by folder: oracles of core objects, and what these share.
ORACLES = {
    "": "given_ensembles files machine names own_metric pipelines threads",
    "core": "*",
    "published": "*",
    "methods": "catalogue method_contract mreg nys spe suplap",
    "smooth": "explain search",
    "certificates": "*",
    # numbers that a file, a graph or a page carries, beside those of Python
    "io": "*",
    "report": "*",
    # where a command waits, writes and is stopped
    "cli": "cli_errors cli_shell demo new_user",
    # images and official files, byte by byte
    "datasets": "columns datasets image_folder tables",
}
OPTIONAL = words(
    "PIL dask distributed jinja2 matplotlib onnx onnxruntime pandas plotly polars rich typer umap"
)


def room_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return "nsse" if parts == ("__init__",) else parts[0]


def imported_modules(tree: ast.AST, package: tuple[str, ...]) -> Iterator[str]:
    """Dotted names of everything imported anywhere in a file of ``package``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def imported_rooms(source: str, package: tuple[str, ...] = ("nsse",)) -> set[str]:
    names = [name.split(".") for name in imported_modules(parsed(source), package)]
    inside = [name[1:] for name in names if name[0] == "nsse"]
    return {name[0] if name and name[0] in MAY_IMPORT else "nsse" for name in inside}


def allowed(room: str) -> set[str]:
    """What a module may import anywhere in it."""
    return MAY_IMPORT[room] | {room, "_support"} | {other for own, other in AT_USE if own == room}


def offences(room: str, imported: set[str]) -> set[str]:
    return imported - allowed(room)


def rooms_imported_by(path: Path) -> set[str]:
    package = ("nsse", *path.relative_to(PACKAGE).parent.parts)
    return imported_rooms(path.read_text(encoding="utf-8"), package)


def names_at_module_level(tree: ast.Module) -> Iterator[str]:
    """Names imported when the module is, that is not inside a function or for types only."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        waiting.extend(ast.iter_child_nodes(node))


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def only_offenders(found: dict[str, list]) -> dict[str, list]:
    """Of what was found in every file, what is something: a failure shows all of it at once."""
    return {name: offences for name, offences in found.items() if offences}


def trees() -> Iterator[tuple[Path, ast.Module]]:
    """Every file of the package, parsed."""
    for path in FILES:
        yield path, parsed(path.read_text(encoding="utf-8"))


def test_every_file_is_in_a_room_of_the_map():
    strangers = sorted({room_of(path) for path in FILES} - set(MAY_IMPORT))
    assert not strangers, f"no rooms of the map: add them to the table, or move the files: {strangers}"


def test_imports_point_to_the_left():
    found = {relative(path): sorted(offences(room_of(path), rooms_imported_by(path))) for path in FILES}
    assert not only_offenders(found), "these files must not import these rooms"


def test_the_table_allows_no_more_than_is_used():
    used = {room: set() for room in MAY_IMPORT}
    for path in FILES:
        used[room_of(path)] |= rooms_imported_by(path)
    unused = {room: sorted(others - used[room]) for room, others in MAY_IMPORT.items()}
    assert not only_offenders(unused), "these import none of these: take them from the table"


def test_certificates_and_figures_are_imported_inside_functions():
    found = {}
    for path, tree in trees():
        late = {f"nsse.{other}" for room, other in AT_USE if room == room_of(path)}
        names = names_at_module_level(tree)
        found[relative(path)] = [name for name in names if any(name.startswith(one) for one in late)]
    assert not only_offenders(found), "these files import them when they are imported themselves"


def is_oracle(path: Path) -> bool:
    """Whether the table allows a test to import internals."""
    *folders, name = path.relative_to(TESTS).with_suffix("").parts
    listed = ORACLES.get("/".join(folders), "").split()
    return listed == ["*"] or name.removeprefix("test_") in listed


def internals_in(source: str) -> set[str]:
    """What a test imports of nsse that nsse does not offer."""
    names = {name for name in imported_modules(parsed(source), ()) if name.split(".")[0] == "nsse"}
    return {name for name in names if name not in OFFERED and not is_offered(*name.rpartition(".")[::2])}


def is_offered(module: str, name: str) -> bool:
    return module == "nsse.cli.app" or (module in OFFERED and name in offered_by(module))


@cache
def offered_by(module: str) -> list[str]:
    """`__all__` of a module, read and not imported: some need optional packages."""
    place = PACKAGE.joinpath(*module.split(".")[1:])
    source = (place / "__init__.py" if place.is_dir() else place.with_suffix(".py")).read_text("utf-8")
    found = [node for node in parsed(source).body if isinstance(node, ast.Assign)]
    return [
        n
        for node in found
        if "__all__" in ast.unparse(node.targets[0])
        for n in ast.literal_eval(node.value)
    ]


def test_only_oracles_import_internals():
    found = {
        path.relative_to(TESTS).as_posix(): sorted(internals_in(path.read_text(encoding="utf-8")))
        for path in sorted(TESTS.rglob("*.py"))
        if not is_oracle(path)
    }
    assert not only_offenders(found), "these tests import what users do not"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import nsse\nfrom nsse import NSSE\nimport nsse.plot", set()),
        ("from nsse.certificates import typicality\nfrom nsse.cli.app import app", set()),
        ("from nsse.certificates import margins", {"nsse.certificates.margins"}),
        ("def f():\n    from nsse.ridge import Ridge", {"nsse.ridge.Ridge"}),
    ],
)
def test_the_check_of_tests_sees_what_it_should(source, found):
    assert internals_in(source) == found


def test_optional_packages_are_imported_where_they_are_used():
    found = {}
    for path, tree in trees():
        at_once = {"typer"} if room_of(path) == "cli" else set()
        imported = {name.split(".")[0] for name in names_at_module_level(tree)}
        found[relative(path)] = sorted(imported & OPTIONAL - at_once)
    assert not only_offenders(found), "these files import optional packages before they are used"


def test_there_is_no_utils():
    names = {path.stem for path in [*FILES, *(p for p in PACKAGE.rglob("*") if p.is_dir())]}
    assert not names & {"utils", "_utils", "util", "helpers", "common", "misc"}


def test_the_table_has_no_circle():
    left = {room: others - {"nsse"} for room, others in MAY_IMPORT.items()}
    while left:
        free = {room for room, others in left.items() if not others & set(left)}
        assert free, f"these import each other in a circle: {sorted(left)}"
        left = {room: others for room, others in left.items() if room not in free}


@pytest.mark.parametrize(
    ("room", "source", "against"),
    [
        ("ridge", "def f():\n    from nsse import unlabeled", {"unlabeled"}),
        ("published", "from . import scale\nfrom ..graphs import laplacian", set()),
        ("published", "from ..smooth import SmoothEmbedding", {"smooth"}),
        ("base", "def f():\n    from nsse.certificates import certified_radius", set()),
        ("report", "import nsse", {"nsse"}),
    ],
)
def test_the_check_sees_what_it_should(room, source, against):
    assert offences(room, imported_rooms(source, ("nsse", room))) == against


def test_the_page_lists_modules_in_the_order_of_their_imports():
    page = (TESTS.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    levels = [set(re.findall(r"`(\w+)`", row)) for row in re.findall(r"^\| \d+ \|.+$", page, re.M)]
    before: set[str] = set()
    for level in levels:
        early = {room: sorted(MAY_IMPORT[room] - before - {"nsse"}) for room in level}
        assert not only_offenders(early), "these import modules that the page lists later"
        before |= level
    assert before == set(MAY_IMPORT) - {"__main__"}


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_importing_nsse_loads_nothing_optional():
    # scikit-learn itself loads pandas and rich where they are installed: count what comes on top.
    program = f"""
import sys, sklearn.neighbors
try:
    import sklearn.callback
except ImportError:
    pass
before = set(sys.modules)
import nsse
nsse.SmoothEmbedding  # found at first use
print(sorted((set(sys.modules) - before) & {OPTIONAL!r}))
"""
    assert run(program) == "[]"


@pytest.mark.slow
def test_every_room_but_the_command_line_loads_without_the_optional_packages():
    modules = [
        ".".join(("nsse", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        for path in FILES
        if room_of(path) not in {"cli", "__main__"}
    ]
    program = f"""
import importlib, sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {sorted(OPTIONAL)!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
for module in {modules!r}:
    importlib.import_module(module)
import nsse
nsse.NSSE().fit([[0.0], [0.1], [2.0], [2.1]], [0, 0, 1, 1])
nsse.SmoothEmbedding().fit([[0.0], [0.1], [2.0], [2.1]], [0, 0, 1, 1])
"""
    run(program)
