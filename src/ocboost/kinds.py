"""Everything that a file can hold, by the name that it has there, and how one thing is saved within another.

A class that is listed here has ``tree()``, what a file holds of it, and ``from_tree(fields)``, which makes
one of that (`ocboost.fields`). A thing within another has its kind beside its entries.

>>> KINDS["Stumps"].load()
<class 'ocboost.hypotheses.stumps.Stumps'>
>>> KINDS["Winnow"].axis
'booster'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .boosters import registry
from .errors import ModelFileError, NotSavableError
from .fields import Fields, Tree

BOOSTER, HYPOTHESES, OFFSET = "booster", "hypotheses", "offset"  # what can be within something else


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
        return registry.class_at(self.place)


KINDS: dict[str, Kind] = {
    each.name: each
    for each in (
        *(Kind(name, BOOSTER, each.place, each.title) for name, each in registry.KINDS.items()),
        Kind("Stumps", HYPOTHESES, ".hypotheses.stumps:Stumps", "stumps"),
        Kind("Trees", HYPOTHESES, ".hypotheses.trees:Trees", "trees"),
        Kind("Balls", HYPOTHESES, ".hypotheses.balls:Balls", "balls"),
        Kind("Boxes", HYPOTHESES, ".hypotheses.boxes:Boxes", "box filters"),
        Kind("CascadeStumps", HYPOTHESES, ".hypotheses.cascade_stumps:CascadeStumps", "cascade stumps"),
        Kind("Joined", HYPOTHESES, ".hypotheses.joined:Joined", "several sets of hypotheses"),
        Kind("LinearOffset", OFFSET, ".offsets.linear:LinearOffset", "a linear score"),
        Kind("VotedOffset", OFFSET, ".offsets.voted:VotedOffset", "votes of fixed weights"),
        Kind("ScaledOffset", OFFSET, ".offsets.scaled:ScaledOffset", "a score on another scale"),
        Kind("OCBClassifier", "model", ".model:Model", "a model"),
        Kind("Adaptation", "checkpoint", ".adaptation:Adaptation", "a checkpoint"),
        Kind("FilterBoost", "filterboost", ".lineage.filterboost:FilterBoost", "a FilterBoost"),
        Kind("CacheEntry", "cache entry", ".reproduce.cache:Entry", "a result kept by ocboost reproduce"),
    )
}


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
