"""The golden master: numbers of small fits of everything public, stored once and compared later.

    python tests/golden/test_golden.py              # by how much they differ, to 1e-9; seconds
    python tests/golden/test_golden.py --store      # writes numbers.npz anew

A change of form moves no number: columns of embeddings agree up to sign, labels exactly, others to a
share of the largest of their array. `configurations` says what is fitted.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from configurations import CONFIGURATIONS

STORED = Path(__file__).with_name("numbers.npz")
# What another order of sums moves by more: the weights of an ensemble, a problem with condition 1e14.
LOOSE = {"search": 3e-3, "published, weights far apart": 1e-6}
UP_TO_SIGN = ("embedding", "training embedding")


def computed(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {key: np.asarray(value) for key, value in CONFIGURATIONS[name]().items()}


def stored(name):
    with np.load(STORED) as file:
        keys = [key for key in file.files if key.partition("/")[0] == name]
        return {key.partition("/")[2]: file[key] for key in keys}


def difference(quantity, before, after):
    """The largest difference over the largest value; infinite where shapes or labels differ."""
    if before.shape != after.shape:
        return np.inf
    if quantity in ("labels", "transduction"):
        return 0.0 if (before == after).all() else np.inf
    before, after = before.astype(float), after.astype(float)
    if quantity in UP_TO_SIGN:
        after = after * np.where(np.einsum("ij,ij->j", before, after) < 0, -1.0, 1.0)
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    apart = np.abs(np.subtract(before, after, where=~same, out=np.zeros_like(before)))
    scale = float(np.abs(before[np.isfinite(before)]).max(initial=0.0)) or 1.0
    return float(np.nan_to_num(apart, nan=np.inf).max(initial=0.0)) / scale


def differences(before, after):
    """By quantity; infinite where one is missing."""
    names = dict.fromkeys([*before, *after])
    return {
        name: difference(name, before[name], after[name]) if name in before and name in after else np.inf
        for name in names
    }


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_numbers_are_what_they_were(name):
    """Labels are the same, and every other number but for rounding, on whatever processor."""
    apart = differences(stored(name), computed(name))
    assert apart
    assert max(apart.values()) <= max(1e-6, LOOSE.get(name, 0.0)), apart


def test_differences_are_found():
    a = np.array([[1.0, -2.0], [np.inf, 4.0]])
    b = np.array([[1.0, -2.0], [3.0, 4.0]])
    assert difference("scores", a, a) == difference("embedding", b, -b) == 0.0
    assert difference("scores", a, a + np.diag([0.0, 1.0])) == 0.25
    for quantity, other in (("scores", np.full((2, 2), np.nan)), ("scores", a[:1]), ("labels", -a)):
        assert difference(quantity, a, other) == np.inf
    assert differences({"radii": a}, {"radii": a, "scores": a}) == {"radii": 0.0, "scores": np.inf}


def main():
    found = {name: computed(name) for name in CONFIGURATIONS}
    apart = {name: differences(stored(name), found[name]) for name in found}
    for name, own in apart.items():
        most = max(own, key=own.get)
        differs = own[most] > max(1e-9, LOOSE.get(name, 0.0))
        print(f"{name:35s} {own[most]:8.1e} in {most}{'   DIFFERS' if differs else ''}")
    if "--store" in sys.argv:
        arrays = {f"{name}/{key}": value for name in found for key, value in found[name].items()}
        np.savez_compressed(STORED, **arrays)


if __name__ == "__main__":
    main()
