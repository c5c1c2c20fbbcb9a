"""Weak hypotheses: sets of functions that answer ±1 to a row of features."""

from ocboost.hypotheses.balls import Balls
from ocboost.hypotheses.base import Ballot, Hypotheses, hypotheses_from_parts, hypotheses_parts
from ocboost.hypotheses.boxes import Boxes, all_boxes
from ocboost.hypotheses.callables import Callables
from ocboost.hypotheses.cascade_stumps import CascadeStumps
from ocboost.hypotheses.category_trees import CategoryTrees
from ocboost.hypotheses.joined import Joined, join, join_tightly
from ocboost.hypotheses.sklearn import from_sklearn
from ocboost.hypotheses.stumps import Stumps
from ocboost.hypotheses.transformed import Transformed, transformed
from ocboost.hypotheses.trees import Trees

__all__ = [
    "Ballot",
    "Balls",
    "Boxes",
    "Callables",
    "CascadeStumps",
    "CategoryTrees",
    "Hypotheses",
    "Joined",
    "Stumps",
    "Transformed",
    "Trees",
    "all_boxes",
    "from_sklearn",
    "hypotheses_from_parts",
    "hypotheses_parts",
    "join",
    "join_tightly",
    "transformed",
]
