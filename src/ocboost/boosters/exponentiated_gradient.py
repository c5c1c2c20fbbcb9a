"""EG±, exponentiated gradients of both signs, over the answers of fixed hypotheses."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ocboost._core.checks import as_number
from ocboost._kernels.arrays import Floats, Int8s
from ocboost._kernels.stepping import MAX_EXPONENT, eg_advance, eg_alpha, eg_batches
from ocboost.boosters.stepping import SteppingBooster
from ocboost.errors import InputError

LOSS_FUNCTIONS = ("logistic", "square")
MIN_NORM = 1e-150  # whose square is a double


class EGPlusMinus(SteppingBooster):
    """Exponentiated gradient with weights of both signs, whose sum ``Σ_j |α_j|`` stays within U.

    Each hypothesis has a weight for its answer and one for the opposite answer, w⁺_j and w⁻_j. All of them
    are equal at first, and always add up to U; α = w⁺ - w⁻. With the margin f = Σ_j α_j m_j and the loss
    L(f), an example of sample weight w makes the step

    ::

        w⁺_j ← U w⁺_j e^{-s m_j} / Z,   w⁻_j ← U w⁻_j e^{s m_j} / Z,   s = rate · U · w · L'(f)

    where Z makes the sum U again (J. Kivinen and M. K. Warmuth, Exponentiated gradient versus gradient
    descent for linear predictors, 1997, the algorithm EG±). What is kept is θ_j, half of
    log(w⁺_j / w⁻_j), so that

    ::

        α_j = U (e^{θ_j} - e^{-θ_j}) / Σ_l (e^{θ_l} + e^{-θ_l}),   θ_j ← θ_j - s m_j

    Parameters
    ----------
    n_hypotheses : int
        J.
    rate : float or "auto", default "auto"
        η. "auto" is the paper's choice for the square loss and inputs within ±1, η = 1 / (3 U²), with
        which the sum of losses is at most 3 (that of the best α of norm U + U² log(2J)).
    norm : float, default 10.0
        U, at most 1e6. The greatest vote there can be.
    loss : {"logistic", "square"}, default "logistic"
        "logistic" is log(1 + exp(-2 f)), for which votes are half the log-odds, as AdaBoost's are. "square"
        is the paper's own (y - F(x))², which is (1 - f)²; its votes aim at the label, so ``predict_proba``,
        which takes them for half the log-odds, is not calibrated.

    Notes
    -----
    Where we depart: sample weights, and the logistic loss, for which the paper's rate is no theorem. The
    default U was chosen by looking at one run over each of six streams, stumps on two real ones that drift
    (elec2 and INSECTS) and four synthetic ones, with U of 1, 3, 10 and 30 and rate · U of 0.003, 0.01,
    0.03, 0.1 and 0.3. With U = 10 or 30 the paper's rate is near the best log-loss on five; on columns that
    are noisy copies of each other a tenth of it is better. Mistakes on elec2 are fewer with three times
    that rate. U must let the votes be as sure as they ought to be: with U = 1 no probability leaves [0.12,
    0.88].

    A batch makes one step, the mean of the steps of its examples, all with the α before it. So learning in
    batches of 10 is ten times slower at the same rate.

    θ remembers everything: after a long stationary stretch that some hypotheses dominated, it takes about as
    long to turn to others.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> margins = np.where(rng.random((5000, 4)) < [0.8, 0.7, 0.6, 0.5], 1, -1)
    >>> booster = EGPlusMinus(4, rate=0.0003)
    >>> booster.update_many(margins)
    >>> booster.alpha.round(1)
    array([ 0.8,  0.3,  0.2, -0. ])
    """

    kind = "EGPlusMinus"
    settings = ("rate", "norm", "loss")
    array_name = "theta"
    limit = MAX_EXPONENT

    def __init__(
        self,
        n_hypotheses: int,
        *,
        rate: float | Literal["auto"] = "auto",
        norm: float = 10.0,
        loss: Literal["logistic", "square"] = "logistic",
    ) -> None:
        super().__init__(n_hypotheses)
        advice = "It is the greatest vote there can be; try 3, 10 and 30."
        self._norm = as_number(norm, "norm", 0.0, 1e6, advice, low_open=True)
        self._rate: float | Literal["auto"] = "auto"
        advice = '"auto" is 1 / (3 norm²).'
        if isinstance(rate, str):
            if rate != "auto":
                raise InputError(f'rate must be a number or "auto"; got {rate!r:.80}. {advice}')
            if self._norm < MIN_NORM:
                raise InputError(
                    f"rate must be a number where norm is below {MIN_NORM:g}, as 1 / (3 norm²) is none "
                    f'then; got "auto" and a norm of {self._norm:g}. Take a larger norm.'
                )
            self._eta = 1.0 / (3.0 * self._norm * self._norm)
        else:
            self._rate = self._eta = as_number(rate, "rate", 0.0, 1e6, advice, low_open=True)
        if not isinstance(loss, str) or loss not in LOSS_FUNCTIONS:
            raise InputError(
                f'loss must be "logistic" or "square"; got {loss!r:.80}. "logistic" is for votes that '
                'probabilities are made of, "square" is the paper\'s.'
            )
        self._loss: Literal["logistic", "square"] = loss
        self._kept: tuple[Floats, float, Floats] | None = None  # of θ now: differences, their sum, room for α

    @property
    def rate(self) -> float | Literal["auto"]:
        """The learning rate η, as it was given."""
        return self._rate

    @property
    def norm(self) -> float:
        """U."""
        return self._norm

    @property
    def loss(self) -> Literal["logistic", "square"]:
        """Which loss the steps reduce."""
        return self._loss

    def _weights(self) -> Floats:
        alpha = np.zeros(self.n_hypotheses)
        eg_alpha(self._values, self._norm, alpha)
        return alpha

    def advance(self, rows: Int8s, weights: Floats, labels: Int8s | None) -> Floats:
        """Take in examples that have been checked, one by one, and give α, which must not be changed.

        Parameters
        ----------
        rows : int8 array of shape (n, J)
            Margins.
        weights : float64 array of shape (n,)
            Sample weights.
        labels : int8 array of shape (n,) or None
            The classes, ±1.

        Returns
        -------
        array of shape (J,)
            The weights after the last one.
        """
        if len(rows) != 1:
            return super().advance(rows, weights, labels)
        if self._kept is None:
            self._kept = np.zeros(self.n_hypotheses), 0.0, np.zeros(self.n_hypotheses)
        votes, together, alpha = self._kept
        how = (self._eta, self._norm, self._loss == "square")
        together = eg_advance(rows[0], weights[0], *how, self._values, votes, together, alpha)
        self._kept = votes, together, alpha
        self._n += 1
        self._guard._present = None
        return alpha

    def _learn(self, rows: Int8s, weights: Floats, labels: Int8s | None, batch_size: int) -> None:
        self._kept = None
        votes, steps = np.zeros(self.n_hypotheses), np.zeros(self.n_hypotheses)
        square = self._loss == "square"
        eg_batches(rows, weights, batch_size, self._eta, self._norm, square, self._values, votes, steps)
