"""Keys of a fleet that others keep, such as the state store of a cluster, learnt one key at a time.

A snapshot is what all keys share. It does not change, so a key's state is a function of the snapshot and of
the key's own rows, wherever and however often it is computed.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.codec import Fields, read
from ocboost._core.file_format import from_bytes, to_bytes
from ocboost._kernels.arrays import Floats, Int8s, Ints
from ocboost._kernels.fleet import KeyStates
from ocboost.deployment.model import Model
from ocboost.errors import FleetStoreError, InputError
from ocboost.estimators.classifier import OCBClassifier
from ocboost.estimators.committee import winners
from ocboost.fleet.deployed import digest_of
from ocboost.fleet.fleet import MAX_WINDOW, Fleet
from ocboost.fleet.keys import as_key
from ocboost.fleet.record import DamagedRecordError, KeyState, from_record, to_record
from ocboost.fleet.scoring import Scorer, key_after
from ocboost.fleet.state import FleetState

SNAPSHOT_KIND = "FleetSnapshot"
_MAX_NUMBER = np.iinfo(np.int64).max


def snapshot(fleet: Fleet) -> bytes:
    """What all keys of a fleet share now, as bytes: its model, its common weights, and its trust.

    Of the keys themselves it has nothing; see `KeyLearner`.

    Parameters
    ----------
    fleet : Fleet
        Whose.

    Returns
    -------
    bytes
        For `KeyLearner`.
    """
    state = fleet._state()
    shared = replace(state, pending=state.pending[:0])
    return to_bytes(
        SNAPSHOT_KIND, {"model": fleet.model.tree(), "window": fleet.window, "state": shared.tree()}
    )


class KeyUpdate(NamedTuple):
    """What came out of some rows of one key.

    Attributes
    ----------
    rows : array of int
        Those that were new, in the order in which they were learnt.
    predicted : array
        The class predicted of each before it was learnt.
    votes : array
        The votes for that.
    record : bytes or None
        The key's state, for the next call.
    last : int or None
        The sequence number of its last row, for the next call.
    """

    rows: Ints
    predicted: NDArray[Any]
    votes: Floats
    record: bytes | None
    last: int | None


class KeyLearner:
    """Learns one key of a fleet at a time, for whoever keeps the keys' states; see `snapshot`.

    Nothing in it changes. Keys of two snapshots go together if their ``model_id`` is the same, so the states
    outlive a newer snapshot.

    Parameters
    ----------
    shared : bytes
        What `snapshot` gave.

    Examples
    --------
    >>> import tempfile
    >>> from ocboost import OCBClassifier
    >>> from ocboost.fleet import Fleet
    >>> from ocboost.hypotheses import Stumps
    >>> model = OCBClassifier(Stumps([0], [1.5], [-1])).fit([[1.0], [2.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder, Fleet(model, store=folder) as fleet:
    ...     learner = KeyLearner(snapshot(fleet))
    >>> first = learner.learn("Oslo", [[2.0], [1.0]], ["yes", "no"], [1, 0])
    >>> first.rows.tolist(), first.predicted.tolist(), first.last
    ([1, 0], ['no', 'yes'], 1)

    What was learnt before is left out:

    >>> again = learner.learn("Oslo", [[2.0]], ["yes"], [1], record=first.record, last=first.last)
    >>> again.rows.tolist(), again.record == first.record
    ([], True)
    """

    def __init__(self, shared: bytes) -> None:
        name = "the snapshot"
        self.classifier, self._scorer, self._state = read(
            from_bytes(shared, SNAPSHOT_KIND, name), name, _parts
        )

    @property
    def window(self) -> int:
        """Examples that each key keeps."""
        return self._scorer.window

    @cached_property
    def model_id(self) -> str:
        """16 letters that stand for the model and the window: the states of other ones do not fit."""
        both = digest_of(self.classifier) + str(self.window)
        return hashlib.sha256(both.encode()).hexdigest()[:16]

    def predict(self, key: Any, X: Any, record: bytes | None = None) -> NDArray[Any]:
        """The class of each row, all of one key, by the weights of its record.

        Parameters
        ----------
        key : str, bytes or int
            The key.
        X : array or table
            As the model takes it.
        record : bytes, optional
            Its state; None for a key that is new.

        Returns
        -------
        array of shape (n,)
            One of the classes each.
        """
        answers = self._scorer.hypotheses.answers(self.classifier._checked_rows(X))
        keys = self._scorer.new_keys([self._read(as_key(key), record)])
        return self._labels(self._score(keys, answers, None)[0])

    def learn(
        self,
        key: Any,
        X: Any,
        y: ArrayLike,
        sequence: ArrayLike,
        *,
        record: bytes | None = None,
        last: int | None = None,
    ) -> KeyUpdate:
        """Learn rows of one key in the order of their sequence numbers, those that it has not learnt yet.

        Parameters
        ----------
        key : str, bytes or int
            The key.
        X : array or table
            As the model takes it.
        y : array of shape (n,)
            The classes.
        sequence : array of int, shape (n,)
            The rows' numbers within their key, in any order and with gaps. The same number is the same row.
        record, last : bytes and int, optional
            What the last call for this key gave; without them the key is new. Rows with numbers up to
            ``last`` are left out.

        Returns
        -------
        KeyUpdate
            What was predicted, and the key's state for the next call.
        """
        name = as_key(key)
        before = self._read(name, record)
        rows, _ = self.classifier._coded_examples(X, y, None, None, first=False)
        numbers = _numbers(sequence, len(rows))
        new = _new_rows(numbers, last)
        if not len(new):
            nothing = _shaped(np.zeros((0, len(self._scorer.columns))))
            return KeyUpdate(new, self.classifier.classes_[:0], nothing, record, last)
        codes = rows.codes[new]
        keys = self._scorer.new_keys([before])
        votes, deployed = self._score(keys, self._scorer.hypotheses.answers(rows.X[new]), codes)
        right, deployed_right = winners(votes) == codes, winners(deployed) == codes
        after = key_after(before, keys, 0, right, deployed_right, self.window)
        return KeyUpdate(new, self._labels(votes), votes, to_record(name, after), int(numbers[new[-1]]))

    def _read(self, key: bytes, record: bytes | None) -> KeyState | None:
        if record is None:
            return None
        try:
            return from_record(key, record, self.window, self._scorer.code)
        except DamagedRecordError as error:
            raise FleetStoreError(
                f"the record of key {key!r:.80} cannot be read: {error}. Give what learn gave for this key, "
                "or None to let it begin anew."
            ) from None

    def _score(self, keys: KeyStates, answers: Int8s, codes: Ints | None) -> tuple[Floats, Floats]:
        """The votes of rows of one key, and the deployed model's; the rows are learnt if they have codes."""
        n, state = len(answers), self._state
        packed = None if codes is None else self._scorer.code.packed(answers, codes)
        found = self._scorer.score(
            keys,
            np.array([0, n]),
            np.arange(n),
            answers,
            codes,
            packed,
            state.alphas,
            state.trust,
            trust_learns=False,
        )
        return _shaped(found.votes), _shaped(found.deployed)

    def _labels(self, votes: Floats) -> NDArray[Any]:
        found: NDArray[Any] = self.classifier.classes_[self.classifier.decided_by_votes(votes)]
        return found


def _parts(fields: Fields) -> tuple[OCBClassifier, Scorer, FleetState]:
    """What a snapshot holds."""
    clf = fields.read("model", Model.from_tree).classifier
    fields.require(isinstance(clf, OCBClassifier), "its model must be an OCBClassifier")
    assert isinstance(clf, OCBClassifier)
    scorer = Scorer(clf, fields.count("window", 1, MAX_WINDOW))
    state = fields.read("state", lambda inner: FleetState.from_tree(inner, scorer.sizes, scorer.code))
    return clf, scorer, state


def _shaped(votes: Floats) -> Floats:
    return votes[:, 0] if votes.shape[1] == 1 else votes


def _numbers(sequence: ArrayLike, n: int) -> Ints:
    numbers = np.asarray(sequence)
    if numbers.dtype.kind not in "iu" or numbers.shape != (n,) or (n and numbers.max() > _MAX_NUMBER):
        raise InputError(
            f"sequence must be {n} whole numbers of 64 bits, one for each row of X; got {sequence!r:.80}."
        )
    return numbers.astype(np.int64)


def _new_rows(numbers: Ints, last: int | None) -> Ints:
    """The rows after ``last``, in the order of their numbers; of those with the same number, the first."""
    found, places = np.unique(numbers, return_index=True)
    return places if last is None else places[found > last]
