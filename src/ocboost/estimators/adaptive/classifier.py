"""AdaptiveClassifier: one classifier without settings, which keeps learning on any stream."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ocboost._core.checks import as_count
from ocboost._core.codec import read
from ocboost._core.file_format import load, save
from ocboost._core.interrupts import all_or_nothing
from ocboost._core.labels import codes_of, scale_of, weights_to_fit
from ocboost._kernels.arrays import Floats
from ocboost.errors import InputError, LeftOutWarning
from ocboost.estimators.adaptive.adoption import adopted_hypotheses, schema_for, schema_without_rows
from ocboost.estimators.adaptive.bank import Bank
from ocboost.estimators.adaptive.bank_classifier import BankClassifier, keys_of_ids
from ocboost.estimators.adaptive.deployed import DeployedModel, own_copy
from ocboost.estimators.adaptive.deployed_file import drawn_rows, some_rows
from ocboost.estimators.adaptive.model_tables import as_a_model_takes_them, first_rows
from ocboost.estimators.adaptive.settings import MAX_HYPOTHESES, chosen_members
from ocboost.estimators.decisions import decision_of
from ocboost.estimators.tables import warn_of
from ocboost.streams.rows import Rows
from ocboost.streams.tables import is_table

ROWS_TO_TRY = 1000  # that an adopted model answers to before it is trusted
ENOUGH_ROWS = 200  # of a first partial_fit, for a start in batch


class AdaptiveClassifier(BankClassifier):
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
        In order; the columns of probabilities have it too.
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

    # Checks ----------------------------------------------------------------------------------------------

    def _input_checks(self, *, reset: bool = False) -> dict[str, Any]:
        return {
            "dtype": np.float64,
            "order": "C",
            "accept_sparse": "csr",
            "ensure_all_finite": "allow-nan",
        }

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
        """Start from these rows, in their order, and forget all that came before.

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
        AdaptiveClassifier
            This object.
        """
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
            keys_of_ids(ids, len(codes))
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
            The rows.
        y : array of shape (n,)
            The class of each row.
        classes : array, optional
            All classes that will ever come; needed in the first call if that does not show them all.
        sample_weight : array of shape (n,), optional
            1 each if left out.
        ids : sequence of n texts or whole numbers, optional
            The ids that the rows were predicted with.

        Returns
        -------
        AdaptiveClassifier
            This object.

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
            keys = None if ids is None else keys_of_ids(ids, len(codes))
            rows = self._as_kept(rows)
            self._learn_all(rows, codes, weights, keys, self._said(rows, X))
        return self

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
            1 each if left out.
        **parameters
            Those of the class.

        Returns
        -------
        AdaptiveClassifier
            It predicts as the model does.

        Raises
        ------
        InputError
            If the model is not fitted or gives no probabilities, or there are no rows where they are needed.

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

    # Files ------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file, in ocboost's own format (no pickle); an old file stays until this one is complete.

        Predictions that wait for their labels are saved with it, and so is an adopted model, if it is one of
        those that a file can hold (docs/adopt.md). Another is left out: a `LeftOutWarning` says what of it
        cannot be saved, and ``load(path, deployed=model)`` takes it again.

        Parameters
        ----------
        path : path
            The file.
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
            The file.
        deployed : fitted classifier, optional
            The model that it adopted, if the file does not hold it. It is recognised by its answers.

        Returns
        -------
        AdaptiveClassifier
            It learns on.

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
        """Refuse: only an `OCBClassifier` can be written as ONNX, see its ``to_onnx``.

        Parameters
        ----------
        path : path, optional
            The file.

        Raises
        ------
        InputError
            Always.
        """
        from ocboost.estimators.onnx.export import export_onnx

        return export_onnx(self, path)


def _require_labels(y: Any) -> None:
    """Refuse rows without a label, of which scikit-learn says that their type is unknown."""
    labels = y if isinstance(y, np.ndarray) else np.asarray(y, dtype=object)
    if labels.dtype == object and labels.ndim == 1:
        for row, label in enumerate(labels.tolist()):
            if not isinstance(label, str) and str(label) in ("None", "nan", "<NA>", "NaT"):
                raise InputError(f"y must hold a label for each row; got {label} in row {row}. Leave it out.")
