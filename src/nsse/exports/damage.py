"""One line for every kind of broken file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import BadZipFile

from nsse._support.errors import rule_error, rule_message

# Characters of what an error of another library says.
LONGEST_REASON = 200


@contextmanager
def told_as_damage(path: Path) -> Iterator[None]:
    """Say in one line that a file is damaged, whatever tripped over it."""
    try:
        yield
    except (NotAModelError, MemoryError):
        raise
    except OSError as error:
        # Without a file name it is no trouble with the disk: a wrong offset led out of the file.
        if error.filename is not None:
            raise
        raise _damaged(path, error) from error
    except BadZipFile as error:
        with path.open("rb") as file:
            began_well = file.read(2) == b"PK"
        if not began_well:
            raise no_model(path, "another kind of file, or an empty one") from error
        raise _damaged(path, error) from error
    except Exception as error:
        # What skops, NumPy and scikit-learn raise on contents that no `save` wrote is not documented.
        raise _damaged(path, error) from error


class NotAModelError(ValueError):
    """The file is whole, but no model."""


def no_model(path: Path, found: str) -> NotAModelError:
    """The error for a file that holds something else."""
    cure = "`nsse.save` writes them."
    return NotAModelError(rule_message("path", "name a model file of nsse", f"{path}, {found}", cure))


def _damaged(path: Path, error: Exception) -> ValueError:
    return rule_error(
        "path",
        "name a model file that is whole",
        f"{path}, cut short or damaged ({type(error).__name__}: {_in_one_line(error)})",
        "Save or copy it again.",
    )


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:LONGEST_REASON]
