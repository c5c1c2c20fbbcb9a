"""Everything that a file can hold, by the name that it has there, and how one thing is saved within another.

A class that is listed here has ``tree()``, what a file holds of it, and ``from_tree(fields)``, which makes
one of that (`ocboost._core.codec`). A thing within another has its kind beside its entries.

>>> KINDS["Stumps"].load()
<class 'ocboost.hypotheses.stumps.Stumps'>
>>> KINDS["Winnow"].axis
'booster'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from ocboost._core.codec import Fields, Tree
from ocboost.errors import ModelFileError, NotSavableError

BOOSTER, HYPOTHESES, OFFSET = "booster", "hypotheses", "offset"  # what can be within something else


@cache
def class_at(place: str) -> Any:
    """The class at a place of ocboost, imported when first asked for.

    >>> class_at(".boosters.sketch.sketch:BoostingSketch")
    <class 'ocboost.boosters.sketch.sketch.BoostingSketch'>
    """
    module, name = place.split(":")
    return getattr(import_module(module, "ocboost"), name)


@dataclass(frozen=True)
class Kind:
    """Something that a file can hold.

    Parameters
    ----------
    name : str
        What it is called in files.
    axis : str
        What it is: what of the same axis can take its place.
    place : str
        Its module and class, with a colon between.
    title : str
        What it is called elsewhere.
    """

    name: str
    axis: str
    place: str
    title: str

    def load(self) -> Any:
        """Its class, imported when first asked for."""
        return class_at(self.place)


KINDS: dict[str, Kind] = {
    each.name: each
    for each in (
        Kind("Stumps", HYPOTHESES, ".hypotheses.stumps:Stumps", "stumps"),
        Kind("Trees", HYPOTHESES, ".hypotheses.trees:Trees", "trees"),
        Kind("Balls", HYPOTHESES, ".hypotheses.balls:Balls", "balls"),
        Kind("Boxes", HYPOTHESES, ".hypotheses.boxes:Boxes", "box filters"),
        Kind("CascadeStumps", HYPOTHESES, ".hypotheses.cascade_stumps:CascadeStumps", "cascade stumps"),
        Kind("Joined", HYPOTHESES, ".hypotheses.joined:Joined", "several sets of hypotheses"),
        Kind("LinearOffset", OFFSET, ".offsets.scorers:LinearOffset", "a linear score"),
        Kind("VotedOffset", OFFSET, ".offsets.scorers:VotedOffset", "votes of fixed weights"),
        Kind("ScaledOffset", OFFSET, ".offsets.scorers:ScaledOffset", "a score on another scale"),
        Kind("OCBClassifier", "model", ".deployment.model:Model", "a model"),
        Kind("Adaptation", "checkpoint", ".deployment.adaptation:Adaptation", "a checkpoint"),
        Kind("FilterBoost", "filterboost", ".estimators.filterboost:FilterBoost", "a FilterBoost"),
        Kind("CacheEntry", "cache entry", ".paper.cache:OldEntry", "a cached result of an earlier version"),
    )
}


def register(kind: Kind) -> None:
    """Let files hold one more kind; of several with one name the first counts."""
    KINDS.setdefault(kind.name, kind)


def known(kind: str, axis: str | None, name: str) -> Kind:
    """The kind of this name and axis; a file that says something else is refused."""
    found = KINDS.get(kind)
    if found is None or axis not in (None, found.axis):
        names = ", ".join(each.name for each in KINDS.values() if axis in (None, each.axis))
        raise ModelFileError(
            f"{name} holds {axis or 'something'} of the kind {kind!r:.40}, and this ocboost knows {names}. "
            "Load it with the ocboost that saved it, or install a newer one."
        )
    return found


def is_known(thing: Any, axis: str) -> bool:
    """Whether a file can hold a thing of this axis: a class of someone else's could not be loaded."""
    found = KINDS.get(getattr(thing, "kind", ""))
    return found is not None and found.axis == axis and found.load() is type(thing)


def tree_within(thing: Any, axis: str) -> Tree:
    """What a file holds of something within something else."""
    tree = thing.tree()
    if not is_known(thing, axis):
        names = ", ".join(each.name for each in KINDS.values() if each.axis == axis)
        raise NotSavableError(
            f"{axis} must be of ocboost's own kinds, {names}, to be saved in a model; got "
            f"{type(thing).__name__}. Save only the weights, with booster.save(path)."
        )
    return {"kind": thing.kind, **tree}


def within(axis: str) -> Callable[[Fields], Any]:
    """A function that makes what `tree_within` gave for this axis."""

    def make(fields: Fields) -> Any:
        return known(fields.text("kind"), axis, fields.name).load().from_tree(fields)

    return make
