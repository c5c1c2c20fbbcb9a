"""Batch AdaBoost over one large margin matrix: ours against vectorised NumPy.

NumPy gets every advantage that is still NumPy. Two formulations are timed, each the fastest of its kind.

*By columns*: one hypothesis at a time, margins already stored as float64, hypothesis by hypothesis (the clock
does not see that conversion, which takes longer than the boosting). For m = ±1, exp(-α m) is
cosh α (1 - m tanh α), so no vector exp is needed, cosh cancels in every α, and the total weight is known
without a sum (except one now and then). Alternatives, CPU time relative to the one that is timed (100,000
rows, 304 columns, one thread; the last two, which took one sum from the total, lost their accuracy as well):

====================================================  =====
multiply by m, sum, scale, subtract                    1.02
the same from sign bits by xor                         1.04
the same from int8 margins                             1.07
the same from float32 margins                          1.31
cosh α - m sinh α                                      1.02
integer indices of the rows with margin -1             1.16
blocks of 32,768 rows, two columns' work per visit     1.16
blocks of 4,096 rows                                   1.93
np.take of two factors                                 1.29
np.exp(-α m)                                           2.03
bincount by sign, then np.take                         3.8
np.where of two factors                                4.2
boolean indices                                        9.6
ufuncs with where=                                    11.6
====================================================  =====

(np.add.reduceat would need the rows sorted by sign for every column.)

*By groups*: sixteen hypotheses at a time. An example's sixteen margins make one code; the weights summed by
code (np.bincount) are all that AdaBoost's next sixteen rounds need, and each round halves them; then one
np.take reweights the examples. This is exact, and makes three passes over the examples instead of
sixty-four. It starts from the same int8 matrix as ours, packing included, because building codes is part of
this algorithm and not a choice of layout; the time without packing is shown too. Codes of another
length, CPU time relative to sixteen bits (100,000 rows, 304 columns, codes given): 8 bits 1.03, 10 bits 0.92,
12 bits 0.84, 14 bits 0.84. Twelve have to be cut out of bytes, and lose what they gain: 91 ms in all, packing
included, at 1,520 columns where sixteen took 81.
"""

import math
import os
import statistics
from collections.abc import Callable, Iterator

import numpy as np
from harness import clocked

BITS = 16
TOLERANCE = 1e-9
# The total falls by many orders of magnitude, so its running difference must be recomputed now and then.
REFRESH = 16


def draw(n: int, J: int, seed: int) -> np.ndarray:
    """Margins of independent weak hypotheses, int8 in row order, drawn in blocks to spare memory."""
    rng = np.random.default_rng([seed, n, J])
    p = rng.uniform(0.5, 0.65, J).astype(np.float32)
    margins = np.empty((n, J), dtype=np.int8)
    for at in range(0, n, 8192):
        block = margins[at : at + 8192]
        block[...] = np.where(rng.random(block.shape, dtype=np.float32) < p, 1, -1)
    return margins


def numpy_by_columns(columns: np.ndarray) -> np.ndarray:
    """AdaBoost's weights, smoothing 1, from float64 margins of shape (J, n), each row contiguous."""
    J, n = columns.shape
    alpha = np.empty(J)
    weights = np.ones(n)
    factor = np.empty(n)
    for j, m in enumerate(columns):
        if j % REFRESH == 0:
            total = float(weights.sum())
        edge = float(m @ weights)
        ε = 2.0 * total / n
        alpha[j] = 0.5 * math.log((total + edge + ε) / (total - edge + ε))
        t = math.tanh(alpha[j])
        np.multiply(m, -t, out=factor)
        factor += 1.0
        weights *= factor
        total -= t * edge
    return alpha


