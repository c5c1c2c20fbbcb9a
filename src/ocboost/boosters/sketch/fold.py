"""Folding a head into a tail, in one thread or several: the same sums bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise

import numpy as np

from ocboost._core.threads import get_num_threads, run
from ocboost._kernels import fold as kernels
from ocboost._kernels.arrays import Floats, Head, Ints, Tail, n_pairs
from ocboost._kernels.fold import Newcomers, make_newcomers
from ocboost._kernels.solve import Solution, make_solution, solve

Publish = Callable[[tuple[Floats, bool]], None]  # gets α, and whether it has diverged

# Additions, about two milliseconds of work: with fewer a second thread costs more than it brings.
WORTH_SHARING = 20_000_000


class Workspace:
    """The arrays that folding works in, kept between folds so that none is allocated in the loop."""

    def __init__(self, n_hypotheses: int, n_examples: int, n_fold: int) -> None:
        self.n_examples = n_examples
        self.solution: Solution = make_solution(n_hypotheses, 1, n_examples)
        self._n_fold = n_fold
        self.room = np.zeros(64)
        self.row = np.zeros(n_hypotheses, np.int8)

    @cached_property
    def newcomers(self) -> Newcomers:
        """Room for the examples to be folded; one that is only read needs none."""
        # A fold may begin within a block, and so touch one block more than it fills.
        return make_newcomers(self.row.size, (self._n_fold + 63) // 64 + 1)


def is_long(n_hypotheses: int, order: int, n_fold: int) -> bool:
    """Whether a fold takes long enough to share it among threads, and to publish α before it."""
    return n_fold > 1 and n_pairs(n_hypotheses, order) * min(n_fold, 1 << 20) > WORTH_SHARING


def row_ranges(n_hypotheses: int, order: int, n_ranges: int) -> list[tuple[int, int]]:
    """Cut the rows into ranges of about as many pairs each.

    >>> row_ranges(100, 100, 2)
    [(0, 71), (71, 100)]
    """
    lengths = np.minimum(np.arange(n_hypotheses), order)
    done = np.cumsum(lengths)
    goals = done[-1] * np.arange(1, n_ranges) / n_ranges
    cuts = [0, *(np.searchsorted(done, goals) + 1).tolist(), n_hypotheses]
    return [(a, b) for a, b in pairwise(cuts) if a < b]


def join(
    tail: Tail,
    order: int,
    correction: int,
    work: Workspace,
    ranges: list[tuple[int, int]],
    *,
    rebase: bool,
    last: bool,
) -> None:
    """Bring all pairs up to date with the newcomers, a range of rows to a thread."""

    def task(rows: tuple[int, int]) -> None:
        room = np.zeros(64)
        arguments = (tail, order, correction, work.solution, work.newcomers, rebase, last)
        kernels.join_pairs(*arguments, *rows, room)

    if len(ranges) == 1:
        task(ranges[0])
    else:
        run(task, ranges)


def fold_pairs(
    tail: Tail, head: Head, first: int, n_fold: int, order: int, correction: int, work: Workspace
) -> None:
    """The second phase of a fold: all rows' pairs, once α and the diagonal are known."""
    J = tail.alpha.size
    n_threads = get_num_threads()
    shares = 2 * n_threads if n_threads > 1 and is_long(J, order, n_fold) else 1
    ranges = row_ranges(J, order, shares) if shares > 1 else [(0, J)]
    done = 0
    while done < n_fold:
        position = (first + done) % head.weight.size
        rebase = done == 0
        done += kernels.gather(head, position, n_fold - done, work.solution, work.newcomers)
        join(tail, order, correction, work, ranges, rebase=rebase, last=done == n_fold)
    kernels.settle_tail(tail, head, first, n_fold, work.solution)


def fold_stepwise(
    tail: Tail,
    head: Head,
    counters: Ints,
    now: Floats,
    n_fold: int,
    order: int,
    correction: int,
    smoothing: float,
    work: Workspace,
    publish: Publish,
) -> None:
    """Fold the ``n_fold`` oldest examples, more than one, with as many threads as there may be.

    ``publish`` gets α, solved with the whole head, and whether it has diverged, before the sums change.
    """
    first, n = int(counters[kernels.FIRST]), int(counters[kernels.N])
    now_unit, solution = counters[kernels.NOW_UNIT], work.solution
    if solve(tail, order, correction, head, first, n, n_fold, smoothing, now[0], now_unit, solution, False):
        counters[kernels.DIVERGED] = 1
    publish((solution.alpha.copy(), bool(counters[kernels.DIVERGED])))
    fold_pairs(tail, head, first, n_fold, order, correction, work)
    kernels.end_fold(tail, head, counters, n_fold)
