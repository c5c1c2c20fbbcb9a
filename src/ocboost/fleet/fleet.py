"""A fleet: one adapting model for every key, over shared hypotheses."""

from __future__ import annotations

import copy
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import as_count
from ocboost._core.codec import Fields, read
from ocboost._core.file_format import from_bytes, to_bytes
from ocboost._ctrl_c import uninterrupted
from ocboost._kernels.arrays import Floats, Ints
from ocboost.deployment.model import Model
from ocboost.errors import FleetStoreError, ModelFileError
from ocboost.estimators.classifier import OCBClassifier
from ocboost.estimators.classifier_file import (
    CLASSIFIER_KIND,
    committee_from_tree,
    committee_tree,
)
from ocboost.estimators.committee import Committee, probabilities, winners
from ocboost.fleet.deployed import common_committee, deployed_model, digest_of
from ocboost.fleet.export import exported
from ocboost.fleet.facts import KEYS_AT_ONCE, FleetInfo, KeyFacts, facts_of, top_keys
from ocboost.fleet.keys import KeyGroups, as_key, listed
from ocboost.fleet.record import DamagedRecordError, KeyState, from_record, require_codes, to_record
from ocboost.fleet.scoring import Scorer, key_after
from ocboost.fleet.sources import PREFIX, ReadSource, as_facts, as_offsets, as_source
from ocboost.fleet.state import REFRESH, STATE_KIND, FleetState, trust_at_first
from ocboost.fleet.store import FleetStore

WINDOW = 200
MAX_WINDOW = 1 << 16
COMMON_KIND, SETTINGS_KIND = "FleetCommon", "FleetSettings"
COMMON_BATCH = 64  # rows that the common weights learn at once
ROWS_AT_ONCE = 1 << 13  # bounds the memory of a call


