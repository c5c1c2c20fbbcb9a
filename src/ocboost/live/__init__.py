"""A model that answers and learns while it is in service, and loses nothing: `Adapter`."""

from ocboost.errors import ClosedError, StorageError, StorageFullError, UnknownVersionError
from ocboost.live.adapter import Adapter
from ocboost.live.answers import Answer, Answers, LabelReport, Rejected
from ocboost.live.opening import replay

__all__ = [
    "Adapter",
    "Answer",
    "Answers",
    "ClosedError",
    "LabelReport",
    "Rejected",
    "StorageError",
    "StorageFullError",
    "UnknownVersionError",
    "replay",
]
