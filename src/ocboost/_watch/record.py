"""`Watch`: what happened to a model on its way, kept small.

It is a function of what it was given, in order: it looks at no clock. Saved and loaded it goes on the same.
"""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._watch.buckets import MODELS, RECENT_SIZE, Buckets, Said, outcome
from ocboost._watch.drift import Change, DriftWatch

MAX_HAPPENINGS = 200
MAX_MISTAKES = 20
MISTAKE_SECONDS = 2.0  # between two that are kept, where times are known: somebody has to read them
RECENT_LABELS = 1_000  # that the recent figures are about
KINDS = ("drift", "guard", "promoted", "rollback", "frozen", "unfrozen")
MAX_SENTENCE = 300
MAX_TIME = 1e15


@dataclass(frozen=True)
class Happening:
    """Something that happened at a label.

    Attributes
    ----------
    number : int
        The first is 1.
    kind : str
        One of `KINDS`.
    label : int
        How many labels had come.
    time : float or None
        Seconds since 1970.
    of : str or None
        Whose errors, or who answers.
    better : bool or None
        Of a drift, whether there are fewer errors now.
    text : str
        One sentence.
    """

    number: int
    kind: str
    label: int
    time: float | None
    of: str | None
    better: bool | None
    text: str

    @classmethod
    def from_tree(cls, fields: Fields) -> Happening:
        """One from a file."""
        kind = fields.text("kind")
        fields.require(kind in KINDS, "what happened is not known")
        number, label = fields.count("number", 1), fields.count("label")
        of = None if fields.takes("of", None) else fields.text("of", MAX_SENTENCE)
        better = None if fields.takes("better", None) else fields.flag("better")
        return cls(number, kind, label, _time_in(fields), of, better, fields.text("text", MAX_SENTENCE))


@dataclass(frozen=True)
class Mistake:
    """A row of which the adapted model said something else than its label; classes are codes."""

    number: int
    label: int
    time: float | None
    said: int
    probability: float
    truth: int
    truth_probability: float
    x: NDArray[np.float64]

    @classmethod
    def from_tree(cls, fields: Fields, n_classes: int, n_features: int) -> Mistake:
        """One from a file."""
        found = cls(
            fields.count("number", 1),
            fields.count("label"),
            _time_in(fields),
            fields.count("said", 0, n_classes - 1),
            fields.number("probability", 0.0, 1.0 + 1e-6),
            fields.count("truth", 0, n_classes - 1),
            fields.number("truth_probability", 0.0, 1.0 + 1e-6),
            fields.array("x", np.float64, (n_features,)),
        )
        fields.require(not np.isinf(found.x).any(), "the row of a mistake makes no sense")
        return found


