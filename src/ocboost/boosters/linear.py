"""What a user would try first over the hypotheses' answers: scikit-learn's linear rules, as boosters.

A linear rule without intercept changes its weights by ``step(y F(x)) y h(x)``, where F(x) = Σ_j α_j h_j(x)
and y F(x) = Σ_j α_j m_j. Answers and label come in as their product only, so an example with the margins m
and the label +1 teaches it the same as the answers h(x) with the label y, and margins are all that it needs.
There is no intercept: hypotheses that always answer +1 would be one.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..guard import writes
from ..margins import as_number
from .stepping import SteppingBooster

HEAVIEST = 1e100  # sample weights up to here leave every sum a number, however many there are
HIGHEST_RATE = 1e6
PIECE = 4_000_000  # entries made into floats at a time


class LinearBooster(SteppingBooster):
    """A linear rule of scikit-learn over margins, all of them of the label +1.

    Its steps are scikit-learn's ``partial_fit``, without intercept, penalty or shuffling. What it has learnt
    is kept here, as plain numbers; a subclass says in ``_model`` which rule it is.
    """

    state = "coef"
    limit = 1e150

    def __init__(self, n_hypotheses: int) -> None:
        super().__init__(n_hypotheses)
        model = self._model()
        model.partial_fit(np.ones((1, self.n_hypotheses)), [1], classes=[-1, 1])
        self._rule = model  # what it has learnt by this one example is overwritten before it is used

    @abstractmethod
    def _model(self) -> Any:
        """A classifier of scikit-learn."""

    @writes
    def _take(
        self,
        rows: NDArray[np.int8],
        weights: NDArray[np.float64],
        labels: NDArray[np.int8] | None,
        batch_size: int,
    ) -> None:
        heaviest = int(np.argmax(weights))
        if weights[heaviest] > HEAVIEST:
            raise InputError(
                f"sample_weight must be at most {HEAVIEST:g} for {type(self).__name__}; got "
                f"{weights[heaviest]} for example {heaviest}. Divide all weights by the greatest."
            )
        super()._take(rows, weights, labels, 1)

    def _step(self, rows: NDArray[np.int8], weights: NDArray[np.float64], batch_size: int) -> None:
        import sklearn

        counts = np.flatnonzero(weights)  # it refuses weights that are all 0, and one of 0 makes no step
        coef = self._state.reshape(1, -1).copy()
        piece = max(1, PIECE // self.n_hypotheses)
        for start in range(0, len(counts), piece):
            chosen = counts[start : start + piece]
            self._rule.coef_ = coef
            with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
                self._learn(rows[chosen].astype(np.float64), weights[chosen])
            coef = self._rule.coef_
        self._state[...] = coef[0]

    def _learn(self, rows: NDArray[np.float64], weights: NDArray[np.float64]) -> None:
        self._rule.partial_fit(rows, np.ones(len(rows), np.int64), sample_weight=weights)


class OnlineLogistic(LinearBooster):
    """Logistic regression by stochastic gradients, `sklearn.linear_model.SGDClassifier` over margins.

    With the weights c of scikit-learn's log-odds c·h(x), an example of sample weight w makes the step

    ::

        c ← c + rate · w · m / (1 + exp(c·m)),     α = c / 2

    and the votes Σ α_j h_j(x) are half the log-odds, as AdaBoost's are: ``1 / (1 + exp(-2 F))`` is the
    probability that the regression itself gives.

    Parameters
    ----------
    n_hypotheses : int
        J.
    rate : float, default 0.03
        scikit-learn's ``eta0``, constant, so that it can follow a stream that changes. At most 1e6.

    Notes
    -----
    scikit-learn steps from example to example: ``batch_size`` changes nothing. There is no penalty, unlike
    scikit-learn's own default. Sample weights of more than 1e100 are refused.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> margins = np.where(rng.random((5000, 3)) < [0.8, 0.7, 0.6], 1, -1)
    >>> booster = OnlineLogistic(3, rate=0.01)
    >>> booster.update_many(margins)
    >>> booster.alpha.round(1)
    array([0.7, 0.5, 0.2])
    """

    kind = "OnlineLogistic"
    settings = ("rate",)

    def __init__(self, n_hypotheses: int, *, rate: float = 0.03) -> None:
        self._rate = _as_rate(rate, "rate", "It is the length of a step; try 0.1, 0.03 and 0.01.")
        super().__init__(n_hypotheses)

    def _model(self) -> Any:
        return _sgd(loss="log_loss", learning_rate="constant", eta0=self._rate)

    @property
    def rate(self) -> float:
        """The length of a step."""
        return self._rate

    def _weights(self) -> NDArray[np.float64]:
        return self._state / 2.0


class Perceptron(LinearBooster):
    """Rosenblatt's perceptron, `sklearn.linear_model.SGDClassifier` with the perceptron's loss over margins.

    On a mistake, or a tie, of an example of sample weight w (F. Rosenblatt, The perceptron: a probabilistic
    model for information storage and organization in the brain, 1958)

    ::

        c ← c + w · m     if c·m <= 0,     α = c / ‖c‖₂

    Parameters
    ----------
    n_hypotheses : int
        J.

    Notes
    -----
    A common factor of the weights changes no decision of a perceptron, neither what it says nor when it
    learns, so c has no scale that means anything. α has length 1: hypotheses that answer
    independently of each other then have votes of variance 1. ``predict_proba`` puts these votes through the
    logistic link as if they were half the log-odds; they keep the order of the examples and are not
    calibrated.

    scikit-learn steps from example to example: ``batch_size`` changes nothing. Sample weights of more than
    1e100 are refused.

    Examples
    --------
    >>> booster = Perceptron(3)
    >>> booster.update_many([[1, 1, -1], [1, -1, -1], [-1, 1, 1]])
    >>> booster.alpha.round(2)
    array([0., 1., 0.])
    """

    kind = "Perceptron"
    settings = ()

    def _model(self) -> Any:
        return _sgd(loss="perceptron", learning_rate="constant", eta0=1.0)

    def _weights(self) -> NDArray[np.float64]:
        greatest = np.abs(self._state).max()
        if greatest == 0.0:
            return np.zeros(self.n_hypotheses)
        alpha: NDArray[np.float64] = self._state / greatest  # its squares do not overflow
        return alpha / float(np.sqrt(np.dot(alpha, alpha)))


class PassiveAggressive(LinearBooster):
    """The passive-aggressive rule PA-I, `sklearn.linear_model.SGDClassifier` with "pa1" over margins.

    An example of sample weight w whose vote is less than 1 on its label's side moves the weights just far
    enough to make it 1, but not by more than C (K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz and
    Y. Singer, Online passive-aggressive algorithms, 2006, PA-I):

    ::

        α ← α + w · min(C, max(0, 1 - α·m) / J) · m

    where J = ‖m‖². The factor w is scikit-learn's; it is not in the paper.

    Parameters
    ----------
    n_hypotheses : int
        J.
    C : float, default 1.0
        The longest step. No step is longer than (1 + Σ|α|) / J, so a C that is to be felt with many
        hypotheses must be of that size; less is better where labels are noisy. At most 1e6.

    Notes
    -----
    Votes aim at 1 on the side of the label, which the logistic link takes for a probability of 0.88. They are
    not calibrated.

    scikit-learn steps from example to example: ``batch_size`` changes nothing. Sample weights of more than
    1e100 are refused.

    Examples
    --------
    >>> booster = PassiveAggressive(4)
    >>> booster.update([1, 1, 1, -1])
    >>> booster.alpha
    array([ 0.25,  0.25,  0.25, -0.25])
    """

    kind = "PassiveAggressive"
    settings = ("C",)

    def __init__(self, n_hypotheses: int, *, C: float = 1.0) -> None:
        self._C = _as_rate(C, "C", "It is the longest step.")
        super().__init__(n_hypotheses)

    def _model(self) -> Any:
        from sklearn import __version__

        if tuple(int(part) for part in __version__.split(".")[:2]) >= (1, 8):
            return _sgd(loss="hinge", learning_rate="pa1", eta0=self._C)
        from sklearn.linear_model import PassiveAggressiveClassifier  # deprecated since 1.8

        return PassiveAggressiveClassifier(
            C=self._C, loss="hinge", fit_intercept=False, shuffle=False, random_state=0
        )

    def _learn(self, rows: NDArray[np.float64], weights: NDArray[np.float64]) -> None:
        if hasattr(self._rule, "eta0") and self._rule.learning_rate == "pa1":
            super()._learn(rows, weights)
            return
        # The old class takes no weights of examples, but one of the class, which is the same for one example.
        for i in range(len(rows)):
            self._rule.set_params(class_weight={-1: 1.0, 1: weights[i]})
            self._rule.partial_fit(rows[i : i + 1], [1])

    @property
    def C(self) -> float:
        """The longest step."""
        return self._C

    def _weights(self) -> NDArray[np.float64]:
        return self._state.copy()


def _as_rate(value: object, name: str, advice: str) -> float:
    return as_number(value, name, 0.0, HIGHEST_RATE, advice, low_open=True)


def _sgd(**settings: Any) -> Any:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(penalty=None, fit_intercept=False, shuffle=False, random_state=0, **settings)
