"""Links that work both on the site and in a clone that has no site.

Pages name a class or function as code, and the site links the first mention on each page to the
reference. Pages link to examples as files of the repository, and the site links to the gallery instead.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

import nsse

EXAMPLE = re.compile(r"\]\((?:\.\./)+examples/(plot_\w+)\.py\)")
NAME = re.compile(r"[A-Za-z_][\w.]*(?=\(\)$|$)")


def link_examples(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace links to example files by links to their pages in the gallery."""
    up = "../" * docname.count("/")
    source[0] = EXAMPLE.sub(rf"]({up}gallery/\1.rst)", source[0])


@cache
def public_names() -> dict[str, str]:
    """Return what a page may call each public class or function, and the full name of each."""
    found: dict[str, str] = {}
    for module in ("nsse", *(f"nsse.{name}" for name in nsse._MODULES)):
        for name in import_module(module).__all__:
            full = f"nsse.{name}" if name in nsse.__all__ else f"{module}.{name}"
            found |= {f"{module}.{name}": full, full: full}
            if name[0].isupper():
                found.setdefault(name, full)
    return found


def link_names(app: Sphinx, doctree: nodes.document) -> None:
    """Link the first mention of each public name on a page that is written by hand."""
    docname = app.env.docname
    if docname.startswith(("api", "gallery/")):
        return
    linked: set[str] = set()
    for literal in list(doctree.findall(nodes.literal)):
        name = NAME.match(literal.astext())
        target = public_names().get(name[0]) if name else None
        inside = isinstance(literal.parent, (nodes.reference, nodes.title, addnodes.pending_xref))
        if target and target not in linked and not inside:
            linked.add(target)
            link = addnodes.pending_xref(
                "", refdomain="py", reftype="obj", reftarget=target, refdoc=docname, refwarn=True
            )
            literal.replace_self(link)
            link += literal


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the two steps with Sphinx."""
    app.connect("source-read", link_examples)
    app.connect("doctree-read", link_names)
    return {"parallel_read_safe": True}
