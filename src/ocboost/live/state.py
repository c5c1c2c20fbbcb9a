"""What a model in service has become: a function of what was deployed and of the journal alone.

`LiveState.apply` takes the entries of the journal one after the other. It looks at no clock and draws no
random numbers, so the same entries always give the same state, to the last bit: a checkpoint and the entries
after it are the state.
"""

from __future__ import annotations

import json
import logging
from collections import deque
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._core.file_format import to_bytes
from ocboost._watch.buckets import Said
from ocboost._watch.record import Watch
from ocboost.deployment.model import Model
from ocboost.errors import InputError
from ocboost.estimators.adaptive.classifier import AdaptiveClassifier
from ocboost.live.answers import ADAPTED
from ocboost.live.held_out import HeldOut
from ocboost.live.journal import Entry
from ocboost.live.judge import Judge
from ocboost.live.versions import Versions
from ocboost.streams.rows import Rows

logger = logging.getLogger("ocboost.live")

STATE_KIND = "LiveState"
RECENT_LABELS = 1000
HELD_OUT_EVERY = 200  # labels between two looks at the held-out rows


class Serving(NamedTuple):
    """Who answers now, replaced as a whole; readers take it once for each call."""

    adapted: Model
    epoch: int
    version: int | None  # that answers instead of the adapted model
    model: Model  # that answers

    @property
    def name(self) -> str:
        """Who answers, in words."""
        return ADAPTED if self.version is None else f"version {self.version}"


class Predicted(NamedTuple):
    """Predictions of rows: what is answered, and what the adapted model said."""

    answered: NDArray[np.intp]
    probabilities: NDArray[np.float64]
    said: NDArray[np.intp]
    kept: list[bytes] | None
    shares: NDArray[np.float64]  # the probabilities that the adapted model gave


def predicted(serving: Serving, X: NDArray[np.float64], since: int) -> Predicted:
    """Predict checked rows; nothing is changed."""
    clf = serving.adapted.classifier
    kept = None
    if isinstance(clf, AdaptiveClassifier):
        probabilities, said, kept = clf.foretell(X, since)
    else:
        said, probabilities = serving.adapted.answers_to(Rows(X))
    if serving.version is None:
        return Predicted(said, probabilities, said, kept, probabilities)
    answered, answers = serving.model.answers_to(Rows(X))
    return Predicted(answered, answers, said, kept, probabilities)


