"""Plain loops for what kernels do with bits, codes, pairs and scores."""

from __future__ import annotations

import math

import numpy as np


def bit(word, i):
    return int(word) >> int(i) & 1


def reweighted(d, blocks, previous, current, if_right, if_wrong):
    """What `reweight_and_sum` must give for blocks in order, with sums rounded once."""
    d = d.copy()
    sums = [[], []]
    for i in range(d.size):
        block = blocks[i // 64]
        d[i] *= if_right if bit(block[previous], i % 64) else if_wrong
        sums[0 if bit(block[current], i % 64) else 1].append(d[i])
    return d, [math.fsum(part) for part in sums]


def log_pi(p, delta, sign):
    """Σ_k log(p exp(-σΔ) + (1 - p) exp(σΔ)), each term rounded by itself."""
    terms = []
    for share, x in zip(p.tolist(), (sign * delta).tolist(), strict=True):
        right = math.log(share) - x if share > 0 else -math.inf
        wrong = math.log1p(-share) + x if share < 1 else -math.inf
        terms.append(max(right, wrong) + math.log1p(math.exp(-abs(right - wrong))))
    return math.fsum(terms)


def owned_share(p, x):
    """p · exp(-x) / (p · exp(-x) + (1 - p) · exp(x)) with no overflow on the way."""
    if p in (0.0, 1.0):
        return p
    odds = math.log(p) - math.log1p(-p) - 2 * x
    return 1.0 / (1.0 + math.exp(-odds)) if odds > -700 else 0.0


def code_of(words, i):
    """The margins of example i as a number, the first one its highest binary digit."""
    return int("".join(str(int(word) >> i & 1) for word in words), 2)


def log_sums(margins, logs, alphas):
    """Log W⁺_j and log W⁻_j with each example's weight as a logarithm."""
    sums = np.empty((2, len(alphas)))
    for j, alpha in enumerate(alphas):
        for row, sign in enumerate((1, -1)):
            part = logs[margins[:, j] == sign]
            sums[row, j] = np.logaddexp.reduce(part) if part.size else -np.inf
        logs = logs - alpha * margins[:, j]
    return sums


def expected_scores(margins, logs, alpha, W_logs):
    """q_i = Σ_j j/J · d_ij / (W⁺_j + W⁻_j), from logarithms of the weights and of the sums."""
    q = np.zeros(len(margins))
    for j in range(margins.shape[1]):
        if W_logs[j] > -np.inf:
            q += (j + 1) / margins.shape[1] * np.exp(logs - W_logs[j])
        logs = logs - alpha[j] * margins[:, j]
    return q


def sums_of(margins, logs, alpha):
    """What the examples weigh at each coordinate, as logarithms."""
    before = np.cumsum(alpha * margins, axis=1) - alpha * margins
    return np.logaddexp.reduce(logs[:, None] - before, axis=0)
