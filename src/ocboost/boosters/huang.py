"""Huang and others' incremental boosting: the past as a product of chances, the present as examples."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import MAX_SETTING, as_array, as_count, as_number
from ocboost._core.codec import Fields, Tree
from ocboost._core.locks import reads
from ocboost._kernels.arrays import Floats, Int8s, Ints
from ocboost._kernels.bits import first_not_a_margin
from ocboost._kernels.huang import (
    MAX_ALPHA,
    Examples,
    HuangSettings,
    Past,
    Point,
    Recent,
    Work,
    add_to_past,
    evaluate,
    learn,
)
from ocboost.boosters.adaboost import adaboost_weights
from ocboost.boosters.base import FORGETTING_ADVICE, SMOOTHING_ADVICE, KernelBooster
from ocboost.errors import InputError

_SHARE_ADVICE = "It is the window's share of the loss: 0 keeps the past alone, 1 looks at the window alone."
_EVERY_ADVICE = "1 descends after each example; more saves time."


class HuangBooster(KernelBooster):
    """Incremental boosting after Huang and others, over the margins of J fixed hypotheses.

    The loss mixes the exponential losses of the past (offline) and of a window of examples (online),

        L(α) = (1 - β) L_off(α) + β L_on(α).

    The examples of the past are gone; what is kept is each class' share P_l and the chance p_jl that
    hypothesis j is right on it, and their loss is estimated as if the answers were independent within a
    class (naive Bayes):

        L_off = Σ_l P_l Π_j (p_jl e^{-α_j} + (1 - p_jl) e^{α_j}),
        L_on = Σ_i w_i e^{-Σ_j α_j m_ij} / Σ_i w_i.

    α follows the steepest descent of L, from where it was.

    Parameters
    ----------
    n_hypotheses : int
        J.
    share : float, default 0.8
        β, from 0 to 1. It holds once either part is worth a window of examples; before, a part counts in
        proportion to its weight: ``β min(1, Σw_on / window)`` against ``(1 - β) min(1, Σw_off / window)``.
    window : int, default 500
        Examples kept, as int8: ``window · J`` bytes.
    absorb : bool, default True
        Whether an example that leaves the window joins the past's sums; else it is dropped and the past
        stays as it was given.
    every : int, default 10
        α descends after each example whose number is a multiple of it, and after the first ones, up to that
        number. Reading α changes nothing: it is the one of the last descent.
    max_steps : int, default 20
        Steps of one descent at most.
    tolerance : float, default 1e-3
        A descent ends where no entry of the gradient of log L is larger.
    smoothing : float, default 1.0
        ε, in units of sample weight. In both parts every margin counts as its opposite with a chance of
        ``ε / (Σw + 2 ε)``, Σw being that of both; see Notes.
    forgetting : float, default 1.0
        λ in (0, 1], as in `BoostingSketch`: what both parts hold weighs λ times as much after each example.

    Notes
    -----
    C. Huang, H. Ai, T. Yamashita, S. Lao and M. Kawade, "Incremental Learning of Boosted Face Detector" (ICCV
    2007), as described in section 2 of the paper that this library follows. Its weak hypotheses partition
    their domain, and an output for each part is adjusted; here a hypothesis answers ±1 and has one weight.
    The window, ``absorb``, the proportion while a part is small, smoothing, forgetting and the length of the
    steps are ours.

    Each of the terms that L sums is the exponential of a convex function, so log L is convex, and so is L.
    With ε > 0 log L is strictly convex and grows in every direction: there is one minimum, it is finite, and
    descent gets there. The gradients of L and log L have the same direction, so this is L's steepest descent;
    log L cannot overflow. The length of a step is Barzilai and Borwein's, halved until the loss goes down
    enough (Armijo). With ε = 0 there may be no minimum; α then stays within ±350.

    Smoothing gives ``α_j = ½ log((W⁺_j + ε) / (W⁻_j + ε))`` for a single hypothesis, as in
    `adaboost_weights`, and for the past alone if it is of one class. With β = 1 and a window that holds
    everything, α minimises the exponential loss over all coordinates. AdaBoost's α does not: it goes through
    them once.

    Where hypotheses agree more than by chance, as boosted ones do, the product counts them again and again:
    the past alone then gives a worse α than AdaBoost. `from_alpha` has a past whose minimum is a given α.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> margins = np.where(rng.random((2000, 3)) < [0.8, 0.7, 0.6], 1, -1)
    >>> booster = HuangBooster.from_margins(margins[:1000])
    >>> booster.update_many(margins[1000:])
    >>> booster.alpha.round(1)
    array([0.7, 0.5, 0.1])
    """

    kind = "HuangBooster"
    settings = ("window", *HuangSettings._fields)

    def __init__(
        self,
        n_hypotheses: int,
        *,
        share: float = 0.8,
        window: int = 500,
        absorb: bool = True,
        every: int = 10,
        max_steps: int = 20,
        tolerance: float = 1e-3,
        smoothing: float = 1.0,
        forgetting: float = 1.0,
    ) -> None:
        super().__init__(n_hypotheses)
        if not isinstance(absorb, bool | np.bool_):
            raise InputError(f"absorb must be True or False; got {absorb!r:.80}. False drops what leaves.")
        ends = "It bounds the gradient where a descent ends; 0 takes all the steps."
        self._how = HuangSettings(
            share=as_number(share, "share", 0.0, 1.0, _SHARE_ADVICE),
            absorb=bool(absorb),
            every=as_count(every, "every", 1, MAX_SETTING, _EVERY_ADVICE),
            max_steps=as_count(max_steps, "max_steps", 1, MAX_SETTING, "20 is the usual choice."),
            tolerance=as_number(tolerance, "tolerance", 0.0, np.inf, ends),
            smoothing=as_number(smoothing, "smoothing", 0.0, np.inf, SMOOTHING_ADVICE),
            forgetting=as_number(forgetting, "forgetting", 0.0, 1.0, FORGETTING_ADVICE, low_open=True),
        )
        J, n = (
            self.n_hypotheses,
            as_count(window, "window", 1, MAX_SETTING, "It is the number of examples kept."),
        )
        self._point = Point(alpha=np.zeros(J), length=np.ones(1))
        self._past = Past(right=np.full((2, J), 0.5), log_mass=np.full(2, -np.inf))
        self._recent = Recent(
            rows=np.zeros((n, J), np.int8),
            log_weight=np.zeros(n),
            born=np.zeros(n, np.int64),
            group=np.zeros(n, np.int64),
            counts=np.zeros(3, np.int64),
        )
        self._work = Work(*(np.zeros(size) for size in (J, J, n + 2, n + 2, J, J, J, J)))

    @property
    def given_settings(self) -> dict[str, Any]:
        """Its settings by name."""
        return {"window": len(self._recent.rows), **self._how._asdict()}

    @property
    def _state(self) -> dict[str, NDArray[Any]]:
        return {**self._past._asdict(), **self._recent._asdict(), **self._point._asdict()}

    @property
    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return (*super()._arrays, *self._work)  # its room to work takes about as much

    @property
    def smoothing(self) -> float:
        """The smoothing ε."""
        return self._how.smoothing

    @property
    def forgetting(self) -> float:
        """The forgetting λ."""
        return self._how.forgetting

    def _weights(self) -> Floats:
        return self._point.alpha.copy()

    def objective(self, alpha: ArrayLike | None = None) -> float:
        """The loss, log L.

        Parameters
        ----------
        alpha : array of shape (J,), optional
            The present weights if left out.

        Returns
        -------
        float
            0 where there is nothing to learn from yet.
        """
        return self._evaluate(alpha)[0]

    def gradient(self, alpha: ArrayLike | None = None) -> Floats:
        """The gradient of log L.

        Parameters
        ----------
        alpha : array of shape (J,), optional
            The present weights if left out.

        Returns
        -------
        array of shape (J,)
            In float64.
        """
        return self._evaluate(alpha)[1]

    @reads
    def _evaluate(self, alpha: ArrayLike | None) -> tuple[float, Floats]:
        at = self._point.alpha if alpha is None else _as_alpha(alpha, self.n_hypotheses)
        gradient = np.zeros(self.n_hypotheses)
        result = evaluate(self._how, self._past, self._recent, self._work, at, gradient)
        return float(result), gradient

    def _begin(self, rows: Int8s, weights: Floats, labels: Int8s | None) -> None:
        """Start from examples of the past: their P_l and p_jl, and AdaBoost's α of them."""
        examples = Examples(rows, weights, _groups(labels, len(rows)))
        add_to_past(examples, self._how, self._past, self._recent.counts)
        self._n = len(rows)
        present = weights * self._how.forgetting ** np.arange(len(rows) - 1, -1, -1.0)
        alpha = adaboost_weights(rows, smoothing=self._how.smoothing, sample_weight=present)
        self._point.alpha[:] = np.clip(alpha, -MAX_ALPHA, MAX_ALPHA)

    @classmethod
    def from_alpha(
        cls,
        alpha: ArrayLike,
        *,
        p: ArrayLike | None = None,
        prior: float = 0.5,
        worth: float | None = None,
        **parameters: Any,
    ) -> Self:
        """Start from a model in use, whose examples are gone.

        Parameters
        ----------
        alpha : array of shape (J,)
            The weights it has.
        p : array of shape (J,) or (2, J), optional
            The chance that each hypothesis is right; two rows are for the classes +1 and -1. Left out, they
            are such that ``alpha`` is the minimum of the past's loss: ``1 / (1 + exp(-2 α_j))``, smoothing
            included. For AdaBoost's α these are the chances under AdaBoost's own weights.
        prior : float, default 0.5
            The share of class +1, where ``p`` has two rows.
        worth : float, optional
            How many examples of weight one the past stands for; a window of them if left out.
        **parameters
            Those of the class, without ``n_hypotheses``.

        Returns
        -------
        HuangBooster
            It begins with these weights.

        Raises
        ------
        InputError
            If ``alpha`` or ``p`` has another shape, or ``p`` is not between 0 and 1.
        """
        weights = _as_alpha(alpha)
        booster = cls(len(weights), **parameters)
        J, past = booster.n_hypotheses, booster._past
        total = len(booster._recent.rows) if worth is None else worth
        total = as_number(total, "worth", 0.0, np.inf, "It is a number of examples.", low_open=True)
        prior = as_number(prior, "prior", 0.0, 1.0, "It is the share of class +1.")
        if p is None:
            q = booster._how.smoothing / (total + 2.0 * booster._how.smoothing)
            chances = 0.5 + 0.5 * np.tanh(weights)  # 1 / (1 + exp(-2 α))
            p = np.clip((chances - q) / (1.0 - 2.0 * q), 0.0, 1.0)
        given = as_array(p)
        if given.shape not in ((J,), (2, J)) or given.dtype.kind not in "iuf":
            raise InputError(
                f"p must be numbers of shape ({J},) or (2, {J}); got shape {given.shape} and dtype "
                f"{given.dtype}. Give the chance of each hypothesis to be right, in one row for each class."
            )
        strange = ~((given >= 0) & (given <= 1))  # NaN too
        if strange.any():
            raise InputError(
                f"p must lie from 0 to 1; got {given[strange][0]}. It is a chance of being right; leave p "
                "out if none is known."
            )
        masses = np.array([total, 0.0] if given.ndim == 1 else [prior * total, (1.0 - prior) * total])
        past.right[: 1 if given.ndim == 1 else 2] = given
        past.log_mass[masses > 0.0] = np.log(masses[masses > 0.0])
        booster._point.alpha[:] = weights
        return booster

    def _cost(self, batch_size: int) -> float:
        descent = 2 * min(self._how.max_steps, 1000) * (len(self._recent.rows) + 50)
        return self.n_hypotheses * (1.0 + descent * min(1.0 / batch_size, 1.0 / self._how.every))

    def _learn(self, rows: Int8s, weights: Floats, labels: Int8s | None, batch_size: int) -> None:
        examples = Examples(rows, weights, _groups(labels, len(rows)))
        learn(examples, batch_size, self._how, self._past, self._recent, self._work, self._point)

    @reads
    def tree(self) -> Tree:
        """What a file holds.

        Returns
        -------
        dict
            Plain values and arrays, by name.
        """
        return {"n_hypotheses": self.n_hypotheses, **self.given_settings, **self._state}

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """A booster of what `tree` gave.

        Parameters
        ----------
        fields : mapping
            What `tree` gave.

        Returns
        -------
        Booster
            It learns on exactly as that one would have.
        """
        J, window = fields.count("n_hypotheses", 1), fields.count("window", 1)
        fields.require(fields.size("rows") == window * J, "window and n_hypotheses do not fit its arrays")
        booster = fields.make(
            cls, J, window=window, **{name: fields.plain(name) for name in HuangSettings._fields}
        )
        fields.fill(booster._state)
        booster._check(fields)
        booster._n = int(booster._recent.counts[0])
        return booster

    def _check(self, fields: Fields) -> None:
        past, recent, point = self._past, self._recent, self._point
        window = len(recent.rows)
        seen, held, oldest = (int(count) for count in recent.counts)
        fields.require(0 <= held <= min(seen, window), "its counts make no sense")
        in_place = 0 <= oldest < window if held == window else oldest == 0
        fields.require(in_place, "its ring is torn")
        fields.require(first_not_a_margin(recent.rows[:held].reshape(-1)) < 0, "rows must be -1 and +1")
        log_weight, born, group = recent.log_weight[:held], recent.born[:held], recent.group[:held]
        fields.require((np.abs(log_weight) < 800).all(), "log_weight must be that of a double")
        fields.require(((born >= 1) & (born <= seen)).all(), "born must be numbers of examples")
        fields.require(((group == 0) | (group == 1)).all(), "group must be 0 or 1")
        fields.require(((past.right >= 0) & (past.right <= 1)).all(), "right must lie from 0 to 1")
        fields.require((past.log_mass < 800).all(), "log_mass must be the log of a sum of weights")
        fields.require((np.abs(point.alpha) <= MAX_ALPHA).all(), f"alpha must lie within ±{MAX_ALPHA:g}")
        fields.require(1e-6 <= point.length[0] <= 1e6, "length must be that of a step")


def _groups(labels: Int8s | None, n: int) -> Ints:
    """Classes as 0 for +1 and 1 for -1; None is all of one."""
    return np.zeros(n, np.int64) if labels is None else (labels < 0).astype(np.int64)


def _as_alpha(alpha: ArrayLike, n_hypotheses: int | None = None) -> Floats:
    given = as_array(alpha)
    size = "J" if n_hypotheses is None else n_hypotheses
    if given.ndim != 1 or given.size != (n_hypotheses or given.size) or given.dtype.kind not in "iuf":
        raise InputError(
            f"alpha must be numbers of shape ({size},); got shape {given.shape} and dtype {given.dtype}. "
            "Give one weight for each hypothesis."
        )
    weights = np.ascontiguousarray(given, dtype=np.float64)
    strange = ~(np.abs(weights) <= MAX_ALPHA)  # NaN too
    if strange.any():
        raise InputError(
            f"alpha must be finite and within ±{MAX_ALPHA:g}; got {weights[strange][0]} for hypothesis "
            f"{int(np.argmax(strange))}. A hypothesis that has no weight has 0; scale larger ones down."
        )
    return weights
