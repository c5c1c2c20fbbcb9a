"""Contenders that weigh the answers of weak hypotheses: classifiers, fixed ones, boosters by themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..booster import Booster
from ..committee import Committee
from ..errors import InputError
from ..hypotheses.base import Hypotheses
from ..link import probabilities
from ..rows import Rows
from .learner import Contender, Role

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
    >>> from ocboost.rows import Rows
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
        from ..boosters.linear import OnlineLogistic

        super().__init__(hypotheses, lambda n: OnlineLogistic(n, rate=learning_rate), name=name)
