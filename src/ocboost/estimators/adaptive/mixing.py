"""How the experts' predictions become one: calibration maps, mixers, fixed share, and a last calibration.

Each expert's logits go through a calibration map. Four mixers weigh the logits of all experts, two of the
calibrated and two of the plain ones, with a long and a short memory, by steps of online Newton. Fixed share
chooses among the mixers and the experts themselves. What comes out is calibrated once more. The kernels are
in `ocboost._kernels.mixing`, which describes the records.

Labels may be late. Everything learns from what was issued when the row was predicted, the less the later the
label; from the first late label on, four more mixers learn from logits made when the label comes.
"""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._kernels.arrays import Floats
from ocboost._kernels.calibration import FLOOR, N_KNOTS
from ocboost._kernels.mixing import (
    FINAL_PRIOR_COUNT,
    N_FINAL,
    N_MIXERS,
    PRIOR_COUNT,
    RHO,
    issue,
    learn_fresh,
    learn_issued,
)

SHARE_RATE = 0.001  # that goes back to the prior with each label
FINAL_SHARE_RATE = 1e-4
FINAL_SHARE_PRIOR = np.array([0.7, 0.1, 0.1, 0.1])
LAG_SCALE = 5.0  # a label that comes so many predictions late counts half
MAX_FINAL_LAG = 30.0  # mean lag beyond which the last calibration is left out
LAG_MEMORY = 100.0
MAX_MIX_WEIGHT = 100.0  # a heavier row counts as much in the mix
_ARRAYS = (
    "scales",
    "rates",
    "levels",
    "counts",
    "weights",
    "inverses",
    "share",
    "final",
    "final_rates",
    "final_levels",
    "final_counts",
    "final_share",
    "recent",
)


