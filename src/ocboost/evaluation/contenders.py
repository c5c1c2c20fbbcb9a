"""What every learner has to beat: the most frequent class, and the last label.

For learners that cannot do without a number: gaps are filled.

Contenders that weigh the answers of weak hypotheses: classifiers, fixed ones, boosters by themselves.

What one would do by hand: a model that is learnt anew from time to time.

Contenders from other libraries, over the features themselves: scikit-learn's and river's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost.boosters.base import Booster
from ocboost.errors import InputError, MissingExtraError
from ocboost.estimators.committee import Committee, probabilities
from ocboost.evaluation.contender import Contender, Role, bytes_of, even
from ocboost.evaluation.first_rows import Start
from ocboost.hypotheses.base import Hypotheses
from ocboost.streams.recent_rows import RecentRows
from ocboost.streams.rows import Rows


class Majority(Contender):
    """Says the class that has been most frequent so far; its probabilities are (count + 1) / (n + K)."""

    role = "baseline"
    deployable = False

    def __init__(self, name: str = "majority") -> None:
        super().__init__(name)
        self._counts = np.ones(2)

    def begin(self, classes: Sequence[Any]) -> None:
        """Start from one of each class."""
        self._counts = np.ones(len(classes))

    def predict(self, view: Rows) -> NDArray[np.float64]:
        """The frequencies so far."""
        return np.tile(self._counts / self._counts.sum(), (len(view), 1))

    def learn(self, view: Rows) -> None:
        """Count."""
        self._counts += np.bincount(view.codes, minlength=len(self._counts))

    @property
    def nbytes(self) -> int:
        """Bytes of the counts."""
        return self._counts.nbytes


class NoChange(Contender):
    """Says the last label it has seen, as sure as it has been right with that: (right + 1) / (n + K).

    That probability is held a hair above 1/K, so that the last label stays the likeliest; the other
    classes share the rest.
    """

    role = "baseline"
    deployable = False

    def __init__(self, name: str = "no change") -> None:
        super().__init__(name)
        self._K = 2
        self._last = -1
        self._right = self._n = 0

    def begin(self, classes: Sequence[Any]) -> None:
        """Note how many classes there are."""
        self._K = len(classes)

    def predict(self, view: Rows) -> NDArray[np.float64]:
        """The last label for each row; even probabilities before the first one."""
        K = self._K
        if self._last < 0:
            return even(len(view), K)
        sure = max((self._right + 1) / (self._n + K), (1.0 + 1e-6) / K)
        share = np.full((len(view), K), (1.0 - sure) / (K - 1))
        share[:, self._last] = sure
        return share

    def learn(self, view: Rows) -> None:
        """Remember the last label, and how often a label was the one before it."""
        codes = view.codes
        if self._last < 0:
            self._last = int(codes[0])
            codes = codes[1:]
        if len(codes):
            self._right += int((codes[1:] == codes[:-1]).sum()) + int(codes[0] == self._last)
            self._n += len(codes)
            self._last = int(codes[-1])

    @property
    def nbytes(self) -> int:
        """Three numbers."""
        return 24


class Filled(Contender):
    """A contender that cannot do without a number: what is missing becomes the mean of the first rows.

    Parameters
    ----------
    contender : Contender
    means : array of shape (F,)
    """

    def __init__(self, contender: Contender, means: NDArray[np.float64]) -> None:
        super().__init__(contender.name)
        self.role = contender.role
        self.contender = contender
        self._means = means

    def begin(self, classes: Sequence[Any]) -> None:
        """Let it begin."""
        self.contender.begin(classes)

    def predict(self, view: Rows) -> NDArray[np.float64]:
        """What it says to the rows without gaps."""
        return self.contender.predict(self._filled(view))

    def learn(self, view: Rows) -> None:
        """Let it learn the rows without gaps."""
        self.contender.learn(self._filled(view))

    def _filled(self, view: Rows) -> Rows:
        X = view.X
        missing = np.isnan(X)
        return Rows.of(np.where(missing, self._means, X), view.codes) if missing.any() else view

    @property
    def nbytes(self) -> int | None:
        """Its bytes."""
        return self.contender.nbytes


if TYPE_CHECKING:
    from ocboost.estimators.classifier import OCBClassifier


class OCB(Contender):
    """An `OCBClassifier` that goes on learning.

    Parameters
    ----------
    classifier : OCBClassifier
        Fitted; it learns in place. Its classes must be those of the evaluation, in the same order.
    name : str, default "OCB"
    """

    role: Role = "ocb"

    def __init__(self, classifier: OCBClassifier, name: str = "OCB") -> None:
        super().__init__(name)
        self.classifier = classifier

    def begin(self, classes: Sequence[Any]) -> None:
        """Check that the classifier knows the same classes."""
        known = getattr(self.classifier, "classes_", None)
        if known is None:
            raise InputError(
                f"{self.name!r} must be a fitted classifier; got one that is not. Call its fit first."
            )
        if list(np.asarray(known).tolist()) != list(classes):
            raise InputError(
                f"classes must be those of the classifier {self.name!r}, "
                f"{np.asarray(known).tolist()!s:.80}, in that order; got {list(classes)!s:.80}."
            )

    def predict(self, view: Rows) -> NDArray[np.float64]:
        """The classifier's probabilities."""
        return probabilities(self.classifier.votes_of(view))

    def learn(self, view: Rows) -> None:
        """Let the classifier's weights follow, and its hypotheses if it grows."""
        self.classifier.learn_rows(view)

    @property
    def nbytes(self) -> int:
        """Bytes of the boosters, and of the rows that growing keeps."""
        grower = self.classifier.grower_
        kept = 0 if grower is None else grower.nbytes
        return kept + sum(booster.nbytes for booster in self.classifier.boosters_)


