"""The plain twin of the sketch that keeps heavy examples: loops straight from the rule, nothing shared.

Heavy examples are kept exactly. The others are *light*: their sums L are carried by a weighted sample of
them, and differences of pairs (float16) correct the sample. Weights are ordinary floats here.
"""

from __future__ import annotations

import copy
import math

import numpy as np

from tests.naive.sketch import SIGNS, NaiveSketch, smoothed_alpha, unit_weights

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
COUNT = 2.0**28  # pairs are summed in whole numbers of 1 / COUNT, so that the order of adding is no matter


def rank_key(q):
    """q with 32 binary digits: what differs by rounding alone is a tie, and the older goes first."""
    return (int(np.float64(q).view(np.int64)) + (1 << 19)) >> 20


class LightPart:
    """The light examples: their sums at the anchor, and the sample that carries them."""

    def __init__(self, J, examples=()):
        self.J = J
        self.examples = list(examples)  # [margins, weight], oldest first
        self.L = {s: np.zeros(J) for s in SIGNS}
        self.anchor = np.zeros(J)
        self.delta = {s: np.zeros((J, J)) for s in SIGNS}
        self.has_pairs = False

    def sample_sums(self):
        """Their sample's weight with each margin at the anchor, and d."""
        sums = {s: np.zeros(self.J) for s in SIGNS}
        d = np.zeros((len(self.examples), self.J + 1))
        for i, (m, weight) in enumerate(self.examples):
            d[i, 0] = weight
            for j in range(self.J):
                sums[m[j]][j] += d[i, j]
                d[i, j + 1] = d[i, j] * math.exp(-self.anchor[j] * m[j])
        return sums, d

    def carried(self, j, s, alpha, S, A):
        """L^s_j when α up to coordinate j has moved away from the anchor, before it is balanced."""
        ratio = 1.0
        if A[s][j] > 0:
            ratio = S[s] / A[s][j]
        elif A[-s][j] > 0:  # the sample has none of this sign: the others stand in
            ratio = S[-s] / A[-s][j]
        shift = sum((self.delta[s][j, :j] * (alpha[:j] - self.anchor[:j])).tolist())
        return self.L[s][j] * ratio * math.exp(min(max(-2 * s * shift, -3.0), 3.0))

    def leaving(self, j):
        return sum(self.L[s][j] * math.exp(-s * self.anchor[j]) for s in SIGNS)

    def appended(self, margins):
        """Further coordinates: the light weight is split as the sample's is."""
        k = np.shape(margins)[1]
        other = LightPart(self.J + k)
        other.examples = [[np.append(m, new), w] for (m, w), new in zip(self.examples, margins, strict=True)]
        other.anchor[: self.J], other.has_pairs = self.anchor, self.has_pairs
        for s in SIGNS:
            other.L[s][: self.J] = self.L[s]
            other.delta[s][: self.J, : self.J] = self.delta[s]
        A, _ = other.sample_sums()
        T = self.leaving(self.J - 1)
        for j in range(self.J, self.J + k):
            both = A[+1][j] + A[-1][j]
            for s in SIGNS:
                other.L[s][j] = T * (A[s][j] / both if both > 0 else 0.5)
        return other

    def without(self, gone):
        """Moved by the paper's π to an anchor of zero at some coordinates, which are then left out."""
        keep = [j for j in range(self.J) if j not in gone]
        other = LightPart(len(keep), [[m[keep], w] for m, w in self.examples])
        other.anchor, other.has_pairs = self.anchor[keep], self.has_pairs
        T = self.L[+1][0] + self.L[-1][0]
        for place, j in enumerate(keep):
            L = {s: self.L[s][j] for s in SIGNS}
            for k in gone:
                for s in SIGNS if k < j else ():
                    p, delta = self.share(s, j, k), -self.anchor[k]
                    L[s] *= p * math.exp(-s * delta) + (1 - p) * math.exp(s * delta)
            both = L[+1] + L[-1]
            for s in SIGNS:
                other.L[s][place] = L[s] * T / both if both > 0 else 0.0
                other.delta[s][place] = self.delta[s][j][keep]
            T = other.leaving(place)
        return other

    def share(self, s, j, k):
        """Of the light weight with margin s at j, what has margin s at k as well."""
        A, d = self.sample_sums()
        if A[s][j] == 0:
            return 0.5 if A[-s][j] == 0 else 1.0 - self.share(-s, j, k)
        p = sum(d[i, j] for i, (m, _) in enumerate(self.examples) if m[j] == s == m[k]) / A[s][j]
        return min(max(p + self.delta[s][j, k], 0.0), 1.0)


