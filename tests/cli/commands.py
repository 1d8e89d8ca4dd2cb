"""Commands as a person types them, and what they leave."""

from __future__ import annotations

import csv
import json

import numpy as np
from typer.testing import CliRunner

from nsse.cli.app import app
from nsse.datasets import write_images


def run(*arguments, code=0, **how):
    """The result of a command that ends with a code."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False, **how)
    assert result.exit_code == code, result.output
    return result


def told(*arguments):
    """What a command prints for machines; nothing else may be on stdout."""
    return json.loads(run(*arguments, "--json").stdout)


def rows_of(path):
    """The rows of a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_digits(folder, digit_images, **parts):
    """Write some images of three digits as PNG files, in a folder for each part."""
    for part, numbers in parts.items():
        places = [np.flatnonzero(digit_images.y == digit)[list(numbers)] for digit in (0, 1, 2)]
        write_images(digit_images, np.concatenate(places).tolist(), folder / part)
    return folder