class Watch:
    """Series of accuracy and log-loss, drift alarms, what else happened, and the last mistakes.

    The deployed and the adapted model are watched.

    Attributes
    ----------
    happenings : deque of Happening
        The last 200.
    mistakes : deque of Mistake
        The last 20 of the adapted model; where times are known, one in two seconds at most.
    drifts : dict
        How many alarms each model has had.
    last_label : float or None
        The time of the last label.
    """

    def __init__(self) -> None:
        self.n_labels = 0
        self.all = Buckets()
        self.recent = Buckets(RECENT_SIZE, rolling=True)
        self.happenings: deque[Happening] = deque(maxlen=MAX_HAPPENINGS)
        self.n_happenings = 0
        self.mistakes: deque[Mistake] = deque(maxlen=MAX_MISTAKES)
        self.n_mistakes = 0
        self.drifts = dict.fromkeys(MODELS, 0)
        self.guard_decisions = 0
        self.last_label: float | None = None
        self._detectors = {name: DriftWatch() for name in MODELS}

    def take(
        self,
        code: int,
        deployed: Said | None,
        adapted: Said | None,
        x: NDArray[np.float64],
        *,
        answered: int = -1,
        time: float | None = None,
    ) -> None:
        """Take a label, its class as a code, with what the models said of its row before they learnt it.

        ``answered`` is the class that somebody was told, -1 if nobody was; ``x`` has the features.
        """
        self.n_labels += 1
        self.last_label = time
        said = (deployed, adapted)
        became = outcome(code, said, answered)
        self.all.add(self.n_labels, time, became)
        self.recent.add(self.n_labels, time, became)
        for name, one in zip(MODELS, said, strict=True):
            if one is not None and (change := self._detectors[name].take(one.code != code)) is not None:
                self.drifts[name] += 1
                self.note("drift", _of_drift(name, change), of=name, better=change.better, time=time)
        if adapted is not None and adapted.code != code:
            self._keep(adapted, code, x, time)

    def _keep(self, said: Said, truth: int, x: NDArray[np.float64], time: float | None) -> None:
        self.n_mistakes += 1
        before = self.mistakes[-1].time if self.mistakes else None
        if time is not None and before is not None and before <= time < before + MISTAKE_SECONDS:
            return
        row = np.array(x, np.float64).reshape(-1)
        self.mistakes.append(
            Mistake(self.n_mistakes, self.n_labels, time, said.code, said.probability, truth, said.truth, row)
        )

    def note(
        self,
        kind: str,
        text: str,
        *,
        of: str | None = None,
        better: bool | None = None,
        time: float | None = None,
    ) -> None:
        """Note that something has happened, at the last label."""
        self.n_happenings += 1
        self.guard_decisions += kind == "guard"
        self.happenings.append(
            Happening(self.n_happenings, kind, self.n_labels, time, of, better, text[:MAX_SENTENCE])
        )

    def replaced(self, *names: str) -> None:
        """Other models are the deployed or the adapted one from now on: their errors are new ones."""
        for name in names:
            self._detectors[name].restart()

    # What is known ----------------------------------------------------------------------------------------

    def series(self) -> dict[str, Any]:
        """The series as the page's document has them."""
        return {"all": self.all.as_dict(), "recent": self.recent.as_dict()}

    def facts(self) -> dict[str, Any]:
        """Plain facts."""
        return {
            "recent": self.recent.last(RECENT_LABELS),
            "drift": dict(self.drifts),
            "guard_decisions": self.guard_decisions,
            "last_label": self.last_label,
            "last_event": self.n_happenings,
        }

    # In files ---------------------------------------------------------------------------------------------

    def tree(self) -> Tree:
        """What a file holds."""
        return {
            **{key: getattr(self, key) for key in _TALLIES},
            "last_label": self.last_label,
            "all": self.all.tree(),
            "recent": self.recent.tree(),
            "happenings": [asdict(each) for each in self.happenings],
            "mistakes": [asdict(each) for each in self.mistakes],
            "drifts": dict(self.drifts),
            "detectors": {name: each.tree() for name, each in self._detectors.items()},
        }

    @classmethod
    def from_tree(cls, fields: Fields, n_classes: int, n_features: int) -> Watch:
        """A watch from what `tree` gave; anything inconsistent is a `ModelFileError`."""
        watch = cls()
        for key in _TALLIES:
            setattr(watch, key, fields.count(key))
        watch.last_label = _time_in(fields, "last_label")
        watch.all = fields.read("all", Buckets.from_tree)
        watch.recent = fields.read("recent", lambda one: Buckets.from_tree(one, rolling=True))
        fields.require(watch.recent.size == RECENT_SIZE, "its recent series has another size")
        happenings = fields.read_all("happenings", Happening.from_tree)
        mistakes = fields.read_all("mistakes", lambda one: Mistake.from_tree(one, n_classes, n_features))
        fits = len(happenings) <= MAX_HAPPENINGS and len(mistakes) <= MAX_MISTAKES
        for listed, last in ((happenings, watch.n_happenings), (mistakes, watch.n_mistakes)):
            numbers = [each.number for each in listed]
            fits = fits and numbers == sorted(set(numbers)) and (not numbers or numbers[-1] <= last)
            fits = fits and all(each.label <= watch.n_labels for each in listed)
        fields.require(fits, "what happened makes no sense")
        watch.happenings.extend(happenings)
        watch.mistakes.extend(mistakes)
        watch.drifts = fields.read("drifts", lambda one: {name: one.count(name) for name in MODELS})
        watch._detectors = fields.read(
            "detectors", lambda one: {name: one.read(name, DriftWatch.from_tree) for name in MODELS}
        )
        return watch


_TALLIES = ("n_labels", "n_happenings", "n_mistakes", "guard_decisions")


def _time_in(fields: Fields, key: str = "time") -> float | None:
    return None if fields.takes(key, None) else fields.number(key, 0.0, MAX_TIME)


def _of_drift(name: str, change: Change) -> str:
    went = "fell" if change.better else "rose"
    before, after = f"{change.before:.1%}", f"{change.after:.1%}"
    return f"The {name} model's rate of error {went}, from {before} to {after}."
