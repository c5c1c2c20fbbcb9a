"""Many keys, each with a window of its last examples: their own weights, and how far to trust these.

A key's window holds an example as bits: the answers of the hypotheses, and then the code of its class. Bits
of 64 examples are turned into words, a word for each hypothesis, as everywhere (`ocboost._kernels.bits`).

A key's own weights δ correct the common weights α of all keys. They are AdaBoost's on its window, begun at
the weights exp(-y F) that the common score F = Σ_j α_j h_j leaves, and smoothed by many examples, so that a
key without examples has δ = 0. One more hypothesis, which always answers +1, gives each key a bias.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ocboost._kernels.arrays import Bytes, Floats, Int8s, Ints, Words
from ocboost._kernels.compile import exact, helper, kernel, plain
from ocboost._kernels.llvm_bits import add_by_bits, reweight_and_sum, transpose_bits, word_at

LARGE = 1e100  # sums of weights below its inverse are scaled to 1; they never grow
N_SCORES = 3  # of a row: by the common weights, what the deployed ones add to it, and what the key's own add


class Boosters(NamedTuple):
    """The boosters of a committee: which hypotheses each weighs, and with which common weights."""

    first: Ints  # (C,): its first hypothesis
    base: Ints  # (C + 1,): where its weights begin among those of all, with one more for the bias
    alpha: Floats  # (base[C],): the common weights, 0 for the bias


class KeyRoom(NamedTuple):
    """The room that visiting one key needs."""

    margins: Words  # (blocks, base[C])
    by_example: Words  # (128,)
    common: Floats  # (C, 64 · blocks): y F of the examples in the window
    d: Floats  # (64 · blocks,)
    delta: Floats  # (base[C],)
    sums: Floats  # (2,)


@helper
def _tile(window: Bytes, block: int, held: int, tile: int, room: Words) -> None:
    """A word for each of the bits from ``64 · tile`` on, over 64 examples; in ``room[64:]``."""
    n_bytes = window.shape[1]
    begin, end = 8 * tile, min(8 * tile + 8, n_bytes)
    n = min(64, held - 64 * block)
    for i in range(n, 64):
        room[i] = np.uint64(0)
    if n_bytes >= 8:
        # The last bytes are read together with those before them: no word reaches beyond its example.
        place = window.ctypes.data + 64 * block * n_bytes + end - 8
        beyond = np.uint64(8 * (8 - (end - begin)))
        for i in range(n):
            room[i] = word_at(place + i * n_bytes) >> beyond
    else:
        for i in range(n):
            word = np.uint64(0)
            for b in range(begin, end):
                word |= np.uint64(window[64 * block + i, b]) << np.uint64(8 * (b - begin))
            room[i] = word
    transpose_bits(room.ctypes.data, room.ctypes.data + 512)


@helper
def _own_class(booster: int, n_boosters: int) -> int:
    """The code that is +1 for a booster: the second of two classes, or one against the rest."""
    return 1 if n_boosters == 1 else booster


@helper
def _read_window(
    window: Bytes, held: int, n_answers: int, boosters: Boosters, words: Words, room: KeyRoom
) -> None:
    """The margins of a key's examples for each booster; ``words`` has room for the bits of a block."""
    C, n_bits = boosters.first.size, 8 * window.shape[1]
    for block in range((held + 63) >> 6):
        for tile in range((n_bits + 63) >> 6):
            _tile(window, block, held, tile, room.by_example)
            for q in range(64):
                words[64 * tile + q] = room.by_example[64 + q]
        for c in range(C):
            own = _own_class(c, C)
            positive = ~np.uint64(0)  # whose class is the booster's own
            for q in range(n_bits - n_answers):
                bits = words[n_answers + q]
                positive &= bits if (own >> q) & 1 else ~bits
            base, bias, first = boosters.base[c], boosters.base[c + 1] - 1, boosters.first[c]
            to = room.margins[block]
            for j in range(bias - base):
                to[base + j] = ~(words[first + j] ^ positive)
            to[bias] = positive


@helper
def _common_margins(block: int, boosters: Boosters, room: KeyRoom) -> None:
    """``y F`` of the examples of a block by the common weights, summed in the order of the hypotheses."""
    margins = room.margins[block].ctypes.data
    for c in range(boosters.first.size):
        begin, end = boosters.base[c], boosters.base[c + 1] - 1
        to = room.common[c, 64 * block : 64 * block + 64]
        total = 0.0
        for i in range(64):
            to[i] = 0.0
        for j in range(begin, end):
            total += boosters.alpha[j]
        for j in range(begin, end, 64):
            members = ~np.uint64(0) >> np.uint64(64 - min(64, end - j))
            add_by_bits(to.ctypes.data, boosters.alpha.ctypes.data + 8 * j, 2.0, margins + 8 * j, members)
        for i in range(64):
            to[i] -= total


