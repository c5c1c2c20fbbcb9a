"""Contenders that weigh the answers of weak hypotheses: OCB, a fixed model, other boosters, logistic SGD."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..booster import Booster
from ..committee import signs
from ..errors import InputError
from ..hypotheses.base import Hypotheses
from ..link import probabilities
from .learner import Contender, Role, bytes_of, even
from .view import View

if TYPE_CHECKING:
    from ..classifier import OCBClassifier


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

    def predict(self, view: View) -> NDArray[np.float64]:
        """The classifier's probabilities."""
        return probabilities(self.classifier.votes_of(view))

    def learn(self, view: View) -> None:
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

    def learn(self, view: View) -> None:
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
    >>> contender.begin(["no", "yes"])
    >>> contender.learn(View.of(np.array([[0.5], [1.5], [1.7]]), np.array([0, 1, 1])))
    >>> contender.predict(View.of(np.array([[0.1], [3.0]]), np.array([-1, -1]))).round(2)
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
        self.boosters: list[Booster] = []
        self._make = make_booster
        self._columns = columns

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
        if not self.boosters:
            widths = [len(range(*each.indices(len(self.hypotheses)))) for each in self._columns]
            self.boosters = [self._make(width) for width in widths]

    def predict(self, view: View) -> NDArray[np.float64]:
        """Probabilities from the votes."""
        assert self._columns is not None
        answers = view.answers(self.hypotheses)
        votes = [answers[:, c] @ b.alpha for c, b in zip(self._columns, self.boosters, strict=True)]
        return probabilities(votes[0] if len(votes) == 1 else np.stack(votes, axis=1))

    def learn(self, view: View) -> None:
        """Let each booster follow, example by example."""
        assert self._columns is not None
        answers, codes = view.answers(self.hypotheses), view.codes
        for c, (columns, booster) in enumerate(zip(self._columns, self.boosters, strict=True)):
            labels = signs(codes, c, len(self.boosters))
            booster.update_many(answers[:, columns] * labels[:, None])

    @property
    def nbytes(self) -> int:
        """Bytes of the boosters."""
        return sum(getattr(booster, "nbytes", bytes_of(booster)) for booster in self.boosters)


class LogisticSGD(Contender):
    """Logistic regression over the answers, by stochastic gradients (scikit-learn's `SGDClassifier`).

    Parameters
    ----------
    hypotheses : Hypotheses
    learning_rate : float, default 0.03
        Constant, so that it can follow a stream that changes.
    random_state : int, default 0
        For the order within a step of several rows.
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
        from sklearn.linear_model import SGDClassifier

        super().__init__(name)
        self.hypotheses = hypotheses
        self._model = SGDClassifier(
            loss="log_loss", learning_rate="constant", eta0=learning_rate, random_state=random_state
        )
        self._codes: NDArray[np.int64] = np.arange(2)

    def begin(self, classes: Sequence[Any]) -> None:
        """Note how many classes there are."""
        self._codes = np.arange(len(classes))

    def predict(self, view: View) -> NDArray[np.float64]:
        """Its probabilities; even ones before the first label."""
        if not hasattr(self._model, "classes_"):
            return even(len(view), len(self._codes))
        rows = view.answers(self.hypotheses).astype(np.float64)
        scores = self._model.decision_function(rows)
        if scores.ndim == 1:  # the log-odds are twice the votes of the link
            return probabilities(scores / 2.0)
        share: NDArray[np.float64] = self._model.predict_proba(rows)
        return share

    def learn(self, view: View) -> None:
        """One step of the gradient for each row."""
        rows = view.answers(self.hypotheses).astype(np.float64)
        self._model.partial_fit(rows, view.codes, classes=self._codes)

    @property
    def nbytes(self) -> int:
        """Bytes of the coefficients."""
        if not hasattr(self._model, "coef_"):
            return 0
        return int(self._model.coef_.nbytes + self._model.intercept_.nbytes)
