"""A classifier over a committee: how it learns checked rows, follows its parameters, and answers."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import partial
from operator import is_, itemgetter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ocboost._core.checks import MAX_SETTING, as_count
from ocboost._core.locks import reads, writes, written
from ocboost._ctrl_c import uninterrupted
from ocboost.boosters.base import Booster, Settings
from ocboost.errors import InputError
from ocboost.estimators.base import code_of, labels_of
from ocboost.estimators.booster_settings import SKETCH_DEFAULTS, booster_settings, require_kind
from ocboost.estimators.committee import Committee, CommitteeView, probabilities, winners
from ocboost.estimators.decisions import ClassShares, Decision, balanced_weights, decision_of, is_balanced
from ocboost.estimators.explaining import (
    Explains,
    explained_by_votes,
    importances_by_votes,
    weight_changes_of,
)
from ocboost.estimators.explanation import Explanation, WeightChanges
from ocboost.estimators.growth import Growth, HypothesisGrower, as_growth, learner_of
from ocboost.estimators.tables import TableClassifier, one_row
from ocboost.hypotheses import Hypotheses
from ocboost.hypotheses.describe import NamedFeatures
from ocboost.learners import Learner, learner_for
from ocboost.offsets import Offset, require_range
from ocboost.streams.rows import Rows

# The parameters that set_params can change on a fitted classifier.
adjustable = itemgetter("offset", "grow", "batch_size", "booster", *SKETCH_DEFAULTS)
ROWS_LEARNT_AT_ONCE = 1 << 14  # bounds the answers in memory, and how long Ctrl-C waits


class CommitteeClassifier(Explains, TableClassifier):
    """The fitted part of `OCBClassifier`, whose parameters it reads: a committee that learns and votes."""

    estimator: Any
    offset: Any
    booster: str | Booster
    grow: int | Growth | None
    batch_size: int
    n_jobs: int | None
    class_weight: Any
    threshold: float | None
    costs: Any
    class_shares_: ClassShares
    committee_: Committee
    grower_: HypothesisGrower | None
    weight_scale_: float
    _batch: int
    _offset_given: Any
    _applied: tuple[Any, ...] | None  # the adjustable parameters that the committee has; None: not known

    def _input_readers(self, *, reset: bool) -> list[Learner | Hypotheses]:
        """What answers, and what learns further hypotheses."""
        fitted = not reset and hasattr(self, "committee_")
        answering = self.committee_.hypotheses if fitted else learner_for(self.estimator)
        growth = as_growth(self.grow)
        return [answering] if growth is None else [answering, learner_of(growth, self.estimator)]

    def _booster_settings(
        self, columns: list[slice], offset: Offset | None
    ) -> tuple[type[Booster], Settings]:
        given = {name: getattr(self, name) for name in SKETCH_DEFAULTS}
        most, growth = max(c.stop - c.start for c in columns), as_growth(self.grow)
        return booster_settings(self.booster, given, most=most, growth=growth, has_offset=offset is not None)

    def _make_grower(self, growth: Growth) -> HypothesisGrower:
        return HypothesisGrower(growth, learner_of(growth, self.estimator), self.committee_, self._seed())

    def _checked_batch_size(self) -> int:
        return min(
            as_count(self.batch_size, "batch_size", 1, None, "1 adds example by example."), MAX_SETTING
        )

    @writes
    def learn_rows(self, rows: Rows) -> None:
        """Learn from rows that have been checked, all with codes; every example is learnt through here.

        Parameters
        ----------
        rows : Batch
            Checked, with codes.
        """
        written(self.committee_, partial(self._learn, rows))

    def _learn(self, rows: Rows) -> None:
        if not is_balanced(self.class_weight):
            self._learn_weighted(rows)
            return
        shares = self.class_shares_.copy()
        self._learn_weighted(rows.weighted(rows.weights * shares.take(rows.codes, rows.weights)))
        self.class_shares_ = shares  # now that all are learnt

    def _balanced(self, rows: Rows) -> Rows:
        """First rows, whose classes have the same total weight if ``class_weight`` says so."""
        if not is_balanced(self.class_weight):
            return rows
        return rows.weighted(rows.weights * balanced_weights(rows.codes, rows.weights))

    def _learn_weighted(self, rows: Rows) -> None:
        committee = self.committee_
        committee.prepare_readers(len(rows), self._batch)
        if not self._is_up_to_date():
            self.follow_settings()
        if self.grower_ is not None:
            self._learn_and_grow(self.grower_, rows)
            return
        size = max(1, ROWS_LEARNT_AT_ONCE // self._batch) * self._batch
        if len(rows) <= size:
            self._update(rows, rows.answers(committee.hypotheses))
            return
        require_range(self._scaled_weights(rows), rows.scores(committee))  # all, before the first is learnt
        for start in range(0, len(rows), size):
            if start:
                committee.refresh_readers()
            part = rows.detached(start, start + size)
            self._update(part, part.answers(committee.hypotheses))

    def _learn_and_grow(self, grower: HypothesisGrower, rows: Rows) -> None:
        committee, start = self.committee_, 0
        committee.hypotheses.check(rows.X)  # all rows, before the first is learnt
        require_range(self._scaled_weights(rows), rows.scores(committee))
        while start < len(rows):
            part = rows[start : start + min(grower.due, ROWS_LEARNT_AT_ONCE)]
            answers = committee.hypotheses.answers(part.X)  # not kept: the hypotheses change
            with uninterrupted():  # the grower keeps the rows that the head has learnt
                self._update(part, answers)
                weights = self._scaled_weights(part)
                grower.take(committee, Rows(part.X, codes=part.codes, weights=weights))
            start += len(part)

    def _update(self, rows: Rows, answers: NDArray[np.int8]) -> None:
        """Update the weights of the hypotheses."""
        committee, weights = self.committee_, self._scaled_weights(rows)
        scores = rows.scores(committee)
        committee.learn(answers, rows.codes, weights, scores, batch_size=self._batch, n_jobs=self.n_jobs)

    def _scaled_weights(self, rows: Rows) -> NDArray[np.float64]:
        scale = self.weight_scale_
        return rows.weights if scale == 1.0 else rows.weights * scale

    @writes
    def follow_settings(self) -> None:
        """Let ``set_params`` take effect on a fitted classifier, where it can; learning does so too.

        Raises
        ------
        InputError
            If a parameter was changed that cannot be any more.
        """
        if self._is_up_to_date():
            return
        if self.offset is not self._offset_given:
            raise InputError(
                "offset cannot change once the classifier has been fitted, as what was learnt depends on it. "
                "Fit again with another one."
            )
        growth, committee = as_growth(self.grow), self.committee_
        kind, settings = self._booster_settings(committee.columns, committee.offset)
        require_kind(kind, committee.kind)
        batch = self._checked_batch_size()
        committee.apply_settings(settings)
        if growth is None:
            self.grower_ = None
        elif self.grower_ is None:
            self.grower_ = self._make_grower(growth)
        elif self.grower_.growth != growth:
            self.grower_.apply_settings(growth, learner_of(growth, self.estimator))
        self._applied, self._batch = adjustable(self.__dict__), batch

    def _is_up_to_date(self) -> bool:
        """Whether the committee has the present parameters; objects are compared by identity."""
        applied = self._applied
        return applied is not None and all(map(is_, adjustable(self.__dict__), applied))

    def with_booster(self, booster: str | Booster, rows: Rows | None = None) -> Self:
        """An independent classifier with the same hypotheses and classes, and another booster.

        Parameters
        ----------
        booster : str or Booster
            As of `OCBClassifier`.
        rows : Batch, optional
            What it starts from, checked and with codes, as ``fit`` does; without them it has learnt nothing.

        Returns
        -------
        OCBClassifier
            This one is not changed.
        """
        other: Self = self.__copy__().set_params(booster=booster, grow=None, **SKETCH_DEFAULTS)
        before = other.committee_
        kind, settings = other._booster_settings(before.columns, before.offset)
        committee = Committee(before.hypotheses, before.columns, settings, before.offset, kind)
        if rows is not None:
            weights, scores = other._scaled_weights(rows), rows.scores(committee)
            committee.fit(rows.X, rows.codes, weights, scores, n_jobs=other.n_jobs)
        committee.remember_start()
        other.committee_, other.grower_ = committee, None
        other._applied = adjustable(other.__dict__)
        return other

    # Answers ---------------------------------------------------------------------------------------------

    @property
    def hypotheses_(self) -> Hypotheses:
        """The weak hypotheses."""
        return self.committee_.hypotheses if self.grower_ is None else self.committee_.view().hypotheses

    @property
    def boosters_(self) -> list[Booster]:
        """One booster for two classes, otherwise one for each."""
        return self.committee_.boosters

    @property
    def alpha_(self) -> list[NDArray[np.float64]]:
        """The present weights of each booster."""
        check_is_fitted(self)
        return self.committee_.alphas

    @property
    def n_grown_(self) -> int:
        """Hypotheses that the stream has added."""
        return 0 if self.grower_ is None else self.grower_.n_grown

    @property
    def n_retired_(self) -> int:
        """Hypotheses that were removed to make room for them."""
        return 0 if self.grower_ is None else self.grower_.n_retired

    def votes_of(self, rows: Rows) -> NDArray[np.float64]:
        """The votes on rows that have been checked.

        Parameters
        ----------
        rows : Batch
            Checked rows.

        Returns
        -------
        array of shape (n,) for two classes, (n, K) for more
            As of `decision_function`.
        """
        committee = self.committee_
        if self.grower_ is not None:  # answers are not kept: the hypotheses change
            return committee.votes(rows.X)
        return committee.votes_of(rows.answers(committee.hypotheses), rows.scores(committee))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The votes Σ_j α_j h_j(x), on top of the offset F₀(x) if there is one.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features), or table
            The rows.

        Returns
        -------
        array of shape (n,) for two classes, (n, K) for more
            For two classes positive for the second.
        """
        now = self._snapshot()
        rows = now._checked_rows(X)
        return now.committee_.votes(rows)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row: that with the highest vote, unless weights, threshold or costs decide.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features), or table
            The rows.

        Returns
        -------
        array of shape (n,)
            One of ``classes_`` each.
        """
        now = self._snapshot()
        rows = now._checked_rows(X)
        if _likeliest_wins(now.__dict__):
            return now.classes_[now.committee_.predict(rows)]
        return now.classes_[now.decided_by_votes(now.committee_.votes(rows))]

    def decided_by_votes(self, votes: NDArray[np.float64]) -> NDArray[np.intp]:
        """The codes of the classes to predict, from votes.

        Parameters
        ----------
        votes : array of shape (n,) or (n, K)
            As of `decision_function`.

        Returns
        -------
        array of shape (n,)
            Codes of classes.
        """
        if _likeliest_wins(self.__dict__):
            return winners(votes)
        return self.decided(probabilities(votes))

    def decided(self, shares: NDArray[np.float64]) -> NDArray[np.intp]:
        """The codes of the classes to predict, from probabilities.

        Parameters
        ----------
        shares : array of shape (n, K)
            Probabilities.

        Returns
        -------
        array of shape (n,)
            Codes of classes.
        """
        return _decision(self.__dict__).codes(shares)

    # Why -------------------------------------------------------------------------------------------------

    def _explained(self, rows: Any, given: Any, top: int, named: NamedFeatures) -> list[Explanation]:
        view = self.committee_.view()
        decided = None if _likeliest_wins(self.__dict__) else self.decided_by_votes(view.votes(rows))
        return explained_by_votes(view, rows, self.classes_, top, named, decided)

    def _changed(self, top: int, named: NamedFeatures) -> WeightChanges:
        return WeightChanges(*weight_changes_of(self.committee_.view(), self.classes_, top, named), ())

    def _importances(self) -> NDArray[np.float64]:
        return importances_by_votes(self.committee_.view())

    # One row ---------------------------------------------------------------------------------------------

    def predict_one(self, row: Sequence[float]) -> Any:
        """The class of one row, as `predict` finds it, without the time of scikit-learn's checks.

        Parameters
        ----------
        row : sequence of n_features numbers, or dict
            A list, a tuple or an array; None and NaN are missing numbers. A classifier fitted on a table also
            takes a dictionary of values by column.

        Returns
        -------
        object
            One of ``classes_``.

        Examples
        --------
        >>> from ocboost import OCBClassifier
        >>> from ocboost.hypotheses import Stumps
        >>> clf = OCBClassifier(Stumps([0], [1.5], [-1])).fit([[1.0], [2.0]], ["no", "yes"])
        >>> clf.predict_one([3.0]), clf.learn_one([3.0], "no").predict_proba_one([3.0]).round(2)
        ('yes', array([0.4, 0.6]))
        """
        now = self._fitted_attributes()
        view, x = now["committee_"].view(), _checked_row(now, row)
        if not _likeliest_wins(now):
            shares = probabilities(view.votes_of_one(x))
            return labels_of(now)[0][int(_decision(now).codes(shares)[0])]
        code = int(view.predict(x)[0]) if view.deployed is not None else view.winner_of_one(x)
        return labels_of(now)[0][code]

    def predict_proba_one(self, row: Sequence[float]) -> NDArray[np.float64]:
        """The probability of each class for one row, as `predict_proba` finds them.

        Parameters
        ----------
        row : sequence of n_features numbers
            As for `predict_one`.

        Returns
        -------
        array of shape (K,)
            In the order of ``classes_``.
        """
        now = self._fitted_attributes()
        view: CommitteeView = now["committee_"].view()
        shares: NDArray[np.float64] = probabilities(view.votes_of_one(_checked_row(now, row)))[0]
        return shares

    @writes
    def _learn_one(self, row: Sequence[float], label: Any, weight: float) -> None:
        now = self._fitted_attributes()
        x = _checked_row(now, row)
        code = code_of(now, label)
        weights = None if weight == 1.0 else np.array([weight])
        written(self.committee_, partial(self._learn, Rows.one(x, code, weights)))

    def _fitted_attributes(self) -> dict[str, Any]:
        """The present attributes; fitting replaces all of them at once, as another dictionary."""
        now = self.__dict__
        if "committee_" not in now:
            check_is_fitted(self)
        return now

    # Copies ----------------------------------------------------------------------------------------------

    @reads
    def __copy__(self) -> Self:
        """An independent copy; the hypotheses, which never change, are shared."""
        other = self._snapshot()
        other.__dict__.pop("_guard_kept", None)
        if hasattr(self, "committee_"):
            other.committee_ = copy.copy(self.committee_)
            other.grower_ = copy.copy(self.grower_)
        return other

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super(CommitteeClassifier, self.__copy__()).__getstate__()
        return state  # of a copy, as it is written later


def _likeliest_wins(now: dict[str, Any]) -> bool:
    """Whether nothing but the votes decides in a classifier with these attributes."""
    weights = now.get("class_weight")
    plain = weights is None or is_balanced(weights)
    return plain and now.get("threshold") is None and now.get("costs") is None


def _decision(now: dict[str, Any]) -> Decision:
    """How predictions are made of probabilities; weights that balance act while learning instead."""
    weights = None if is_balanced(now["class_weight"]) else now["class_weight"]
    return decision_of(now["classes_"], weights, now["threshold"], now["costs"]) or Decision()


def _checked_row(now: dict[str, Any], row: Any) -> NDArray[Any]:
    """One row, checked for the classifier with these attributes."""
    hypotheses, grower = now["committee_"].hypotheses, now["grower_"]
    missing = hypotheses.accepts_missing and (grower is None or grower.learner.accepts_missing)
    return one_row(now, row, missing=missing)