@helper
def _begin_weights(common: Floats, held: int, d: Floats) -> None:
    """``d = exp(-y F)``, scaled so that the largest is 1, and 0 where there is no example."""
    least = common[0]
    for i in range(held):
        least = min(least, common[i])
    for i in range(held):
        d[i] = math.exp(least - common[i])
    for i in range(held, 64 * ((held + 63) >> 6)):
        d[i] = 0.0


@helper
def _solve(c: int, held: int, smoothing: float, boosters: Boosters, room: KeyRoom) -> None:
    """A booster's own weights: δ_j = ½ log((W⁺ + e) / (W⁻ + e)), e = ε (W⁺ + W⁻) / n, in the order of j."""
    d, sums, M = room.d, room.sums, room.margins.shape[1]
    base, end, n_blocks = boosters.base[c], boosters.base[c + 1], (held + 63) >> 6
    _begin_weights(room.common[c], held, d)
    share, right, wrong = smoothing / held, 1.0, 1.0
    words = room.margins.ctypes.data
    for j in range(base, end):
        previous = max(j - 1, base)
        reweight_and_sum(
            d.ctypes.data, words, 8 * M, 0, n_blocks, n_blocks, previous, j, right, wrong, sums.ctypes.data
        )
        total = sums[0] + sums[1]
        if total < 1.0 / LARGE:
            for i in range(64 * n_blocks):
                d[i] /= total
            sums[0] /= total
            sums[1] /= total
            total = 1.0
        extra = share * total
        plus, minus = sums[0] + extra, sums[1] + extra
        room.delta[j] = 0.5 * math.log(plus / minus)
        wrong = math.sqrt(plus / minus)  # exp(δ)
        right = 1.0 / wrong


@exact
def _own_score(row: Int8s, first: int, delta: Floats, base: int, bias: int) -> float:
    """Σ_j δ_j h_j, and the bias."""
    score: float = delta[bias]
    for j in range(bias - base):
        score += delta[base + j] if row[first + j] > 0 else -delta[base + j]
    return score


@helper
def _loss(margin: float) -> float:
    """The log-loss of a score by its margin y F, ``log(1 + exp(-2 y F))``."""
    return math.log1p(math.exp(-2.0 * abs(margin))) + 2.0 * max(0.0, -margin)


@helper
def _append(row: Int8s, code: int, place: int, boosters: Boosters, room: KeyRoom) -> None:
    """Write the margins of an example to its place in the window."""
    C, bit = boosters.first.size, np.uint64(1) << np.uint64(place & 63)
    to = room.margins[place >> 6]
    for c in range(C):
        positive = code == _own_class(c, C)
        base, bias, first = boosters.base[c], boosters.base[c + 1] - 1, boosters.first[c]
        for j in range(bias - base):
            right = (row[first + j] > 0) == positive
            to[base + j] = (to[base + j] | bit) if right else (to[base + j] & ~bit)
        to[bias] = (to[bias] | bit) if positive else (to[bias] & ~bit)
    _common_margins(place >> 6, boosters, room)


class KeyStates(NamedTuple):
    """The keys of one visit."""

    windows: Bytes  # (keys, window, bytes of an example)
    seen: Ints  # (keys,): examples ever learnt
    evidence: Floats  # (keys,): by how much its own weights have made the loss smaller lately


class KeyRows(NamedTuple):
    """The rows of one visit, in their order; those of key k are ``order[starts[k] : starts[k + 1]]``."""

    starts: Ints
    order: Ints
    answers: Int8s  # (rows, hypotheses)
    codes: Ints
    packed: Bytes  # (rows, bytes of an example)
    common: Floats  # (rows, C): scores by the common weights
    own: Floats  # (rows, C): what the key's own weights add; written here
    seen: Ints  # (rows,): the key's examples and its evidence before the row; written here
    evidence: Floats