class NaiveHeavy:
    def __init__(self, n_hypotheses, *, head, first_head=None, pairs=True, smoothing=1.0, forgetting=1.0):
        self.J, self.H, self.pairs = n_hypotheses, head, pairs
        self.first_H = first_head or head
        self.smoothing, self.forgetting = smoothing, forgetting
        self.exact = []  # [margins, weight], oldest first
        self.parts = [LightPart(self.J)]  # while two are merged there are two
        self.n_seen = self.folds = 0

    @property
    def light(self):
        """The samples of the light examples."""
        return [example for part in self.parts for example in part.examples]

    @property
    def n_head(self):
        return len(self.exact) + len(self.light)

    def decay(self, factor):
        for example in self.exact + self.light:
            example[1] *= factor
        for part in self.parts:
            for s in SIGNS:
                part.L[s] *= factor

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
        """α, each part's light sums at it, its sample's, W, and all examples' d (light ones first)."""
        examples = self.light + self.exact
        ends = np.cumsum([0, *(len(part.examples) for part in self.parts)]).tolist()
        n_light = ends[-1]
        d = np.zeros((len(examples), self.J + 1))
        d[:, 0] = [w for _, w in examples]
        m = np.array([row for row, _ in examples]).reshape(-1, self.J)
        T = [part.L[+1][0] + part.L[-1][0] for part in self.parts]
        total = sum(T) + d[n_light:, 0].sum()
        alpha, W = np.zeros(self.J), np.zeros(self.J)
        est, S = ([{s: np.zeros(self.J) for s in SIGNS} for _ in self.parts] for _ in range(2))
        A = [part.sample_sums()[0] for part in self.parts]
        for j in range(self.J):
            d_j, m_j = d[:, j].tolist(), m[:, j].tolist()
            sums = {s: d[n_light:, j][m[n_light:, j] == s].sum() for s in SIGNS}
            for t, part in enumerate(self.parts):
                for s in SIGNS:
                    S[t][s][j] = sum(d_j[i] for i in range(ends[t], ends[t + 1]) if m_j[i] == s)
                at_j = {s: S[t][s][j] for s in SIGNS}
                for s in SIGNS:
                    est[t][s][j] = part.carried(j, s, alpha, at_j, A[t])
                both = est[t][+1][j] + est[t][-1][j]
                for s in SIGNS:
                    if both > 0:
                        est[t][s][j] *= T[t] / both
                    sums[s] += est[t][s][j]
            W[j] = sums[+1] + sums[-1]
            alpha[j] = smoothed_alpha(sums[+1], sums[-1], self.smoothing, total)
            T = [sum(e[s][j] * math.exp(-s * alpha[j]) for s in SIGNS) for e in est]
            d[:, j + 1] = d[:, j] * np.exp(-alpha[j] * m[:, j])
        return alpha, est, S, W, d, m

    def scores(self, d, W):
        """q_i = Σ_j j/J · d_ij / (W⁺_j + W⁻_j), j from 1 to J."""
        q = np.zeros(len(d))
        for j in range(self.J):
            if W[j] > 0:
                q += (j + 1) / self.J * d[:, j] / W[j]
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

    def _fold(self, most=None):
        """Keep about ``most`` examples; all light parts become one, at the present α."""
        self.folds += 1
        alpha, est, S, W, d, m = self._solve()
        if most is None:
            most = self.H - math.ceil(self.H / (4 if self.pairs else 16))
        heavy, factor = self.choose(self.scores(d, W), most)
        n, n_light = len(d), len(self.light)
        examples = self.light + self.exact
        part_of = [t for t, part in enumerate(self.parts) for _ in part.examples]
        joins = [i for i in range(n_light, n) if not heavy[i]]
        sample = [i for i in [*range(n_light), *joins] if factor[i] > 0]
        new = LightPart(self.J, [[m[i], examples[i][1] * factor[i]] for i in sample])
        new.anchor, new.has_pairs = alpha, self.pairs
        times = factor.tolist()
        for j in range(self.J):
            d_j, m_j = d[:, j].tolist(), m[:, j].tolist()
            for s in SIGNS:
                come = sum(d_j[i] for i in joins if m_j[i] == s)
                new.L[s][j] = sum(e[s][j] for e in est) + come
                A = sum(d_j[i] * times[i] for i in sample if m_j[i] == s)
                old = [e[s][j] if S_t[s][j] > 0 else 0.0 for e, S_t in zip(est, S, strict=True)]
                known = sum(old) + come
                if not self.pairs or known == 0 or A == 0:
                    continue
                counts = np.zeros(self.J)
                for i in [*range(n_light), *joins]:
                    if m_j[i] == s:
                        was = old[part_of[i]] / known / S[part_of[i]][s][j] if i < n_light else 1.0 / known
                        share = d_j[i] * (was - times[i] / A)
                        counts[m[i] == s] += round(min(max(share, -1.0), 1.0) * COUNT)
                for k in range(j):
                    moved = counts[k] / COUNT
                    moved += sum(
                        w / known * part.delta[s][j, k] for w, part in zip(old, self.parts, strict=True)
                    )
                    new.delta[s][j, k] = np.float16(min(max(moved, -1.0), 1.0))
        self.exact = [examples[i] for i in range(n_light, n) if heavy[i]]
        self.parts = [new]

    # Others of it ---------------------------------------------------------------------------------------

    def _settled(self):
        if self.n_head >= self.room:
            self._fold()
        elif self.parts[0].has_pairs and not self.pairs:
            self._fold(self.n_head)
        return self

    def remade(self, *, head=None, first_head=None, pairs=None, **changes):
        other = copy.deepcopy(self)
        if head is not None:
            other.H, other.first_H = head, first_head or head
        other.pairs = self.pairs if pairs is None else pairs
        other.__dict__.update(changes)
        return other._settled()

    def appended(self, margins, **room):
        other = copy.deepcopy(self)
        n_light, other.J = len(self.light), self.J + np.shape(margins)[1]
        other.parts = [self.parts[0].appended(margins[:n_light])]
        for example, new in zip(other.exact, margins[n_light:], strict=True):
            example[0] = np.append(example[0], new)
        return other.remade(**room)

    def without(self, gone, **room):
        other = copy.deepcopy(self)
        other.parts = [self.parts[0].without(gone)]
        other.J = other.parts[0].J
        for example in other.exact:
            example[0] = np.delete(example[0], gone)
        return other.remade(**room)

    def to_newest(self, head):
        """A sketch that keeps the newest: the light examples are its tail, at the present α."""
        other = copy.deepcopy(self)
        if other.folds:
            other._fold(other.n_head)
        newest = NaiveSketch(self.J, head=head, smoothing=self.smoothing, forgetting=self.forgetting)
        newest.head, newest.n_seen = other.exact, self.n_seen
        part, tail = other.parts[0], newest.tail
        tail.alpha_ref, tail.T0 = part.anchor, part.L[+1][0] + part.L[-1][0]
        tail.n = self.n_seen - len(other.exact)
        for s in SIGNS:
            for j in range(self.J):
                tail.W[s][j, j] = part.L[s][j]
                for k in range(j):
                    tail.W[s][j, k] = part.L[s][j] * part.share(s, j, k)
        if newest.n_head >= newest.H:
            newest._fold()
        return newest

    def merge(self, other):
        """Both together; the smaller head goes first (as the bytes of its size), then the fewer examples."""
        if self.n_seen == 0 or other.n_seen == 0:
            return copy.deepcopy(other if self.n_seen == 0 else self)

        def before(side):
            counts = (side.n_head, side.n_seen, len(side.light), side.folds)
            return [count.to_bytes(8, "little") for count in counts]

        first, second = sorted((copy.deepcopy(self), copy.deepcopy(other)), key=before)
        both = copy.deepcopy(first)
        both.n_seen, both.folds = first.n_seen + second.n_seen, max(first.folds, second.folds)
        both.H, both.first_H = max(first.H, second.H), max(first.first_H, second.first_H)
        aged = [
            (i - len(side.exact), which, i)
            for which, side in enumerate((first, second))
            for i in range(len(side.exact))
        ]
        both.exact = [(first, second)[which].exact[i] for _, which, i in sorted(aged)]
        parts = [side.parts[0] for side in (first, second) if side.folds]
        both.parts = parts or [LightPart(self.J)]
        if both.n_head >= both.room:
            both._fold()
        elif len(parts) == 2:
            both._fold(both.n_head)
        return both
