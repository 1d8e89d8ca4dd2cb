"""Check the prose of pages and docstrings for mistakes that can be counted.

    python release/prose.py README.md docs src     # these are checked in `make lint`, among others
    python release/prose.py docs/howto             # these pages
    python release/prose.py docs --show splices    # where a rule matches

The table has the number of words of each page, its readability (Flesch reading ease, where 60 is plain
English and 30 is a research paper), and the number of matches of each rule per 1,000 words. The
docstrings of a folder are one row. Code, tables and formulas do not count. The check fails if all pages
together or all docstrings together exceed the limit of a rule. The limits are close to the counts of
metric-learn's documentation. It also fails if a block of code is wider than 79 columns, or if codespell
finds a misspelled word. A low count does not mean that a text is good.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MADE = (("_build",), ("api",), ("gallery",))
WIDEST = 79
BRITISH = (
    r"centre[sd]?|colou?red(?<!colored)|colours?|grey|labell(?:ed|ing)|unlabell(?:ed|ing)|neighbour\w*"
    r"|behaviour\w*|favour\w*|whilst|analyse[sd]?"
    r"|(?:normal|standard|optim|minim|maxim|general|regular|factor|real)is(?:e[sdr]?|ing|ations?)"
)
PERSONS = "knows?|tells?|told|speaks?|says?|said|wants?|insists?|promises|travels?"
OPENINGS = "Where|Whoever|Of|Without|Beyond|Behind"


@dataclass(frozen=True)
class Rule:
    """A pattern of bad prose, and how often it may occur per 1,000 words."""

    pattern: re.Pattern[str]
    limit: float


RULES = {
    "splices": Rule(re.compile(r"[a-z)\]][:;] (?=[a-z])(?!e\.g|i\.e)"), 8.0),
    "beside": Rule(re.compile(r"\bbeside\b", re.IGNORECASE), 0.05),
    "those of": Rule(re.compile(r"\b(?:that|those|these) of\b"), 0.3),
    "persons": Rule(re.compile(rf"\b(?:{PERSONS})\b", re.IGNORECASE), 1.0),
    "openings": Rule(re.compile(rf"(?:^|(?<=[.!?] ))(?:{OPENINGS})\b"), 0.3),
    "british": Rule(re.compile(rf"\b(?:{BRITISH})\b", re.IGNORECASE), 0.0),
}


def files(names: Sequence[Path], kind: str) -> list[Path]:
    """Return the files of a kind (``"*.md"``), given or in folders, that are written by hand."""
    return [
        file
        for name in names
        for file in (sorted(name.rglob(kind)) if name.is_dir() else [name])
        if file.match(kind) and (file == name or file.relative_to(name).parts[:1] not in MADE)
    ]


def docstrings_of(source: str) -> str:
    """Return the prose of the docstrings of a module, without examples, and without names and types."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node) or ""
            text = re.sub(r"(?m)^\s*(?:>>>|\.\.\.).*$", " ", text)
            text = re.sub(r"(?m)^\S.* : .*$|^.*\n-{3,}$", " ", text)
            found.append(prose_of(text.replace("``", "`")))
    return " ".join(found)


def prose_of(text: str) -> str:
    """Return the prose of a page, without code, tables, formulas, headings and addresses."""
    text = re.sub(r"(?ms)^(```|:::|~~~).*?^\1\s*$", " ", text)
    text = re.sub(r"(?s)<!--.*?-->", " ", text)
    # Ends of paragraphs and items of lists are ends of sentences, also if no full stop says so.
    lines = [
        line for line in text.splitlines() if not re.match(r"\s*(\||#|!\[|\[.*\]:|:\w+:|    )", line)
    ]
    text = re.sub(r"`[^`]*`", "CODE", "\n".join(lines))
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\*{1,2}|(?<!\w)_|_(?!\w)", "", text)
    text = re.sub(r"(?m)^\s*(?:[-:]|\d+\.) +", "", text)
    return re.sub(r"\s+", " ", text).strip()


def matches(text: str) -> Counter[str]:
    """Return how often each rule matches in prose."""
    return Counter({name: len(rule.pattern.findall(text)) for name, rule in RULES.items()})


def wide_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of blocks of code that are too wide, with their numbers."""
    inside = raw = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            inside, raw = not inside, line.startswith("```{raw}")
        elif inside and not raw and len(line) > WIDEST:
            yield number, line


def readability(text: str) -> float:
    """Return the Flesch reading ease of prose."""
    import textstat

    return float(textstat.flesch_reading_ease(text.replace("CODE", "it")))


def spelling(found: Sequence[Path]) -> list[str]:
    """Return the misspelled words that codespell finds."""
    command = [sys.executable, "-m", "codespell_lib", *map(str, found)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def check(names: Sequence[Path], show: str | None = None) -> list[str]:
    """Print the table, and return what exceeds the limits."""
    pages = files(names, "*.md")
    modules = files(names, "*.py")
    problems = []
    texts = {}
    for page in pages:
        text = page.read_text(encoding="utf-8")
        name = page.as_posix()
        texts[name] = prose_of(text)
        problems += [f"{name}:{n}: more than {WIDEST} columns: {line}" for n, line in wide_lines(text)]
    docstrings = (docstrings_of(module.read_text(encoding="utf-8")) for module in modules)
    print(f"{'words':>6}{'ease':>6}" + "".join(f"{name:>10}" for name in RULES))
    problems += counted(texts, "all pages", show)
    problems += counted({"docstrings": " ".join(docstrings)}, "all docstrings", show)
    print(" " * 12 + "".join(f"{rule.limit:10.1f}" for rule in RULES.values()) + "  at most")
    return problems + spelling([*pages, *modules])


def counted(texts: dict[str, str], name: str, show: str | None) -> list[str]:
    """Print a row for each text and one for all of them, and return the rules that they break."""
    total = Counter[str]()
    words = 0
    for title, prose in texts.items():
        here = len(prose.split())
        found = matches(prose)
        if here:
            print(f"{here:6d}{readability(prose):6.0f}" + _shares(found, here) + f"  {title}")
        if show:
            _show(title, prose, RULES[show].pattern)
        total += found
        words += here
    if len(texts) > 1:
        print(f"{words:6d}      " + _shares(total, words) + f"  {name}")
    return [
        f"{rule}: {total[rule]} matches in {name} are too many. See them with --show '{rule}'."
        for rule in RULES
        if 1000 * total[rule] > RULES[rule].limit * words
    ]


def _shares(found: Counter[str], words: int) -> str:
    return "".join(f"{1000 * found[name] / words:10.1f}" for name in RULES)


def _show(name: str, prose: str, pattern: re.Pattern[str]) -> None:
    for match in pattern.finditer(prose):
        print(f"    {name}: …{prose[max(0, match.start() - 50) : match.end() + 30]}…")


def main() -> int:
    """Run the check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="+", type=Path, help="Markdown and Python files, or folders")
    parser.add_argument("--show", choices=list(RULES), help="print the matches of a rule")
    options = parser.parse_args()
    problems = check(options.names, options.show)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
