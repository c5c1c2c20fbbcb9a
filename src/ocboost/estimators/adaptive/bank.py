"""The bank: members over one growing pool of hypotheses, and the mix of their predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._ctrl_c import uninterrupted
from ocboost._kernels.arrays import Floats
from ocboost.boosters.registry import Registered
from ocboost.estimators.adaptive.deployed import DeployedModel
from ocboost.estimators.adaptive.forest_member import ForestMember
from ocboost.estimators.adaptive.history import ShareHistory
from ocboost.estimators.adaptive.issued import ELSEWHERE, Issued, IssuedPredictions, key_of_row, same_row
from ocboost.estimators.adaptive.members import Member, OneRow
from ocboost.estimators.adaptive.mixing import Mixing
from ocboost.estimators.adaptive.neighbours import Neighbours
from ocboost.estimators.adaptive.patterns import LabelPatterns
from ocboost.estimators.adaptive.pool import Pool, beside_learnt, detached_row, growing_classifier
from ocboost.estimators.adaptive.regression import FeatureRegression
from ocboost.estimators.adaptive.settings import USUAL
from ocboost.estimators.adaptive.voting import FIXED, Voting
from ocboost.estimators.decisions import ClassShares
from ocboost.hypotheses import Hypotheses
from ocboost.streams.rows import Rows, stack_matrices

START_ROWS = 200  # after which hypotheses are learnt, where it began with nothing
MAX_EXTRA_LAG = 20  # labels beyond twice the usual lag, after which a prediction of an equal row is stale
USUAL_LAGS = 10.0  # that the usual one is about
MIN_ROWS_PER_CLASS = 5  # of two classes at least
MAX_START_ROWS = 2000  # that are kept until then
MIN_REHEARSAL = 40  # rows, for a start with a rehearsal
LEAST_OF_DEPLOYED = 1e-9  # probability, in the scores of an adopted model
MAX_REHEARSAL = 5000  # rows that it meets one by one
ROWS_PER_ISSUE = 1000  # predictions that are remembered together, or none of them


class Bank:
    """Everything that an adaptive classifier has learnt; rows come to it checked, classes as codes.

    Parameters
    ----------
    n_features, n_classes : int
    sparse : bool
        Whether rows are CSR matrices.
    n_hypotheses : int
        To begin with, for each class if they are more than two.
    seed : int
    """

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        *,
        sparse: bool,
        n_hypotheses: int,
        seed: int,
        boosters: Sequence[Registered] = USUAL,
        without: Sequence[str] = (),
    ) -> None:
        self.given: Hypotheses | None = None  # what the pool begins with, besides those that are learnt
        self.n_features, self.n_classes, self.sparse = n_features, n_classes, sparse
        self.n_hypotheses, self.seed = n_hypotheses, seed
        self.boosters, self.without = list(boosters), tuple(without)
        self.pool: Pool | None = None
        self.members = self._new_members()
        self.voting: Voting | None = None
        self.names = self._expert_names()
        self.mixing = Mixing(len(self.names), n_classes)
        self.start_shares = self.mixing.influence()  # of the experts, when it was deployed
        self.issued = IssuedPredictions()
        self.last = n_classes  # the newest label known
        self._issued_before = 0  # predictions, when that label came
        self._usual_lag = 0.0  # labels between a prediction and its own, where that is certain
        self.n_learnt = 0
        self.class_shares = ClassShares(n_classes)
        self._kept: list[tuple[Any, int, float]] = []  # rows before there are hypotheses
        self.deployed: DeployedModel | None = None  # adopted; else the first weights of the pool
        self.untouched: DeployedModel | None = None  # the same, until the first label
        self.history = ShareHistory(len(self.names))
        self._arrange()
        self._newest: tuple[bytes, OneRow, Any] | None = None  # the row predicted last

    # Members ----------------------------------------------------------------------------------------------

    def _new_members(self) -> list[Member]:
        """All members but the boosters, which `Voting` has once there are hypotheses."""
        F, K = self.n_features, self.n_classes
        found: list[Member] = [
            Neighbours(K),
            LabelPatterns(K),
            FeatureRegression(F, K, sparse=self.sparse),
            ForestMember(F, K, sparse=self.sparse, seed=self.seed),
        ]
        return [member for member in found if member.group not in self.without]

    def _expert_names(self) -> list[str]:
        """The names of the experts, in the order of a record's rows."""
        names = [*FIXED, *(each.name for each in self.boosters)]
        for member in self.members:
            names += member.experts
        return names

    def _arrange(self) -> None:
        """Which rows of a record are whose."""
        self._n_voting = len(FIXED) + len(self.boosters)
        self._places: list[tuple[Member, int, int]] = []
        at = self._n_voting
        for member in self.members:
            self._places.append((member, at, at + len(member.experts)))
            at += len(member.experts)

    # Predicting -------------------------------------------------------------------------------------------

    def row(self, X: Any) -> OneRow:
        """One checked row, (1, F), with the answers of the pool."""
        return OneRow(X, None if self.pool is None else self.pool.answers(X), self.last, self.since)

    @property
    def since(self) -> int:
        """Predictions issued since the newest label came."""
        return self.issued.n_issued - self._issued_before

    def record(self, row: OneRow, said: Floats | None = None) -> Floats:
        """What all experts say of a row now, and the prediction, which is the last row.

        ``said`` has the probabilities of an adopted model, if there is one.
        """
        mixing = self.mixing
        record = np.zeros((mixing.record_rows, self.n_classes))
        has_pool = self.voting is not None
        if self.voting is not None:
            self.voting.scores(row, record[: self._n_voting])
        for member, start, stop in self._places:
            if has_pool or not member.needs_pool:
                member.scores(row, record[start:stop])
        if said is not None:
            np.log(np.maximum(said, LEAST_OF_DEPLOYED), out=record[0])
        mixing.issue(record)
        return record

    def predict(
        self,
        X: Any,
        keys: list[bytes] | None = None,
        *,
        replace: bool = False,
        said: Floats | None = None,
    ) -> Floats:
        """The probabilities of rows, (n, K); with keys the predictions wait for their labels.

        ``said`` has those of an adopted model, (n, K): it is asked where the rows are as they came.
        """
        n = X.shape[0]
        found = np.empty((n, self.n_classes))
        if self.untouched is not None:
            found[:] = said
            if keys is None:
                return found
        answers = None if self.pool is None else self.pool.answers(X)
        records: list[tuple[Floats, int]] = []  # not yet issued
        learnt = self.n_learnt
        for i in range(n):
            own = None if answers is None else answers[i : i + 1]
            row = OneRow(X[i : i + 1], own, self.last, self.since + len(records))
            record = self.record(row, None if said is None else said[i])
            if self.untouched is None:
                found[i] = record[-1]
            if keys is None:
                continue
            records.append((record, row.since))
            if i + 1 < n and len(records) < ROWS_PER_ISSUE:
                continue
            with uninterrupted():
                for key, (each, since) in zip(keys[i + 1 - len(records) : i + 1], records, strict=True):
                    self.issued.add(key, each, self.last, since, learnt, replace=replace)
                if n > 1:
                    own = None if own is None else own.copy()
                    row = OneRow(detached_row(row.X), own, row.last, row.since)
                self._newest = keys[i], row, self._pool_now
            records = []
        return found

    def foretell(self, X: Any, since: int, said: Floats | None) -> tuple[Floats, list[Issued]]:
        """The probabilities of rows, (n, K), and each prediction, for somebody else to keep.

        Nothing is remembered here; ``since`` predictions were issued after the newest label came. Once its
        label comes, `learn` takes a prediction as if it had been kept here.
        """
        answers = None if self.pool is None else self.pool.answers(X)
        found = np.empty((X.shape[0], self.n_classes))
        kept = []
        for i in range(X.shape[0]):
            own = None if answers is None else answers[i : i + 1]
            row = OneRow(X[i : i + 1], own, self.last, since + i)
            record = self.record(row, None if said is None else said[i])
            found[i] = record[-1]
            kept.append(Issued(record, ELSEWHERE, self.last, since + i, self.n_learnt))
        if self.untouched is not None:
            found[:] = said
        return found, kept

    @property
    def _pool_now(self) -> Any:
        return None if self.pool is None else self.pool.hypotheses

    # Learning ---------------------------------------------------------------------------------------------

    def label(
        self, X: Any, code: int, weight: float, key: bytes | None, ask: Callable[[], Floats] | None = None
    ) -> None:
        """The label of a row has come; without a key the row itself is looked for.

        ``ask`` gives what an adopted model says of it, (K,), should that be needed.
        """
        issued = row = None
        if len(self.issued):
            by_row = key is None
            key = key_of_row(X) if key is None else key
            if by_row:
                self.issued.drop_stale(key, self.n_learnt - int(MAX_EXTRA_LAG + 2.0 * self._usual_lag))
            issued = self.issued.find(key)
            newest = self._newest
            if newest is not None and newest[0] == key and newest[2] is self._pool_now:
                row = newest[1] if by_row or same_row(newest[1].X, X) else None
        self.learn(X, code, weight, issued, row, ask)

    def learn(
        self,
        X: Any,
        code: int,
        weight: float,
        issued: Issued | None,
        row: OneRow | None = None,
        ask: Callable[[], Floats] | None = None,
        since: int | None = None,
    ) -> None:
        """Learn a row: the mix from what was issued, or from now if nothing was; then the members.

        ``since`` is the number of predictions since the newest label, where somebody else keeps them.
        """
        with uninterrupted():
            if weight == 0.0:
                if issued is not None:
                    self.issued.forget(issued)
                return
            if row is None:
                row = self.row(X)
            row.last = self.last
            mixing = self.mixing
            lag = 0 if issued is None else self.n_learnt - issued.learnt
            said = None  # a model that others have made may refuse the row: ask before anything is changed
            if ask is not None and (issued is None or lag > 0):
                said = ask()
            if issued is None:
                row.since = 0  # as if it had been predicted just now
                record = self.record(row, said)
            else:
                record, row.last, row.since = issued.record, issued.last, issued.since
                self.issued.forget(issued)
                if issued.alone:
                    self._usual_lag += (lag - self._usual_lag) / USUAL_LAGS
            if lag > 0 and not mixing.two_tracks:
                mixing.begin_second_track()
            if len(record) != mixing.record_rows:
                record = mixing.with_two_tracks(record)
            if mixing.two_tracks:
                fresh = record if lag == 0 else self._fresh_record(row, said, since)
                mixing.learn_fresh(fresh, code, weight)
            mixing.learn(record, code, weight, lag)
            self._teach(row, code, weight)
            self.last, self._issued_before = code, self.issued.n_issued
            self.n_learnt += 1
            self.class_shares.take_one(code, weight)
            self.untouched = None
            if self.history.due(self.n_learnt):
                self.history.add(self.n_learnt, mixing.influence())

    def _fresh_record(self, row: OneRow, said: Floats | None, since_now: int | None) -> Floats:
        """What the experts would say now of a row that was predicted long ago."""
        last, since = row.last, row.since
        row.last, row.since = self.last, self.since if since_now is None else since_now
        record = self.record(row, said)
        row.last, row.since = last, since
        return record

    def _teach(self, row: OneRow, code: int, weight: float) -> None:
        """Let the members learn, and then the pool."""
        pool, voting = self.pool, self.voting
        if pool is None or voting is None:
            for member, _, _ in self._places:
                if not member.needs_pool:
                    member.learn(row, code, weight)
            self._keep(row.X, code, weight)
            return
        voting.learn(row, code, weight)
        for member, _, _ in self._places:
            member.learn(row, code, weight)
        changes = pool.learn(row.X, code, weight)
        if changes is None:
            return
        for change in changes:
            voting.follow(change)
            for member, _, _ in self._places:
                member.follow(change)
        voting.set_fixed(1, pool.alphas)

    def _keep(self, X: Any, code: int, weight: float) -> None:
        """Keep a row until hypotheses can be learnt, and learn them when it is time."""
        self._kept.append((detached_row(X), code, weight))
        del self._kept[:-MAX_START_ROWS]
        if len(self._kept) < START_ROWS or (self.n_learnt + 1) % 100:
            return
        codes = np.array([code for _, code, _ in self._kept])
        if (np.bincount(codes, minlength=2) >= MIN_ROWS_PER_CLASS).sum() < 2:
            return
        weights = np.array([weight for _, _, weight in self._kept])
        rows = Rows(stack_matrices([X for X, _, _ in self._kept]), codes=codes, weights=weights)
        self._kept = []
        self._make_pool(rows)
        self._begin_pool_members(rows)

    # The start --------------------------------------------------------------------------------------------

    def begin(self, rows: Rows) -> None:
        """Start from first rows: hypotheses from all of them, then each member learns them in order.

        The mix is rehearsed before: a bank begun on the first half of the rows meets the others one by one,
        and its maps and mixers are taken over. Rows that come sorted by class are shuffled first: their order
        says nothing about a stream.
        """
        if _is_sorted(rows.codes, self.n_classes):
            rows = rows[np.random.default_rng(self.seed).permutation(len(rows))].detached()
        self._rehearse(rows)
        self._begin_members(rows)
        self.class_shares.take(rows.codes, rows.weights)
        self.n_learnt = len(rows)
        self.start_shares = self.mixing.influence()

    def _begin_members(self, rows: Rows) -> None:
        """Let everything but the mix start from rows."""
        self._make_pool(rows)
        self._begin_pool_members(rows)
        for member, _, _ in self._places:
            if not member.needs_pool:
                member.begin(rows, None)
        self.last = int(rows.codes[-1])

    def _rehearse(self, rows: Rows) -> None:
        n = len(rows)
        half = n // 2
        codes = rows.codes
        enough = (np.bincount(codes[:half], minlength=2) >= MIN_ROWS_PER_CLASS).sum() >= 2
        if n < MIN_REHEARSAL or not enough:
            return
        trial = self._alike()
        trial._begin_members(rows[:half].detached())
        X, weights = rows.X, rows.weights
        for i in range(half, min(n, half + MAX_REHEARSAL)):
            trial.learn(X[i : i + 1], int(codes[i]), float(weights[i]), None)
        self.mixing.take_over(trial.mixing)

    def _alike(self) -> Bank:
        """A new bank with the same settings."""
        return type(self)(
            self.n_features,
            self.n_classes,
            sparse=self.sparse,
            n_hypotheses=self.n_hypotheses,
            seed=self.seed,
            boosters=self.boosters,
            without=self.without,
        )

    def _make_pool(self, rows: Rows) -> None:
        labels = np.arange(self.n_classes)
        if self.given is None:
            driver = growing_classifier(self.n_hypotheses, self.seed)
            driver.partial_fit(rows.X, rows.codes, classes=labels, sample_weight=rows.weights)
        else:
            found, columns = beside_learnt(self.given, rows, self.n_classes, self.n_hypotheses, self.seed)
            driver = growing_classifier(self.n_hypotheses, self.seed, found)
            driver.start_from(rows, labels, columns)
        driver.weight_scale_ = 1.0
        self.adopt_pool(Pool(driver))
        assert self.pool is not None
        self.pool.recent.take(rows)

    def adopt_pool(self, pool: Pool) -> None:
        """Begin with a pool; the weights that it has are those deployed."""
        self.pool, self.voting = pool, Voting(self.boosters, pool.columns)
        self.voting.set_fixed(0, pool.alphas)
        self.voting.set_fixed(1, pool.alphas)

    def adopt(self, deployed: DeployedModel) -> None:
        """Take over a model that was deployed before: until the first label it decides alone."""
        self.deployed = self.untouched = deployed
        self.mixing.only(0)
        self.start_shares = self.mixing.influence()

    def _begin_pool_members(self, rows: Rows) -> None:
        assert self.pool is not None
        assert self.voting is not None
        answers = self.pool.answers(rows.X)
        self.voting.begin(rows, answers)
        for member, _, _ in self._places:
            if member.needs_pool:
                member.begin(rows, answers)

    # What it holds ----------------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """Bytes of everything."""
        parts: list[Any] = [*self.members, self.mixing, self.issued]
        parts += [part for part in (self.voting, self.pool) if part is not None]
        return sum(part.nbytes for part in parts)

    def copy(self) -> Self:
        """An independent copy."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.members = [member.copy() for member in self.members]
        other.voting = None if self.voting is None else self.voting.copy()
        other.pool = None if self.pool is None else self.pool.copy()
        other.mixing, other.issued = self.mixing.copy(), self.issued.copy()
        other.history, other._newest = self.history.copy(), None
        other.class_shares = self.class_shares.copy()
        other._kept = list(self._kept)
        other._arrange()
        return other


def _is_sorted(codes: NDArray[np.int64], n_classes: int) -> bool:
    """Whether rows come class by class: in hardly more runs of equal labels than there are classes."""
    n_runs = 1 + int((codes[1:] != codes[:-1]).sum())
    return n_runs <= 2 * n_classes and len(codes) >= 5 * n_runs
