"""Rows of many keys, scored by the deployed weights, the common ones and each key's own, and learnt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ocboost._core.threads import get_num_threads, run
from ocboost._kernels.answers import tally_rows
from ocboost._kernels.arrays import Bytes, Flags, Floats, Int8s, Ints, Words
from ocboost._kernels.fleet import (
    Boosters,
    KeyRoom,
    KeyRows,
    KeyStates,
    Trust,
    add_scores,
    visit_keys,
)
from ocboost.estimators.classifier import OCBClassifier
from ocboost.fleet.record import ExampleCode, KeyState
from ocboost.fleet.state import cells_of

# Examples that draw a key's own weights towards 0, and so its weights towards the common ones.
SMOOTHING = 60.0
DECAY = 0.97  # of a key's evidence, and of how often it was right lately, with each of its rows
TRUST_MEMORY = 0.9999
TRUST_RIDGE = 30.0
MIN_KEYS_FOR_THREADS = 64


@dataclass
class Scored:
    """What came out of some rows: their votes, the deployed model's, and their keys after them."""

    votes: Floats  # (n, C)
    deployed: Floats  # (n, C)
    keys: KeyStates
    deltas: Floats  # (keys, weights): the own weights of each key, if they were wanted


class Scorer:
    """What never changes in a fleet: the hypotheses, the deployed weights, and the size of the windows."""

    def __init__(self, clf: OCBClassifier, window: int) -> None:
        view = clf.committee_.view()
        self.hypotheses, self.columns, self.deployed = view.hypotheses, view.columns, view.alphas
        self.window = window
        self.code = ExampleCode(len(self.hypotheses), len(clf.classes_))
        self.sizes = [c.stop - c.start for c in self.columns]
        self._first = np.array([c.start for c in self.columns], np.int64)
        self._base = np.append(0, np.cumsum(np.array(self.sizes) + 1))

    @property
    def n_weights(self) -> int:
        """Weights of a key: one for each hypothesis of each booster, and a bias for each booster."""
        return int(self._base[-1])

    def parts(self, weights: Floats) -> list[Floats]:
        """A key's weights for each booster, the bias last."""
        return [weights[a:b] for a, b in zip(self._base[:-1], self._base[1:], strict=True)]

    def joined(self, alphas: list[Floats]) -> Floats:
        """The inverse of `parts`, for weights without a bias."""
        return np.concatenate([part for alpha in alphas for part in (alpha, np.zeros(1))])

    def new_keys(self, states: list[KeyState | None]) -> KeyStates:
        """The keys of a visit, from what the store has of them."""
        n = len(states)
        keys = KeyStates(
            np.empty((n, self.window, self.code.n_bytes), np.uint8), np.zeros(n, np.int64), np.zeros(n)
        )
        for k, state in enumerate(states):
            if state is not None:
                keys.windows[k, : len(state.examples)] = state.examples
                keys.seen[k], keys.evidence[k] = state.seen, state.evidence
        return keys

    def score(
        self,
        keys: KeyStates,
        starts: Ints,
        order: Ints,
        answers: Int8s,
        codes: Ints | None,
        packed: Bytes | None,
        alphas: list[Floats],
        trust: Trust,
        *,
        trust_learns: bool = True,
        weights_too: bool = False,
    ) -> Scored:
        """The votes of rows, each before it is learnt; they are learnt, in order, if they have codes.

        ``keys``, and ``trust`` if it learns too, change in place then. Rows of key k are
        ``order[starts[k] : starts[k + 1]]``.
        """
        n, C = len(answers), len(self.columns)
        learning = codes is not None
        deployed, common = self._votes(answers, self.deployed), self._votes(answers, alphas)
        rows = KeyRows(
            starts=starts,
            order=order,
            answers=answers,
            codes=np.zeros(n, np.int64) if codes is None else codes,
            packed=np.zeros((0, self.code.n_bytes), np.uint8) if packed is None else packed,
            common=common,
            own=np.empty((n, C)),
            seen=np.empty(n, np.int64),
            evidence=np.empty(n),
        )
        deltas = np.zeros((len(keys.seen), self.n_weights) if weights_too else (0, 0))
        self._visit(keys, rows, alphas, learning, deltas)
        scores = np.stack([common, deployed - common, rows.own], axis=2)
        votes = np.empty((n, C))
        how = (TRUST_MEMORY, TRUST_RIDGE, learning and trust_learns)
        add_scores(scores, cells_of(rows.seen, rows.evidence), rows.codes, trust, *how, votes)
        return Scored(votes, deployed, keys, deltas)

    def _votes(self, answers: Int8s, alphas: list[Floats]) -> Floats:
        """The votes with weights that all keys share, (n, C)."""
        votes = np.empty((len(self.columns), len(answers)))
        for first, alpha, total in zip(self._first, alphas, votes, strict=True):
            tally_rows(answers, first, alpha, total)
        return np.ascontiguousarray(votes.T)

    def _visit(
        self, keys: KeyStates, rows: KeyRows, alphas: list[Floats], learning: bool, deltas: Floats
    ) -> None:
        """Visit the keys, in several threads if there are many."""
        n = len(keys.seen)
        boosters = Boosters(self._first, self._base, self.joined(alphas))
        n_parts = min(get_num_threads(), -(-n // MIN_KEYS_FOR_THREADS))
        ends = np.linspace(0, n, n_parts + 1).astype(np.int64).tolist()

        def visit(part: int) -> None:
            words, room = self._room()
            visit_keys(
                ends[part],
                ends[part + 1],
                keys,
                rows,
                boosters,
                SMOOTHING,
                DECAY,
                learning,
                words,
                room,
                deltas,
            )

        if n_parts == 1:
            visit(0)
        elif n_parts:
            run(visit, range(n_parts))

    def _room(self) -> tuple[Words, KeyRoom]:
        blocks, C, M = (self.window + 63) // 64, len(self.columns), self.n_weights
        words = np.zeros(64 * -(-8 * self.code.n_bytes // 64), np.uint64)
        room = KeyRoom(
            margins=np.zeros((blocks, M), np.uint64),
            by_example=np.zeros(128, np.uint64),
            common=np.zeros((C, 64 * blocks)),
            d=np.zeros(64 * blocks),
            delta=np.zeros(M),
            sums=np.zeros(2),
        )
        return words, room

    def weights(self, keys: KeyStates, alphas: list[Floats], trust: Trust) -> Floats:
        """The weights that each key votes with, (keys, weights)."""
        n = len(keys.seen)
        starts, order = np.zeros(n + 1, np.int64), np.zeros(0, np.int64)
        answers = np.zeros((0, len(self.hypotheses)), np.int8)
        found = self.score(keys, starts, order, answers, None, None, alphas, trust, weights_too=True)
        beta = trust.beta[cells_of(keys.seen, keys.evidence)]
        common = self.joined(alphas)
        shared = np.stack([common, self.joined(self.deployed) - common])
        return beta[:, :2] @ shared + beta[:, 2:] * found.deltas


def key_after(
    before: KeyState | None, keys: KeyStates, k: int, right: Flags, deployed_right: Flags, window: int
) -> KeyState:
    """What is kept of a key after rows that the fleet, and the deployed model, had right or wrong."""
    hits, deployed_hits = (0.0, 0.0) if before is None else (before.right, before.deployed_right)
    for a, b in zip(right.tolist(), deployed_right.tolist(), strict=True):
        hits, deployed_hits = DECAY * hits + a, DECAY * deployed_hits + b
    seen = int(keys.seen[k])
    return KeyState(seen, float(keys.evidence[k]), hits, deployed_hits, keys.windows[k, : min(seen, window)])
