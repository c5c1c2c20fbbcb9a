"""Classifiers for River: dictionaries in, one example at a time, only the latest examples kept.

>>> from river import datasets, evaluate, metrics, preprocessing
>>> from ocboost.river import OCBClassifier
>>> model = preprocessing.StandardScaler() | OCBClassifier(grace_period=100, seed=1)
>>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
Accuracy: 8...%

`AdaptiveClassifier` has nothing to choose, not even the scale of the features:

>>> from ocboost.river import AdaptiveClassifier
>>> evaluate.progressive_val_score(datasets.Phishing(), AdaptiveClassifier(seed=1), metrics.Accuracy())
Accuracy: 9...%
"""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from datetime import date, time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import as_count
from ocboost._core.locks import Guard, reads, writes
from ocboost.boosters.base import Booster
from ocboost.errors import InputError, MissingExtraError
from ocboost.estimators.adaptive.classifier import AdaptiveClassifier as SklearnAdaptive
from ocboost.estimators.base import as_one_weight
from ocboost.estimators.booster_settings import SKETCH_DEFAULTS
from ocboost.estimators.classifier import OCBClassifier as SklearnOCB
from ocboost.estimators.committee import CommitteeView, probabilities
from ocboost.estimators.growth import Growth
from ocboost.streams.inference import NoFeaturesError, infer
from ocboost.streams.one_row import is_missing
from ocboost.streams.rows import Rows
from ocboost.streams.schema import Schema
from ocboost.streams.tables import column_of, kind_of_value

try:
    from river import base
except ModuleNotFoundError as error:
    raise MissingExtraError("river", "river", "The River classifier") from error

if TYPE_CHECKING:
    import pandas as pd

Features = dict[Any, Any]
EXAMPLES_KEPT = 2_000  # to start again from, when a new label has come


class RiverView(NamedTuple):
    """What answers are computed from, at one moment."""

    frequencies: dict[Any, float]  # the share of each label so far
    names: dict[Any, int]
    schema: Schema | None  # if not all features are numbers
    codes: dict[Any, int]
    answering: CommitteeView | SklearnAdaptive | None


