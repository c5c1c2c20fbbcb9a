"""Everything that a file can hold, by the name it has there.

To add a kind, give its class

- ``kind``, the name it has in files (never change it: saved files have it);
- ``tree()``, a dict of plain values, lists, dicts and arrays that describes an object;
- ``from_tree(fields)``, a class method that makes an object of that (`ocboost._core.codec`);

and add a line to `KINDS` below. A new booster's line is in `ocboost.boosters.registry` instead, which
registers it here. The contract suites in ``tests/contracts`` then test it.

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
from typing import TYPE_CHECKING, Any

from ocboost.errors import ModelFileError, NotSavableError

if TYPE_CHECKING:
    from ocboost._core.codec import Fields, Tree

BOOSTER, HYPOTHESES, OFFSET = "booster", "hypotheses", "offset"  # axes that can be part of something else
FOREIGN = "foreign"
CASCADE_ADAPTER = "cascade adapter"


@cache
def class_at(place: str) -> Any:
    """Import a class of ocboost by its module and name.

    >>> class_at(".boosters.sketch.sketch:BoostingSketch")
    <class 'ocboost.boosters.sketch.sketch.BoostingSketch'>
    """
    module, name = place.split(":")
    return getattr(import_module(module, "ocboost"), name)


@dataclass(frozen=True)
class Kind:
    """Something that a file can hold.

    ``name`` is its name in files, ``axis`` what it is (a booster, an offset, …), ``place`` its module and
    class, imported when first needed, and ``title`` its name in messages.
    """

    name: str
    axis: str
    place: str
    title: str

    def load(self) -> Any:
        """Import its class."""
        return class_at(self.place)


KINDS: dict[str, Kind] = {
    each.name: each
    for each in (
        Kind("Stumps", HYPOTHESES, ".hypotheses.stumps:Stumps", "stumps"),
        Kind("Trees", HYPOTHESES, ".hypotheses.trees:Trees", "trees"),
        Kind("Balls", HYPOTHESES, ".hypotheses.balls:Balls", "balls"),
        Kind("Boxes", HYPOTHESES, ".hypotheses.boxes:Boxes", "box filters"),
        Kind("CascadeStumps", HYPOTHESES, ".hypotheses.cascade_stumps:CascadeStumps", "cascade stumps"),
        Kind(
            "CategoryTrees", HYPOTHESES, ".hypotheses.category_trees:CategoryTrees", "trees with categories"
        ),
        Kind("Joined", HYPOTHESES, ".hypotheses.joined:Joined", "several sets of hypotheses"),
        Kind("PortableTrees", FOREIGN, ".foreign.trees.model:PortableTrees", "trees of another library"),
        Kind("Transformed", HYPOTHESES, ".hypotheses.transformed:Transformed", "hypotheses after steps"),
        Kind("LinearOffset", OFFSET, ".offsets.linear:LinearOffset", "a linear score"),
        Kind("VotedOffset", OFFSET, ".offsets.voted:VotedOffset", "votes of fixed weights"),
        Kind("ScaledOffset", OFFSET, ".offsets.scaled:ScaledOffset", "a score on another scale"),
        Kind("PortableModel", FOREIGN, ".foreign.portable:PortableModel", "a fitted model"),
        Kind("Columns", FOREIGN, ".foreign.columns:Columns", "some columns"),
        Kind("Chain", FOREIGN, ".foreign.columns:Chain", "steps in a row"),
        Kind("Beside", FOREIGN, ".foreign.columns:Beside", "steps side by side"),
        Kind("Affine", FOREIGN, ".foreign.scalers:Affine", "a scaler"),
        Kind("RowNorms", FOREIGN, ".foreign.scalers:RowNorms", "a scaler of rows"),
        Kind("Products", FOREIGN, ".foreign.mappings:Products", "products of columns"),
        Kind("Intervals", FOREIGN, ".foreign.mappings:Intervals", "bins"),
        Kind("QuantileMap", FOREIGN, ".foreign.mappings:QuantileMap", "quantiles"),
        Kind("PowerMap", FOREIGN, ".foreign.mappings:PowerMap", "a power transform"),
        Kind("Filled", FOREIGN, ".foreign.imputers:Filled", "an imputer"),
        Kind("MissingFlags", FOREIGN, ".foreign.imputers:MissingFlags", "marks of missing values"),
        Kind("OneHot", FOREIGN, ".foreign.encoders:OneHot", "a one-hot encoder"),
        Kind("ValueLookup", FOREIGN, ".foreign.encoders:ValueLookup", "an encoder"),
        Kind("Projection", FOREIGN, ".foreign.linear:Projection", "a projection"),
        Kind("LinearClassifier", FOREIGN, ".foreign.linear:LinearClassifier", "a linear model"),
        Kind("GaussianBayes", FOREIGN, ".foreign.bayes:GaussianBayes", "a naive Bayes model"),
        Kind("FixedAnswer", FOREIGN, ".foreign.bayes:FixedAnswer", "a fixed answer"),
        Kind("CalibratedModel", FOREIGN, ".foreign.calibrated:CalibratedModel", "calibrated models"),
        Kind("Piped", FOREIGN, ".foreign.combined:Piped", "a model after steps"),
        Kind("VotingModel", FOREIGN, ".foreign.combined:VotingModel", "models that vote"),
        Kind("ThresholdModel", FOREIGN, ".foreign.combined:ThresholdModel", "a model with a threshold"),
        Kind("OCBClassifier", "model", ".deployment.model:Model", "a model"),
        Kind("AdaptiveClassifier", "model", ".deployment.model:Model", "an adaptive model"),
        Kind("Adaptation", "checkpoint", ".deployment.adaptation:Adaptation", "a checkpoint"),
        Kind("FilterBoost", "filterboost", ".estimators.filterboost:FilterBoost", "a FilterBoost"),
        Kind(
            "WholeAdapter",
            CASCADE_ADAPTER,
            ".cascade.adapt_whole:WholeAdapter",
            "a cascade adapted as a whole",
        ),
        Kind(
            "StageAdapter",
            CASCADE_ADAPTER,
            ".cascade.adapt_stages:StageAdapter",
            "a cascade adapted stage by stage",
        ),
        Kind(
            "PictureAdapter",
            CASCADE_ADAPTER,
            ".cascade.adapt_pictures:PictureAdapter",
            "a cascade adapted to whole pictures",
        ),
        Kind("CacheEntry", "cache entry", ".paper.cache:OldEntry", "a cached result of an earlier version"),
    )
}


def register(kind: Kind) -> None:
    """Let files hold one more kind; of several with the same name the first counts."""
    KINDS.setdefault(kind.name, kind)


def _names(axis: str | None) -> str:
    return ", ".join(each.name for each in KINDS.values() if axis in (None, each.axis))


def known(kind: str, axis: str | None, name: str) -> Kind:
    """The kind of this name and axis; the file ``name`` is refused if there is none."""
    found = KINDS.get(kind)
    if found is None or axis not in (None, found.axis):
        raise ModelFileError(
            f"{name} holds {axis or 'something'} of the kind {kind!r:.40}, and this ocboost knows "
            f"{_names(axis)}. Load it with the ocboost that saved it, or install a newer one."
        )
    return found


def is_known(thing: Any, axis: str) -> bool:
    """Whether a file can hold this object; one of somebody else's class could not be loaded again."""
    found = KINDS.get(getattr(thing, "kind", ""))
    return found is not None and found.axis == axis and found.load() is type(thing)


def nested_tree(thing: Any, axis: str) -> Tree:
    """The tree of an object that is part of another one: its kind is among the entries."""
    tree = thing.tree()
    if not is_known(thing, axis):
        raise NotSavableError(
            f"{axis} must be of ocboost's own kinds, {_names(axis)}, to be saved in a model; got "
            f"{type(thing).__name__}. Save only the weights, with booster.save(path)."
        )
    return {"kind": thing.kind, **tree}


def nested_reader(axis: str) -> Callable[[Fields], Any]:
    """A function for `Fields.read` that makes what `nested_tree` described."""
    return lambda fields: known(fields.text("kind"), axis, fields.name).load().from_tree(fields)