class Fixed(OCB):
    """An `OCBClassifier` as it was deployed: it predicts and never learns.

    Parameters
    ----------
    classifier : OCBClassifier
        Fitted, and not the one that another contender lets learn.
    name : str, default "static"
    """

    role = "static"
    learns = False

    def __init__(self, classifier: OCBClassifier, name: str = "static") -> None:
        super().__init__(classifier, name)

    def learn(self, view: Rows) -> None:
        """Learn nothing."""

    @property
    def nbytes(self) -> int:
        """Bytes of the weights, which is all that a fixed model needs."""
        return sum(alpha.nbytes for alpha in self.classifier.alpha_)


class OverAnswers(Contender):
    """Any booster over the answers of fixed hypotheses, one for each class beyond two.

    The votes become probabilities by the logistic link, as in `OCBClassifier`.

    Parameters
    ----------
    hypotheses : Hypotheses
    make_booster : callable
        Makes a booster for so many hypotheses, `ocboost.OzaRussell` for one.
    columns : sequence of slice, optional
        The hypotheses of each class, where each has its own; all hypotheses for every class if left out.
    name : str

    Examples
    --------
    >>> import ocboost
    >>> from ocboost.hypotheses import Stumps
    >>> contender = OverAnswers(Stumps([0], [1.0], [-1]), ocboost.OzaRussell, name="Oza and Russell")
    >>> from ocboost.streams.rows import Rows
    >>> contender.begin(["no", "yes"])
    >>> contender.learn(Rows.of(np.array([[0.5], [1.5], [1.7]]), np.array([0, 1, 1])))
    >>> contender.predict(Rows.of(np.array([[0.1], [3.0]]), np.array([-1, -1]))).round(2)
    array([[0.8, 0.2],
           [0.2, 0.8]])
    """

    def __init__(
        self,
        hypotheses: Hypotheses,
        make_booster: Callable[[int], Booster],
        *,
        columns: Sequence[slice] | None = None,
        name: str,
    ) -> None:
        super().__init__(name)
        self.hypotheses = hypotheses
        self._make = make_booster
        self._columns = columns
        self._committee: Committee | None = None

    @classmethod
    def beside(cls, classifier: OCBClassifier, make_booster: Callable[[int], Booster], *, name: str) -> Self:
        """The same hypotheses for the same classes as a fitted `OCBClassifier`."""
        return cls(classifier.hypotheses_, make_booster, columns=classifier.committee_.columns, name=name)

    def begin(self, classes: Sequence[Any]) -> None:
        """Make the boosters, unless they have already learnt something."""
        n = 1 if len(classes) == 2 else len(classes)
        if self._columns is None:
            self._columns = [slice(0, len(self.hypotheses))] * n
        if len(self._columns) != n:
            raise InputError(
                f"columns must be one slice for each of the {n} boosters of {len(classes)} classes; "
                f"got {len(self._columns)}."
            )
        if self._committee is None:
            columns = [slice(*each.indices(len(self.hypotheses))[:2]) for each in self._columns]
            boosters = [self._make(each.stop - each.start) for each in columns]
            kind, settings = type(boosters[0]), boosters[0].chosen
            self._committee = Committee(self.hypotheses, columns, settings, kind=kind)
            self._committee.boosters = boosters

    @property
    def boosters(self) -> list[Booster]:
        """One booster for two classes, otherwise one for each; none before it begins."""
        return [] if self._committee is None else self._committee.boosters

    def predict(self, view: Rows) -> NDArray[np.float64]:
        """Probabilities from the votes."""
        assert self._committee is not None
        return probabilities(self._committee.votes_of(view.answers(self.hypotheses)))

    def learn(self, view: Rows) -> None:
        """Let each booster follow, example by example."""
        assert self._committee is not None
        self._committee.learn(view.answers(self.hypotheses), view.codes, view.weights)

    @property
    def nbytes(self) -> int:
        """Bytes of the boosters."""
        return sum(booster.nbytes for booster in self.boosters)