@kernel
def visit_keys(
    low: int,
    high: int,
    keys: KeyStates,
    rows: KeyRows,
    boosters: Boosters,
    smoothing: float,
    decay: float,
    learning: bool,
    words: Words,
    room: KeyRoom,
    deltas: Floats,
) -> None:
    """Score the rows of the keys from ``low`` to ``high - 1`` by their own weights, and perhaps learn each.

    A row is scored before it is learnt; one whose code is negative is scored only. ``deltas``, (keys,
    base[C]) or empty, gets the weights of each key before its first row.
    """
    C, window, n_answers = boosters.first.size, keys.windows.shape[1], rows.answers.shape[1]
    for k in range(low, high):
        seen, evidence = keys.seen[k], keys.evidence[k]
        _read_window(keys.windows[k], min(seen, window), n_answers, boosters, words, room)
        for block in range((min(seen, window) + 63) >> 6):
            _common_margins(block, boosters, room)
        solved = False
        if deltas.size and rows.starts[k] == rows.starts[k + 1]:  # wanted without a row
            _solve_all(min(seen, window), smoothing, boosters, room)
        for at in range(rows.starts[k], rows.starts[k + 1]):
            i = rows.order[at]
            if not solved:
                _solve_all(min(seen, window), smoothing, boosters, room)
                solved = True
            rows.seen[i], rows.evidence[i] = seen, evidence
            learnt = learning and rows.codes[i] >= 0
            gain = 0.0
            for c in range(C):
                base, bias = boosters.base[c], boosters.base[c + 1] - 1
                own = _own_score(rows.answers[i], boosters.first[c], room.delta, base, bias)
                rows.own[i, c] = own
                if learnt:
                    sign = 1.0 if rows.codes[i] == _own_class(c, C) else -1.0
                    before = sign * rows.common[i, c]
                    gain += _loss(before) - _loss(before + sign * own)
            if learnt:
                evidence = decay * evidence + gain
                place = seen % window
                to, packed = keys.windows[k, place], rows.packed[i]
                for b in range(to.size):
                    to[b] = packed[b]
                if at + 1 < rows.starts[k + 1]:  # somebody looks at the margins again
                    if place & 63 == 0 and seen < window:  # a block that nobody has written to
                        room.margins[place >> 6, :] = np.uint64(0)
                    _append(rows.answers[i], rows.codes[i], place, boosters, room)
                seen += 1
                solved = False
        if deltas.size:
            for j in range(room.delta.size):
                deltas[k, j] = room.delta[j]
        keys.seen[k], keys.evidence[k] = seen, evidence


@helper
def _solve_all(held: int, smoothing: float, boosters: Boosters, room: KeyRoom) -> None:
    """The own weights of all boosters; 0 without examples."""
    if held == 0:
        for j in range(room.delta.size):
            room.delta[j] = 0.0
        return
    for c in range(boosters.first.size):
        _solve(c, held, smoothing, boosters, room)


# Trust ----------------------------------------------------------------------------------------------------


class Trust(NamedTuple):
    """How the three scores of a row are added up, for keys of each age and evidence; learnt from all keys."""

    beta: Floats  # (cells, N_SCORES)
    gram: Floats  # (cells, N_SCORES, N_SCORES): Σ f fᵀ of the scores f that were seen


@helper
def _scaled_step(gram: Floats, ridge: float, slope: float, f: Floats, L: Floats, step: Floats) -> None:
    """``step = (gram + ridge I)⁻¹ slope f``, by Cholesky's factors."""
    for i in range(N_SCORES):
        for j in range(i + 1):
            x = gram[i, j] + (ridge if i == j else 0.0)
            for q in range(j):
                x -= L[i, q] * L[j, q]
            L[i, j] = math.sqrt(max(x, ridge * 1e-9)) if i == j else x / L[j, j]
    for i in range(N_SCORES):
        x = slope * f[i]
        for q in range(i):
            x -= L[i, q] * step[q]
        step[i] = x / L[i, i]
    for i in range(N_SCORES - 1, -1, -1):
        x = step[i]
        for q in range(i + 1, N_SCORES):
            x -= L[q, i] * step[q]
        step[i] = x / L[i, i]


@plain
def add_scores(
    scores: Floats,
    cells: Ints,
    codes: Ints,
    trust: Trust,
    memory: float,
    ridge: float,
    learning: bool,
    votes: Floats,
) -> None:
    """The votes of rows, ``β · f`` of their scores f, (rows, C, N_SCORES); and β learns each row after that.

    Each booster's votes are half the log-odds of its class: β follows the gradient of the log-loss, scaled by
    the inverse of the sums of f fᵀ so far, which fade by ``memory``. They bound the curvature of the loss
    from above: where predictions are sure and wrong, Newton's own steps would be far too large.
    """
    C = scores.shape[1]
    L, step = np.zeros((N_SCORES, N_SCORES)), np.zeros(N_SCORES)
    for i in range(scores.shape[0]):
        beta, gram = trust.beta[cells[i]], trust.gram[cells[i]]
        for c in range(C):
            f, total = scores[i, c], 0.0
            for m in range(N_SCORES):
                total += beta[m] * f[m]
            votes[i, c] = total
        if not learning or codes[i] < 0:
            continue
        for c in range(C):
            f, total = scores[i, c], votes[i, c]
            p = 1.0 / (1.0 + math.exp(-2.0 * total)) if total > -300.0 else 0.0
            for m in range(N_SCORES):
                for q in range(N_SCORES):
                    gram[m, q] = memory * gram[m, q] + f[m] * f[q]
            target = 1.0 if codes[i] == (1 if C == 1 else c) else 0.0
            _scaled_step(gram, ridge, 2.0 * (target - p), f, L, step)
            for m in range(N_SCORES):
                beta[m] += step[m]
