"""Prequential evaluation of several learners side by side: predict each row, then learn from it."""

from ..rows import Rows as View
from .baselines import Majority, NoChange
from .contenders import OCB, Fixed, LogisticSGD, OverAnswers
from .guests import RiverContender, SklearnContender
from .learner import Contender
from .lineup import lineup
from .metrics import METRICS, Series, Tally, Window
from .prequential import prequential
from .result import Result, Standing

__all__ = [
    "METRICS",
    "OCB",
    "Contender",
    "Fixed",
    "LogisticSGD",
    "Majority",
    "NoChange",
    "OverAnswers",
    "Result",
    "RiverContender",
    "Series",
    "SklearnContender",
    "Standing",
    "Tally",
    "View",
    "Window",
    "lineup",
    "prequential",
]