class Mixing:
    """The state of the mix of E experts over K classes.

    ``two_tracks`` says whether the second track of mixers has begun; ``mean_lag`` is how late labels are.
    """

    def __init__(self, n_experts: int, n_classes: int) -> None:
        E, K = n_experts, n_classes
        self.n_experts, self.n_classes = E, K
        self.two_tracks = False
        self.mean_lag = 0.0
        self.turn = 0  # labels learnt
        n_maps = 1 if K == 2 else K
        self.scales = np.tile([1.0, 10.0], (E, 1))
        self.rates = np.zeros((E, n_maps, N_KNOTS))
        self.levels = np.zeros((E, n_maps, N_KNOTS))
        self.counts = np.full((E, n_maps, N_KNOTS), PRIOR_COUNT)
        self.weights = np.full((N_MIXERS, E), 1.0 / E)
        self.inverses = np.stack([np.eye(E) / rho for rho in RHO])
        self.prior = _prior(N_MIXERS, E)
        self.share = self.prior.copy()
        self.final = np.array([1.0, 20.0, 1.0, 1.0, 10.0, 10.0])
        self.final_rates = np.zeros((n_maps + 1, N_KNOTS))
        self.final_levels = np.zeros((n_maps + 1, N_KNOTS))
        self.final_counts = np.full((n_maps + 1, N_KNOTS), FINAL_PRIOR_COUNT)
        self.final_share = FINAL_SHARE_PRIOR.copy()
        self.recent = np.zeros((E + 1, 3))
        self._make_room()

    def _make_room(self) -> None:
        self._room = np.zeros((6, max(self.n_experts, self.n_classes)))
        self._two_rows = np.zeros((2, self.n_classes))

    @property
    def n_mixers(self) -> int:
        """Four, or eight once labels have been late."""
        return 2 * N_MIXERS if self.two_tracks else N_MIXERS

    @property
    def record_rows(self) -> int:
        """How many rows a record has."""
        return 4 * self.n_experts + self.n_mixers + N_FINAL + 1

    @property
    def possible_record_rows(self) -> tuple[int, ...]:
        """How many rows a record may have: fewer if it was issued before the second track began."""
        now = self.record_rows
        return (now, now - N_MIXERS) if self.two_tracks else (now,)

    @property
    def has_final(self) -> bool:
        """Whether the last calibration is used: not where labels are very late."""
        return self.mean_lag <= MAX_FINAL_LAG

    def issue(self, record: Floats) -> None:
        """Complete a record whose first rows are the experts' scores; its last row is the prediction."""
        issue(
            record,
            self.n_experts,
            self.n_mixers,
            self.scales,
            self.levels,
            self.counts,
            self.weights,
            self.share,
            self.final,
            self.final_levels,
            self.final_counts,
            self.final_share,
            self._two_rows,
            self.has_final,
        )

    def learn(self, record: Floats, code: int, weight: float, lag: int) -> None:
        """Learn from a record as it was issued, ``lag`` predictions ago."""
        eta = 1.0 / (1.0 + lag / LAG_SCALE)
        weight = min(weight, MAX_MIX_WEIGHT)
        learn_issued(
            record,
            code,
            weight,
            eta,
            self.n_experts,
            self.n_mixers,
            self.turn,
            self.scales,
            self.rates,
            self.levels,
            self.counts,
            self.weights,
            self.inverses,
            self.share,
            self.prior,
            SHARE_RATE,
            self.final,
            self.final_rates,
            self.final_levels,
            self.final_counts,
            self.final_share,
            FINAL_SHARE_PRIOR,
            FINAL_SHARE_RATE,
            self.recent,
            self._room,
            self.has_final,
        )
        self.mean_lag += (lag - self.mean_lag) / LAG_MEMORY
        self.turn += 1

    def learn_fresh(self, record: Floats, code: int, weight: float) -> None:
        """Let the second track learn from a record made just now."""
        weight = min(weight, MAX_MIX_WEIGHT)
        learn_fresh(record, code, weight, self.n_experts, self.turn, self.weights, self.inverses, self._room)

    def begin_second_track(self) -> None:
        """Let clones of the mixers begin, each with half of the share."""
        M, share = N_MIXERS, self.share
        self.weights = np.concatenate([self.weights, self.weights])
        self.inverses = np.concatenate([self.inverses, self.inverses])
        self.share = np.concatenate([share[:M] / 2.0, share[:M] / 2.0, share[M:]])
        self.prior = _prior(2 * M, self.n_experts)
        self.two_tracks = True

    def with_two_tracks(self, record: Floats) -> Floats:
        """A record issued before the second track began, as if its mixers had been there."""
        first = 2 * self.n_experts
        mixers = record[first : first + N_MIXERS]
        return np.concatenate([record[: first + N_MIXERS], mixers, record[first + N_MIXERS :]])

    def only(self, expert: int) -> None:
        """Let one expert have all the share, as it is."""
        self.share[:] = 0.0
        self.share[self.n_mixers + self.n_experts + expert] = 1.0
        self.final_share[:] = [1.0, 0.0, 0.0, 0.0]

    def take_over(self, other: Mixing) -> None:
        """Take the maps and mixers of another mix of as many experts, but not its shares."""
        if other.two_tracks and not self.two_tracks:
            self.begin_second_track()
        for name in ("scales", "rates", "levels", "counts", "weights", "inverses"):
            setattr(self, name, getattr(other, name).copy())
        for name in ("final", "final_rates", "final_levels", "final_counts"):
            setattr(self, name, getattr(other, name).copy())

    def influence(self) -> Floats:
        """How much of the prediction is each expert's, summing to 1.

        Its own share, and its part of each mixer's share: by the size of its weight there, times its mean
        |logit|, as one that is never sure says little whatever its weight.
        """
        M, E = self.n_mixers, self.n_experts
        own = self.share[M : M + E] + self.share[M + E :]
        sizes = np.abs(self.weights) * self.scales[:, 0] + 1e-12
        through: Floats = self.share[:M] @ (sizes / sizes.sum(axis=1, keepdims=True))
        return own + through

    @property
    def nbytes(self) -> int:
        """Bytes of what it keeps."""
        return sum(getattr(self, name).nbytes for name in _ARRAYS)

    def copy(self) -> Self:
        """An independent copy."""
        return copy.deepcopy(self)

    def tree(self) -> Tree:
        """What a file holds."""
        arrays: dict[str, NDArray[Any]] = {name: getattr(self, name) for name in _ARRAYS}
        return {"two_tracks": self.two_tracks, "mean_lag": self.mean_lag, "turn": self.turn, **arrays}

    def resume(self, fields: Fields) -> None:
        """Take over what a file holds."""
        if fields.flag("two_tracks"):
            self.begin_second_track()
        self.mean_lag = fields.number("mean_lag", 0.0, 1e18)
        self.turn = fields.count("turn")
        arrays: dict[str, NDArray[Any]] = {name: getattr(self, name) for name in _ARRAYS}
        fields.fill(arrays)
        fields.require(all(np.isfinite(a).all() for a in arrays.values()), "its numbers must be finite")
        for name in ("share", "final_share"):
            share = getattr(self, name)
            fits = (share >= 0.0).all() and abs(share.sum() - 1.0) < 1e-6
            fields.require(bool(fits), f"{name} must sum to one")
        for name in ("scales", "counts", "final", "final_counts"):
            fields.require(bool((getattr(self, name) > 0.0).all()), f"{name} must be positive")
        for name in ("rates", "final_rates"):
            rates = getattr(self, name)
            fields.require(bool(((rates >= 0.0) & (rates <= 1.0)).all()), f"{name} must be shares")
        for name in ("levels", "final_levels"):
            fields.require(bool((np.abs(getattr(self, name)) <= FLOOR).all()), f"{name} must be logits")
        P = self.inverses
        fits = (np.diagonal(P, axis1=1, axis2=2) > 0.0).all() and np.allclose(P, P.transpose(0, 2, 1))
        fits = fits and max(np.abs(P).max(), np.abs(self.weights).max()) < 1e100
        fields.require(bool(fits), "its mixers do not fit")
        fields.require(0.1 <= self.final[0] <= 10.0, "its temperature does not fit")
        fields.require(bool((self.recent >= 0.0).all()), "recent must not be negative")


def _prior(n_mixers: int, n_experts: int) -> Floats:
    """Half of the share for the mixers, half for the experts as they are and calibrated."""
    mixers = np.full(n_mixers, 0.5 / n_mixers)
    return np.concatenate([mixers, np.full(2 * n_experts, 0.25 / n_experts)])
