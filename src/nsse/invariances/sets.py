"""Invariances of pictures by name, and the sets of them that are tried where nobody knows which hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nsse._errors import listed, rule_error
from nsse.invariances.images import Images

# What each does where nothing else is said: pixels, degrees, a ratio, a share of brightness.
AMOUNTS: dict[str, dict[str, Any]] = {
    "shift": {"shift": 1},
    "rotate": {"rotate": 6.0},
    "scale": {"scale": 1.1},
    "mirror": {"mirror": True},
    "brightness": {"brightness": 0.1},
}
NONE: dict[str, Any] = {"shift": None, "rotate": None}
# With a mirror and without, for it is right or wrong; with shifts and without, for some are centred.
SETS = (
    (),
    ("mirror",),
    ("shift",),
    ("rotate", "mirror"),
    ("shift", "rotate"),
    ("shift", "rotate", "scale"),
    ("shift", "rotate", "mirror"),
)


def named_images(names: Sequence[str], shape: Any) -> Images | None:
    """Copies of pictures by the names of what is done to them; None where there are none.

    Parameters
    ----------
    names : sequence of {"shift", "rotate", "scale", "mirror", "brightness"}
        By one pixel, 6 degrees, a tenth, left and right, a tenth.
    shape : tuple
        As in `Images`.

    Returns
    -------
    Images or None
        With these and no others.

    See Also
    --------
    nsse.invariances.Images : Amounts of your own.
    nsse.invariances.usual_sets : Sets to choose among.

    Examples
    --------
    >>> from nsse.invariances import named_images
    >>> named_images(["shift", "mirror"], (8, 8))
    Images(mirror=True, rotate=None, shape=(8, 8))
    """
    unknown = [name for name in names if name not in AMOUNTS]
    if unknown:
        rule = f"be among {listed(list(AMOUNTS))}"
        raise rule_error("names", rule, unknown[0], "Each is a transformation of pictures.")
    if not names:
        return None
    amounts = [AMOUNTS[name].items() for name in names]
    return Images(shape, **NONE | {key: value for pairs in amounts for key, value in pairs})


def usual_sets(shape: Any) -> list[Images | None]:
    """Sets of invariances of pictures to choose among, none at all first.

    See Also
    --------
    nsse.selection.choose_invariances : Chooses among them.
    nsse.invariances.named_images : One set by names.

    Examples
    --------
    >>> from nsse.invariances import usual_sets
    >>> usual_sets((8, 8))[0] is None
    True
    """
    return [named_images(names, shape) for names in SETS]


def names_of(invariances: Any) -> list[str]:
    """What is done to pictures, by name.

    Parameters
    ----------
    invariances : Images or None
        What is done to pictures.

    Returns
    -------
    list of str
        As `named_images` takes them.

    See Also
    --------
    nsse.invariances.named_images : The way back.

    Examples
    --------
    >>> from nsse.invariances import Images, names_of
    >>> names_of(Images((25, 25), shift=None, mirror=True))
    ['rotate', 'mirror']
    """
    if not isinstance(invariances, Images):
        return []
    values = invariances.get_params(deep=False)
    return [name for name in AMOUNTS if values[name] not in (None, False)]
