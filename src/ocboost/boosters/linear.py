"""scikit-learn's linear rules as boosters: what a user would try first over the hypotheses' answers.

A linear rule without intercept changes its weights by ``step(y F(x)) y h(x)``, where F(x) = Σ_j α_j h_j(x)
and y F(x) = Σ_j α_j m_j. It sees answers and label only as their product, so the margins m with the label +1
teach it the same as the answers h(x) with the label y. There is no intercept: a hypothesis that always
answers +1 would be one.

The steps are those of scikit-learn's ``SGDClassifier`` without intercept, penalty or shuffling, whose call
takes half a millisecond for one example; here it is microseconds. The tests compare the two.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ocboost._core.checks import as_number
from ocboost._kernels.arrays import Floats, Int8s
from ocboost._kernels.stepping import LOGISTIC, PASSIVE_AGGRESSIVE, PERCEPTRON, linear_steps
from ocboost.boosters.stepping import SteppingBooster
from ocboost.errors import InputError

MAX_WEIGHT = 1e100  # sample weights up to here leave every sum a number, however many there are
MAX_RATE = 1e6


class LinearBooster(SteppingBooster):
    """A linear rule over margins, all of them of the label +1; a subclass says which rule, and its rate."""

    array_name = "coef"
    limit = 1e150
    rule: ClassVar[int]
    _rate = 1.0  # the longest step, or what steps are proportional to

    def _take(self, rows: Int8s, weights: Floats, labels: Int8s | None, batch_size: int) -> None:
        heaviest = int(weights.argmax())
        if weights[heaviest] > MAX_WEIGHT:
            raise InputError(
                f"sample_weight must be at most {MAX_WEIGHT:g} for {type(self).__name__}; got "
                f"{weights[heaviest]} for example {heaviest}. Divide all weights by the greatest."
            )
        super()._take(rows, weights, labels, 1)

    def _learn(self, rows: Int8s, weights: Floats, labels: Int8s | None, batch_size: int) -> None:
        linear_steps(rows, weights, self.rule, self._rate, self._values)

    def _set_rate(self, value: object, name: str, advice: str) -> None:
        self._rate = as_number(value, name, 0.0, MAX_RATE, advice, low_open=True)


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
    Each example makes a step, as in scikit-learn: ``batch_size`` changes nothing. There is no penalty, unlike
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
    rule = LOGISTIC

    def __init__(self, n_hypotheses: int, *, rate: float = 0.03) -> None:
        super().__init__(n_hypotheses)
        self._set_rate(rate, "rate", "It is the length of a step; try 0.1, 0.03 and 0.01.")

    @property
    def rate(self) -> float:
        """The length of a step."""
        return self._rate

    def _weights(self) -> Floats:
        return self._values / 2.0


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

    Each example makes a step, as in scikit-learn: ``batch_size`` changes nothing. Sample weights of more than
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
    rule = PERCEPTRON

    def _weights(self) -> Floats:
        greatest = np.abs(self._values).max()
        if greatest == 0.0:
            return np.zeros(self.n_hypotheses)
        alpha: Floats = self._values / greatest  # its squares do not overflow
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

    Each example makes a step, as in scikit-learn: ``batch_size`` changes nothing. Sample weights of more than
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
    rule = PASSIVE_AGGRESSIVE

    def __init__(self, n_hypotheses: int, *, C: float = 1.0) -> None:
        super().__init__(n_hypotheses)
        self._set_rate(C, "C", "It is the longest step.")

    @property
    def C(self) -> float:
        """The longest step."""
        return self._rate

    def _weights(self) -> Floats:
        return self._values.copy()
