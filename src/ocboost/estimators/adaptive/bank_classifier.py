"""The fitted part of `AdaptiveClassifier`: a bank that predicts and learns, for any number of threads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ocboost._core.locks import Guard, reads, written
from ocboost._kernels.arrays import Floats
from ocboost.errors import InputError
from ocboost.estimators.adaptive.bank import Bank
from ocboost.estimators.adaptive.deployed import DeployedModel
from ocboost.estimators.adaptive.explain import changed_in_bank, explained_by_members, importances_in_bank
from ocboost.estimators.adaptive.history import MembersTable, MemberStatus, plot
from ocboost.estimators.adaptive.issued import Issued, issued_from_bytes, key_of_id, key_of_number, key_of_row
from ocboost.estimators.adaptive.model_tables import as_a_model_takes_them
from ocboost.estimators.base import code_of
from ocboost.estimators.decisions import DECISIONS, Decision, decision_of
from ocboost.estimators.explaining import Explains
from ocboost.estimators.explanation import Explanation, WeightChanges
from ocboost.estimators.tables import TableClassifier, has_names, plain_labels
from ocboost.hypotheses.describe import NamedFeatures
from ocboost.streams.rows import Rows

ROWS_PER_WRITE = 32  # between which readers get their turn
MAX_ROW_WEIGHT = 1e100


class BankClassifier(Explains, TableClassifier):
    """What `AdaptiveClassifier`, whose parameters it reads, is once it is fitted."""

    bank_: Bank
    weight_scale_: float
    n_hypotheses: int
    class_weight: Any
    threshold: Any
    costs: Any

    # Checks ----------------------------------------------------------------------------------------------

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

    # Learning --------------------------------------------------------------------------------------------

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
        """Learn checked rows with codes, whose ids are their numbers in the stream.

        Parameters
        ----------
        rows : Batch
            Checked, with codes.
        """
        with self._turns.turn():
            keys = [key_of_number(number) for number in rows.rows.tolist()]
            X = self._as_kept(rows.X)
            self._learn_all(X, rows.codes, self._scaled(rows.weights), keys, self._said(X))

    def learn_kept(self, x: Floats, code: int, weight: float, prediction: bytes | None, since: int) -> None:
        """Learn a checked row whose prediction was kept elsewhere, see `foretell`.

        Parameters
        ----------
        x : array of shape (1, F)
            Its features.
        code : int
            The index of its class.
        weight : float
            Its sample weight.
        prediction : bytes or None
            What `foretell` gave; None if nothing was kept.
        since : int
            The number of predictions since the newest label.
        """
        with self._turns.turn():
            bank, X = self.bank_, self._as_kept(x)
            issued = None
            if prediction is not None:
                issued = issued_from_bytes(prediction, bank.mixing.possible_record_rows, bank.n_classes)
            scaled = float(self._scaled(np.array([weight]))[0])
            ask = None if bank.deployed is None else lambda: _one(self._said(X))
            written(self, lambda: bank.learn(X, code, scaled, issued, None, ask, since))

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
            The rows.
        ids : sequence of n texts or whole numbers, optional
            By which `partial_fit` finds the predictions again. Another prediction of the same id replaces the
            first.
        issue : bool, default True
            Whether to remember the predictions until their labels come. Say False where a row is predicted to
            have a look at it, and will be predicted again before its label comes.

        Returns
        -------
        array of shape (n,)
            One of ``classes_`` each.

        Notes
        -----
        Each row is predicted as if it were the next of the stream. Rows that are further away cannot go by
        the last labels: where they are predicted in large blocks, try ``without=["labels"]``.
        """
        now = self._now()
        now._decision()  # what cannot be decided is refused before anything is remembered
        return now._classes(now._checked_rows(X), ids, issue, X)

    def predict_proba(self, X: Any, ids: Sequence[Any] | None = None, issue: bool = True) -> Floats:
        """The probability of each class of each row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features), or table
            The rows.
        ids : sequence of n texts or whole numbers, optional
            As in `predict`.
        issue : bool, default True
            As in `predict`.

        Returns
        -------
        array of shape (n, K)
            In the order of ``classes_``.
        """
        now = self._now()
        return now._predicted(now._checked_rows(X), ids, issue, given=X)

    def decision_function(self, X: Any) -> Floats:
        """Log-odds of the second of two classes, log-probabilities of more. Not remembered.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features), or table
            The rows.

        Returns
        -------
        array of shape (n,) for two classes, (n, K) for more
            The second class is likelier above 0.
        """
        p = np.maximum(self.predict_proba(X, issue=False), 1e-300)
        return np.log(p[:, 1]) - np.log(p[:, 0]) if p.shape[1] == 2 else np.log(p)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows that are predicted right. Not remembered.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features), or table
            The rows.
        y : array of shape (n,)
            The class of each row.
        sample_weight : array of shape (n,), optional
            1 each if left out.

        Returns
        -------
        float
            From 0 to 1.
        """
        from sklearn.metrics import accuracy_score

        labels = plain_labels(y)
        return float(accuracy_score(labels, self.predict(X, issue=False), sample_weight=sample_weight))

    def probabilities_of(self, rows: Rows, *, issue: bool = True) -> Floats:
        """The probabilities of checked rows, whose ids are their numbers in the stream.

        Parameters
        ----------
        rows : Batch
            Checked rows.
        issue : bool, default True
            Whether the predictions wait for their labels.

        Returns
        -------
        array of shape (n, K)
            In the order of ``classes_``.
        """
        keys = [key_of_number(number) for number in rows.rows.tolist()] if issue else None
        return self._now()._predicted(rows.X, keys, issue, are_keys=True)

    def foretell(self, X: Floats, since: int) -> tuple[Floats, NDArray[np.intp], list[bytes]]:
        """The probabilities of checked rows, their codes, and each prediction, for somebody else to keep.

        Nothing is remembered here: `learn_kept` takes the prediction back with the label, however late.
        ``since`` is the number of predictions since the newest label.

        Parameters
        ----------
        X : array of shape (n, F)
            Checked rows.
        since : int
            The number of predictions since the newest label.

        Returns
        -------
        tuple
            Probabilities (n, K), codes of classes (n,), and a list of n bytes for `learn_kept`.
        """
        now = self._now()
        rows = now._as_kept(X)
        found, kept = now._foretold(rows, since, now._said(rows))
        return found, now.decided(found, X), [each.to_bytes() for each in kept]

    @reads
    def _foretold(self, X: Any, since: int, said: Floats | None) -> tuple[Floats, list[Issued]]:
        return self.bank_.foretell(X, since, said)

    def _predicted(
        self, rows: Any, ids: Sequence[Any] | None, issue: bool, *, are_keys: bool = False, given: Any = None
    ) -> Floats:
        """The probabilities of rows."""
        X = self._as_kept(rows)
        keys = None if ids is None else list(ids) if are_keys else keys_of_ids(ids, X.shape[0])
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
        """The codes of the classes to predict, from probabilities.

        Parameters
        ----------
        found : array of shape (n, K)
            Probabilities.
        X : array, optional
            The rows, if they are known.

        Returns
        -------
        array of shape (n,)
            Codes of classes.
        """
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
        """The class of one row, as `predict` finds it, without the time of scikit-learn's checks.

        Parameters
        ----------
        row : sequence of n_features numbers
            None and NaN are missing numbers.
        issue : bool, default True
            As in `predict`.

        Returns
        -------
        object
            One of ``classes_``.
        """
        now = self._now()
        now._decision()
        x = now._one_row(row)
        return now._classes(x, None, issue, row).tolist()[0]

    def predict_proba_one(self, row: Sequence[float], *, issue: bool = True) -> Floats:
        """The probability of each class for one row, as `predict_proba` finds them.

        Parameters
        ----------
        row : sequence of n_features numbers
            None and NaN are missing numbers.
        issue : bool, default True
            As in `predict`.

        Returns
        -------
        array of shape (K,)
            In the order of ``classes_``.
        """
        now = self._now()
        x = now._one_row(row)
        found: Floats = now._predicted(x, None, issue, given=row)[0]
        return found

    # What it is ------------------------------------------------------------------------------------------

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
        """Draw the shares of the members through time, as areas; needs matplotlib, and gives its axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; new axes if left out.

        Returns
        -------
        matplotlib.axes.Axes
            Where it was drawn.
        """
        check_is_fitted(self)
        return plot(self.bank_.names, self.bank_.history, ax)

    # Why -------------------------------------------------------------------------------------------------

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

    # Copies ----------------------------------------------------------------------------------------------

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
        state: dict[str, Any] = super(BankClassifier, self.__copy__()).__getstate__()
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


def keys_of_ids(ids: Sequence[Any], n: int) -> list[bytes]:
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