class LogisticSGD(OverAnswers):
    """Logistic regression over the answers, by stochastic gradients (`ocboost.lineage.OnlineLogistic`).

    Parameters
    ----------
    hypotheses : Hypotheses
    learning_rate : float, default 0.03
        Constant, so that it can follow a stream that changes.
    random_state : int, default 0
        Nothing is drawn; it is there for those who give it.
    name : str, default "logistic SGD"

    Notes
    -----
    No rate is best everywhere: on some streams 0.1 is, on others 0.01 (see ``experiments/README.md``).
    Where it matters, let several take part.
    """

    def __init__(
        self,
        hypotheses: Hypotheses,
        *,
        learning_rate: float = 0.03,
        random_state: int = 0,
        name: str = "logistic SGD",
    ) -> None:
        from ocboost.boosters.linear import OnlineLogistic

        super().__init__(hypotheses, lambda n: OnlineLogistic(n, rate=learning_rate), name=name)


class Retrained(Contender):
    """AdaBoost over stumps, learnt anew every so many rows from the last ones: what one would do by hand.

    Parameters
    ----------
    start : Start
        Its classifier is what it begins with.
    rows : int, default 2000
        The last rows that are kept, and learnt from.
    every : int, default 1000
        Rows from one training to the next.
    name : str

    Notes
    -----
    Where all rows that are kept are of one class, it goes on with what it has.
    """

    deployable = False

    def __init__(self, start: Start, *, rows: int = 2000, every: int = 1000, name: str) -> None:
        super().__init__(name)
        assert start.view is not None
        self.classifier = start.classifier
        self._start = start
        self._every, self._wait = every, every
        self._recent = RecentRows(rows)
        self._recent.take(start.view)

    def predict(self, view: Rows) -> NDArray[np.float64]:
        """The probabilities of the last model."""
        committee = self.classifier.committee_
        return probabilities(committee.votes_of(view.answers(committee.hypotheses)))

    def learn(self, view: Rows) -> None:
        """Keep the rows, and train when it is time."""
        done = 0
        while done < len(view):
            part = min(len(view) - done, self._wait)
            self._recent.take(view[done : done + part])
            done += part
            self._wait -= part
            if self._wait == 0:
                self._wait = self._every
                self._train()

    def _train(self) -> None:
        rows = self._recent.last(self._recent.capacity)
        if len(np.unique(rows.codes)) < 2:
            return
        start = self._start
        again = Start(
            rows.X, rows.codes, start.classes, hypotheses=start.hypotheses, seed=start.seed, whole=True
        )
        self.classifier = again.fitted()

    @property
    def nbytes(self) -> int:
        """Bytes of the weights, and of the rows that are kept."""
        return self._recent.nbytes + sum(alpha.nbytes for alpha in self.classifier.alpha_)


