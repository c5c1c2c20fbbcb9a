"""A fleet in plain loops: everything is computed anew, from all examples, whenever it is needed."""

from __future__ import annotations

import math

import numpy as np

REFRESH, SMOOTHING, DECAY = 500, 60.0, 0.97
MEMORY, RIDGE = 0.9999, 30.0
EVIDENCE = (-2.0, 2.0, 8.0)


def own_weights(margins, common, smoothing=SMOOTHING):
    """δ of a window: AdaBoost on margins (n, J + 1), begun at exp(-common), in the order of j."""
    J = margins.shape[1]
    delta = np.zeros(J)
    if not len(margins):
        return delta
    log_d = -np.array(common, dtype=float)
    for j in range(J):
        d = np.exp(log_d - log_d.max())
        plus, minus = d[margins[:, j] > 0].sum(), d[margins[:, j] < 0].sum()
        extra = smoothing * (plus + minus) / len(margins)
        delta[j] = 0.5 * math.log((plus + extra) / (minus + extra))
        log_d -= delta[j] * margins[:, j]
    return delta


def cell_of(seen, evidence):
    age = min(int(math.log2(seen + 1)), 9)
    return 4 * age + sum(evidence >= edge for edge in EVIDENCE)


def loss(margin):
    return float(np.logaddexp(0.0, -2.0 * margin))


class NaiveKey:
    def __init__(self):
        self.answers, self.codes, self.evidence = [], [], 0.0


class NaiveFleet:
    """Learns one row after the other; ``common_after(rows)`` gives the common weights of each booster."""

    def __init__(self, columns, deployed, window, common_after):
        self.columns, self.deployed, self.window = columns, deployed, window
        self.common_after = common_after
        self.keys, self.rows = {}, []
        self.beta = np.tile([1.0, 0.0, 0.5], (40, 1))
        self.gram = np.zeros((40, 3, 3))
        self.alphas = [alpha.copy() for alpha in deployed]

    def _sign(self, code, c):
        return 1 if code == (1 if len(self.columns) == 1 else c) else -1

    def scores(self, key, h):
        """Of each booster: by the common weights, what the deployed ones add, and what the key's own add."""
        state, found = self.keys.get(key, NaiveKey()), []
        for c, column in enumerate(self.columns):
            alpha, own = self.alphas[c], 0.0
            recent = list(zip(state.answers, state.codes, strict=True))[-self.window :]
            if recent:
                signs = np.array([self._sign(code, c) for _, code in recent])
                answers = np.array([a[column] for a, _ in recent])
                margins = np.hstack([answers, np.ones((len(recent), 1))]) * signs[:, None]
                delta = own_weights(margins, margins[:, :-1] @ alpha)
                own = float(delta[:-1] @ h[column] + delta[-1])
            common = float(alpha @ h[column])
            found.append((common, float(self.deployed[c] @ h[column]) - common, own))
        return np.array(found)

    def votes(self, key, h):
        state = self.keys.get(key, NaiveKey())
        return self.scores(key, h) @ self.beta[cell_of(len(state.codes), state.evidence)]

    def learn(self, key, h, code):
        """The votes, and then the row is learnt."""
        state = self.keys.setdefault(key, NaiveKey())
        scores = self.scores(key, h)
        cell = cell_of(len(state.codes), state.evidence)
        votes = scores @ self.beta[cell]
        gain = 0.0
        for c, f in enumerate(scores):
            sign = self._sign(code, c)
            gain += loss(sign * f[0]) - loss(sign * (f[0] + f[2]))
            p = 1.0 / (1.0 + math.exp(-2.0 * votes[c]))
            self.gram[cell] = MEMORY * self.gram[cell] + np.outer(f, f)
            slope = 2.0 * ((sign > 0) - p)
            self.beta[cell] += np.linalg.solve(self.gram[cell] + RIDGE * np.eye(3), slope * f)
        state.evidence = DECAY * state.evidence + gain
        state.answers.append(h)
        state.codes.append(code)
        self.rows.append((h, code))
        if len(self.rows) % REFRESH == 0:
            self.alphas = self.common_after(self.rows[-REFRESH:])
        return votes