class Fleet:
    """Weights of its own for every key (a camera, a customer, a device) over one set of hypotheses.

    A key keeps its last examples as bits, in an LMDB store on the disk: at 100 hypotheses and a window of
    200 that is 2.6 kB. Its weights correct those that all keys have in common, and how far the correction is
    trusted, for keys with many and few examples, is learnt from all keys. A new key begins with the common
    weights, and the first key of a new fleet with those of the model.

    One process learns; any number of threads and processes may predict meanwhile. A call of `learn` is one
    transaction: after a crash it is there, or nothing of it is.

    Parameters
    ----------
    model : OCBClassifier, AdaptiveClassifier, Model or path, optional
        What to begin with; of an AdaptiveClassifier, the OCB in it. May be left out if the store is there.
        Otherwise it must be the one that the store was made with.
    store : path
        A folder, made if it is not there.
    window : int, optional
        Examples that each key keeps, 200 unless the store says otherwise.
    read_only : bool, default False
        Whether to predict only; any number of processes may do so.

    Examples
    --------
    >>> import tempfile, ocboost
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ocboost.OCBClassifier(n_hypotheses=20, random_state=0).fit(X[:300], y[:300])
    >>> hospitals = ["Bern" if i % 2 else "Oslo" for i in range(len(y))]
    >>> with tempfile.TemporaryDirectory() as folder, Fleet(model, store=folder) as fleet:
    ...     before = fleet.learn(hospitals[300:], X[300:], y[300:])  # what it predicted, before it learnt
    ...     len(fleet), float((before == y[300:]).mean()) > 0.9
    (2, True)
    """

    def __init__(
        self,
        model: Any = None,
        *,
        store: str | os.PathLike[str],
        window: int | None = None,
        read_only: bool = False,
    ) -> None:
        given = None if model is None else deployed_model(model)
        if window is not None:
            window = as_count(window, "window", 1, MAX_WINDOW, "It is how many examples a key keeps.")
        self._writing = threading.RLock()
        self._state_kept: tuple[bytes, FleetState] | None = None
        place = Path(store).absolute()  # wherever the process goes
        if given is None and not place.exists():
            raise FleetStoreError(f"there is no store in '{place}', and model is None. Give the model.")
        self._store = FleetStore(place, read_only=read_only)
        try:
            self._begin(given, window)
        except BaseException:
            self._store.close()
            raise

    def _begin(self, given: Model | None, window: int | None) -> None:
        """Read what the store holds, or write what a new one begins with."""
        store = self._store
        with store.reading() as txn:
            model, settings, common = (store.get(txn, name) for name in (b"model", b"window", b"common"))
            new = store.names(txn, b"") in ([], [b"format"])
        if new and given is not None:
            if store.read_only:
                raise FleetStoreError(
                    f"the store in '{store.folder}' is empty. Begin with ocboost fleet adapt."
                )
            self._begin_new(given, WINDOW if window is None else window)
            return
        if new:
            raise FleetStoreError(f"the store in '{store.folder}' is empty. Give the model to begin with.")
        try:
            self.model = read(
                from_bytes(model or b"", CLASSIFIER_KIND), f"the model in '{store.folder}'", Model.from_tree
            )
            found = read(from_bytes(settings or b"", SETTINGS_KIND), "what it says of its windows", _window)
        except ModelFileError as error:
            raise self._damaged(str(error)) from None
        if given is not None and digest_of(given.classifier) != digest_of(self.classifier):
            raise FleetStoreError(
                f"the store in '{store.folder}' belongs to another model. Give the one that it was made "
                "with, or another folder."
            )
        if window not in (None, found):
            raise FleetStoreError(
                f"window must be {found}, as in the store in '{store.folder}'; got {window}. Leave it out, "
                "or give another folder."
            )
        self._scorer = Scorer(self.classifier, found)
        self._common: Committee | None = None  # of the store, once it was needed
        if not store.read_only:
            self._common_from(common)
        self._state()

    def _begin_new(self, given: Model, window: int) -> None:
        self.model = given
        self._scorer = Scorer(self.classifier, window)
        committee = common_committee(self.classifier)
        code = self._scorer.code
        state = FleetState(
            [alpha.copy() for alpha in self._scorer.deployed],
            trust_at_first(),
            np.zeros((0, code.n_bytes), np.uint8),
        )
        with uninterrupted(), self._store.writing() as txn:
            put = self._store.put
            put(txn, b"model", to_bytes(CLASSIFIER_KIND, given.tree()))
            put(txn, b"window", to_bytes(SETTINGS_KIND, {"window": window}))
            put(txn, b"common", to_bytes(COMMON_KIND, committee_tree(committee)))
            put(txn, b"state", to_bytes(STATE_KIND, state.tree()))
        self._common = committee

    def _common_from(self, data: bytes | None) -> Committee:
        name = f"the common weights in '{self._store.folder}'"
        try:
            return read(
                from_bytes(data or b"", COMMON_KIND, name),
                name,
                lambda fields: committee_from_tree(fields, len(self.classifier.classes_)),
            )
        except ModelFileError as error:
            raise self._damaged(str(error)) from None

    def _common_in(self, txn: Any) -> Committee:
        """The common weights of the store."""
        return self._common or self._common_from(self._store.get(txn, b"common"))

    def _damaged(self, what: str) -> FleetStoreError:
        return FleetStoreError(f"the store in '{self._store.folder}' is damaged: {what} Put back a copy.")

    # What it is -------------------------------------------------------------------------------------------

    @property
    def classifier(self) -> OCBClassifier:
        """The classifier that it began with."""
        clf = self.model.classifier
        assert isinstance(clf, OCBClassifier)
        return clf

    @property
    def window(self) -> int:
        """Examples that each key keeps."""
        return self._scorer.window

    @property
    def rows(self) -> int:
        """Rows that it has learnt, of all keys."""
        return self._state().rows

    @property
    def sources(self) -> dict[str, dict[str, Any]]:
        """Where rows came from: the ``offset`` up to which each source was learnt, and facts about it."""
        with self._store.reading() as txn:
            names = [name[len(PREFIX) :].decode() for name in self._store.names(txn, PREFIX)]
            return {name: self._source(txn, name).shown() for name in names}

    def offset(self, source: str) -> int:
        """The number of the first row of a source that was not learnt yet.

        Parameters
        ----------
        source : str
            Its name.

        Returns
        -------
        int
            0 for one that is new.
        """
        with self._store.reading() as txn:
            return self._source(txn, as_source(source)).offset

    def __len__(self) -> int:
        with self._store.reading() as txn:
            return self._store.n_keys(txn)

    def __contains__(self, key: Any) -> bool:
        with self._store.reading() as txn:
            return self._store.get_key(txn, as_key(key)) is not None

    def keys(self) -> Iterator[bytes]:
        """All keys, as bytes in their order; those that come or go meanwhile may be among them or not.

        Yields
        ------
        bytes
            A key.
        """
        last = b""
        while True:
            with self._store.reading() as txn:  # not all the time, as nobody knows when the next is wanted
                some = self._store.keys_after(txn, last, KEYS_AT_ONCE)
            yield from some
            if len(some) < KEYS_AT_ONCE:
                return
            last = some[-1]

    def __repr__(self) -> str:
        what = f"{len(self):,} keys, {len(self._scorer.hypotheses)} hypotheses, {self.rows:,} rows learnt"
        return f"<fleet in '{self._store.folder}': {what}>"

    # Answers ----------------------------------------------------------------------------------------------

    def predict(self, keys: Any, X: Any) -> NDArray[Any]:
        """The class of each row, by the weights of its key.

        Parameters
        ----------
        keys : sequence of str, bytes or int, one for each row
            At most 500 bytes each; 17 and "17" are the same key.
        X : array or table
            As the model takes it.

        Returns
        -------
        array of shape (n,)
            One of the classes each.
        """
        return self._labels(self.votes(keys, X))

    def predict_proba(self, keys: Any, X: Any) -> Floats:
        """The probability of each class of each row, by the weights of its key.

        Parameters
        ----------
        keys : sequence of str, bytes or int
            One for each row, as in `predict`.
        X : array or table
            As the model takes it.

        Returns
        -------
        array of shape (n, K)
            In the order of the classes.
        """
        return probabilities(self.votes(keys, X))

    def votes(self, keys: Any, X: Any) -> Floats:
        """Half the log-odds of each row.

        A key whose record is damaged is answered by the common weights, with a warning that names it.

        Parameters
        ----------
        keys : sequence of str, bytes or int
            One for each row, as in `predict`.
        X : array or table
            As the model takes it.

        Returns
        -------
        array of shape (n,) for two classes, (n, K) for more
            For two classes positive for the second.
        """
        rows = self.classifier._checked_rows(X)
        groups = KeyGroups.of(keys, rows.shape[0])
        with self._store.reading() as txn:
            found = self._predicted(txn, groups, self._scorer.hypotheses.answers(rows), self._state(txn))
        return self._shaped(found)

    def _predicted(self, txn: Any, groups: KeyGroups, answers: Any, state: FleetState) -> Floats:
        damaged: dict[bytes, str] = {}
        votes = np.empty((len(answers), len(self._scorer.columns)))
        for start in range(0, len(answers), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            members, starts, order = groups.grouped(part)
            keys = self._scorer.new_keys(self._states(txn, [groups.keys[k] for k in members], damaged))
            scored = self._scorer.score(
                keys, starts, order, answers[part], None, None, state.alphas, state.trust
            )
            votes[part] = scored.votes
        if damaged:
            warnings.warn(
                f"{_named(damaged)} cannot be read and is answered by the common weights. "
                "Fleet.drop lets such a key begin anew.",
                UserWarning,
                stacklevel=3,
            )
        return votes

    def _states(self, txn: Any, keys: list[bytes], damaged: dict[bytes, str]) -> list[KeyState | None]:
        """What the store has of these keys; those that cannot be read are noted, and as good as new."""
        found: list[KeyState | None] = []
        for key in keys:
            record, state = self._store.get_key(txn, key), None
            if record is not None:
                try:
                    state = from_record(key, record, self.window, self._scorer.code)
                except DamagedRecordError as error:
                    damaged[key] = str(error)
            found.append(state)
        return found

    def _shaped(self, votes: Floats) -> Floats:
        return votes[:, 0] if votes.shape[1] == 1 else votes

    def _labels(self, votes: Floats) -> NDArray[Any]:
        found: NDArray[Any] = self.classifier.classes_[self.classifier.decided_by_votes(votes)]
        return found

    # Learning ---------------------------------------------------------------------------------------------

    def learn(
        self,
        keys: Any,
        X: Any,
        y: ArrayLike,
        *,
        source: str | None = None,
        offset: int | ArrayLike | None = None,
    ) -> NDArray[Any]:
        """Learn rows, each for its key; returns what was predicted of each before it was learnt.

        Rows are learnt in their order, and it does not matter how a stream is cut into calls. All rows of a
        call are learnt, durably, or none.

        Parameters
        ----------
        keys, X : see `predict`
            One key for each row.
        y : array of shape (n,)
            The classes.
        source : str, optional
            A name for where the rows come from. With an ``offset``, rows that were learnt before are left out
            (they are predicted), so that a source may be replayed.
        offset : int or array of int, optional
            The number of the first row in the source, or of each row, increasing.

        Returns
        -------
        array of shape (n,)
            Classes.

        Examples
        --------
        A source that is replayed changes nothing:

        >>> import tempfile
        >>> from ocboost import OCBClassifier
        >>> from ocboost.hypotheses import Stumps
        >>> model = OCBClassifier(Stumps([0], [1.5], [-1])).fit([[1.0], [2.0]], ["no", "yes"])
        >>> with tempfile.TemporaryDirectory() as folder, Fleet(model, store=folder) as fleet:
        ...     for attempt in range(2):
        ...         _ = fleet.learn(["a", "b"], [[1.0], [2.0]], ["no", "no"], source="log", offset=0)
        ...     fleet.rows, fleet.offset("log")
        (2, 2)
        """
        rows, _ = self.classifier._coded_examples(X, y, None, None, first=False)
        return self._labels(self.learn_coded(keys, rows.X, rows.codes, source=source, offset=offset))

    def learn_coded(
        self,
        keys: Any,
        X: Any,
        codes: Ints,
        *,
        source: str | None = None,
        offset: int | ArrayLike | None = None,
        before_commit: Callable[[Floats], dict[str, Any] | None] | None = None,
    ) -> Floats:
        """Learn checked rows with the codes of their classes, see `learn`.

        Parameters
        ----------
        keys : sequence of str, bytes or int
            One for each row, as in `predict`.
        X : array
            Checked rows.
        codes : array of int, shape (n,)
            A negative one says that the row has no label: it is predicted only.
        source : str, optional
            As in `learn`.
        offset : int or array, optional
            As in `learn`.
        before_commit : callable, optional
            Gets the votes before anything is durable, and may give facts to be kept with the source, in the
            same transaction. If it fails nothing is learnt.

        Returns
        -------
        array
            The votes before.
        """
        n = X.shape[0]
        groups = KeyGroups.of(keys, n)
        numbers = as_offsets(source, offset, n)
        answers = self._scorer.hypotheses.answers(X)
        codes = np.ascontiguousarray(codes, np.int64)
        with self._writing, uninterrupted():
            with self._store.writing() as txn:
                # Whatever happens from here on, the next call begins with what the store has.
                common, self._common = self._common_in(txn), None
                state = self._state(txn).draft()
                record = ReadSource() if source is None else self._source(txn, source)
                known = int(np.searchsorted(numbers, record.offset))  # rows that were learnt before
                votes = np.empty((n, len(self._scorer.columns)))
                if known:
                    first = KeyGroups(groups.keys, groups.index[:known])
                    votes[:known] = self._predicted(txn, first, answers[:known], state)
                at = known
                while at < n:
                    part = slice(at, _end_of_part(codes, at, REFRESH - len(state.pending)))
                    state, votes[part] = self._learn_part(txn, groups, part, answers, codes, state)
                    if len(state.pending) == REFRESH:
                        common = self._refreshed(common, state)
                        state = replace(
                            state, alphas=[alpha.copy() for alpha in common.alphas], pending=state.pending[:0]
                        )
                        self._store.put(txn, b"common", to_bytes(COMMON_KIND, committee_tree(common)))
                    at = part.stop
                facts = None if before_commit is None else before_commit(self._shaped(votes))
                if source is not None:
                    end = max(record.offset, int(numbers[-1]) + 1) if n else record.offset
                    kept = ReadSource(end, record.facts if facts is None else as_facts(facts))
                    self._store.put(txn, PREFIX + source.encode(), kept.record(source))
                self._store.put(txn, b"state", to_bytes(STATE_KIND, state.tree()))
            self._common = common
        return self._shaped(votes)

    def _learn_part(
        self, txn: Any, groups: KeyGroups, part: slice, answers: Any, codes: Ints, state: FleetState
    ) -> tuple[FleetState, Floats]:
        """Learn some rows within a transaction, with the same common weights; gives the votes before."""
        scorer = self._scorer
        members, starts, order = groups.grouped(part)
        names = [groups.keys[k] for k in members]
        damaged: dict[bytes, str] = {}
        stored = self._states(txn, names, damaged)
        if damaged:
            raise FleetStoreError(
                f"{_named(damaged)} cannot be read, so nothing of this call was learnt. Let it begin anew "
                "with Fleet.drop, or ocboost fleet drop."
            )
        own = codes[part]
        packed, labelled = scorer.code.packed(answers[part], own), own >= 0
        keys = scorer.new_keys(stored)
        scored = scorer.score(keys, starts, order, answers[part], own, packed, state.alphas, state.trust)
        right = self._winners(scored.votes) == own
        deployed_right = self._winners(scored.deployed) == own
        for k, name in enumerate(names):
            mine = order[starts[k] : starts[k + 1]]
            mine = mine[labelled[mine]]
            if not len(mine):
                continue
            after = key_after(stored[k], keys, k, right[mine], deployed_right[mine], self.window)
            self._store.put_key(txn, name, to_record(name, after))
        state = replace(
            state,
            pending=np.concatenate([state.pending, packed[labelled]]),
            rows=state.rows + int(labelled.sum()),
            right=state.right + int(right.sum()),
            deployed_right=state.deployed_right + int(deployed_right.sum()),
        )
        return state, scored.votes

    def _winners(self, votes: Floats) -> NDArray[np.intp]:
        return winners(self._shaped(votes))

    def _refreshed(self, common: Committee, state: FleetState) -> Committee:
        """The common weights after the rows that were waiting for it."""
        common = copy.copy(common)
        answers, codes = self._scorer.code.unpacked(state.pending)
        weights = np.full(len(codes), self.classifier.weight_scale_)
        common.learn(answers, codes, weights, batch_size=COMMON_BATCH)
        return common

    def note_source(self, source: str, facts: dict[str, Any]) -> None:
        """Keep facts with a source, at once.

        Parameters
        ----------
        source : str
            Its name.
        facts : dict
            Plain values by name.
        """
        name, facts = as_source(source), as_facts(facts)
        with self._writing, uninterrupted(), self._store.writing() as txn:
            kept = replace(self._source(txn, name), facts=facts)
            self._store.put(txn, PREFIX + name.encode(), kept.record(name))

    def _source(self, txn: Any, name: str) -> ReadSource:
        record = self._store.get(txn, PREFIX + name.encode())
        if record is None:
            return ReadSource()
        try:
            return ReadSource.from_record(name, record)
        except DamagedRecordError as error:
            raise self._damaged(f"the record of the source {name!r:.80}, {error}.") from None

    # The shared state -------------------------------------------------------------------------------------

    def _state(self, txn: Any = None) -> FleetState:
        """What all keys share, as the store has it (now, or in a transaction)."""
        if txn is None:
            with self._store.reading() as txn:
                return self._state(txn)
        data, kept = self._store.get(txn, b"state") or b"", self._state_kept
        if kept is not None and kept[0] == data:
            return kept[1]
        name = f"the shared part of '{self._store.folder}'"
        try:
            state = read(
                from_bytes(data, STATE_KIND, name),
                name,
                lambda fields: FleetState.from_tree(fields, self._scorer.sizes, self._scorer.code),
            )
        except ModelFileError as error:
            raise self._damaged(str(error)) from None
        self._state_kept = data, state
        return state

    # Keys -------------------------------------------------------------------------------------------------

    def export(self, key: Any) -> OCBClassifier:
        """The classifier of one key: it votes as the fleet does, and goes on learning by itself.

        It has one hypothesis more for each booster, which always answers +1, and the key's window. A key that
        is new gives what the fleet would answer for it.

        Parameters
        ----------
        key : str, bytes or int
            The key.

        Returns
        -------
        OCBClassifier
            The fleet does not change with it.

        Raises
        ------
        FleetStoreError
            If the key's record is damaged.
        """
        name = as_key(key)
        with self._store.reading() as txn:
            damaged: dict[bytes, str] = {}
            stored = self._states(txn, [name], damaged)
            if damaged:
                raise FleetStoreError(f"{_named(damaged)} cannot be read. Export another, or drop it.")
            state = self._state(txn)
            keys = self._scorer.new_keys(stored)
            weights = self._scorer.weights(keys, state.alphas, state.trust)[0]
            return exported(self.classifier, self._scorer, keys, weights)

    def drop(self, keys: Iterable[Any]) -> int:
        """Forget keys, all at once. Their part in the common weights stays.

        Parameters
        ----------
        keys : iterable of str, bytes or int
            Which to forget.

        Returns
        -------
        int
            How many were there.
        """
        names = [as_key(key) for key in ([keys] if isinstance(keys, str | bytes) else listed(keys))]
        with self._writing, uninterrupted(), self._store.writing() as txn:
            return sum(self._store.drop_key(txn, name) for name in names)

    def verify(self) -> list[tuple[bytes, str]]:
        """Read every key, and name those that are damaged, and why.

        Returns
        -------
        list of tuple
            Each damaged key, and why.
        """
        found = []
        with self._store.reading() as txn:
            self._state(txn)
            self._common_from(self._store.get(txn, b"common"))
            for key, record in self._store.records(txn):
                try:
                    require_codes(from_record(key, record, self.window, self._scorer.code), self._scorer.code)
                    if self._store.get_key(txn, key) is None:
                        raise DamagedRecordError("the pages of the file do not lead to it")
                except DamagedRecordError as error:
                    found.append((key, str(error)))
        return found

    def info(self) -> FleetInfo:
        """How large it is, and how good it was.

        Returns
        -------
        FleetInfo
            The numbers.
        """
        state = self._state()
        J = len(self._scorer.hypotheses)
        return FleetInfo.of(state, self.sources, len(self), self.window, J, self._store.size)

    def table(self, top: int = 10, by: str = "worst") -> list[KeyFacts]:
        """The keys that are worst, that have moved most, or that have most rows.

        Parameters
        ----------
        top : int
            How many.
        by : {"worst", "moved", "rows"}
            "worst": those most often wrong lately, of at least 20 rows; "moved": those whose weights are
            farthest from the deployed ones.

        Returns
        -------
        list of KeyFacts
            The first is the worst, or has most.
        """
        return self.tables([by], top)[by]

    def tables(self, by: Iterable[str] = ("worst", "moved"), top: int = 10) -> dict[str, list[KeyFacts]]:
        """Several such tables in one pass over all keys, see `table`.

        Parameters
        ----------
        by : iterable of str
            Which tables, as of `table`.
        top : int, default 10
            How many keys in each.

        Returns
        -------
        dict
            A list of `KeyFacts` by the name of each table.
        """
        top = as_count(top, "top", 1, None, "")
        with self._store.reading() as txn:
            found = facts_of(self._store.records(txn), self._scorer, self._state(txn))
            return top_keys(found, top, list(by))

    def compact(self) -> tuple[int, int]:
        """Give room that was left by dropped keys back to the disk.

        Other processes that read it see the old state until they open it again.

        Returns
        -------
        tuple of int
            Bytes before and after.
        """
        with self._writing, uninterrupted():
            return self._store.compact()

    # Closing ----------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the store; closing twice does nothing."""
        with self._writing:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _window(fields: Fields) -> int:
    return fields.count("window", 1, MAX_WINDOW)


def _named(damaged: dict[bytes, str]) -> str:
    (key, why), *others = damaged.items()
    more = f" and {len(others)} others" if others else ""
    return f"the record of key {key!r:.80}{more} ({why})"


def _end_of_part(codes: Ints, at: int, most: int) -> int:
    """Where the rows from ``at`` on end of which at most so many have a label."""
    if (codes[at : at + most] >= 0).all():  # as a rule
        return min(len(codes), at + most)
    labelled = np.flatnonzero(codes[at:] >= 0)
    return len(codes) if len(labelled) < most else at + int(labelled[most - 1]) + 1
