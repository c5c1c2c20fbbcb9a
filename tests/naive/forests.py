"""Rolling forests in plain loops: lists of rows, trees of dictionaries, the same random numbers."""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import pairwise

INF = math.inf
WINDOW, EVERY, DEPTH = (4000, 1000, 300), (200, 50, 20), (8, 8, 6)
EDGES_AT = (20, 50, 100, 200, 500)
WORD = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


class Random:
    """Splitmix64 for one tree."""

    def __init__(self, seed, forest, serial):
        self.state = self.scrambled((seed + GOLDEN * (1 + 3 * serial + forest)) & WORD)

    @staticmethod
    def scrambled(z):
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
        return z ^ (z >> 31)

    def bits(self):
        self.state = (self.state + GOLDEN) & WORD
        return self.scrambled(self.state)

    def below(self, n):
        return ((self.bits() >> 32) * n) >> 32

    def poisson(self):
        u = (self.bits() >> 11) / 2.0**53
        count = 0
        while count < 12 and u >= math.exp(-1.0) * sum(1.0 / math.factorial(i) for i in range(count + 1)):
            count += 1
        return count


def edges_of(values):
    """The edges between the bins of one feature."""
    values = sorted(values)
    if len(set(values)) <= 63:
        ends = [i for i in range(1, len(values)) if values[i] != values[i - 1]]
    else:
        ends, i, bins = [], 0, 63
        while i < len(values):
            i += math.ceil((len(values) - i) / bins)
            while i < len(values) and values[i] == values[i - 1]:
                i += 1
            if i < len(values):
                ends.append(i)
                bins -= 1
    found = []
    for i in ends:
        middle = 0.5 * values[i - 1] + 0.5 * values[i]
        found.append(middle if values[i - 1] <= middle < values[i] else values[i - 1])
    return found


class NaiveForests:
    def __init__(self, n_features, n_classes, seed=0):
        self.F, self.K, self.seed = n_features, n_classes, seed
        self.history = []  # (x, code, weight)
        self.forests = [[], [], []]  # the oldest tree first
        self.edges = [[] for _ in range(n_features)]
        self.splits = [False] * n_features

    def leaf(self, node, x):
        while "counts" not in node:
            node = node["left"] if x[node["feature"]] <= node["threshold"] else node["right"]
        return node

    def learn(self, x, code, weight=1.0):
        if weight == 0.0:
            return
        once = min(weight, 1.0)
        for forest in self.forests:
            for root in forest:
                counts = self.leaf(root, x)["counts"]
                for k in range(self.K):
                    counts[k] *= 1.0 - 0.01 * once
                counts[code] += once
        self.history.append((x, code, min(weight, 1e6)))
        n = len(self.history)
        if n in EDGES_AT or n % 1000 == 0:
            self.make_edges()
        for f in range(3):
            if n % EVERY[f] == 0:
                self.forests[f] = [*self.forests[f][-9:], self.tree(f)]

    def make_edges(self):
        n = len(self.history)
        kept = list(range(n)) if n <= 4000 else [max(range(p, n, 4000)) for p in range(4000)]
        sample = kept[:: math.ceil(len(kept) / 1000)]
        for f in range(self.F):
            values = [self.history[i][0][f] for i in sample]
            there = [value for value in values if value == value]
            self.edges[f] = edges_of(there)
            self.splits[f] = len(set(there)) > 1 or 0 < len(there) < len(values)

    def bin(self, f, x):
        return 63 if x != x else bisect_left(self.edges[f], x)

    def threshold(self, f, edge):
        return self.edges[f][edge] if edge < len(self.edges[f]) else INF

    def tree(self, forest):
        rng = Random(self.seed, forest, len(self.history) // EVERY[forest])
        window = self.history[-WINDOW[forest] :]
        sample = []
        for x, code, weight in window:
            times = rng.poisson()
            if times:
                sample.append(([self.bin(f, x[f]) for f in range(self.F)], code, times * weight, times))
        usable = [f for f in range(self.F) if self.splits[f]]
        root = {}
        waiting = [(root, sample, 0)]
        while waiting:
            node, examples, depth = waiting.pop(0)
            split = self.split(examples, depth < DEPTH[forest], usable, rng)
            if split is None:
                node["counts"] = self.counts(examples)
                continue
            f, edge = split
            node.update(feature=f, threshold=self.threshold(f, edge), left={}, right={})
            waiting.append((node["left"], [e for e in examples if e[0][f] <= edge], depth + 1))
            waiting.append((node["right"], [e for e in examples if e[0][f] > edge], depth + 1))
        return root

    def counts(self, examples):
        counts = [0.0] * self.K
        for _, code, weight, _ in examples:
            counts[code] += weight
        return counts

    def split(self, examples, may, usable, rng):
        """The best of a few random features and the edge to split at; None if there is none."""
        total = self.counts(examples)
        whole = squares = 0.0
        for n in total:
            whole += n
            squares += n * n
        size = sum(e[3] for e in examples)
        if not may or sum(n > 0.0 for n in total) < 2 or size < 6:
            return None
        best, found = squares / whole * (1.0 + 1e-9), None
        for u in range(min(len(usable), 24, max(2, int(0.6 * self.F)))):
            other = u + rng.below(len(usable) - u)
            usable[u], usable[other] = usable[other], usable[u]
            f = usable[u]
            bins = sorted({e[0][f] for e in examples})
            left, so_far = [0.0] * self.K, 0.0
            for low, high in pairwise(bins):
                here = self.counts([e for e in examples if e[0][f] == low])
                for k in range(self.K):
                    left[k] += here[k]
                    so_far += here[k]
                near = sum(e[3] for e in examples if e[0][f] <= low)
                if near < 3 or size - near < 3:
                    continue
                inside = outside = 0.0
                for k in range(self.K):
                    inside += left[k] * left[k]
                    right = total[k] - left[k]
                    outside += right * right
                score = inside / so_far + outside / (whole - so_far)
                if score > best:
                    best, found = score, (f, 62 if high == 63 else (low + high - 1) // 2)
        return found

    def logits(self, x):
        out = []
        for forest in self.forests:
            p = [0.0 if forest else 1.0 / self.K] * self.K
            for root in forest:
                counts = self.leaf(root, x)["counts"]
                for k in range(self.K):
                    p[k] += (counts[k] + 0.5 / self.K) / (sum(counts) + 0.5) / len(forest)
            out.append([math.log(value) for value in p])
        return out
