"""Weak hypotheses: sets of functions that answer ±1 to a row of features."""

from .balls import Balls
from .base import Ballot, Hypotheses
from .boxes import Boxes, all_boxes
from .callables import Callables
from .cascade_stumps import CascadeStumps
from .joined import Joined, join, join_tightly
from .parts import hypotheses_from_parts, hypotheses_parts
from .sklearn_members import from_sklearn
from .stumps import Stumps
from .trees import Trees

__all__ = [
    "Ballot",
    "Balls",
    "Boxes",
    "Callables",
    "CascadeStumps",
    "Hypotheses",
    "Joined",
    "Stumps",
    "Trees",
    "all_boxes",
    "from_sklearn",
    "hypotheses_from_parts",
    "hypotheses_parts",
    "join",
    "join_tightly",
]
