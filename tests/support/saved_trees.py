"""The trees that files hold, to be changed as a stranger would change them."""

from __future__ import annotations

import copy

import numpy as np


class _Gone:
    def __repr__(self):
        return "gone"


GONE = _Gone()  # in the place of a value: the entry is taken away


def places(tree, path=()):
    """Every place in a tree, as a path of keys and indices; the whole has none."""
    if path:
        yield path
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, inner in pairs:
        yield from places(inner, (*path, key))


def found(tree, path):
    """What is at a path; one may be written with dots, ``scouts.0.worth``."""
    for key in _steps(path):
        tree = tree[key]
    return tree


def arrays_of(tree):
    """The arrays in a tree, by their paths."""
    return {path: inner for path in places(tree) if isinstance(inner := found(tree, path), np.ndarray)}


def changed(tree, path, value):
    """Another tree with another value at a path, or none; a function makes it of the one that is there."""
    other = copy.deepcopy(tree)
    *before, last = _steps(path)
    inner = found(other, before)
    if value is GONE:
        del inner[last]
    else:
        inner[last] = value(inner[last]) if callable(value) else value
    return other


def _steps(path):
    if isinstance(path, str):
        return [int(word) if word.isdigit() else word for word in path.split(".")]
    return list(path)