class LiveState:
    """The adapted model, the versions, the judge and the counts.

    Parameters
    ----------
    model : Model
        What is deployed; it becomes the adapted model.
    versions : Versions
        Without any; the deployed model becomes version 0.
    time : float
        When it was deployed.
    """

    def __init__(self, model: Model, versions: Versions, time: float) -> None:
        self.versions = versions
        self.deployed = versions.add(model, "deployed", 0, time, set()).number
        self.adapted = versions.load(self.deployed)  # as after a restart
        self._begin()
        self._choose()

    def _begin(self) -> None:
        self.seq = 0  # of the last entry applied
        self.epoch = 0
        self.frozen = False
        self.guard = True
        self.held_out: HeldOut | None = None
        self.judge = Judge(deployed=self.deployed)
        self.judged = [self.deployed]
        self.labels = self.learnt = self.failed = 0
        self.answered = self.right = 0  # labels whose prediction was answered, and how many were right
        self.recent: deque[bool] = deque(maxlen=RECENT_LABELS)  # whether the last answers were right
        self.watch = Watch()
        self.serving = Serving(self.adapted, 0, None, self.adapted)

    # Applying ---------------------------------------------------------------------------------------------

    def apply(self, entry: Entry) -> None:
        """Apply the next entry of the journal."""
        assert entry.seq == self.seq + 1
        if entry.command is None:
            self._take_label(entry)
        else:
            self._obey(json.loads(entry.command), entry.at)
        self.seq = entry.seq

    def _take_label(self, entry: Entry) -> None:
        x = np.frombuffer(entry.features, np.float64).reshape(1, -1)
        self.labels += 1
        of_now = entry.said >= 0 and entry.epoch == self.epoch
        if entry.answered >= 0:
            self.answered += 1
            self.right += entry.answered == entry.code
            self.recent.append(entry.answered == entry.code)
        who = self.serving.name
        try:
            rows = Rows(x)
            deployed = _said(self.versions.model(self.deployed).answers_to(rows), entry.code)
            adapted = self._adapted_said(rows, entry)
            counted = (
                adapted if of_now or entry.said < 0 else None
            )  # what was rolled back is of another model
            self.watch.take(entry.code, deployed, counted, x, answered=entry.answered, time=entry.at)
            if not self.frozen:
                if self.guard and self.held_out is None and (of_now or entry.said < 0):
                    self._judge(rows, entry, adapted, deployed)
                if entry.weight > 0.0:
                    self._learn(x, entry, entry.kept if of_now else None)
                    self.learnt += 1
        except Exception as error:  # the same happens again when the journal is replayed
            self.failed += 1
            logger.warning("the label of entry %d could not be learnt (%s)", entry.seq, type(error).__name__)
            return
        if self.frozen or not self.guard:
            return
        if self.held_out is not None and self.labels % HELD_OUT_EVERY == 0:
            self._look_at_held_out(self.held_out)
        if self.judge.wants_version():
            self._save("in good standing", entry.at)
        self._choose()
        if self.serving.name != who:
            self._note_guard(who, entry.at)

    def _note_guard(self, before: str, time: float) -> None:
        now = self.serving.name
        judged_on = "the labels that came" if self.held_out is None else "the held-out rows"
        self.watch.note(
            "guard",
            f"{_titled(now, self.deployed)} answers from now on, no longer "
            f"{_inside(before, self.deployed)}, judged by {judged_on}.",
            of=now,
            time=time,
        )

    def _adapted_said(self, rows: Rows, entry: Entry) -> Said | None:
        """What the adapted model said of a row when it predicted it; None if that is not known."""
        if entry.said < 0:  # a label that came with its row
            return _said(self.adapted.answers_to(rows), entry.code)
        if entry.shares is None:  # predicted by an ocboost that did not keep them
            return None
        shares = np.frombuffer(entry.shares, np.float32)
        return Said(entry.said, float(shares[entry.said]), float(shares[entry.code]))

    def _learn(self, x: NDArray[np.float64], entry: Entry, kept: bytes | None) -> None:
        clf = self.adapted.classifier
        if isinstance(clf, AdaptiveClassifier):
            clf.learn_kept(x, entry.code, entry.weight, kept, entry.since)
        else:
            weight = None if entry.weight == 1.0 else np.array([entry.weight])
            clf.learn_rows(Rows.one(x, entry.code, weight))

    def _judge(self, rows: Rows, entry: Entry, adapted: Said | None, deployed: Said) -> None:
        others = {
            number: int(self.versions.model(number).answers_to(rows)[0][0]) == entry.code
            for number in self.judged
            if number != self.deployed and (entry.said < 0 or self.versions.find(number).seq <= entry.seen)
        }  # a version that was saved after the prediction knew more than the adapted model did then
        said = entry.said if adapted is None else adapted.code
        self.judge.take(said == entry.code, {self.deployed: deployed.code == entry.code, **others})

    def _look_at_held_out(self, held_out: HeldOut) -> None:
        others = {number: held_out.of_version(number, self.versions.model) for number in self.judged}
        self.judge.take_held_out(held_out.results(self.adapted), others)

    def _save(self, reason: str, time: float) -> int:
        protected = {0, self.deployed, *self.judged}  # a replay begins with version 0
        number = self.versions.add(
            self.adapted, reason, self.learnt, time, protected, seq=self.seq + 1
        ).number
        if reason == "in good standing":
            self.judged = self.judge.saved(number)
            self.versions.only({*self.judged})
        return number

    def _choose(self) -> None:
        version = self.judge.answering if self.guard else None
        now = self.serving
        if (version, self.epoch) != (now.version, now.epoch) or self.adapted is not now.adapted:
            model = self.adapted if version is None else self.versions.model(version)
            self.serving = Serving(self.adapted, self.epoch, version, model)

    # Commands ---------------------------------------------------------------------------------------------

    def check(self, command: dict[str, Any]) -> None:
        """Refuse a command that could not be obeyed."""
        if command["command"] == "rollback":
            self.versions.load(command["version"])

    def _obey(self, command: dict[str, Any], time: float) -> None:
        what = command["command"]
        if what == "promote":
            self.deployed = self._save("promoted", time)
            self._restart_judge(by_hand=True)
            self.watch.replaced("deployed")
            self.watch.note(
                "promoted", f"The adapted model was deployed, as version {self.deployed}.", time=time
            )
        elif what == "rollback":
            adapted = self.versions.load(command["version"])  # which may be dropped to make room
            self._save("before a rollback", time)
            self.adapted = adapted
            self.epoch += 1
            self._restart_judge(by_hand=True)
            self.watch.replaced("adapted")
            self.watch.note(
                "rollback", f"The adapted model went back to version {command['version']}.", time=time
            )
        elif what == "freeze":
            self.frozen = bool(command["frozen"])
            kind, text = ("frozen", "Learning pauses.") if self.frozen else ("unfrozen", "Learning goes on.")
            self.watch.note(kind, text, time=time)
        elif what == "guard":
            self.guard = bool(command["on"])
            digest = command["held_out"]
            self.held_out = None if digest is None else HeldOut.load(self.versions.folder.parent, digest)
            self._restart_judge()
        else:
            raise InputError(f"the journal holds a command {what!r:.40} that this ocboost does not know.")
        self._choose()

    def _restart_judge(self, *, by_hand: bool = False) -> None:
        """Judge anew; a model that somebody chose by hand answers first."""
        self.judge.restart(self.deployed, adapted_first=by_hand)
        self.judged = [self.deployed]
        self.versions.only({self.deployed})
        if self.held_out is not None:
            self.held_out.forget()

    # What it is -------------------------------------------------------------------------------------------

    def model_bytes(self) -> bytes:
        """The adapted model as a file."""
        return to_bytes(self.adapted.kind, self.adapted.tree())

    def tree(self) -> Tree:
        """What a checkpoint holds."""
        return {
            **{key: getattr(self, key) for key in _COUNTS},
            "frozen": self.frozen,
            "guard": self.guard,
            "held_out": None if self.held_out is None else self.held_out.sha256,
            "judged": list(self.judged),
            "judge": self.judge.tree(),
            "recent": np.array(self.recent, np.int8),
            "versions": self.versions.tree(),
            "adapted": self.adapted.tree(),
            "watch": self.watch.tree(),
        }

    @classmethod
    def from_tree(cls, fields: Fields, versions: Versions) -> LiveState:
        """A state from what `tree` gave; anything inconsistent is a `ModelFileError`."""
        state = cls.__new__(cls)
        state.versions = versions
        fields.read("versions", versions.resume)
        state.adapted = fields.read("adapted", Model.from_tree)
        state.deployed = 0
        state._begin()
        for key in _COUNTS:
            setattr(state, key, fields.count(key))
        state.frozen, state.guard = fields.flag("frozen"), fields.flag("guard")
        digest = fields.plain("held_out")
        known = digest is None or (isinstance(digest, str) and len(digest) == 64 and digest.isalnum())
        fields.require(known, "its held-out rows are not known")
        numbers = {each.number for each in versions.kept}
        state.judged = fields.items("judged", most=10)
        fields.require(state.deployed in numbers, "the deployed version is not there")
        fits = all(type(each) is int and each in numbers for each in state.judged)
        fields.require(fits, "a version that is judged is not there")
        state.judge = fields.read("judge", Judge.from_tree)
        fields.require(
            state.judge.answering in {None, *state.judged}, "the version that answers is not there"
        )
        recent = fields.array("recent", np.int8, (None,))
        fields.require(len(recent) <= RECENT_LABELS, "it has too many recent results")
        state.recent.extend((recent != 0).tolist())
        if digest is not None:
            state.held_out = HeldOut.load(versions.folder.parent, digest)
        if "watch" in fields:  # older ones have none, and it begins here
            clf = state.adapted.classifier
            n_classes, n_features = len(clf.classes_), clf._n_encoded
            state.watch = fields.read("watch", lambda one: Watch.from_tree(one, n_classes, n_features))
        state._choose()
        return state

    def facts(self) -> dict[str, Any]:
        """Plain facts."""
        return {
            "answering": self.serving.name,
            "frozen": self.frozen,
            "guard": "off"
            if not self.guard
            else "recent labels"
            if self.held_out is None
            else "held-out rows",
            "deployed": self.deployed,
            "labels": self.labels,
            "learnt": self.learnt,
            "failed": self.failed,
            "accuracy": self.right / self.answered if self.answered else None,
            "recent_accuracy": sum(self.recent) / len(self.recent) if self.recent else None,
            "judge": self.judge.table(),
            **self.watch.facts(),
        }


def _said(answers: tuple[NDArray[np.intp], NDArray[np.float64]], code: int) -> Said:
    """What a model said of one row whose label is known."""
    codes, shares = answers
    said = int(codes[0])
    return Said(said, float(shares[0, said]), float(shares[0, code]))


def _titled(name: str, deployed: int) -> str:
    """Who answers, for a sentence.

    >>> _titled("adapted", 0), _titled("version 0", 0), _titled("version 3", 0)
    ('The adapted model', 'The deployed model', 'Version 3')
    """
    if name == ADAPTED:
        return "The adapted model"
    return "The deployed model" if name == f"version {deployed}" else name.capitalize()


def _inside(name: str, deployed: int) -> str:
    """The same inside a sentence."""
    title = _titled(name, deployed)
    return title[0].lower() + title[1:]


_COUNTS = ("seq", "epoch", "deployed", "labels", "learnt", "failed", "answered", "right")
