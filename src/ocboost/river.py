"""A classifier for River: dictionaries in, one example at a time, no data kept but the most recent.

>>> from river import datasets, evaluate, metrics, preprocessing
>>> from ocboost.river import OCBClassifier
>>> model = preprocessing.StandardScaler() | OCBClassifier(grace_period=100, seed=1)
>>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
Accuracy: 8...%
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .classifier import OCBClassifier as SklearnOCB
from .errors import InputError, MissingExtraError
from .margins import as_count

try:
    from river import base
except ModuleNotFoundError as error:
    raise MissingExtraError("river", "river", "The River classifier") from error

if TYPE_CHECKING:
    import pandas as pd

Features = dict[Any, Any]


class OCBClassifier(base.MiniBatchClassifier):
    """Online Coordinate Boosting over stumps that are found in the first examples.

    The first ``grace_period`` examples are kept, and answered by how often each label has come. Then stumps are
    learnt from them, and from there on only the weights of the stumps follow the stream. A label that has never
    been seen starts this anew, from the most recent examples, half a grace period after it has come.

    Features are known by name; one that is missing from an example counts as missing, and one that first shows
    after the stumps have been learnt is not looked at. Text has to be encoded first, with
    ``preprocessing.OneHotEncoder()``.

    Parameters
    ----------
    n_hypotheses : int, default 100
        Stumps, for each class if they are more than two.
    grace_period : int, default 200
        Examples the stumps are learnt from; they are also all that is ever kept as they came.
    order, head, tail, smoothing, forgetting, correction
        As in `ocboost.BoostingSketch`.
    seed : int, optional

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
        smoothing: float = 1.0,
        forgetting: float = 1.0,
        correction: str = "balanced",
        seed: int | None = None,
    ) -> None:
        self.n_hypotheses = n_hypotheses
        self.grace_period = as_count(grace_period, "grace_period", 2, None, "200 is a good start.")
        self.order = order
        self.head = head
        self.tail = tail
        self.smoothing = smoothing
        self.forgetting = forgetting
        self.correction = correction
        self.seed = seed
        self._recent: deque[tuple[Features, Any]] = deque(maxlen=self.grace_period)
        self._counts: Counter[Any] = Counter()
        self._wait = self.grace_period  # examples until stumps are learnt
        self._names: dict[Any, int] = {}
        self._labels: list[Any] = []
        self._clf: SklearnOCB | None = None

    @property
    def _multiclass(self) -> bool:
        return True

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_hypotheses": 20, "grace_period": 30}  # so that river's checks reach beyond the grace period

    # Learning --------------------------------------------------------------------------------------------

    def learn_one(self, x: Features, y: Any) -> None:
        """Learn from one example."""
        row = _numbers(x)
        known = y in self._counts
        self._counts[y] += 1
        self._recent.append((row, y))
        if self._clf is not None and y in self._labels:
            answers = self._clf.hypotheses_.answers(self._matrix([row]))
            self._clf._learn_from(answers, np.array([self._labels.index(y)]), np.ones(1))
        if self._clf is not None and not known:
            self._wait = max(1, self.grace_period // 2)
        if self._wait > 0:
            self._wait -= 1
        if self._wait == 0 and self._is_due():
            self._begin()

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn from several examples, in order: what ``learn_one`` would make of them one by one."""
        rows, labels = X.to_dict(orient="records"), y.tolist()
        i = 0
        while i < len(rows):  # until stumps are there, and wherever they may change
            steady = self._clf is not None and self._wait == -1
            if steady and all(label in self._labels for label in labels[i:]):
                break
            self.learn_one(rows[i], labels[i])
            i += 1
        if i < len(rows):
            assert self._clf is not None
            numbers = [_numbers(row) for row in rows[i:]]
            codes = np.array([self._labels.index(label) for label in labels[i:]])
            answers = self._clf.hypotheses_.answers(self._matrix(numbers))
            self._clf._learn_from(answers, codes, np.ones(len(codes)))
            self._counts.update(labels[i:])
            self._recent.extend(zip(numbers, labels[i:], strict=True))

    def _is_due(self) -> bool:
        """Whether the recent examples are of two labels at least, as they must be to learn from."""
        return len({label for _, label in self._recent}) > 1

    def _begin(self) -> None:
        """Find stumps in the recent examples, and start their weights from them."""
        names = {name for row, _ in self._recent for name in row}
        if not names:
            return
        # By name and not as they came: the order of a dictionary means nothing in River.
        self._names = {
            name: k for k, name in enumerate(sorted(names, key=lambda name: (str(name), repr(name))))
        }
        labels = list(dict.fromkeys(label for _, label in self._recent))
        self._labels = sorted(labels, key=lambda label: (str(type(label)), str(label)))
        clf = SklearnOCB(
            n_hypotheses=self.n_hypotheses,
            order=self.order,
            head=self.head,
            tail=self.tail,
            smoothing=self.smoothing,
            forgetting=self.forgetting,
            correction=self.correction,
            random_state=self.seed,
        )
        X = self._matrix([row for row, _ in self._recent])
        self._clf = clf.fit(X, np.array([self._labels.index(label) for _, label in self._recent]))
        self._wait = -1

    def _matrix(self, rows: list[Features]) -> NDArray[np.float64]:
        X = np.full((len(rows), len(self._names)), np.nan)
        for i, row in enumerate(rows):
            for name, value in row.items():
                k = self._names.get(name)
                if k is not None:
                    X[i, k] = value
        return X

    # Answering -------------------------------------------------------------------------------------------

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        """The probability of each label that has come so far; none before the first example."""
        return self._probabilities([_numbers(x)])[0]

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """The probabilities of several examples, a column for each label."""
        import pandas as pd

        rows = [_numbers(row) for row in X.to_dict(orient="records")]
        return pd.DataFrame(self._probabilities(rows), index=X.index)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """The most probable label of several examples."""
        import pandas as pd

        rows = [_numbers(row) for row in X.to_dict(orient="records")]
        best = [max(row, key=row.__getitem__) if row else None for row in self._probabilities(rows)]
        return pd.Series(best, index=X.index, dtype=object)

    def _probabilities(self, rows: list[Features]) -> list[dict[Any, float]]:
        total = sum(self._counts.values())
        often = {label: count / total for label, count in self._counts.items()}
        if self._clf is None:
            return [dict(often) for _ in rows]
        answers = self._clf.hypotheses_.answers(self._matrix(rows))
        table = self._clf._probabilities(self._clf._scores_of(answers))
        new = {label: often[label] for label in often if label not in self._labels}
        rest = 1.0 - sum(new.values())  # labels the stumps do not know yet have their frequency
        return [
            {**{label: rest * float(p) for label, p in zip(self._labels, row, strict=True)}, **new}
            for row in table
        ]


def _numbers(x: Features) -> Features:
    """A copy of an example with its values as numbers; None is missing."""
    row = {}
    for name, value in x.items():
        if value is None:
            continue
        if isinstance(value, str):
            raise InputError(
                f"x must hold numbers; got {value!r:.40} for {name!r:.40}. Encode text before, with "
                "preprocessing.OneHotEncoder() | OCBClassifier()."
            )
        number = float(value)
        if number in (np.inf, -np.inf):
            raise InputError(f"x must hold finite numbers; got {number} for {name!r:.40}. Leave it out.")
        row[name] = number
    return row
