"""The plain twin of the sketch that keeps heavy examples: loops straight from the rule, nothing shared.

Heavy examples are kept exactly. The others are *light*: their sums L are carried by a weighted sample of
them, and differences of pairs (float16) correct the sample. Weights are ordinary floats here.
"""

from __future__ import annotations

import math

import numpy as np

from naive import SIGNS, smoothed_alpha, unit_weights

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
COUNT = 2.0**28  # pairs are summed in whole numbers of 1 / COUNT, so that the order of adding is no matter


def rank_key(q):
    """q with 32 binary digits: what differs by rounding alone is a tie, and the older goes first."""
    return (int(np.float64(q).view(np.int64)) + (1 << 19)) >> 20


class NaiveCarried:
    def __init__(self, n_hypotheses, *, head, first_head=None, pairs=True, smoothing=1.0, forgetting=1.0):
        self.J, self.H, self.pairs = n_hypotheses, head, pairs
        self.first_H = first_head or head
        self.smoothing, self.forgetting = smoothing, forgetting
        self.exact, self.light = [], []  # [margins, weight], oldest first
        self.L = {s: np.zeros(self.J) for s in SIGNS}  # the light examples' sums at the anchor
        self.A = {s: np.zeros(self.J) for s in SIGNS}  # their sample's
        self.anchor = np.zeros(self.J)
        self.delta = {s: np.zeros((self.J, self.J)) for s in SIGNS}
        self.n_seen = self.folds = 0

    @property
    def n_head(self):
        return len(self.exact) + len(self.light)

    def decay(self, factor):
        for example in self.exact + self.light:
            example[1] *= factor
        for s in SIGNS:
            self.L[s] *= factor
            self.A[s] *= factor

    def update_many(self, margins, *, batch_size=1, sample_weight=None):
        weights = unit_weights(margins, sample_weight)
        for start in range(0, len(margins), batch_size):
            for row, weight in zip(margins[start:], weights[start : start + batch_size], strict=False):
                self.decay(self.forgetting)
                self.exact.append([np.array(row, dtype=float), float(weight)])
                self.n_seen += 1
                if self.n_head == max(self.room, batch_size):
                    self._fold()
            if self.n_head >= self.room:
                self._fold()

    @property
    def room(self):
        return self.H if self.folds else self.first_H

    @property
    def alpha(self):
        return self._solve()[0]

    def _solve(self):
        """α, the light sums at it, those of the sample, and all examples' d (light ones first)."""
        examples = self.light + self.exact
        n_light = len(self.light)
        d = np.zeros((len(examples), self.J + 1))
        d[:, 0] = [w for _, w in examples]
        m = np.array([row for row, _ in examples]).reshape(-1, self.J)
        T = self.L[+1][0] + self.L[-1][0]
        total = T + d[n_light:, 0].sum()
        alpha = np.zeros(self.J)
        est, S = ({s: np.zeros(self.J) for s in SIGNS} for _ in range(2))
        W = np.zeros(self.J)
        for j in range(self.J):
            for s in SIGNS:
                S[s][j] = sum(d[i, j] for i in range(n_light) if m[i, j] == s)
            for s in SIGNS:
                if self.A[s][j] > 0:
                    ratio = S[s][j] / self.A[s][j]
                elif self.A[-s][j] > 0:  # the sample has none of this sign: the others stand in
                    ratio = S[-s][j] / self.A[-s][j]
                else:
                    ratio = 1.0
                shift = sum(self.delta[s][j, k] * (alpha[k] - self.anchor[k]) for k in range(j))
                est[s][j] = self.L[s][j] * ratio * math.exp(min(max(-2 * s * shift, -3.0), 3.0))
            both = est[+1][j] + est[-1][j]
            for s in SIGNS:
                if both > 0:
                    est[s][j] *= T / both
            sums = {s: est[s][j] + d[n_light:, j][m[n_light:, j] == s].sum() for s in SIGNS}
            W[j] = sums[+1] + sums[-1]
            alpha[j] = smoothed_alpha(sums[+1], sums[-1], self.smoothing, total)
            T = est[+1][j] * math.exp(-alpha[j]) + est[-1][j] * math.exp(alpha[j])
            d[:, j + 1] = d[:, j] * np.exp(-alpha[j] * m[:, j])
        return alpha, est, S, W, d, m

    def scores(self, d, W):
        """q_i = Σ_j d_ij / (W⁺_j + W⁻_j)."""
        q = np.zeros(len(d))
        for j in range(self.J):
            if W[j] > 0:
                q += d[:, j] / W[j]
        return q

    def ranked(self, q):
        return sorted(range(len(q)), key=lambda i: (rank_key(q[i]), i))

    def choose(self, q, most):
        """Which stay exact or as they are, and for the others 1/chance, 0 where they leave."""
        n = len(q)
        order = self.ranked(q)
        heavy, factor = np.zeros(n, bool), np.zeros(n)
        if sum(x > 0 for x in q) <= most:
            for i in range(n):
                heavy[i] = q[i] > 0
            factor[heavy] = 1.0
            return heavy, factor
        rest = list(order)
        rest_sum = math.fsum(q)
        while True:
            left = most - int(heavy.sum())
            tau = rest_sum / left
            if left == 1 or q[rest[-1]] <= tau:
                break
            heavy[rest[-1]], factor[rest[-1]] = True, 1.0
            del rest[-1]
            rest_sum = math.fsum(q[i] for i in rest)
        before = (0.5 + self.folds * GOLDEN) % 1.0
        for i in rest:
            chance = min(1.0, q[i] / tau)
            after = before + chance
            if math.floor(after) > math.floor(before):
                factor[i] = 1.0 / chance
            before = after
        return heavy, factor

    def _fold(self):
        self.folds += 1
        alpha, est, S, W, d, m = self._solve()
        slack = 4 if self.pairs else 16
        heavy, factor = self.choose(self.scores(d, W), self.H - math.ceil(self.H / slack))
        n, n_light = len(d), len(self.light)
        examples = self.light + self.exact
        joins = [i for i in range(n_light, n) if not heavy[i]]
        sample = [i for i in [*range(n_light), *joins] if factor[i] > 0]
        L, A = ({s: np.zeros(self.J) for s in SIGNS} for _ in range(2))
        delta = {s: np.zeros((self.J, self.J)) for s in SIGNS}
        for j in range(self.J):
            for s in SIGNS:
                come = sum(d[i, j] for i in joins if m[i, j] == s)
                L[s][j] = est[s][j] + come
                A[s][j] = sum(d[i, j] * factor[i] for i in sample if m[i, j] == s)
                known = (est[s][j] if S[s][j] > 0 else 0.0) + come
                if not self.pairs or known == 0 or A[s][j] == 0:
                    continue
                carried = est[s][j] / known if S[s][j] > 0 else 0.0
                counts = np.zeros(self.J)
                for i in [*range(n_light), *joins]:
                    if m[i, j] == s:
                        share = (carried / S[s][j] if i < n_light else 1.0 / known) - factor[i] / A[s][j]
                        counts[m[i] == s] += np.rint(min(max(d[i, j] * share, -1.0), 1.0) * COUNT)
                for k in range(j):
                    moved = carried * self.delta[s][j, k] + counts[k] / COUNT
                    delta[s][j, k] = np.float16(min(max(moved, -1.0), 1.0))
        self.L, self.A, self.delta, self.anchor = L, A, delta, alpha
        self.light = [[m[i], examples[i][1] * factor[i]] for i in sample]
        self.exact = [examples[i] for i in range(n_light, n) if heavy[i]]
