"""AdaptiveClassifier: one classifier without settings, which keeps learning on any stream."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ocboost._core.checks import as_count
from ocboost._core.codec import read
from ocboost._core.file_format import load, save
from ocboost._core.interrupts import all_or_nothing
from ocboost._core.labels import codes_of, scale_of, weights_to_fit
from ocboost._core.locks import Guard, reads, written
from ocboost._kernels.arrays import Floats
from ocboost.errors import InputError, LeftOutWarning
from ocboost.estimators.adaptive.adoption import adopted_hypotheses, schema_for, schema_without_rows
from ocboost.estimators.adaptive.bank import Bank
from ocboost.estimators.adaptive.deployed import DeployedModel, own_copy
from ocboost.estimators.adaptive.deployed_file import drawn_rows, some_rows
from ocboost.estimators.adaptive.explain import changed_in_bank, explained_by_members, importances_in_bank
from ocboost.estimators.adaptive.history import MembersTable, MemberStatus, plot
from ocboost.estimators.adaptive.issued import key_of_id, key_of_number, key_of_row
from ocboost.estimators.adaptive.model_tables import as_a_model_takes_them, first_rows
from ocboost.estimators.adaptive.settings import MAX_HYPOTHESES, chosen_members
from ocboost.estimators.base import code_of
from ocboost.estimators.decisions import DECISIONS, Decision, decision_of
from ocboost.estimators.explaining import Explains
from ocboost.estimators.explanation import Explanation, WeightChanges
from ocboost.estimators.tables import TableClassifier, has_names, plain_labels, warn_of
from ocboost.hypotheses.describe import NamedFeatures
from ocboost.streams.rows import Rows
from ocboost.streams.tables import is_table

ROWS_PER_WRITE = 32  # between which readers get their turn
ROWS_TO_TRY = 1000  # that an adopted model answers to before it is trusted
ENOUGH_ROWS = 200  # of a first partial_fit, for a start in batch
MAX_ROW_WEIGHT = 1e100


class AdaptiveClassifier(Explains, TableClassifier):
    """A classifier that keeps learning, on any stream, without a setting to choose.

    A bank of members looks at each row: boosters over one growing pool of weak hypotheses (Online Coordinate
    Boosting with several memories, EG±, logistic regression, passive-aggressive), neighbours by the answers
    of these hypotheses, regression on the features, rolling forests, patterns of the labels alone, and the
    model as it was fitted. Their predictions are calibrated, mixed by second-order mixers, and chosen among
    by fixed share. Two classes or more; missing numbers (NaN) and sparse matrices are welcome.

    Parameters
    ----------
    n_hypotheses : int, default 100
        Weak hypotheses to begin with, for each class if there are more than two; they may grow by half.
    extra : sequence of str, default ()
        Further boosters to take part, by their names in ``ocboost compare``: "winnow", "perceptron" …
    without : sequence of str, default ()
        Members to leave out: "neighbours", "labels", "features", "forests", or a booster: "eg", "pa",
        "logistic", "ocb-window-20".
    class_weight : None, "balanced" or dict, default None
        Weighs the probabilities in ``predict``, which takes the class of largest w_k · p_k; a weight by
        class, 1 for those not named. "balanced" is the inverse of the share of each class among about the
        last 1,000 labels, which follows a balance that drifts. Nothing is learnt otherwise: as the
        probabilities are calibrated, this does as well as weights while learning, or a little better
        (``experiments/costs.py``).
    threshold : float, optional
        Of two classes, the second is predicted from this probability on (with ``class_weight``: of
        w_k · p_k, divided by their sum); by default the likelier one.
    costs : array of shape (K, K) or dict, optional
        ``costs[true, predicted]``, in the order of ``classes_``; or {(true, predicted): cost}, where an error
        that is not named costs 1. The class of least expected cost is predicted. ``threshold`` and ``costs``
        exclude each other. All three leave the probabilities as they are, and may be changed at any time.
    random_state : int, RandomState or None
        For what is drawn: growth and the bootstrap of the forests.

    Attributes
    ----------
    classes_ : array of shape (K,)
    members_ : table of name, share, accuracy and log-loss
        What each member has in the prediction now, and how it has done over about the last 1,000 labels.
    n_learnt_ : int
        Rows learnt.
    n_waiting_ : int
        Predictions that wait for their label.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn; of a table, the columns that are read.
    schema_ : Schema or None
        How a table becomes features, if it was fitted on one.

    Notes
    -----
    X may be a table, a data frame of pandas or polars or a table of Arrow, with numbers, truth values, texts,
    categories, dates and missing values. It is encoded as the command line encodes a file; columns are found
    by name, in any order (docs/tables.md).

    ``fit`` is a batch start, and then one pass over the rows in order: the order of the rows matters. Half of
    them are first used to rehearse the mix. Rows that come sorted by class are shuffled first.
    ``partial_fit`` learns row by row; as the first call it may be a single row, with ``classes``. It begins
    with patterns of the labels and regression on the features, and finds hypotheses when it has seen 200
    rows. A first call of 200 rows or more, of two classes or more, starts as ``fit`` does.

    ``predict`` and ``predict_proba`` remember what they said until the label comes, as the mix learns from
    predictions as they were made: at most 10,000 of them, and 64 MB. A row is recognised by its id, or
    without ids by its features, equal rows in the order in which they were predicted; one that has waited for
    long, while an equal row was predicted since, is taken for a row whose label never came. Labels of rows
    that were never predicted, or longer ago, are learnt as if the row had been predicted just before. With
    ``issue=False`` nothing is remembered. Labels may come late or in another order.

    A sample weight above 1 counts more in the members, up to 100 in the mix.

    Examples
    --------
    >>> import ocboost
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = ocboost.AdaptiveClassifier(random_state=0).fit(X[:300], y[:300])
    >>> right = 0
    >>> for row, label in zip(X[300:], y[300:]):
    ...     right += clf.predict_one(row) == label
    ...     clf = clf.learn_one(row, label)
    >>> bool(right / len(X[300:]) > 0.95)
    True
    """

    def __init__(
        self,
        *,
        n_hypotheses: int = 100,
        extra: Sequence[str] = (),
        without: Sequence[str] = (),
        class_weight: Any = None,
        threshold: float | None = None,
        costs: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_hypotheses = n_hypotheses
        self.extra = extra
        self.without = without
        self.class_weight = class_weight
        self.threshold = threshold
        self.costs = costs
        self.random_state = random_state

    bank_: Bank
    weight_scale_: float

    @property
    def _turns(self) -> Guard[Any]:
        """Calls that change it take turns here; readers come in between the rows of a long one."""
        guard: Guard[Any] | None = self.__dict__.get("_turns_kept")
        return self.__dict__.setdefault("_turns_kept", Guard()) if guard is None else guard

    def _now(self) -> Self:
        """It as it is now, should another thread fit it again meanwhile; locks are shared."""
        if "classes_" not in self.__dict__:  # scikit-learn's check takes microseconds
            check_is_fitted(self)
        _ = self._guard, self._turns
        return self._snapshot()

    # Checks ----------------------------------------------------------------------------------------------

    def _input_checks(self, *, reset: bool = False) -> dict[str, Any]:
        return {
            "dtype": np.float64,
            "order": "C",
            "accept_sparse": "csr",
            "ensure_all_finite": "allow-nan",
        }

    def _as_kept(self, X: Any) -> Any:
        """Rows in the form that the bank has: dense or CSR, with one zero and sorted columns."""
        if isinstance(X, np.ndarray):
            if not self.bank_.sparse:
                return np.add(X, 0.0, dtype=np.float64)
            from scipy.sparse import csr_matrix

            return csr_matrix(X, dtype=np.float64)
        if not self.bank_.sparse:
            return X.toarray() + 0.0
        if not X.has_canonical_format or not X.data.all():
            X = X.copy()
            X.sum_duplicates()
            X.eliminate_zeros()
        return X

    def _coded(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        classes: ArrayLike | None,
        *,
        first: bool,
        reset: bool | None = None,
    ) -> tuple[Any, NDArray[np.int64], Floats, NDArray[Any]]:
        """Checked rows, codes, weights and all classes; ``reset`` takes the columns from X, as first does."""
        _require_labels(y)
        rows, labels = self._checked_examples(X, y, reset=first if reset is None else reset)
        known = self._all_classes(labels, classes, first=first)
        weights = weights_to_fit(sample_weight, rows)
        if first:
            self.weight_scale_ = scale_of(weights)
        return rows, codes_of(labels, known), self._scaled(weights), known

    def _scaled(self, weights: Floats) -> Floats:
        """Weights on the scale of the first ones."""
        most = MAX_ROW_WEIGHT / max(self.weight_scale_, 1.0)
        heaviest = int(weights.argmax())
        if weights[heaviest] > most:
            raise InputError(
                f"sample_weight must be at most {most:g}; got {weights[heaviest]:g} in row {heaviest}. "
                "Divide all weights by the greatest."
            )
        return weights * self.weight_scale_

    def _new_bank(self, X: Any, n_classes: int) -> Bank:
        what = "It is how many weak hypotheses it begins with."
        as_count(self.n_hypotheses, "n_hypotheses", 1, MAX_HYPOTHESES, what)
        boosters, without = chosen_members(self.extra, self.without)
        return Bank(
            X.shape[1],
            n_classes,
            sparse=not isinstance(X, np.ndarray),
            n_hypotheses=self.n_hypotheses,
            seed=self._seed(),
            boosters=boosters,
            without=without,
        )

    # Learning --------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Start from these rows, in their order, and forget all that came before."""
        _ = self._guard  # of the draft too
        with self._turns.turn(), all_or_nothing(self) as draft:
            draft._start(X, y, sample_weight, None)
        return self

    def _start(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        classes: ArrayLike | None,
        ids: Sequence[Any] | None = None,
        deployed: DeployedModel | None = None,
    ) -> None:
        """A new bank from first rows, in batch if there are enough; with the hypotheses of a model."""
        whole = classes is None
        encoded = deployed is not None and is_table(X)
        if deployed is not None and encoded:
            schema, notes = schema_for(deployed, X, y)
            self._take_schema(schema)
            warn_of(notes)
        rows, codes, weights, known = self._coded(X, y, sample_weight, classes, first=True, reset=not encoded)
        if ids is not None:
            _keys(ids, len(codes))
        decision_of(known, self.class_weight, self.threshold, self.costs)
        self.classes_, self.bank_ = known, self._new_bank(rows, len(known))
        rows = self._as_kept(rows)
        if deployed is not None:
            self._prepare_adoption(deployed, rows, X)
        some = np.flatnonzero(weights > 0.0)
        if len(np.unique(codes[some])) >= 2 and (whole or len(some) >= ENOUGH_ROWS):
            self.bank_.begin(Rows(rows[some], codes=codes[some], weights=weights[some]))
        else:
            self._learn_some(rows, codes, weights, None, 0, len(codes))

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        ids: Sequence[Any] | None = None,
    ) -> Self:
        """Learn from rows whose labels are known, one by one in order.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features), or table
        y : array of shape (n,)
        classes : array, optional
            All classes that will ever come; needed in the first call if that does not show them all.
        sample_weight : array of shape (n,), optional
        ids : sequence of n texts or whole numbers, optional
            The ids that the rows were predicted with.

        Notes
        -----
        After Ctrl-C the rows before it are learnt; ``n_learnt_`` says how many.
        """
        _ = self._guard
        with self._turns.turn():
            if not hasattr(self, "bank_"):
                with all_or_nothing(self) as draft:
                    draft._start(X, y, sample_weight, classes, ids)
                return self
            rows, codes, weights, _ = self._coded(X, y, sample_weight, classes, first=False)
            keys = None if ids is None else _keys(ids, len(codes))
            rows = self._as_kept(rows)
            self._learn_all(rows, codes, weights, keys, self._said(rows, X))
        return self

    def _said(self, rows: Any, given: Any = None) -> Floats | None:
        """What an adopted model says of rows, (n, K); ``given`` is what they were made from."""
        bank = self.bank_
        if bank.deployed is None:
            return None
        return bank.deployed.probabilities(rows, self._as_given(given), exact=bank.untouched is not None)

    def _as_given(self, given: Any) -> Any:
        """Rows as they came, if an adopted model takes them; with a schema, arrays are features."""
        return as_a_model_takes_them(given) if self.schema_ is None or has_names(given) else None

    def _learn_all(
        self,
        X: Any,
        codes: NDArray[np.int64],
        weights: Floats,
        keys: list[bytes] | None,
        said: Floats | None,
    ) -> None:
        """Learn rows in order; readers get their turn in between."""
        for start in range(0, len(codes), ROWS_PER_WRITE):
            stop = min(start + ROWS_PER_WRITE, len(codes))
            written(self, partial(self._learn_some, X, codes, weights, keys, start, stop, said))

    def _learn_some(
        self,
        X: Any,
        codes: NDArray[np.int64],
        weights: Floats,
        keys: list[bytes] | None,
        start: int,
        stop: int,
        said: Floats | None = None,
    ) -> None:
        bank = self.bank_
        for i in range(start, stop):
            key = None if keys is None else keys[i]
            ask = None if said is None else partial(said.__getitem__, i)
            bank.label(X[i : i + 1], int(codes[i]), float(weights[i]), key, ask)

    def learn_rows(self, rows: Rows) -> None:
        """Learn checked rows with codes, whose ids are their numbers in the stream."""
        with self._turns.turn():
            keys = [key_of_number(number) for number in rows.rows.tolist()]
            X = self._as_kept(rows.X)
            self._learn_all(X, rows.codes, self._scaled(rows.weights), keys, self._said(X))

    def _learn_one(self, row: Sequence[float], label: Any, weight: float) -> None:
        if "classes_" not in self.__dict__:
            check_is_fitted(self)
        with self._turns.turn():
            x = self._one_row(row)
            code = code_of(self.__dict__, label)
            scaled = weight * self.weight_scale_
            if scaled > MAX_ROW_WEIGHT:
                self._scaled(np.array([weight]))
            X = self._as_kept(x)
            ask = None if self.bank_.deployed is None else lambda: _one(self._said(X, row))
            written(self, lambda: self.bank_.label(X, code, scaled, None, ask))

    # Predicting ------------------------------------------------------------------------------------------

    def predict(self, X: Any, ids: Sequence[Any] | None = None, issue: bool = True) -> NDArray[Any]:
        """The class of each row: the likeliest, or what ``class_weight``, ``threshold`` or ``costs`` decide.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features), or table
        ids : sequence of n texts or whole numbers, optional
            By which `partial_fit` finds the predictions again. Another prediction of the same id replaces the
            first.
        issue : bool, default True
            Whether to remember the predictions until their labels come. Say False where a row is predicted to
            have a look at it, and will be predicted again before its label comes.

        Notes
        -----
        Each row is predicted as if it were the next of the stream. Rows that are further away cannot go by
        the last labels: where they are predicted in large blocks, try ``without=["labels"]``.
        """
        now = self._now()
        now._decision()  # what cannot be decided is refused before anything is remembered
        return now._classes(now._checked_rows(X), ids, issue, X)

    def predict_proba(self, X: Any, ids: Sequence[Any] | None = None, issue: bool = True) -> Floats:
        """The probability of each class, (n, K); ``ids`` and ``issue`` as in `predict`."""
        now = self._now()
        return now._predicted(now._checked_rows(X), ids, issue, given=X)

    def decision_function(self, X: Any) -> Floats:
        """Log-odds of the second of two classes, (n,); log-probabilities of more, (n, K). Not remembered."""
        p = np.maximum(self.predict_proba(X, issue=False), 1e-300)
        return np.log(p[:, 1]) - np.log(p[:, 0]) if p.shape[1] == 2 else np.log(p)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows that are predicted right. Not remembered."""
        from sklearn.metrics import accuracy_score

        labels = plain_labels(y)
        return float(accuracy_score(labels, self.predict(X, issue=False), sample_weight=sample_weight))

    def probabilities_of(self, rows: Rows, *, issue: bool = True) -> Floats:
        """The probabilities of checked rows, whose ids are their numbers in the stream."""
        keys = [key_of_number(number) for number in rows.rows.tolist()] if issue else None
        return self._now()._predicted(rows.X, keys, issue, are_keys=True)

    def _predicted(
        self, rows: Any, ids: Sequence[Any] | None, issue: bool, *, are_keys: bool = False, given: Any = None
    ) -> Floats:
        """The probabilities of rows."""
        X = self._as_kept(rows)
        keys = None if ids is None else list(ids) if are_keys else _keys(ids, X.shape[0])
        said = self._said(X, given)
        if not issue:
            return self._look(X, said)
        with self._turns.turn():
            return written(self, lambda: self._issue(X, keys, said))

    def _classes(self, rows: Any, ids: Sequence[Any] | None, issue: bool, given: Any) -> NDArray[Any]:
        """The classes of rows: an adopted model's own predictions as long as it decides alone."""
        alone = self._alone
        decided = None if alone is None else alone.predict(self._as_kept(rows), self._as_given(given))
        found = self._predicted(rows, ids, issue, given=given)
        if decided is not None and self._alone is alone:
            return decided
        classes: NDArray[Any] = self.classes_[self.decided(found)]
        return classes

    @property
    def _alone(self) -> DeployedModel | None:
        """The adopted model, if its own predictions are those of the classifier."""
        return self.bank_.untouched if all(getattr(self, name) is None for name in DECISIONS) else None

    def decided(self, found: Floats, X: Any = None) -> NDArray[np.intp]:
        """The codes of the classes to predict, from probabilities; X are the rows, if they are known."""
        alone = self._alone
        if alone is not None and X is not None:
            return np.searchsorted(self.classes_, alone.predict(self._as_kept(X)))
        decision = self._decision()
        if decision is None:
            likeliest: NDArray[np.intp] = found.argmax(axis=1)
            return likeliest
        return decision.codes(found, self._shares_now() if decision.balanced else None)

    def _decision(self) -> Decision | None:
        return decision_of(self.classes_, self.class_weight, self.threshold, self.costs)

    @reads
    def _shares_now(self) -> Floats:
        return self.bank_.class_shares.shares

    @reads
    def _look(self, X: Any, said: Floats | None) -> Floats:
        return self.bank_.predict(X, said=said)

    def _issue(self, X: Any, keys: list[bytes] | None, said: Floats | None) -> Floats:
        by_row = keys is None
        if keys is None:
            keys = [key_of_row(X[i : i + 1]) for i in range(X.shape[0])]
        return self.bank_.predict(X, keys, replace=not by_row, said=said)

    def predict_one(self, row: Sequence[float], *, issue: bool = True) -> Any:
        """The class of one row, as `predict` finds it, without the time of scikit-learn's checks."""
        now = self._now()
        now._decision()
        x = now._one_row(row)
        return now._classes(x, None, issue, row).tolist()[0]

    def predict_proba_one(self, row: Sequence[float], *, issue: bool = True) -> Floats:
        """The probability of each class for one row, (K,), as `predict_proba` finds them."""
        now = self._now()
        x = now._one_row(row)
        found: Floats = now._predicted(x, None, issue, given=row)[0]
        return found

    # What it is -------------------------------------------------------------------------------------------

    @property
    @reads
    def members_(self) -> MembersTable:
        """The members with their shares, recent accuracy and log-loss; the largest share first."""
        check_is_fitted(self)
        bank = self.bank_
        lines = []
        for name, share, (right, loss, n) in zip(
            bank.names, bank.mixing.influence(), bank.mixing.recent, strict=False
        ):
            known = n > 0.0
            status = (float(right), float(loss)) if known else (float("nan"), float("nan"))
            lines.append(MemberStatus(name, float(share), *status))
        return MembersTable(sorted(lines, key=lambda member: -member.share))

    @property
    def n_learnt_(self) -> int:
        """Rows learnt."""
        check_is_fitted(self)
        return self.bank_.n_learnt

    @property
    def n_waiting_(self) -> int:
        """Predictions that wait for their label."""
        check_is_fitted(self)
        return len(self.bank_.issued)

    @property
    @reads
    def nbytes(self) -> int:
        """Bytes of what it keeps."""
        check_is_fitted(self)
        return self.bank_.nbytes

    @reads
    def plot_shares(self, ax: Any = None) -> Any:
        """Draw the shares of the members through time, as areas; needs matplotlib, and gives its axes."""
        check_is_fitted(self)
        return plot(self.bank_.names, self.bank_.history, ax)

    # Why --------------------------------------------------------------------------------------------------

    def _explained(self, rows: Any, given: Any, top: int, named: NamedFeatures) -> list[Explanation]:
        now = self.__copy__()  # others may learn meanwhile
        X = now._as_kept(rows)
        found = now._predicted(rows, None, False, given=given)
        codes = np.searchsorted(now.classes_, now._classes(rows, None, False, given))
        said = now._said(X, given)

        def probabilities(others: Any) -> Floats:
            return now._predicted(others, None, False)

        labels = now.classes_.tolist()
        predicted = (codes, found, said)
        return explained_by_members(now.bank_, X, predicted, probabilities, labels, top, named)

    @reads
    def _changed(self, top: int, named: NamedFeatures) -> WeightChanges:
        return changed_in_bank(self.bank_, self.classes_, top, named)

    @reads
    def _importances(self) -> Floats:
        return importances_in_bank(self.bank_, self.bank_.n_features)

    # Deployed models --------------------------------------------------------------------------------------

    @classmethod
    def from_fitted(
        cls,
        model: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        **parameters: Any,
    ) -> Self:
        """Adopt any fitted classifier: the same predictions and probabilities until the first label.

        Parameters
        ----------
        model : fitted classifier
            Anything with ``predict_proba``; or with ``decision_function``, of which the logistic function
            gives the probabilities, softmax for more than two classes. It becomes a member that never
            learns, and its trees, if it has any, are hypotheses to begin with.
        X, y : arrays, or a table and its labels
            Labelled rows to find hypotheses on: its training data, or a few hundred rows like them. Without
            them hypotheses are found in the first 200 rows that are learnt.
        sample_weight : array of shape (n,), optional
        **parameters
            Those of the class.

        Examples
        --------
        >>> import ocboost
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.linear_model import LogisticRegression
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = LogisticRegression(max_iter=5000).fit(X[:300], y[:300])
        >>> clf = ocboost.AdaptiveClassifier.from_fitted(model, X[:300], y[:300])
        >>> bool((clf.predict_proba(X, issue=False) == model.predict_proba(X)).all())
        True
        """
        labels = None if y is None else np.asarray(y)
        deployed = DeployedModel(own_copy(model), labels=labels)
        clf = cls(**parameters)
        if X is None or y is None:
            if X is not None or y is not None:
                given = "X" if y is None else "y"
                raise InputError(
                    f"X and y must be given both, or neither; got {given} alone. Give labelled rows."
                )
            if deployed.n_columns is None:
                raise InputError(
                    f"X and y must be given, as {type(model).__name__} has no n_features_in_; got neither. "
                    "Give labelled rows."
                )
            clf._begin_empty(deployed)
            return clf
        deployed.require_fit(X)
        clf._start(X, y, sample_weight, deployed.classes, deployed=deployed)
        if clf.bank_.pool is None:
            raise InputError(
                f"X and y must be at least {ENOUGH_ROWS} labelled rows of two classes or more, for "
                f"hypotheses to be found; got {len(np.asarray(y))} rows of {len(np.unique(np.asarray(y)))}. "
                "Give training data of the model."
            )
        clf.bank_.adopt(deployed)
        return clf

    def _prepare_adoption(self, deployed: DeployedModel, rows: Any, X: Any) -> None:
        """See that a model answers to rows, and take its trees as hypotheses."""
        few = min(ROWS_TO_TRY, rows.shape[0])
        given = as_a_model_takes_them(X)
        deployed.try_portable(rows[:few], None if given is None else first_rows(given, few))
        deployed.probe = some_rows(X if is_table(X) else rows)
        n_boosters = 1 if len(self.classes_) == 2 else len(self.classes_)
        self.bank_.given = adopted_hypotheses(deployed, rows.shape[1], n_boosters, self.n_hypotheses)

    def _begin_empty(self, deployed: DeployedModel) -> None:
        """A bank that has seen no row, of a deployed model's classes and features."""
        schema = schema_without_rows(deployed)
        if schema is not None:
            self._take_schema(schema)
        else:
            if deployed.names is not None:
                self.feature_names_in_ = np.array(deployed.names, dtype=object)
            assert deployed.n_columns is not None
            self.n_features_in_ = deployed.n_columns
        self.classes_, self.weight_scale_ = deployed.classes, 1.0
        self.bank_ = self._new_bank(np.empty((0, self._n_encoded)), len(self.classes_))
        n_boosters = 1 if len(self.classes_) == 2 else len(self.classes_)
        self.bank_.given = adopted_hypotheses(deployed, self._n_encoded, n_boosters, self.n_hypotheses)
        deployed.probe = drawn_rows(self._n_encoded)
        self.bank_.adopt(deployed)

    # Files and copies -------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file, in ocboost's own format (no pickle); an old file stays until this one is complete.

        Predictions that wait for their labels are saved with it, and so is an adopted model, if it is one of
        those that a file can hold (docs/adopt.md). Another is left out: a `LeftOutWarning` says what of it
        cannot be saved, and ``load(path, deployed=model)`` takes it again.
        """
        from ocboost.estimators.adaptive.file import ADAPTIVE_KIND, adaptive_tree, left_out

        check_is_fitted(self)
        now = self.__copy__()
        save(path, ADAPTIVE_KIND, adaptive_tree(now))
        missing = left_out(now)
        if missing is not None:
            warnings.warn(
                LeftOutWarning(
                    f"{os.fspath(path)} does not hold the deployed model: {missing} Keep the model by its "
                    "own means, and give it again: load(path, deployed=model)."
                ),
                stacklevel=2,
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, deployed: Any = None) -> Self:
        """Load what `save` has written; it continues exactly as the saved one would have.

        Parameters
        ----------
        path : str or path
        deployed : fitted classifier, optional
            The model that it adopted, if the file does not hold it. It is recognised by its answers.

        Raises
        ------
        ModelFileError
            If the file is damaged, of another version, or not such a classifier, or lacks its deployed model.
            Nothing in it is executed.
        """
        from ocboost.estimators.adaptive.file import ADAPTIVE_KIND, adaptive_from_tree

        tree = load(path, ADAPTIVE_KIND)
        clf: Self = read(tree, os.fspath(path), lambda fields: adaptive_from_tree(fields, cls, deployed))
        return clf

    def to_onnx(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Raises `InputError`: only an `OCBClassifier` can be exported to ONNX, see its ``to_onnx``."""
        from ocboost.estimators.onnx.export import export_onnx

        return export_onnx(self, path)

    @reads
    def __copy__(self) -> Self:
        """An independent copy."""
        other = self._snapshot()
        for name in ("_guard_kept", "_turns_kept"):
            other.__dict__.pop(name, None)
        if hasattr(self, "bank_"):
            other.bank_ = self.bank_.copy()
        return other

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super(AdaptiveClassifier, self.__copy__()).__getstate__()
        return state  # of a copy, as it is written later

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "bank_") and not self.bank_.mixing.share.flags.writeable:
            self.bank_ = self.bank_.copy()  # joblib.load(mmap_mode="r") gives what cannot be written to