class SklearnContender(Contender):
    """A scikit-learn classifier with ``partial_fit`` and ``predict_proba``, over the features.

    Parameters
    ----------
    estimator : classifier
        Fitted or not; it learns in place.
    name : str, optional
        The name of its class if left out.
    """

    deployable = False

    def __init__(self, estimator: Any, name: str | None = None) -> None:
        super().__init__(type(estimator).__name__ if name is None else name)
        for method in ("partial_fit", "predict_proba"):
            if not hasattr(estimator, method):
                raise InputError(
                    f"estimator must have partial_fit and predict_proba; {type(estimator).__name__} has no "
                    f"{method}. Choose one that learns step by step and gives probabilities."
                )
        self.estimator = estimator
        self._labels: NDArray[Any] = np.arange(2)

    def begin(self, classes: Sequence[Any]) -> None:
        """Note the labels."""
        self._labels = np.array(classes)

    def predict(self, view: Rows) -> NDArray[np.float64]:
        """Its probabilities, in the order of the evaluation's classes; even ones before the first label."""
        n, K = len(view), len(self._labels)
        known = getattr(self.estimator, "classes_", None)
        if known is None:
            return even(n, K)
        given = self.estimator.predict_proba(view.X)
        if list(known) == list(self._labels):
            return np.asarray(given, np.float64)
        place = {label: column for column, label in enumerate(list(known))}
        share = np.zeros((n, K))
        for code, label in enumerate(self._labels):
            if label in place:
                share[:, code] = given[:, place[label]]
        total = share.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, share / np.where(total > 0.0, total, 1.0), 1.0 / K)

    def learn(self, view: Rows) -> None:
        """One call of ``partial_fit``."""
        labels = self._labels[view.codes]
        if hasattr(self.estimator, "classes_"):
            self.estimator.partial_fit(view.X, labels)
        else:
            self.estimator.partial_fit(view.X, labels, classes=np.sort(self._labels))

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that the estimator has as attributes."""
        return bytes_of(self.estimator)


class RiverContender(Contender):
    """A river classifier, over the features.

    Features are named 0, 1, 2 and so on; missing ones (NaN) are left out, as river expects.

    Parameters
    ----------
    model : river.base.Classifier
        It learns in place.
    name : str, optional
        The name of its class if left out.
    """

    deployable = False

    def __init__(self, model: Any, name: str | None = None) -> None:
        super().__init__(type(model).__name__ if name is None else name)
        try:
            from river.base import Classifier
        except ModuleNotFoundError as error:
            raise MissingExtraError("river", "river", "Evaluating a river model") from error
        wrapped = getattr(model, "_last_step", model)  # a pipeline is what its last step is
        if not isinstance(wrapped, Classifier):
            raise InputError(
                f"model must be a river classifier; got {type(model).__name__}. "
                "It must implement learn_one and predict_proba_one."
            )
        self.model = model
        self._K = 2

    def begin(self, classes: Sequence[Any]) -> None:
        """Note how many classes there are."""
        self._K = len(classes)

    def predict(self, view: Rows) -> NDArray[np.float64]:
        """Its probabilities, made to sum to one; even ones where it has none."""
        share = np.zeros((len(view), self._K))
        for row, x in zip(share, _dictionaries(view.X), strict=True):
            given = self.model.predict_proba_one(x)
            for code, probability in given.items():
                if probability is not None and probability > 0.0:
                    row[int(code)] = probability
            total = row.sum()
            row[:] = row / total if 0.0 < total < np.inf else 1.0 / self._K
        return share

    def learn(self, view: Rows) -> None:
        """Learn row by row."""
        for x, code in zip(_dictionaries(view.X), view.codes.tolist(), strict=True):
            self.model.learn_one(x, code)

    @property
    def nbytes(self) -> int | None:
        """What river counts, where it can."""
        try:
            return int(self.model._raw_memory_usage)
        except Exception:  # it walks through whatever the model holds
            return None


def _dictionaries(X: Any) -> list[dict[int, float]]:
    rows = X.toarray() if hasattr(X, "toarray") else X
    if np.isnan(rows).any():
        return [{j: x for j, x in enumerate(row) if x == x} for row in rows.tolist()]
    return [dict(enumerate(row)) for row in rows.tolist()]
