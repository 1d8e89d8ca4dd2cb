"""Check the prose of the documentation for mistakes that can be counted.

    python release/prose.py README.md docs         # in `make lint`
    python release/prose.py docs/howto             # these pages
    python release/prose.py docs --show splices    # where a rule matches

The table has the number of words of each page, its readability (Flesch reading ease, where 60 is plain
English and 30 is a research paper), and the number of matches of each rule per 1,000 words. Code,
tables and formulas do not count. The check fails if all pages together exceed the limit of a rule. The
limits are close to the counts of metric-learn's documentation. It also fails if a block of code is
wider than 79 columns, or if codespell finds a misspelled word. A low count does not mean that a text
is good.
"""

from __future__ import annotations

import argparse
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
    "openings": Rule(re.compile(rf"(?:^|(?<=[.!?] ))(?:{OPENINGS})\b"), 0.3),
    "british": Rule(re.compile(rf"\b(?:{BRITISH})\b", re.IGNORECASE), 0.0),
}


def pages(names: Sequence[Path]) -> list[Path]:
    """Return the pages of files and folders that are written by hand."""
    return [
        page
        for name in names
        for page in (sorted(name.rglob("*.md")) if name.is_dir() else [name])
        if not page.is_relative_to(name) or page.relative_to(name).parts[:1] not in MADE
    ]


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
    total, words, problems = Counter[str](), 0, []
    print(f"{'words':>6}{'ease':>6}" + "".join(f"{name:>10}" for name in RULES))
    for page in pages(names):
        name, text = page.as_posix(), page.read_text(encoding="utf-8")
        problems += [f"{name}:{n}: more than {WIDEST} columns: {line}" for n, line in wide_lines(text)]
        prose = prose_of(text)
        here, found = len(prose.split()), matches(prose)
        if here:
            print(f"{here:6d}{readability(prose):6.0f}" + _shares(found, here) + f"  {name}")
        if show:
            _show(name, prose, RULES[show].pattern)
        total, words = total + found, words + here
    print(f"{words:6d}      " + _shares(total, words) + "  all pages")
    print(" " * 12 + "".join(f"{rule.limit:10.1f}" for rule in RULES.values()) + "  at most")
    for name, rule in RULES.items():
        if 1000 * total[name] > rule.limit * words:
            problems.append(
                f"{name}: {total[name]} matches are too many. See them with --show '{name}'."
            )
    return problems + spelling(pages(names))


def _shares(found: Counter[str], words: int) -> str:
    return "".join(f"{1000 * found[name] / words:10.1f}" for name in RULES)


def _show(name: str, prose: str, pattern: re.Pattern[str]) -> None:
    for match in pattern.finditer(prose):
        print(f"    {name}: …{prose[max(0, match.start() - 50) : match.end() + 30]}…")


def main() -> int:
    """Run the check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("pages", nargs="+", type=Path, help="Markdown files, or folders of them")
    parser.add_argument("--show", choices=list(RULES), help="print the matches of a rule")
    options = parser.parse_args()
    problems = check(options.pages, options.show)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