def _one(said: Floats | None) -> Floats:
    """What was said of the only row."""
    assert said is not None
    first: Floats = said[0]
    return first


def _require_labels(y: Any) -> None:
    """Refuse rows without a label, of which scikit-learn says that their type is unknown."""
    labels = y if isinstance(y, np.ndarray) else np.asarray(y, dtype=object)
    if labels.dtype == object and labels.ndim == 1:
        for row, label in enumerate(labels.tolist()):
            if not isinstance(label, str) and str(label) in ("None", "nan", "<NA>", "NaT"):
                raise InputError(f"y must hold a label for each row; got {label} in row {row}. Leave it out.")


def _keys(ids: Sequence[Any], n: int) -> list[bytes]:
    """The keys of ids, one for each of n rows, all different."""
    listed = hasattr(ids, "__iter__") and not isinstance(ids, str | bytes | set | frozenset)
    if not listed or getattr(ids, "ndim", 1) == 0:
        raise InputError(f"ids must be a list or array, one for each of the {n} rows; got {ids!r:.80}.")
    given = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    if len(given) != n:
        raise InputError(f"ids must be one for each of the {n} rows; got {len(given)}.")
    keys = [key_of_id(each) for each in given]
    if len(set(keys)) < n:
        seen: set[bytes] = set()
        for each, key in zip(given, keys, strict=True):
            if key in seen:
                raise InputError(f"ids must differ from each other in one call; got {each!r:.80} twice.")
            seen.add(key)
    return keys
