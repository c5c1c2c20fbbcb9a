"""Weak hypotheses: sets of functions that answer ±1 to a row of features."""

from .balls import Balls
from .base import Ballot, Hypotheses
from .callables import Callables
from .joined import Joined, join
from .known import hypotheses_from_parts
from .sklearn_members import from_sklearn
from .stumps import Stumps
from .trees import Trees

__all__ = [
    "Ballot",
    "Balls",
    "Callables",
    "Hypotheses",
    "Joined",
    "Stumps",
    "Trees",
    "from_sklearn",
    "hypotheses_from_parts",
    "join",
]