def codes_of(margins: np.ndarray, block: int = 1024) -> np.ndarray:
    """Codes of sixteen margins each, (⌈J/16⌉, n); the first margin is the highest bit."""
    n, J = margins.shape
    groups = -(-J // BITS)
    codes = np.empty((groups, n), dtype=np.intp)
    for at in range(0, n, block):
        bits = margins[at : at + block] > 0
        if J % BITS:
            bits = np.pad(bits, ((0, 0), (0, groups * BITS - J)))
        codes[:, at : at + block] = np.packbits(bits, axis=1).view(">u2").T
    return codes


def numpy_by_groups(codes: np.ndarray, J: int) -> np.ndarray:
    """AdaBoost's weights, smoothing 1, from codes of sixteen margins."""
    n = codes.shape[1]
    alpha = np.empty(J)
    weights = np.ones(n)
    factor = np.empty(n)
    for group, code in enumerate(codes):
        mass = np.bincount(code, weights, 1 << BITS)
        tanhs = []
        for j in range(group * BITS, min(J, (group + 1) * BITS)):
            wrong, right = mass.reshape(2, -1)
            W_minus, W_plus = float(wrong.sum()), float(right.sum())
            ε = (W_plus + W_minus) / n
            alpha[j] = 0.5 * math.log((W_plus + ε) / (W_minus + ε))
            t = math.tanh(alpha[j])
            mass = wrong * (1.0 + t) + right * (1.0 - t)
            tanhs.append(t)
        # The first margin is the highest bit, so the table grows from the last; bits past J change nothing.
        factors = np.ones(1 << (BITS - len(tanhs)))
        for t in reversed(tanhs):
            factors = np.concatenate([factors * (1.0 + t), factors * (1.0 - t)])
        np.take(factors, code, out=factor, mode="clip")
        weights *= factor
    return alpha


def measure(n: int, J: int, rounds: int, seed: int) -> Iterator[str | dict[str, object]]:
    """Yields lines of progress, then one dictionary of results."""
    from threadpoolctl import threadpool_limits

    import ocboost

    yield f"drawing {n:,} × {J:,} margins"
    margins = draw(n, J, seed)
    by_column = np.asfortranarray(margins)
    columns = margins.T.astype(np.float64, order="C")
    codes = codes_of(margins)

    def ours(data: np.ndarray, threads: int) -> Callable[[], np.ndarray]:
        def work() -> np.ndarray:
            return ocboost.adaboost_weights(data)

        work.threads = threads
        return work

    cases: dict[str, Callable[[], np.ndarray]] = {
        "ocboost, rows": ours(margins, 1),
        "ocboost, columns": ours(by_column, 1),
        "NumPy by columns, float64 columns given": lambda: numpy_by_columns(columns),
        "NumPy by groups, packing timed": lambda: numpy_by_groups(codes_of(margins), J),
        "NumPy by groups, codes given": lambda: numpy_by_groups(codes, J),
    }
    if (os.cpu_count() or 1) > 1:
        cases["ocboost, rows, two threads"] = ours(margins, 2)
        cases["ocboost, columns, two threads"] = ours(by_column, 2)
    cpu: dict[str, list[float]] = {name: [] for name in cases}
    wall: dict[str, list[float]] = {name: [] for name in cases}
    error: dict[str, float] = {}
    rng = np.random.default_rng([seed, rounds])
    names = list(cases)
    with threadpool_limits(1):  # one thread each; the dot product would otherwise take two
        reference = numpy_by_columns(columns)
        for name, work in cases.items():
            yield f"warming up {name}"
            ocboost.set_num_threads(getattr(work, "threads", 1))
            error[name] = float(np.abs(work() - reference).max())
        for number in range(rounds):
            yield f"batch AdaBoost, round {number + 1} of {rounds}"
            for at in rng.permutation(len(names)):
                work = cases[names[at]]
                ocboost.set_num_threads(getattr(work, "threads", 1))
                timing = clocked(work, n)
                cpu[names[at]].append(timing.cpu)
                wall[names[at]].append(timing.wall)
    yield {
        "rows": n,
        "n_hypotheses": J,
        "tolerance": TOLERANCE,
        "cases": {
            name: {
                "cpu_seconds": statistics.median(cpu[name]),
                "wall_seconds": statistics.median(wall[name]),
                "cpu_rounds": cpu[name],
                "wall_rounds": wall[name],
                "largest_difference": error[name],
            }
            for name in cases
        },
    }
