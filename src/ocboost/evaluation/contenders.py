"""The contenders of an evaluation: OCB, fixed models, boosters, baselines, and models of other libraries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ocboost.boosters.base import Booster
from ocboost.errors import InputError
from ocboost.estimators.committee import Committee, probabilities
from ocboost.estimators.decisions import DECISIONS, Decision
from ocboost.hypotheses.base import Hypotheses
from ocboost.streams.recent_rows import RecentRows
from ocboost.streams.rows import Rows

if TYPE_CHECKING:
    from ocboost.estimators.adaptive.classifier import AdaptiveClassifier
    from ocboost.estimators.classifier import OCBClassifier
    from ocboost.evaluation.first_rows import FirstRows

Role = Literal["adaptive", "ocb", "static", "rival", "baseline"]


class Contender(ABC):
    """One learner in an evaluation: it predicts rows, and learns from those whose labels have arrived.

    Parameters
    ----------
    name : str
        Its name in tables and figures; unique in an evaluation.

    Attributes
    ----------
    role : {"adaptive", "ocb", "static", "rival", "baseline"}
        How a figure draws it.
    learns : bool
        False for a fixed model, which may then predict many rows at once.
    deployable : bool
        False for contenders that are there for comparison only: no model, or one that needs pickle.
    """

    role: Role = "rival"
    learns: bool = True
    deployable: bool = True
    decision: Decision | None = None  # how it predicts, if that is not the likeliest class

    def __init__(self, name: str) -> None:
        self.name = name

    def begin(self, classes: Sequence[Any]) -> None:  # noqa: B027 (most have nothing to do)
        """Called once before the first row, with the labels in the order of their codes.

        Parameters
        ----------
        classes : sequence
            The labels, in the order of their codes.
        """

    @abstractmethod
    def predict(self, view: Rows) -> NDArray[np.float64]:
        """The probability of each class; `decide` predicts the likeliest, the first of equals.

        Parameters
        ----------
        view : Batch
            The rows.

        Returns
        -------
        array of shape (n, K)
            In the order of the classes.
        """

    @property
    def decides(self) -> bool:
        """Whether `decide` may predict another class than the likeliest."""
        return self.decision is not None

    def decide(self, shares: NDArray[np.float64]) -> NDArray[np.intp]:
        """The codes of the classes that it predicts, from the probabilities that it gave just now.

        Parameters
        ----------
        shares : array of shape (n, K)
            Probabilities.

        Returns
        -------
        array of shape (n,)
            Codes of classes.
        """
        return (self.decision or Decision()).codes(shares)

    @abstractmethod
    def learn(self, view: Rows) -> None:
        """Learn from rows, all of which have labels.

        Parameters
        ----------
        view : Batch
            The rows, with codes.
        """

    @property
    def nbytes(self) -> int | None:
        """Bytes of what it keeps, the shared hypotheses aside; None where that is not known."""
        return None


def uniform(n: int, n_classes: int) -> NDArray[np.float64]:
    """The same probability for every class: the prediction before anything was learnt."""
    return np.full((n, n_classes), 1.0 / n_classes)


class Majority(Contender):
    """Says the class that has been most frequent so far; its probabilities are (count + 1) / (n + K).

    Parameters
    ----------
    name : str, default "majority"
        In tables.
    """

    role = "baseline"
    deployable = False

    def __init__(self, name: str = "majority") -> None:
        super().__init__(name)
        self._counts = np.ones(2)

    def begin(self, classes: Sequence[Any]) -> None:
        """Start from one of each class.

        Parameters
        ----------
        classes : sequence
            The labels, in the order of their codes.
        """
        self._counts = np.ones(len(classes))

    def predict(self, view: Rows) -> NDArray[np.float64]:
        """The frequencies so far.

        Parameters
        ----------
        view : Batch
            The rows.

        Returns
        -------
        array of shape (n, K)
            In the order of the classes.
        """
        return np.tile(self._counts / self._counts.sum(), (len(view), 1))

    def learn(self, view: Rows) -> None:
        """Count.

        Parameters
        ----------
        view : Batch
            The rows, with codes.
        """
        self._counts += np.bincount(view.codes, minlength=len(self._counts))

    @property
    def nbytes(self) -> int:
        """Bytes of the counts."""
        return self._counts.nbytes


class NoChange(Contender):
    """Says the last label it has seen, as sure as it has been right with that: (right + 1) / (n + K).

    That probability is held a hair above 1/K, so that the last label stays the likeliest; the other
    classes share the rest.

    Parameters
    ----------
    name : str, default "no change"
        In tables.
    """

    role = "baseline"
    deployable = False

    def __init__(self, name: str = "no change") -> None:
        super().__init__(name)
        self._K = 2
        self._last = -1
        self._right = self._n = 0

    def begin(self, classes: Sequence[Any]) -> None:
        """Note how many classes there are.

        Parameters
        ----------
        classes : sequence
            The labels, in the order of their codes.
        """
        self._K = len(classes)

    def predict(self, view: Rows) -> NDArray[np.float64]:
        """The last label for each row; even probabilities before the first one.

        Parameters
        ----------
        view : Batch
            The rows.

        Returns
        -------
        array of shape (n, K)
            In the order of the classes.
        """
        K = self._K
        if self._last < 0:
            return uniform(len(view), K)
        sure = max((self._right + 1) / (self._n + K), (1.0 + 1e-6) / K)
        share = np.full((len(view), K), (1.0 - sure) / (K - 1))
        share[:, self._last] = sure
        return share

    def learn(self, view: Rows) -> None:
        """Remember the last label, and how often a label was the one before it.

        Parameters
        ----------
        view : Batch
            The rows, with codes.
        """
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


class _OfClassifier(Contender):
    """A contender that predicts as a classifier of ocboost would."""

    classifier: OCBClassifier | AdaptiveClassifier

    @property
    def decides(self) -> bool:
        """Whether the classifier has class weights, a threshold or costs."""
        return any(getattr(self.classifier, name) is not None for name in DECISIONS)

    def decide(self, shares: NDArray[np.float64]) -> NDArray[np.intp]:
        """The classes that the classifier predicts, as its parameters say.

        Parameters
        ----------
        shares : array of shape (n, K)
            Probabilities.

        Returns
        -------
        array of shape (n,)
            Codes of classes.
        """
        return self.classifier.decided(shares)


def _require_classes(name: str, classifier: Any, classes: Sequence[Any]) -> None:
    """Refuse a classifier that is not fitted, or on other classes."""
    known = getattr(classifier, "classes_", None)
    if known is None:
        raise InputError(f"{name!r} must be a fitted classifier; got one that is not. Call its fit first.")
    if list(np.asarray(known).tolist()) != list(classes):
        raise InputError(
            f"classes must be those of the classifier {name!r}, {np.asarray(known).tolist()!s:.80}, in that "
            f"order; got {list(classes)!s:.80}."
        )


class Adaptive(_OfClassifier):
    """An `AdaptiveClassifier` that keeps learning; it finds its predictions again by the rows' numbers.

    Parameters
    ----------
    classifier : AdaptiveClassifier
        Fitted; it learns in place. Its classes must be those of the evaluation, in the same order.
    name : str, default "adaptive"
        In tables.
    """

    role: Role = "adaptive"

    def __init__(self, classifier: AdaptiveClassifier, name: str = "adaptive") -> None:
        super().__init__(name)
        self.classifier: AdaptiveClassifier = classifier

    def begin(self, classes: Sequence[Any]) -> None:
        """Check that the classifier knows the same classes.

        Parameters
        ----------
        classes : sequence
            The labels, in the order of their codes.
        """
        _require_classes(self.name, self.classifier, classes)

    def predict(self, view: Rows) -> NDArray[np.float64]:
        """The classifier's probabilities, which wait for their labels.

        Parameters
        ----------
        view : Batch
            The rows.

        Returns
        -------
        array of shape (n, K)
            In the order of the classes.
        """
        return self.classifier.probabilities_of(view)

    def learn(self, view: Rows) -> None:
        """Learn row by row, the mix from what was predicted.

        Parameters
        ----------
        view : Batch
            The rows, with codes.
        """
        self.classifier.learn_rows(view)

    @property
    def nbytes(self) -> int:
        """Bytes of all that it keeps, the rows too."""
        return self.classifier.nbytes


class FixedAdaptive(Adaptive):
    """An `AdaptiveClassifier` as it was deployed: it predicts and never learns.

    Parameters
    ----------
    classifier : AdaptiveClassifier
        Fitted, and not the one that another contender lets learn.
    name : str, default "static"
        In tables.
    """

    role = "static"
    learns = False

    def __init__(self, classifier: AdaptiveClassifier, name: str = "static") -> None:
        super().__init__(classifier, name)

    def predict(self, view: Rows) -> NDArray[np.float64]:
        """The classifier's probabilities; nothing waits.

        Parameters
        ----------
        view : Batch
            The rows.

        Returns
        -------
        array of shape (n, K)
            In the order of the classes.
        """
        return self.classifier.probabilities_of(view, issue=False)

    def learn(self, view: Rows) -> None:
        """Learn nothing.

        Parameters
        ----------
        view : Batch
            The rows, with codes.
        """


class OCB(_OfClassifier):
    """An `OCBClassifier` that keeps learning.

    Parameters
    ----------
    classifier : OCBClassifier
        Fitted; it learns in place. Its classes must be those of the evaluation, in the same order.
    name : str, default "OCB"
        In tables.
    """

    role: Role = "ocb"

    def __init__(self, classifier: OCBClassifier, name: str = "OCB") -> None:
        super().__init__(name)
        self.classifier: OCBClassifier = classifier

    def begin(self, classes: Sequence[Any]) -> None:
        """Check that the classifier knows the same classes.

        Parameters
        ----------
        classes : sequence
            The labels, in the order of their codes.
        """
        _require_classes(self.name, self.classifier, classes)

    def predict(self, view: Rows) -> NDArray[np.float64]:
        """The classifier's probabilities.

        Parameters
        ----------
        view : Batch
            The rows.

        Returns
        -------
        array of shape (n, K)
            In the order of the classes.
        """
        return probabilities(self.classifier.votes_of(view))

    def learn(self, view: Rows) -> None:
        """Update the classifier's weights, and its hypotheses if it grows.

        Parameters
        ----------
        view : Batch
            The rows, with codes.
        """
        self.classifier.learn_rows(view)

    @property
    def nbytes(self) -> int:
        """Bytes of the boosters, and of the rows that growing keeps."""
        grower = self.classifier.grower_
        return (0 if grower is None else grower.nbytes) + sum(
            booster.nbytes for booster in self.classifier.boosters_
        )


class Fixed(OCB):
    """An `OCBClassifier` as it was deployed: it predicts and never learns.

    Parameters
    ----------
    classifier : OCBClassifier
        Fitted, and not the one that another contender lets learn.
    name : str, default "static"
        In tables.
    """

    role = "static"
    learns = False

    def __init__(self, classifier: OCBClassifier, name: str = "static") -> None:
        super().__init__(classifier, name)

    def learn(self, view: Rows) -> None:
        """Learn nothing.

        Parameters
        ----------
        view : Batch
            The rows, with codes.
        """

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
        What they answer is learnt.
    make_booster : callable
        Makes a booster for so many hypotheses, `ocboost.OzaRussell` for one.
    columns : sequence of slice, optional
        The hypotheses of each class, where each has its own; all hypotheses for every class if left out.
    name : str
        In tables.

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
        """A booster over the hypotheses of a fitted `OCBClassifier`, for the same classes.

        Parameters
        ----------
        classifier : OCBClassifier
            A fitted one; it is not changed.
        make_booster : callable
            Makes a booster for so many hypotheses.
        name : str
            In tables.

        Returns
        -------
        OverAnswers
            With boosters of its own.
        """
        return cls(classifier.hypotheses_, make_booster, columns=classifier.committee_.columns, name=name)

    def begin(self, classes: Sequence[Any]) -> None:
        """Make the boosters, unless they exist.

        Parameters
        ----------
        classes : sequence
            The labels, in the order of their codes.

        Raises
        ------
        InputError
            If the hypotheses are not cut into as many parts as there are classes.
        """
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
            kind, settings = type(boosters[0]), boosters[0].given_settings
            self._committee = Committee(self.hypotheses, columns, settings, kind=kind)
            self._committee.boosters = boosters

    @property
    def boosters(self) -> list[Booster]:
        """One booster for two classes, otherwise one for each; none before it begins."""
        return [] if self._committee is None else self._committee.boosters

    def predict(self, view: Rows) -> NDArray[np.float64]:
        """Probabilities from the votes.

        Parameters
        ----------
        view : Batch
            The rows.

        Returns
        -------
        array of shape (n, K)
            In the order of the classes.
        """
        assert self._committee is not None
        return probabilities(self._committee.votes_of(view.answers(self.hypotheses)))

    def learn(self, view: Rows) -> None:
        """Let each booster learn, example by example.

        Parameters
        ----------
        view : Batch
            The rows, with codes.
        """
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
        What they answer is learnt.
    learning_rate : float, default 0.03
        Constant, so that it can follow a stream that changes.
    random_state : int, default 0
        Ignored: nothing is drawn.
    name : str, default "logistic SGD"
        In tables.

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


class Retrained(_OfClassifier):
    """AdaBoost over stumps, retrained every so many rows on a sliding window of the last ``rows``.

    It starts with the classifier of the first rows, and skips a training while the window holds one class.
    """

    deployable = False

    def __init__(self, first_rows: FirstRows, *, rows: int = 2000, every: int = 1000, name: str) -> None:
        super().__init__(name)
        assert first_rows.view is not None
        self.classifier: OCBClassifier = first_rows.classifier
        self._first_rows = first_rows
        self._every, self._rows_left = every, every
        self._recent = RecentRows(rows)
        self._recent.take(first_rows.view)

    def predict(self, view: Rows) -> NDArray[np.float64]:
        """The probabilities of the last model."""
        committee = self.classifier.committee_
        return probabilities(committee.votes_of(view.answers(committee.hypotheses)))

    def learn(self, view: Rows) -> None:
        """Add the rows to the window, and retrain when it is time."""
        done = 0
        while done < len(view):
            part = min(len(view) - done, self._rows_left)
            self._recent.take(view[done : done + part])
            done += part
            self._rows_left -= part
            if self._rows_left == 0:
                self._rows_left = self._every
                self._train()

    def _train(self) -> None:
        rows = self._recent.last(self._recent.capacity)
        if len(np.unique(rows.codes)) >= 2:
            self.classifier = self._first_rows.replaced_by(rows).fitted()

    @property
    def nbytes(self) -> int:
        """Bytes of the weights, and of the rows in the window."""
        return self._recent.nbytes + sum(alpha.nbytes for alpha in self.classifier.alpha_)
