"""Boosters over the pool's hypotheses: each is an expert whose votes, doubled, are log-odds."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._kernels.answers import margins_of
from ocboost._kernels.arrays import Floats, Int8s
from ocboost._kernels.voting import scores_of_weights
from ocboost.boosters.base import Booster
from ocboost.boosters.registry import Registered
from ocboost.estimators.adaptive.members import Member, OneRow, PoolChange
from ocboost.estimators.committee import signs
from ocboost.streams.rows import Rows

FIXED = ("deployed", "ocb-forgetting")  # whose weights come from the pool


class Voting(Member):
    """Weightings of the same hypotheses by several boosters, one for each class beyond two.

    The first two are given by the pool: the weights that the model was deployed with, which never learn, and
    those of the OCB with forgetting that drives the growth. The others are ``boosters``, learnt here.
    """

    group = "voting"
    needs_pool = True

    def __init__(self, boosters: list[Registered], columns: list[slice]) -> None:
        self._registered = boosters
        self._columns = columns
        self.boosters: list[list[Booster]] = [
            [each.load().create(c.stop - c.start, _settings(each)) for c in columns] for each in boosters
        ]
        self._weights = np.zeros((len(FIXED) + len(boosters), sum(c.stop - c.start for c in columns)))
        self._arrange()

    def _arrange(self) -> None:
        """Where the weights and answers of each class are, and room for its margins."""
        sizes = [c.stop - c.start for c in self._columns]
        starts = np.cumsum([0, *sizes[:-1]])
        self._spans = np.array(
            [[a, c.start, n] for a, c, n in zip(starts, self._columns, sizes, strict=True)]
        )
        # For each class: where its answers begin, room for margins, and the weights of each booster.
        self._places = [
            (c.start, np.empty((1, n), np.int8), [row[at : at + n] for row in self._weights[len(FIXED) :]])
            for at, c, n in zip(starts.tolist(), self._columns, sizes, strict=True)
        ]
        self._one = np.ones(1)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_places"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._arrange()  # a pickle makes arrays of their own of views

    @property
    def experts(self) -> tuple[str, ...]:
        """What `ocboost compare` calls them."""
        return (*FIXED, *(each.name for each in self._registered))

    def set_fixed(self, place: int, alphas: list[Floats]) -> None:
        """Set the weights of "deployed" (0) or "ocb-forgetting" (1)."""
        for (at, _, n), alpha in zip(self._spans.tolist(), alphas, strict=True):
            self._weights[place, at : at + n] = alpha

    def combined(self, factors: Floats) -> list[Floats]:
        """The weights of all experts together, each times its factor, for each class."""
        total: Floats = factors @ self._weights
        return [total[at : at + n] for at, _, n in self._spans.tolist()]

    def scores(self, row: OneRow, out: Floats) -> None:
        """Twice the votes."""
        assert row.answers is not None
        scores_of_weights(self._weights, row.answers[0], self._spans, out)

    def learn(self, row: OneRow, code: int, weight: float) -> None:
        """Let each booster take in the margins."""
        assert row.answers is not None
        self._one[0] = weight
        codes, K = np.array([code]), len(self._columns)
        for k, (first, margins, targets) in enumerate(self._places):
            labels = signs(codes, k, K)
            margins_of(row.answers, first, labels, margins)
            for target, boosters in zip(targets, self.boosters, strict=True):
                target[:] = boosters[k].advance(margins, self._one, labels)

    def begin(self, rows: Rows, answers: Int8s | None) -> None:
        """Take in the first rows, in order."""
        assert answers is not None
        codes, weights, K = rows.codes, rows.weights, len(self._columns)
        for k, (at, first, n) in enumerate(self._spans.tolist()):
            labels, margins = signs(codes, k, K), np.empty((len(rows), n), np.int8)
            margins_of(answers, first, labels, margins)
            for m, boosters in enumerate(self.boosters, len(FIXED)):
                self._weights[m, at : at + n] = boosters[k].advance(margins, weights.copy(), labels)

    def follow(self, change: PoolChange) -> None:
        """Drop and append hypotheses. New ones begin without weight; a window knows its rows."""
        k, old = change.booster, self._spans
        at, _, size = old[k].tolist()
        gone = np.setdiff1d(np.arange(size), change.keep)
        for boosters in self.boosters:
            booster = boosters[k].without(gone) if gone.size else boosters[k]
            held = booster.n_head
            margins = np.empty((0, change.n_added), np.int8)
            if held:
                rows = change.recent[len(change.recent) - held :]
                added = change.hypotheses[change.columns[k]][size - gone.size :]
                margins = added.answers(rows.X) * signs(rows.codes, k, len(change.columns))[:, None]
            boosters[k] = booster.appended(margins)
        parts = [self._weights[:, a : a + n] for a, _, n in old.tolist()]
        parts[k] = np.concatenate(
            [parts[k][:, change.keep], np.zeros((len(self._weights), change.n_added))], 1
        )
        self._weights = np.concatenate(parts, axis=1)
        self._columns = change.columns
        self._arrange()
        at = int(self._spans[k, 0])
        for m, boosters in enumerate(self.boosters, len(FIXED)):
            self._weights[m, at : at + boosters[k].n_hypotheses] = boosters[k].alpha

    @property
    def _state(self) -> dict[str, NDArray[Any]]:
        return {"weights": self._weights}

    @property
    def nbytes(self) -> int:
        """Bytes of the weights and of the boosters."""
        return self._weights.nbytes + sum(b.nbytes for boosters in self.boosters for b in boosters)

    def copy(self) -> Self:
        """An independent copy."""
        other = type(self).__new__(type(self))
        other._registered, other._columns = self._registered, self._columns
        other.boosters = [[booster.copy() for booster in boosters] for boosters in self.boosters]
        other._weights = self._weights.copy()
        other._arrange()
        return other

    def tree(self) -> Tree:
        """What a file holds."""
        return {
            "weights": self._weights,
            "boosters": [
                {"name": each.name, "of": [booster.tree() for booster in boosters]}
                for each, boosters in zip(self._registered, self.boosters, strict=True)
            ],
        }

    def resume(self, fields: Fields) -> None:
        """Take over what a file holds."""
        super().resume(fields)
        ours = iter(self._registered)

        def read(one: Fields) -> list[Booster]:
            registered = next(ours)
            one.require(one.text("name") == registered.name, "its boosters are others than it says")
            found = one.read_all("of", registered.load().from_tree, len(self._columns))
            for booster, c in zip(found, self._columns, strict=True):
                fits = booster.n_hypotheses == c.stop - c.start and booster.has_settings(
                    _settings(registered)
                )
                one.require(fits, "a booster does not fit")
            return found

        self.boosters = fields.read_all("boosters", read, len(self._registered))


def _settings(registered: Registered) -> dict[str, Any]:
    """All settings of a registered booster."""
    kind = registered.load()
    return {**kind(1).given_settings, **registered.settings}
