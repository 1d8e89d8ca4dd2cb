"""The page of a reproduction: findings, tables, figures and the manifest in one HTML file.

Also the same tables as Markdown. Everything comes in as text and numbers (``nsse.paper.pages``); the
page needs no other file and no network.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from nsse.report.palette import FAINT, INK, MUTED_INK, PAPER


def markdown_page(title: str, introduction: Sequence[str], tables: Sequence[Any]) -> str:
    """Tables in Markdown; best numbers in bold, what stands beside in brackets."""
    parts = [f"# {title}", *introduction]
    for table in tables:
        parts += [f"## {table.title}", table.remark, _markdown_table(table)]
    return "\n\n".join(filter(None, parts)) + "\n"


def html_page(
    title: str,
    picture: str,
    opening: Sequence[str],
    introduction: Sequence[str],
    findings: Sequence[str],
    notes: Sequence[str],
    tables: Sequence[Any],
    figures: Sequence[Any],
    facts: Sequence[tuple[str, str]],
) -> str:
    """One self-contained page.

    Parameters
    ----------
    title : str
        Its heading.
    picture : str
        What it opens with, an ``svg`` element; may be empty.
    opening, introduction, findings, notes : sequences of str
        Sentences below the picture, paragraphs, a list of sentences, and paragraphs again; "## " makes
        a heading.
    tables : sequence
        With ``title``, ``remark``, ``header``, ``rows`` of cells (``text``, ``aside``, ``strong``) and
        ``folded``.
    figures : sequence
        With ``title``, ``caption`` and ``svg``.
    facts : sequence of (str, str)
        The manifest.

    Returns
    -------
    str
        HTML; all text is escaped, the picture is taken as it is.
    """
    folder = files("nsse.report")
    colors = {"ink": INK, "muted": MUTED_INK, "faint": FAINT, "paper": PAPER}
    return Template((folder / "reproduction.html").read_text(encoding="utf-8")).substitute(
        title=escape(title),
        style=Template((folder / "reproduction.css").read_text(encoding="utf-8")).substitute(colors),
        picture=f"<figure class='first'>{picture}</figure>" if picture else "",
        opening="\n".join(f"<p class='opening'>{escape(text)}</p>" for text in opening),
        introduction="\n".join(f"<p>{escape(text)}</p>" for text in introduction),
        findings="\n".join(f"<li>{escape(text)}</li>" for text in findings),
        notes="\n".join(_note(text) for text in notes),
        tables="\n".join(_html_table(table) for table in tables),
        figures="\n".join(_html_figure(figure) for figure in figures),
        facts="\n".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts),
    )


def _note(text: str) -> str:
    if text.startswith("## "):
        return f"<h3>{escape(text[3:])}</h3>"
    return f"<p>{escape(text)}</p>"


def _html_table(table: Any) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.header)
    body = "\n".join(
        f"<tr>{''.join(_html_cell(c, i) for i, c in enumerate(r))}</tr>" for r in table.rows
    )
    remark = f"<p>{escape(table.remark)}</p>" if table.remark else ""
    parts = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    inside = f"{remark}<div class='wide'><table>{parts}</table></div>"
    if table.folded:
        return f"<details><summary>{escape(table.title)}</summary>{inside}</details>"
    return f"<section><h3>{escape(table.title)}</h3>{inside}</section>"


def _html_cell(cell: Any, column: int) -> str:
    tag = "th" if column == 0 else "td"
    text = f"<b>{escape(cell.text)}</b>" if cell.strong else escape(cell.text)
    aside = f" <small>{escape(cell.aside)}</small>" if cell.aside else ""
    return f"<{tag}>{text}{aside}</{tag}>"


def _html_figure(figure: Any) -> str:
    data = base64.b64encode(figure.svg).decode("ascii")
    return (
        f"<figure><h3>{escape(figure.title)}</h3>"
        f"<img alt='{escape(figure.title)}' src='data:image/svg+xml;base64,{data}'>"
        f"<figcaption>{escape(figure.caption)}</figcaption></figure>"
    )


def _markdown_table(table: Any) -> str:
    rule = ["---", *["---:"] * (len(table.header) - 1)]
    lines = [list(table.header), rule, *([_markdown_cell(cell) for cell in row] for row in table.rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _markdown_cell(cell: Any) -> str:
    text = f"**{cell.text}**" if cell.strong else cell.text
    return f"{text} {cell.aside}".strip().replace("|", "\\|")
