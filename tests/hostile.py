"""Model files taken apart and put together again: what the tests of hostile files share."""

from __future__ import annotations

import json
import zipfile
from io import BytesIO

import numpy as np

import nsse

TREE, HEADER = "schema.json", "nsse.json"
FORMAT = 2


def members_of(path):
    with zipfile.ZipFile(path) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def write_members(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as opened:
        for name, content in members.items():
            opened.writestr(name, content)


def as_npy(array):
    buffer = BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def node_at(tree, *way):
    """The object that is an attribute of an attribute ... of the model."""
    for name in way:
        tree = tree["content"]["content"][name]
    return tree


def nodes_of(tree):
    """All objects of a tree, and the dicts of their parts."""
    if isinstance(tree, dict):
        yield tree
    for part in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from nodes_of(part)


def changed_file(model, change, path):
    """Save a model, have ``change(members, tree)`` change the file, and put it together again."""
    nsse.save(model, path)
    members = members_of(path)
    tree = json.loads(members[TREE])
    change(members, tree)
    members[TREE] = json.dumps(tree).encode()
    write_members(path, members)
    return path


def unchanged(members, tree):
    """Leave all as it is."""