class GracePeriodClassifier(base.MiniBatchClassifier):
    """What the classifiers share: a start from the first examples, and a new one after a new label."""

    grace_period: int
    _clf: Any  # the fitted classifier; None before the start

    def _prepare(self, grace_period: int, usual: int, kept: int = 0) -> None:
        """Begin with nothing; ``kept`` are the examples to start from again, if more than those."""
        self.grace_period = as_count(grace_period, "grace_period", 2, None, f"{usual} is a good start.")
        self._recent: deque[tuple[Features, Any, float]] = deque(maxlen=max(self.grace_period, kept))
        self._latest: dict[Any, tuple[Features, float]] = {}  # the last example of each label
        self._counts: Counter[Any] = Counter()
        self._wait = self.grace_period  # examples until it starts
        self._kinds: dict[Any, str] = {}  # what each feature holds: numbers, texts or dates
        self._names: dict[Any, int] = {}
        self._schema: Schema | None = None
        self._codes: dict[Any, int] = {}  # the labels that the classifier knows
        self._clf = None
        self._guard: Guard[RiverView] = Guard()

    @abstractmethod
    def _fitted(self, X: NDArray[np.float64], codes: NDArray[Any], weights: NDArray[np.float64]) -> Any:
        """A classifier fitted on the first examples."""

    @abstractmethod
    def _teach(self, X: NDArray[np.float64], codes: NDArray[Any], weights: NDArray[np.float64]) -> None:
        """Let the classifier learn examples whose labels it knows."""

    @abstractmethod
    def _answering(self) -> Any:
        """What answers at this moment; None before the start."""

    @staticmethod
    @abstractmethod
    def _shares(answering: Any, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probabilities of the labels that it knows."""

    def _prepare_readers(self, n: int) -> None:
        """Before something that takes long, keep the present view for readers."""

    @reads
    def __getstate__(self) -> dict[str, Any]:
        own = {"_recent": self._recent.copy(), "_latest": dict(self._latest), "_counts": self._counts.copy()}
        return {**self.__dict__, **own, "_clf": copy.copy(self._clf)}  # copies, written later

    @property
    def _multiclass(self) -> bool:
        return True

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_hypotheses": 20, "grace_period": 30}  # so that river's checks reach beyond the grace period

    # Learning --------------------------------------------------------------------------------------------

    def learn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Learn from one example.

        Parameters
        ----------
        x : dict
            Features by name.
        y : object
            Its label.
        w : float, default 1.0
            Its sample weight.
        """
        _check_label(y)
        self._learn_values(_values(x), y, as_one_weight(w))

    @writes
    def _learn_values(self, row: Features, y: Any, w: float) -> None:
        self._check_kinds([row])
        self._prepare_readers(1)
        new = y not in self._counts
        self._keep([row], [y], [w])
        if self._clf is not None and y in self._codes:
            self._learn([row], [y], [w])
        if new and self._wait <= 0:  # wait for more examples of it
            self._wait = max(1, self.grace_period // 2)
        if self._wait > 0:
            self._wait -= 1
        if self._wait == 0 and len(self._counts) > 1:
            self._start()

    @writes
    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn from several examples, in order, with the same result as ``learn_one`` one by one.

        Parameters
        ----------
        X : pandas.DataFrame
            A row for each example.
        y : pandas.Series
            Their labels.
        """
        rows, labels = _rows_of(X), y.tolist()
        for label in labels:
            _check_label(label)
        self._check_kinds(rows)
        self._prepare_readers(len(rows))
        i = 0
        while i < len(rows):
            j = i
            while self._wait == -1 and j < len(rows) and labels[j] in self._codes:
                j += 1  # so far there is no new start
            if j > i:
                self._keep(rows[i:j], labels[i:j], [1.0] * (j - i))
                self._learn(rows[i:j], labels[i:j], [1.0] * (j - i))
            if j < len(rows):
                self._learn_values(rows[j], labels[j], 1.0)
            i = j + 1

    def _check_kinds(self, rows: list[Features]) -> None:
        """Refuse a text or a date where numbers were, and the other way round."""
        kinds = dict(self._kinds)
        for row in rows:
            for name, value in row.items():
                if value == value:  # NaN may be missing of any kind
                    kind = "number" if type(value) is float else kind_of_value(value, str(name))
                    if kinds.setdefault(name, kind) != kind:
                        raise _wrong_kind(name, value, kinds[name])
        self._kinds = kinds

    def _keep(self, rows: list[Features], labels: list[Any], weights: list[float]) -> None:
        self._counts.update(labels)
        self._recent.extend(zip(rows, labels, weights, strict=True))
        self._latest.update(zip(labels, zip(rows, weights, strict=True), strict=True))

    def _learn(self, rows: list[Features], labels: list[Any], weights: list[float]) -> None:
        codes = np.array([self._codes[label] for label in labels])
        self._teach(_matrix(rows, self._names, self._schema), codes, np.array(weights))

    def _start(self) -> None:
        """Fit a classifier on the recent examples."""
        recent = {label for _, label, _ in self._recent}
        older = [(row, label, w) for label, (row, w) in self._latest.items() if label not in recent]
        examples = [*older, *self._recent]
        names = {name for row, _, _ in examples for name in row}
        if not names:
            return
        # Sorted by name: the order of a dictionary means nothing in River.
        in_order = sorted(names, key=lambda name: (str(name), repr(name)))
        rows = [row for row, _, _ in examples]
        schema = None
        if any(self._kinds.get(name, "number") != "number" for name in in_order):
            try:
                schema = _inferred(rows, in_order)
            except NoFeaturesError as error:  # nothing but the names of rows so far
                warnings.warn(str(error), UserWarning, stacklevel=2)
                return
        self._names, self._schema = {name: k for k, name in enumerate(in_order)}, schema
        labels = sorted(self._latest, key=lambda label: (str(type(label)), str(label)))
        self._codes = {label: code for code, label in enumerate(labels)}
        X = _matrix(rows, self._names, schema)
        codes = np.array([self._codes[label] for _, label, _ in examples])
        self._clf = self._fitted(X, codes, np.array([w for *_, w in examples]))
        self._wait = -1

    # Answering -------------------------------------------------------------------------------------------

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        """The probability of each label seen so far; none before the first example.

        Parameters
        ----------
        x : dict
            Features by name.
        **kwargs : object
            Ignored; River's own classifiers take it.

        Returns
        -------
        dict
            By label.
        """
        return self._probabilities([_values(x)])[0]

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """The probabilities of several examples.

        Parameters
        ----------
        X : pandas.DataFrame
            A row for each example.

        Returns
        -------
        pandas.DataFrame
            A column for each label.
        """
        import pandas as pd

        return pd.DataFrame(self._probabilities(_rows_of(X)), index=X.index)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """The most probable label of several examples.

        Parameters
        ----------
        X : pandas.DataFrame
            A row for each example.

        Returns
        -------
        pandas.Series
            A label for each.
        """
        import pandas as pd

        best = [max(row, key=row.__getitem__) if row else None for row in self._probabilities(_rows_of(X))]
        return pd.Series(best, index=X.index, dtype=object)

    def _probabilities(self, rows: list[Features]) -> list[dict[Any, float]]:
        frequencies, names, schema, codes, answering = self._guard.view(self._make_view)
        if answering is None:
            return [dict(frequencies) for _ in rows]
        table = self._shares(answering, _matrix(rows, names, schema))
        new = {label: share for label, share in frequencies.items() if label not in codes}
        rest = 1.0 - sum(new.values())  # labels that it does not know yet have their frequency
        return [
            {**{label: rest * float(p) for label, p in zip(codes, row, strict=True)}, **new} for row in table
        ]

    def _make_view(self) -> RiverView:
        return self._view_with(self._answering())

    def _view_with(self, answering: Any) -> RiverView:
        """How it answers with this."""
        total = sum(self._counts.values())
        frequencies = {label: count / total for label, count in self._counts.items()}
        return RiverView(frequencies, self._names, self._schema, self._codes, answering)


class OCBClassifier(GracePeriodClassifier):
    """Online Coordinate Boosting over stumps that are found in the first examples.

    The first ``grace_period`` examples are kept, and predicted by the frequency of each label. Then stumps
    are learnt from them, and from there on only the weights of the stumps follow the stream. After a new
    label, stumps are learnt again: half a grace period later, from the most recent examples and the last one
    of each label that is not among them.

    Features are known by name, so their order does not matter (all of river's checks pass, including those
    that shuffle it). One that is missing from an example counts as missing, and one that first appears after
    the stumps have been learnt is ignored. Values may be numbers, truth values,
    texts, dates and None; texts and dates are encoded as in a table whose columns are in alphabetical order
    (docs/tables.md), and need pyarrow.

    Parameters
    ----------
    n_hypotheses : int, default 100
        Stumps, for each class if they are more than two.
    grace_period : int, default 200
        Examples the stumps are learnt from. No others are kept, but for one of each label.
    order, head, tail, smoothing, forgetting, correction, keep, memory, booster : optional
        As in `ocboost.OCBClassifier`.
    grow : None, int or ocboost.Growth, default None
        Adds new stumps from the stream, up to so many in all, as in `ocboost.OCBClassifier`. The rows of the
        head are kept then.
    seed : int, optional
        For the members that draw, and for what is sampled.

    Examples
    --------
    >>> model = OCBClassifier(n_hypotheses=20, grace_period=50)
    >>> for i in range(100):
    ...     model.learn_one({"a": i % 7, "b": i % 3}, i % 7 > 3)
    >>> model.predict_one({"a": 6, "b": 0})
    True
    """

    def __init__(
        self,
        n_hypotheses: int = 100,
        grace_period: int = 200,
        order: int | None = None,
        head: int | str = "auto",
        tail: bool = True,
        smoothing: float | str = "auto",
        forgetting: float = 1.0,
        correction: str = "balanced",
        grow: int | Growth | None = None,
        seed: int | None = None,
        keep: str | None = None,
        memory: int | None = None,
        booster: str | Booster = "ocb",
    ) -> None:
        self.n_hypotheses = n_hypotheses
        self._prepare(grace_period, 200)
        self.order = order
        self.head = head
        self.tail = tail
        self.smoothing = smoothing
        self.forgetting = forgetting
        self.correction = correction
        self.grow = grow
        self.seed = seed
        self.keep = keep
        self.memory = memory
        self.booster = booster

    def _prepare_readers(self, n: int) -> None:
        if self._clf is not None and any(each.folds_long(n) for each in self._clf.boosters_):
            self._guard.keep(self._make_view)

    def _fitted(
        self, X: NDArray[np.float64], codes: NDArray[Any], weights: NDArray[np.float64]
    ) -> SklearnOCB:
        """Find stumps in the recent examples, and start their weights from them."""
        clf = SklearnOCB(
            n_hypotheses=self.n_hypotheses,
            grow=self.grow,
            booster=self.booster,
            random_state=self.seed,
            **{name: getattr(self, name) for name in SKETCH_DEFAULTS if hasattr(self, name)},
        )
        return clf.fit(X, codes, weights)

    def _teach(self, X: NDArray[np.float64], codes: NDArray[Any], weights: NDArray[np.float64]) -> None:
        with self._clf.committee_._guard.passing_on(self._guard, self._view_with):
            self._clf.learn_rows(Rows(X, codes=codes, weights=weights))

    def _answering(self) -> CommitteeView | None:
        return None if self._clf is None else self._clf.committee_.view()

    @staticmethod
    def _shares(answering: CommitteeView, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return probabilities(answering.votes(X))


class AdaptiveClassifier(GracePeriodClassifier):
    """One classifier without settings, as `ocboost.AdaptiveClassifier`: a bank of members, mixed online.

    The first ``grace_period`` examples are predicted by the frequency of each label. Then it starts, with
    patterns of the labels and regression on the features, and finds weak hypotheses when it has seen 200
    examples. After a new label it starts again: half a grace period later, from the last 2,000 examples,
    which are kept for that, and the last one of each label that is not among them.

    What it predicts it remembers until the example is learnt, which is recognised by its features: labels may
    come late. Predict each example once.

    Features are known by name, so their order does not matter. One that is missing from an example counts as
    missing, and one that first appears after the start is ignored. Values may be numbers, truth values,
    texts, dates and None; texts and dates are encoded as in a table whose columns are in alphabetical order
    (docs/tables.md), and need pyarrow.

    Parameters
    ----------
    n_hypotheses : int, default 100
        Weak hypotheses to begin with, for each class if they are more than two.
    grace_period : int, default 20
        Examples before it starts.
    extra, without : lists of str, optional
        Members to add and to leave out, as in `ocboost.AdaptiveClassifier`.
    seed : int, optional
        For the members that draw.

    Examples
    --------
    >>> model = AdaptiveClassifier(n_hypotheses=20, grace_period=50)
    >>> for i in range(100):
    ...     model.learn_one({"a": i % 7, "b": i % 3}, i % 7 > 3)
    >>> model.predict_one({"a": 6, "b": 0})
    True
    """

    def __init__(
        self,
        n_hypotheses: int = 100,
        grace_period: int = 20,
        extra: Sequence[str] | None = None,
        without: Sequence[str] | None = None,
        seed: int | None = None,
    ) -> None:
        self.n_hypotheses = n_hypotheses
        self._prepare(grace_period, 20, EXAMPLES_KEPT)
        self.extra = extra
        self.without = without
        self.seed = seed

    def _fitted(
        self, X: NDArray[np.float64], codes: NDArray[Any], weights: NDArray[np.float64]
    ) -> SklearnAdaptive:
        clf = SklearnAdaptive(
            n_hypotheses=self.n_hypotheses,
            extra=() if self.extra is None else self.extra,
            without=() if self.without is None else self.without,
            random_state=self.seed,
        )
        return clf.partial_fit(X, codes, classes=np.arange(len(self._codes)), sample_weight=weights)

    def _teach(self, X: NDArray[np.float64], codes: NDArray[Any], weights: NDArray[np.float64]) -> None:
        for row, code, weight in zip(X, codes.tolist(), weights.tolist(), strict=True):
            self._clf.learn_one(row, code, weight)

    def _answering(self) -> SklearnAdaptive | None:
        found: SklearnAdaptive | None = self._clf
        return found  # it has locks of its own

    @staticmethod
    def _shares(answering: SklearnAdaptive, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([answering.predict_proba_one(row) for row in X]).reshape(len(X), -1)


def _rows_of(X: pd.DataFrame) -> list[Features]:
    return [_values(row) for row in X.to_dict(orient="records")]


def _matrix(rows: list[Features], names: dict[Any, int], schema: Schema | None) -> NDArray[np.float64]:
    if schema is not None:
        return np.array([schema.encode_row(row) for row in rows]).reshape(len(rows), schema.n_features)
    X = np.full((len(rows), len(names)), np.nan)
    for i, row in enumerate(rows):
        for name, value in row.items():
            k = names.get(name)
            if k is not None:
                if type(value) is not float:
                    raise _wrong_kind(name, value, "number")
                X[i, k] = value
    return X


def _inferred(rows: list[Features], names: list[Any]) -> Schema:
    """The schema of examples with texts or dates, as of a table of them."""
    for name in names:
        if not isinstance(name, str):
            raise InputError(
                f"x must have texts as names, as some of its values are texts or dates; got {name!r:.40}."
            )
    columns = {name: column_of([row.get(name) for row in rows], name) for name in names}
    schema, notes = infer(columns, names, typed=True, label=None, drop=())
    if notes:
        warnings.warn(" ".join(notes), UserWarning, stacklevel=2)
    return schema


def _wrong_kind(name: Any, value: Any, kind: str) -> InputError:
    return InputError(
        f"x must hold {kind}s for {name!r:.40}, as before; got {value!r:.40}. Leave it out, or give it "
        "another name."
    )


def _check_label(y: Any) -> None:
    if y is None or y != y:
        raise InputError(f"y must be a label; got {y!r:.40}. Leave out examples whose label is not known.")


def _values(x: Features) -> Features:
    """A copy of an example with its numbers as floats; texts and dates stay, and None is missing."""
    row: Features = {}
    for name, value in x.items():
        if isinstance(value, str | date | time | np.datetime64):
            if not is_missing(value):
                row[name] = value
            continue
        if value is None or type(value).__name__ == "NAType":
            continue
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                f"x must hold numbers, texts or dates; got {value!r:.40} for {name!r:.40}. Leave it out."
            ) from None
        if number in (np.inf, -np.inf):
            raise InputError(f"x must hold finite numbers; got {number} for {name!r:.40}. Leave it out.")
        row[name] = number
    return row
