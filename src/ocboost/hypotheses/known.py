"""Which kinds of hypotheses a file can hold."""

from __future__ import annotations

from typing import Any

from ..errors import ModelFileError, NotSavableError
from ..storage import Arrays
from .balls import Balls
from .base import Hypotheses
from .boxes import Boxes
from .cascade_stumps import CascadeStumps
from .joined import Joined
from .stumps import Stumps
from .trees import Trees

KNOWN: dict[str, type[Hypotheses]] = {
    each.kind: each for each in (Stumps, Trees, Balls, Joined, Boxes, CascadeStumps)
}


def hypotheses_parts(hypotheses: Hypotheses) -> tuple[list[Any], Arrays]:
    """The kind and the parameters of a model's hypotheses, as a file holds them, and arrays."""
    parameters, arrays = hypotheses.parts()
    if type(hypotheses) is not KNOWN.get(hypotheses.kind):  # one that ocboost does not know to load
        raise NotSavableError(
            f"hypotheses must be of ocboost's own kinds, {', '.join(KNOWN)}, to be saved in a model; got "
            f"{type(hypotheses).__name__}. Save only the weights, with booster.save(path)."
        )
    return [hypotheses.kind, parameters], arrays


def hypotheses_from_parts(kind: str, parameters: dict[str, Any], arrays: Arrays, name: str) -> Hypotheses:
    """The hypotheses that a file called ``name`` holds; whatever makes no sense is a `ModelFileError`."""
    known = KNOWN.get(kind)
    if known is None:
        raise ModelFileError(
            f"{name} holds hypotheses of the kind {kind!r:.40}, and this ocboost knows {', '.join(KNOWN)}. "
            "Load it with the ocboost that saved it, or install a newer one."
        )
    return known.from_parts(parameters, arrays, name)
