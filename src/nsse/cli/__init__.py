"""Run the command ``nsse``. Its subcommands, one per file, are listed in ``app``.

Typer and Rich are optional, and everything heavier is imported when a command runs, so that help is
fast. A command ends with exit code 0, or with 2 and one line about the cure.
"""

from __future__ import annotations

import os
import sys

from nsse._support.errors import rule_message

_PARTS = ("typer", "rich", "click")


def main() -> None:
    """Run the command line. This is the entry point of the script ``nsse``."""
    try:
        import rich  # noqa: F401

        from nsse.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in _PARTS:
            raise
        sys.stderr.write(f"The nsse command needs {error.name}. Install it: pip install 'nsse[cli]'\n")
        sys.exit(2)
    try:
        try:
            app(prog_name="nsse")
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has stopped reading
        _drop_output()
        sys.exit(1)
    except OSError as error:
        _drop_output()
        sys.stderr.write(f"nsse: {system_message(error)}\n")
        sys.exit(2)


def system_message(error: OSError) -> str:
    """Return a message about an error of the system, with the name of the file but not of a stream."""
    if error.filename is None:
        cure = "Free some room, or write to another place."
        return rule_message("output", "be written whole", error.strerror, cure)
    rule, cure = "be a file that this user may read or write", "Check its name, its rights and its disk."
    return rule_message(error.filename, rule, error.strerror, cure)


def _drop_output() -> None:
    """Discard the buffer of stdout, which Python would try to write again at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
