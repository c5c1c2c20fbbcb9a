"""Who answers: the adapted model, the deployed one, or a saved version.

All are judged on the same labels, by whether they were right. Each has a score, a point for every right
prediction, and none may fall more than `BOUND` points behind the leader, so that what was long ago is
forgotten. Whoever answers goes on until another is `MARGIN` points ahead. The deployed model answers first
and starts `HEAD_START` points ahead: the adapted one answers once it was right on 12 labels more, and that is
all that waiting for it can cost. A version of it that is saved starts `VERSION_BEHIND` points behind it.

There is no test of significance at some level: labels may be wrong, a difference of one point on true labels
is then 0.4 points on those that come, and what counts is how many answers are lost on either side until it
is noticed. The constants were chosen for that on half of the streams of ``experiments/guard.py``.

A trusted file of rows can be the judge instead: there the adapted model answers unless McNemar's test on
those rows finds it worse.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import MAX_COUNT, Fields, Tree
from ocboost.errors import InputError

BOUND = 100  # points that anyone can be behind
MARGIN = 6  # points ahead of the one that answers, to take over
HEAD_START = 6  # points that the deployed model starts ahead
VERSION_BEHIND = 20  # points that a new version starts behind the adapted model
LABELS_BETWEEN = 2_000  # labels between two saved versions
KEPT_VERSIONS = 2  # that are judged, besides the deployed one

RECENT = 1_000  # labels that recent accuracy is about: older ones fade by 1 - 1/RECENT with each label

WORSE_Z = 1.64  # on held-out rows: the adapted model is worse (one-sided, 5 %)
RETURN_Z = 1.0  # and here it is good enough again
LOOKS_BETWEEN = 10  # looks at held-out rows between two saved versions


class _Record:
    """What is known of the adapted model (``number`` None) or of a version.

    ``right`` of ``weight`` faded labels were predicted rightly, ``difference`` more than by the adapted
    model, and ``spread`` is the variance of that if both are equally good. With held-out rows they are
    counts.
    """

    __slots__ = ("behind", "difference", "labels", "number", "right", "spread", "weight")

    def __init__(self, number: int | None, behind: int = 0) -> None:
        self.number = number
        self.behind = behind  # points behind the leader
        self.labels = 0
        self.right = self.weight = self.difference = self.spread = 0.0

    @property
    def name(self) -> str:
        return "adapted" if self.number is None else f"version {self.number}"

    @property
    def accuracy(self) -> float | None:
        return self.right / self.weight if self.weight else None

    @property
    def z(self) -> float:
        """By how many standard deviations it is better than the adapted model (McNemar)."""
        return self.difference / math.sqrt(self.spread) if self.spread else 0.0

    def take(self, right: bool, adapted: bool) -> None:
        fade = 1.0 - 1.0 / RECENT
        more = float(right) - float(adapted)
        self.labels += 1
        self.right = fade * self.right + right
        self.weight = fade * self.weight + 1.0
        self.difference = fade * self.difference + more
        self.spread = fade * fade * self.spread + more * more

    def look(self, right: NDArray[np.bool_], adapted: NDArray[np.bool_]) -> None:
        self.labels = len(right)
        self.right, self.weight = float(right.sum()), float(len(right))
        self.difference = self.right - float(adapted.sum())
        self.spread = float((right != adapted).sum())

    def tree(self) -> Tree:
        return {key: getattr(self, key) for key in self.__slots__}

    @classmethod
    def from_tree(cls, fields: Fields) -> _Record:
        record = cls(None if fields.takes("number", None) else fields.count("number"))
        record.behind = fields.count("behind", 0, BOUND)
        record.labels = fields.count("labels")
        most = float(MAX_COUNT)
        record.weight = fields.number("weight", 0.0, most)
        record.right = fields.number("right", 0.0, most)
        record.difference = fields.number("difference", -most, most)
        record.spread = fields.number("spread", 0.0, most)
        heaviest = max(record.right, abs(record.difference), record.spread)
        fields.require(heaviest <= record.weight <= record.labels, "what was right does not fit the labels")
        unequal = record.difference != 0.0
        fields.require(record.spread > 0.0 or not unequal, "its differences make no sense")
        return record


class Judge:
    """Decides who answers, one label after the other; the same labels give the same decisions.

    Parameters
    ----------
    deployed : int, default 0
        The number of the deployed version.

    Attributes
    ----------
    answering : int or None
        The number of the version that answers; None if the adapted model does.
    """

    def __init__(self, *, deployed: int = 0) -> None:
        self.answering: int | None = None
        self.restart(deployed)

    def restart(self, deployed: int, *, adapted_first: bool = False) -> None:
        """Forget everything; ``deployed`` is the deployed version from now on.

        The deployed version answers first. With ``adapted_first`` the adapted model does, and has the head
        start: for one that somebody chose by hand.
        """
        self._adapted = _Record(None, 0 if adapted_first else HEAD_START)
        self._versions = {deployed: _Record(deployed, HEAD_START if adapted_first else 0)}
        self._deployed = deployed
        self._since = 0  # labels, or looks at held-out rows, since the last version was saved
        self._on_held_out = False
        self.answering = None if adapted_first else deployed

    @property
    def judged(self) -> list[int]:
        """The numbers of the versions that are judged, the deployed one first."""
        return list(self._versions)

    # Judging ----------------------------------------------------------------------------------------------

    def take(self, adapted: bool, versions: Mapping[int, bool]) -> None:
        """One label: whether the adapted model was right, when it predicted, and whether each version is.

        A version that is left out is taken to have done as the adapted model did: right for rows that were
        predicted before it was saved.
        """
        self._check_numbers(versions)
        for record in self._records():
            right = adapted if record.number is None else versions.get(record.number, adapted)
            if record.number is None or record.number in versions:
                record.take(bool(right), bool(adapted))
            record.behind -= bool(right)
        self._normalise()
        self._since += 1
        now = self._record(self.answering)
        ahead = [record for record in self._records() if now.behind - record.behind >= MARGIN]
        if ahead:
            self.answering = min(ahead, key=lambda record: record.behind).number

    def _normalise(self) -> None:
        """The leader is 0 points behind, and nobody more than the bound."""
        least = min(record.behind for record in self._records())
        for record in self._records():
            record.behind = min(record.behind - least, BOUND)

    def take_held_out(self, adapted: NDArray[np.bool_], versions: Mapping[int, NDArray[np.bool_]]) -> None:
        """Instead of `take`: which of the rows of a trusted file each gets right now."""
        self._check_numbers(versions)
        missing = set(self._versions) - set(versions)
        of_adapted = np.asarray(adapted, bool)
        results = {number: np.asarray(right, bool) for number, right in versions.items()}
        shapes = {of_adapted.shape, *(right.shape for right in results.values())}
        if missing or len(shapes) > 1 or of_adapted.ndim != 1 or not len(of_adapted):
            raise InputError(
                "results on held-out rows must be an array of one value for each row, for the adapted model "
                f"and for the versions {self.judged}; got shapes {sorted(shapes)!s:.80} and the versions "
                f"{sorted(results)!s:.80}."
            )
        self._on_held_out = True
        self._since += 1
        for record in self._records():
            record.look(of_adapted if record.number is None else results[record.number], of_adapted)
        best = max(self._versions.values(), key=lambda record: record.right)
        worst_z = max(record.z for record in self._versions.values())
        if self.answering is None:
            if worst_z >= WORSE_Z:
                self.answering = best.number
        elif worst_z < RETURN_Z:
            self.answering = None
        elif best.number is not None and _z(results[best.number], results[self.answering]) >= WORSE_Z:
            self.answering = best.number

    # Versions ---------------------------------------------------------------------------------------------

    def wants_version(self) -> bool:
        """Whether the adapted model should be saved: it answers, is ahead, and has learnt since the last."""
        enough = LOOKS_BETWEEN if self._on_held_out else LABELS_BETWEEN
        if self.answering is not None or self._since < enough:
            return False
        if self._on_held_out:
            return max(record.z for record in self._versions.values()) <= 0.0
        return self._adapted.behind == 0

    def saved(self, number: int) -> list[int]:
        """The adapted model was saved as this version: the versions to go on judging.

        They are the deployed one, the new one, the one that answers, and of the others the best.
        """
        if number in self._versions:
            raise InputError(f"version {number} is judged already; a new version needs a new number.")
        self._since = 0
        others = [each for each in self._versions if each not in (self._deployed, self.answering)]
        if len(self._versions) > KEPT_VERSIONS and others:
            del self._versions[min(others, key=self._standing)]
            self._normalise()
        self._versions[number] = _Record(number, min(self._adapted.behind + VERSION_BEHIND, BOUND))
        return self.judged

    def _standing(self, number: int) -> tuple[float, int]:
        """What versions are kept by: how good, then how new."""
        record = self._versions[number]
        return record.right if self._on_held_out else -record.behind, number

    # What is known ----------------------------------------------------------------------------------------

    def table(self) -> list[dict[str, Any]]:
        """A row for the adapted model and for each version, in plain values.

        ``name``, ``version`` (None for the adapted model), ``deployed``, ``answering``; ``judged_on``
        ("labels" or "held-out rows") and how many ``labels``; ``recent_accuracy``, its ``difference`` to the
        adapted model's (on the labels that both were judged on) and ``z``, McNemar's statistic of that.
        What decides: ``behind``, the points behind the leader, and ``to_take_over``, how many more it must
        gain on the one that answers; both None with held-out rows, where ``z`` decides.
        """
        now = self._record(self.answering)
        held = self._on_held_out
        return [
            {
                "name": record.name,
                "version": record.number,
                "deployed": record.number == self._deployed,
                "answering": record is now,
                "judged_on": "held-out rows" if held else "labels",
                "labels": record.labels,
                "recent_accuracy": record.accuracy,
                "difference": record.difference / record.weight if record.weight else None,
                "z": record.z,
                "behind": None if held else record.behind,
                "to_take_over": None
                if held or record is now
                else max(0, MARGIN - now.behind + record.behind),
            }
            for record in self._records()
        ]

    def _records(self) -> Sequence[_Record]:
        return [self._adapted, *self._versions.values()]

    def _record(self, number: int | None) -> _Record:
        return self._adapted if number is None else self._versions[number]

    def _check_numbers(self, versions: Mapping[int, Any]) -> None:
        unknown = set(versions) - set(self._versions)
        if unknown or self._deployed not in versions:
            raise InputError(
                f"results must be of the deployed version, {self._deployed}, and of others that are judged "
                f"({self.judged}); got those of {sorted(versions)!s:.80}."
            )

    # In files ---------------------------------------------------------------------------------------------

    def tree(self) -> Tree:
        """What a file holds."""
        return {
            "answering": self.answering,
            "deployed": self._deployed,
            "since": self._since,
            "on_held_out": self._on_held_out,
            "records": [record.tree() for record in self._records()],
        }

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """A judge from what `tree` gave; anything inconsistent is a `ModelFileError`."""
        judge = cls(deployed=fields.count("deployed"))
        judge._since = fields.count("since")
        judge._on_held_out = fields.flag("on_held_out")
        records = fields.read_all("records", _Record.from_tree)
        numbers = [record.number for record in records]
        fields.require(
            2 <= len(numbers) <= 2 + KEPT_VERSIONS
            and len(set(numbers)) == len(numbers)
            and numbers[:2] == [None, judge._deployed],
            "the models that are judged do not fit",
        )
        fields.require(min(record.behind for record in records) == 0, "nobody leads")
        judge._adapted = records[0]
        judge._versions = {record.number: record for record in records[1:] if record.number is not None}
        fields.require(
            judge._adapted.difference == judge._adapted.spread == 0.0, "a difference makes no sense"
        )
        judge.answering = None if fields.takes("answering", None) else fields.count("answering")
        fields.require(judge.answering in numbers, "the version that answers is not judged")
        return judge


def _z(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    """By how many standard deviations one is better than another (McNemar)."""
    unequal = int((one != other).sum())
    return (int(one.sum()) - int(other.sum())) / math.sqrt(unequal) if unequal else 0.0
