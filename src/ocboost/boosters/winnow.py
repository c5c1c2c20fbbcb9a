"""Littlestone's Winnow over the answers of fixed hypotheses: multiplicative steps on mistakes."""

from __future__ import annotations

import numpy as np

from ocboost._core.checks import as_number
from ocboost._kernels.arrays import Floats, Int8s
from ocboost._kernels.stepping import MAX_EXPONENT, winnow_alpha, winnow_batches
from ocboost.boosters.stepping import SteppingBooster


class Winnow(SteppingBooster):
    """Balanced Winnow: weights that are multiplied when a vote was wrong, and unchanged when it was right.

    Each hypothesis has a weight u_j for its answer and a weight v_j for the opposite one; both begin at 1,
    and the vote is Σ_j (u_j - v_j) h_j(x). Where it is on the wrong side of an example of sample weight w,
    or nowhere (a tie counts as a mistake),

    ::

        u_j ← u_j · exp(rate · w · m_j),     v_j ← v_j · exp(-rate · w · m_j)

    (N. Littlestone, Learning quickly when irrelevant attributes abound: a new linear-threshold algorithm,
    1988; the balanced form is in I. Dagan, Y. Karov and D. Roth, Mistake-driven learning in text
    categorization, 1997). On examples that some k of J hypotheses decide without error by majority, it makes
    at most 2 k² log(2J) mistakes with the rate 1/k, while what is known for a perceptron is k J.

    Parameters
    ----------
    n_hypotheses : int
        J.
    rate : float, default 0.1
        The logarithm of the factor. For a majority of k hypotheses about 1/k is right.
    margin : float, default 0.0
        Learn also from an example whose vote is right by no more than ``margin · Σ_j |u_j - v_j|``; from 0
        to 0.99. 0 is Littlestone's rule. At the default rate 0.05 made fewer mistakes on all six streams
        that we tried, and 0.1 still fewer on four.

    Notes
    -----
    u_j v_j is always 1, so all that is kept is the count log(u_j) / rate, Σ w m_j over the mistakes: nothing
    overflows, and hypotheses that have gained and lost as often are where they began. A common factor of all
    u_j - v_j changes no decision, and their size means nothing. `alpha` is u - v in units of
    its Euclidean norm: hypotheses that answer independently of each other then have votes of variance 1.
    ``predict_proba`` puts these votes through the logistic link as if they were half the log-odds; they keep
    the order of the examples and are not calibrated.

    The bound: let Z = Σ_j (u_j + v_j), 2J at first. A mistake multiplies it by at most cosh(rate), since the
    vote was not right; and Z is never less than exp(rate · M · δ) after M mistakes, if some weights of sum 1
    are right by δ on every example. So M <= log(2J) / (rate · δ - log cosh(rate)). A majority of k has
    δ = 1/k.

    Where we depart: Littlestone's factors are for attributes of 0 and 1 and a threshold; answers of ±1 need
    no threshold. Sums of votes within 10⁻¹² of ``Σ_j |u_j - v_j|`` of a tie are ties, or rounding would
    decide them. A batch makes one step, the mean of the steps of its examples, all judged by the weights
    before it; examples judged right count as steps of 0. So learning in batches of 10 is ten times slower at
    the same rate.

    The rate was chosen among 0.003, 0.01, 0.03, 0.1 and 0.3 by looking at one run over each of six streams:
    stumps on two real ones that drift (elec2 and INSECTS), and four synthetic ones. 0.1 is best or nearly
    so where few hypotheses matter; on the others 0.003 to 0.1 differ little, and 0.3 can be much worse.

    Examples
    --------
    Three of 500 hypotheses know the label by majority:

    >>> rng = np.random.default_rng(0)
    >>> answers = rng.choice([-1, 1], (2000, 500))
    >>> y = np.sign(answers[:, :3].sum(axis=1))
    >>> booster = Winnow(500, rate=0.3)
    >>> booster.update_many(answers * y[:, None])
    >>> bool(booster.alpha[:3].min() > 10 * abs(booster.alpha[3:]).max())
    True
    """

    kind = "Winnow"
    settings = ("rate", "margin")
    array_name = "counts"
    limit = MAX_EXPONENT

    def __init__(self, n_hypotheses: int, *, rate: float = 0.1, margin: float = 0.0) -> None:
        super().__init__(n_hypotheses)
        advice = "It is the logarithm of the factor; try 0.3, 0.1 and 0.03."
        self._rate = as_number(rate, "rate", 0.0, 1e6, advice, low_open=True)
        self._margin = as_number(margin, "margin", 0.0, 0.99, "0 learns from mistakes only; try 0.1.")

    @property
    def rate(self) -> float:
        """The logarithm of the factor."""
        return self._rate

    @property
    def margin(self) -> float:
        """By how much a vote must be right to teach nothing."""
        return self._margin

    def _weights(self) -> Floats:
        alpha = np.zeros(self.n_hypotheses)
        winnow_alpha(self._values, self.rate, alpha)
        return alpha

    def _learn(self, rows: Int8s, weights: Floats, labels: Int8s | None, batch_size: int) -> None:
        votes, steps = np.zeros(self.n_hypotheses), np.zeros(self.n_hypotheses)
        winnow_batches(rows, weights, batch_size, self.rate, self.margin, self._values, votes, steps)
