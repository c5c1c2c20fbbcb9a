"""What `Adapter` gives back: answers to rows, and what became of labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Reason = Literal["unknown_id", "expired", "conflict", "unknown_class", "bad_row"]
ADAPTED = "adapted"  # how the adapted model is called where versions have numbers


class Answer(NamedTuple):
    """The answer to one row.

    Attributes
    ----------
    id : str or None
        By which its label is given.
    label : object
        The predicted class.
    probabilities : dict
        By class.
    """

    id: str | None
    label: Any
    probabilities: dict[Any, float]


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers to rows, in their order; iterating gives each as an `Answer`.

    Attributes
    ----------
    ids : list of str, or None
        By which their labels are given; None if they were not issued.
    labels : list
        The predicted classes.
    probabilities : array of shape (n, K)
        A row for each answer.
    classes : list
        The classes of its columns.
    answered_by : str
        ``"adapted"``, or a version such as ``"version 3"``.
    """

    ids: list[str] | None
    labels: list[Any]
    probabilities: NDArray[np.float64]
    classes: list[Any]
    answered_by: str

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Answer]:
        ids: list[str] | list[None] = [None] * len(self) if self.ids is None else self.ids
        for id_, label, shares in zip(ids, self.labels, self.probabilities.tolist(), strict=True):
            yield Answer(id_, label, dict(zip(self.classes, shares, strict=True)))


@dataclass(frozen=True, slots=True)
class Rejected:
    """A label that was not taken, and why.

    Attributes
    ----------
    index : int
        Its place in the call.
    id : str or None
        What it was given for.
    reason : str
        Why, in one word, for programs.
    message : str
        Why, for people.
    """

    index: int
    id: str | None
    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class LabelReport:
    """What became of labels.

    Attributes
    ----------
    accepted : int
        Labels taken by this call, which are on the disk.
    duplicates : int
        Labels that had come before, and were the same. They have no effect.
    rejected : list of Rejected
        Labels that were not taken.
    """

    accepted: int
    duplicates: int
    rejected: list[Rejected]
