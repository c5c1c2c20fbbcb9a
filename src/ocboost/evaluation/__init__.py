"""Prequential evaluation of several learners side by side: predict each row, then learn from it."""

from ocboost._core.metrics import METRICS, Series, Tally, Window
from ocboost.evaluation.contenders import (
    OCB,
    Adaptive,
    Contender,
    Fixed,
    FixedAdaptive,
    LogisticSGD,
    Majority,
    NoChange,
    OverAnswers,
)
from ocboost.evaluation.external import RiverContender, SklearnContender
from ocboost.evaluation.methods import lineup
from ocboost.evaluation.prequential import prequential
from ocboost.evaluation.result import Result, Standing
from ocboost.streams.rows import Rows as View

__all__ = [
    "METRICS",
    "OCB",
    "Adaptive",
    "Contender",
    "Fixed",
    "FixedAdaptive",
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
