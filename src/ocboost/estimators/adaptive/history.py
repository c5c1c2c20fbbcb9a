"""The shares of the members through time: a table of now, and a plot of the past."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from ocboost._core.codec import Fields, Tree
from ocboost._kernels.arrays import Floats

MAX_POINTS = 400  # then every second one is dropped
FIRST_DISTANCE = 20  # labels between two points at first


class MemberStatus(NamedTuple):
    """One line of ``members_``: an expert, its share in the prediction, and how it has done lately."""

    name: str
    share: float
    accuracy: float  # over about the last 1,000 labels; NaN before the first
    log_loss: float


class MembersTable(list[MemberStatus]):
    """The experts of an adaptive classifier, the largest share first; it prints as a table."""

    def __repr__(self) -> str:
        lines = [f"{'member':<24} {'share':>6} {'accuracy':>9} {'log-loss':>9}"]
        for m in self:
            lately = (
                f"{'–':>9} {'–':>9}" if m.accuracy != m.accuracy else f"{m.accuracy:>9.1%} {m.log_loss:>9.3f}"
            )
            lines.append(f"{m.name:<24} {m.share:>6.1%} {lately}")
        return "\n".join(lines)


class ShareHistory:
    """The shares of the experts after so many labels, at most 400 points of them."""

    def __init__(self, n_experts: int) -> None:
        self._every, self._n_experts = FIRST_DISTANCE, n_experts
        self.labels: list[int] = []
        self.shares: list[Floats] = []

    def due(self, n_learnt: int) -> bool:
        """Whether a point belongs here."""
        return n_learnt % self._every == 0

    def add(self, n_learnt: int, shares: Floats) -> None:
        """Add a point."""
        self.labels.append(n_learnt)
        self.shares.append(shares)
        if len(self.labels) > MAX_POINTS:
            self._every *= 2
            held = [i for i, n in enumerate(self.labels) if n % self._every == 0]
            self.labels, self.shares = [self.labels[i] for i in held], [self.shares[i] for i in held]

    @property
    def table(self) -> Floats:
        """The shares, (points, experts)."""
        return np.array(self.shares) if self.shares else np.zeros((0, self._n_experts))

    def copy(self) -> Self:
        """An independent copy."""
        other = type(self)(self._n_experts)
        other._every, other.labels, other.shares = self._every, list(self.labels), list(self.shares)
        return other

    def tree(self) -> Tree:
        """What a file holds."""
        return {"every": self._every, "labels": np.array(self.labels, np.int64), "shares": self.table}

    def resume(self, fields: Fields) -> None:
        """Take over what a file holds."""
        self._every = fields.count("every", 1)
        labels = fields.array("labels", np.int64, (None,))
        fields.require(len(labels) <= MAX_POINTS, "it has too many points")
        ordered = len(labels) == 0 or (labels[0] >= 0 and (np.diff(labels) > 0).all())
        fields.require(bool(ordered), "its points are out of order")
        shares = fields.array("shares", np.float64, (len(labels), self._n_experts))
        fields.require(bool(np.isfinite(shares).all()), "shares must be finite")
        self.labels, self.shares = labels.tolist(), list(shares)


def plot(names: list[str], history: ShareHistory, ax: Any = None, most: int = 8) -> Any:
    """Draw the shares as areas on top of one another; members with little share are drawn as one."""
    from ocboost.errors import MissingExtraError

    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as error:
        raise MissingExtraError("matplotlib", "plot", "Drawing the shares") from error
    if ax is None:
        _, ax = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    table = history.table
    order = np.argsort(-table.mean(axis=0), kind="stable") if len(table) else np.arange(len(names))
    first, rest = order[:most], order[most:]
    layers = [table[:, e] for e in first]
    labels = [names[e] for e in first]
    if rest.size:
        layers.append(table[:, rest].sum(axis=1))
        labels.append(f"{rest.size} others")
    colours = [f"C{i if i < 7 else i + 1}" for i in range(len(first))]  # C7 is grey, as the others are
    ax.stackplot(history.labels, *layers, labels=labels, colors=[*colours, "0.8"], linewidth=0)
    ax.set(xlabel="labels learnt", ylabel="share of the prediction", ylim=(0, 1))
    if history.labels:
        ax.set_xlim(history.labels[0], max(history.labels[-1], history.labels[0] + 1))
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, reverse=True)
    return ax
