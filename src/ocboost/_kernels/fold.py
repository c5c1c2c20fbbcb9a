"""Folding: the oldest examples of the head become part of the tail's sums.

Two phases. `ocboost._kernels.solve.solve` finds α, the re-based diagonal and what the folded examples add
to it; it needs only the old rows. Then all rows' pairs follow, which are independent of one another and
can be shared out among threads: `join_pairs`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ocboost._kernels.arrays import Floats, Head, Int8s, Ints, Tail, Words, first_column, floats_at, row_start
from ocboost._kernels.bits import bit, mask_between, pack_row, transpose, unpack_row
from ocboost._kernels.compile import kernel, plain, unlikely
from ocboost._kernels.head import UNIFORM, UNIT, open_segment, segment_at, step, weight_of
from ocboost._kernels.llvm_bits import add_by_bits, add_by_bits_16, add_by_bits_32
from ocboost._kernels.scaled import add, divide, exponential, multiply, normal, ratio
from ocboost._kernels.solve import Solution, solve
from ocboost._kernels.tail import OWN_FACTOR, own, shrink, tidy

# No row of a balanced tail holds more than the one before it; what others claim is never used.
MOST_SHARE = 1e6
MAX_BLOCKS = 4  # blocks of 64 examples that join the pairs in one pass over them


class Newcomers(NamedTuple):
    """A few blocks of 64 examples on their way into the pairs."""

    weight: Floats  # (blocks, J, 64): d_ij, up to the scale of its row and sign
    scale: Floats  # (blocks, 2, J)
    member: Words  # (blocks, 2, J): the examples with margin +1, -1
    column: Words  # (blocks, 2, tiles, 64): for each example where its margins are +1, -1, 64 to a word
    size: Ints  # (1,): blocks in use
    full: Floats  # (2, J): what a pair with margin σ wherever the row has comes to, see `tail._share`


def make_newcomers(n_hypotheses: int, n_blocks: int) -> Newcomers:
    """Room for the newcomers of one pass."""
    n_blocks = max(1, min(n_blocks, MAX_BLOCKS))
    tiles = (n_hypotheses + 63) // 64
    return Newcomers(
        weight=np.zeros((n_blocks, n_hypotheses, 64)),
        scale=np.zeros((n_blocks, 2, n_hypotheses)),
        member=np.zeros((n_blocks, 2, n_hypotheses), np.uint64),
        column=np.zeros((n_blocks, 2, tiles, 64), np.uint64),
        size=np.zeros(1, np.int64),
        full=np.ones((2, n_hypotheses)),
    )


@kernel
def gather(head: Head, first: int, count: int, solution: Solution, newcomers: Newcomers) -> int:
    """Prepare the oldest examples for joining the pairs; returns how many fitted in.

    Their weights are led through the coordinates once more, now that all of α is known, and divided by
    W^σ_jj, σ the margin at j: as d and one scale for each sign where one unit fits all.
    """
    alphas, exp_alphas, state, ds = solution.alpha, solution.exp_alpha, solution.state, solution.d
    base, base_unit = solution.base, solution.base_unit
    folded, folded_unit = solution.folded, solution.folded_unit
    words, weight, scale, member = head.words, newcomers.weight, newcomers.scale, newcomers.member
    segment = segment_at(solution, head, 0, 0)
    J = alphas.size
    n_ring = words.shape[0]
    block = 0
    done = 0
    while block < weight.shape[0] and done < count:
        position = (first + done) % (64 * n_ring)
        here = min(64 - (position & 63), count - done)
        physical = position >> 6
        valid = mask_between(position & 63, (position & 63) + here)
        for tile in range(newcomers.column.shape[2]):
            right, wrong = newcomers.column[block, 0, tile], newcomers.column[block, 1, tile]
            transpose(words[physical, 64 * tile : min(64 * tile + 64, J)], right)
            for i in range(64):
                wrong[i] = ~right[i]
        open_segment(segment, head, position, here, 0.0, 0)
        alpha, if_right, if_wrong = 0.0, 1.0, 1.0
        for j in range(J):
            step(segment, j, alpha, if_right, if_wrong)
            member[block, 0, j] = words[physical, j] & valid
            member[block, 1, j] = ~words[physical, j] & valid
            for i in range(64):
                weight[block, j, i] = ds[i]
            for sign in range(2):
                W, W_unit = add(
                    base[0, sign, j], base_unit[0, sign, j], folded[sign, j], folded_unit[sign, j]
                )
                if W == 0.0:
                    scale[block, sign, j] = 0.0
                elif state[0, UNIFORM] and W_unit == state[0, UNIT]:
                    scale[block, sign, j] = 1.0 / W
                else:
                    scale[block, sign, j] = 1.0
                    for i in range(64):
                        if bit(member[block, sign, j], i):
                            x, u = weight_of(segment, i)
                            weight[block, j, i] = ratio(x, u, W, W_unit) if x > 0.0 else 0.0
            alpha = alphas[j]
            if_wrong = exp_alphas[j]
            if_right = 1.0 / if_wrong
        done += here
        block += 1
    newcomers.size[0] = block
    return done


@kernel
def join_pairs(
    tail: Tail,
    order: int,
    correction: int,
    solution: Solution,
    newcomers: Newcomers,
    rebase: bool,
    last: bool,
    begin: int,
    end: int,
    room: Floats,
) -> None:
    """Bring the pairs of the rows begin … end - 1 up to date with α and with the newcomers.

    ``rebase``: give each pair its own factor and make room for the newcomers first, once for each fold;
    ``last``: no more newcomers will come. A row is brought up to date 64 coordinates at a time, beginning
    with the tile that holds j itself: the sum that stands there at j is what a pair in step with the row
    comes to.
    """
    base, base_unit = solution.base, solution.base_unit
    folded, folded_unit, full = solution.folded, solution.folded_unit, newcomers.full
    fall_at, rise_at, room_at = solution.fall.ctypes.data, solution.rise.ctypes.data, room.ctypes.data
    p_plus, p_minus = tail.p_plus.ctypes.data, tail.p_minus.ctypes.data
    weight_at, column_at = newcomers.weight.ctypes.data, newcomers.column.ctypes.data
    scale, member = newcomers.scale, newcomers.member
    n_blocks, J, n_tiles = newcomers.size[0], folded.shape[1], newcomers.column.shape[2]
    for j in range(begin, end):
        band = first_column(j, order)
        n_pairs = j - band
        for sign in range(2):
            place = (p_plus if sign == 0 else p_minus) + 8 * row_start(j, order)
            p = floats_at(place, n_pairs)
            joining = folded[sign, j] > 0.0
            if rebase:
                keep = 1.0
                if joining:
                    W, W_unit = add(
                        base[0, sign, j], base_unit[0, sign, j], folded[sign, j], folded_unit[sign, j]
                    )
                    keep = ratio(base[0, sign, j], base_unit[0, sign, j], W, W_unit)
                full[sign, j] = keep
                if correction & OWN_FACTOR:
                    fall = floats_at(fall_at + 8 * band, n_pairs)
                    rise = floats_at(rise_at + 8 * band, n_pairs)
                    if sign == 0:
                        own(p, fall, rise, keep)
                    else:
                        own(p, rise, fall, keep)
                elif joining:
                    shrink(p, keep)
            if not joining:
                continue
            for tile in range(j >> 6, (band >> 6) - 1, -1):
                left = 64 * tile
                low, high = max(left, band), min(left + 64, j)
                size = max(high - low, 0)
                at = place + 8 * (low - band)
                out = at
                if size < 64:  # a part of a tile is brought up to date in a whole one
                    out = room_at
                    part = floats_at(at, size)
                    for k in range(size):
                        room[low - left + k] = part[k]
                    if j < left + 64:
                        room[j - left] = full[sign, j]
                for block in range(n_blocks):
                    weight = weight_at + 512 * (block * J + j)
                    column = column_at + 512 * ((2 * block + sign) * n_tiles + tile)
                    if j - left < 16:
                        add_by_bits_16(out, weight, scale[block, sign, j], column, member[block, sign, j])
                    elif j - left < 32:
                        add_by_bits_32(out, weight, scale[block, sign, j], column, member[block, sign, j])
                    else:
                        add_by_bits(out, weight, scale[block, sign, j], column, member[block, sign, j])
                if size < 64:
                    part = floats_at(at, size)
                    for k in range(size):
                        part[k] = room[low - left + k]
                    if j < left + 64:
                        full[sign, j] = room[j - left]
            if last:
                tidy(p, full[sign, j])


@kernel
def settle_tail(tail: Tail, head: Head, first: int, n_fold: int, solution: Solution) -> None:
    """End a fold: the tail's diagonal, its α and its total take the new values."""
    for j in range(solution.alpha.size):
        tail.alpha[0, j] = solution.alpha[j]
        tail.exp_alpha[0, j] = solution.exp_alpha[j]
        for sign in range(2):
            tail.W[0, sign, j], tail.W_unit[0, sign, j] = add(
                solution.base[0, sign, j],
                solution.base_unit[0, sign, j],
                solution.folded[sign, j],
                solution.folded_unit[sign, j],
            )
    total, total_unit = tail.total[0], tail.total_unit[0]
    for i in range(n_fold):
        place = (first + i) % head.weight.size
        value, unit = normal(head.weight[place], np.int64(head.weight_unit[place]))
        total, total_unit = add(total, total_unit, value, unit)
    tail.total[0], tail.total_unit[0] = total, total_unit
    settle_shares(tail)


@kernel
def settle_shares(tail: Tail) -> None:
    """Find again what share of the coordinate before each latecomer's row holds."""
    share, W, W_unit = tail.share, tail.W, tail.W_unit
    out, out_unit = tail.total[0], tail.total_unit[0]  # what leaves the coordinate before
    for j in range(share.shape[1]):
        plus, plus_unit, minus, minus_unit = W[0, 0, j], W_unit[0, 0, j], W[0, 1, j], W_unit[0, 1, j]
        if unlikely(share[0, j] != 1.0):
            both, both_unit = add(plus, plus_unit, minus, minus_unit)
            # Where both are empty the row holds all that the one before does.
            share[0, j] = min(ratio(both, both_unit, out, out_unit), MOST_SHARE) if out > 0.0 else 1.0
        if j + 1 < share.shape[1] and share[0, j + 1] != 1.0:
            value, unit = exponential(-tail.alpha[0, j])
            plus, plus_unit = multiply(plus, plus_unit, value, unit)
            value, unit = exponential(tail.alpha[0, j])
            minus, minus_unit = multiply(minus, minus_unit, value, unit)
            out, out_unit = add(plus, plus_unit, minus, minus_unit)


@kernel
def unpack_member(head: Head, position: int, solution: Solution, row: Int8s) -> None:
    """Write the margins of a single example to be folded as 1 where they are +1 (and where they are -1)."""
    unpack_row(head.words, position, row)
    for j in range(row.size):
        solution.member[0, j] = 1.0 if row[j] > 0 else 0.0
        solution.member[1, j] = 0.0 if row[j] > 0 else 1.0


@kernel
def shift_units(tail: Tail, head: Head, first: int, n: int, shift: int) -> None:
    """Take ``shift`` units of 2²⁵⁶ off every weight: exact, and keeps the counts small under forgetting."""
    for j in range(tail.alpha.size):
        for sign in range(2):
            if tail.W[0, sign, j] > 0.0:
                tail.W_unit[0, sign, j] -= shift
    if tail.total[0] > 0.0:
        tail.total_unit[0] -= shift
    for i in range(n):
        head.weight_unit[(first + i) % head.weight.size] -= shift


# Where `ingest` keeps its place: the columns of the counters.
FIRST, N, NOW_UNIT, DIVERGED, SEEN = range(5)
N_COUNTERS = 5


@kernel
def fold(
    tail: Tail,
    head: Head,
    counters: Ints,
    now: Floats,
    n_fold: int,
    order: int,
    correction: int,
    smoothing: float,
    solution: Solution,
    newcomers: Newcomers,
    room: Floats,
    row: Int8s,
) -> None:
    """Fold the ``n_fold`` oldest examples, in one thread."""
    first, n = counters[FIRST], counters[N]
    move = n_fold == 1
    if move:
        unpack_member(head, first, solution, row)
    if solve(
        tail, order, correction, head, first, n, n_fold, smoothing, now[0], counters[NOW_UNIT], solution, move
    ):
        counters[DIVERGED] = 1
    if not move:
        done = 0
        while done < n_fold:
            position = (first + done) % head.weight.size
            rebase = done == 0
            done += gather(head, position, n_fold - done, solution, newcomers)
            last = done == n_fold
            join_pairs(
                tail, order, correction, solution, newcomers, rebase, last, 0, solution.alpha.size, room
            )
    settle_tail(tail, head, first, n_fold, solution)
    end_fold(tail, head, counters, n_fold)


@kernel
def end_fold(tail: Tail, head: Head, counters: Ints, n_fold: int) -> None:
    """Let the folded examples leave the head."""
    counters[FIRST] = (counters[FIRST] + n_fold) % head.weight.size
    counters[N] -= n_fold
    if counters[NOW_UNIT] != 0:
        shift_units(tail, head, counters[FIRST], counters[N], counters[NOW_UNIT])
        counters[NOW_UNIT] = 0


@kernel
def append(head: Head, counters: Ints, now: Floats, rows: Int8s, weights: Floats, forgetting: float) -> None:
    """Take examples into the head; there must be room.

    Under forgetting nothing old is touched: each newcomer weighs 1/λ more than the one before it.
    """
    size = head.weight.size
    for i in range(rows.shape[0]):
        position = (counters[FIRST] + counters[N]) % size
        pack_row(rows[i], head.words, position)
        if forgetting != 1.0:
            factor, factor_unit = normal(forgetting, 0)
            now[0], counters[NOW_UNIT] = divide(now[0], counters[NOW_UNIT], factor, factor_unit)
        if weights[i] == 1.0 and forgetting == 1.0 and now[0] == 1.0 and counters[NOW_UNIT] == 0:
            head.weight[position], head.weight_unit[position] = 1.0, 0
        else:
            value, unit = normal(weights[i], 0)
            value, unit = multiply(value, unit, now[0], counters[NOW_UNIT])
            head.weight[position], head.weight_unit[position] = value, unit
        counters[N] += 1
        counters[SEEN] += 1


@kernel
def ingest(
    tail: Tail,
    head: Head,
    counters: Ints,
    now: Floats,
    rows: Int8s,
    weights: Floats,
    batch_size: int,
    keep: int,
    forgetting: float,
    order: int,
    correction: int,
    smoothing: float,
    solution: Solution,
    newcomers: Newcomers,
    room: Floats,
    row: Int8s,
) -> None:
    """Take in examples and fold whenever it is due, in one thread.

    The head folds at max(keep, batch_size) examples, and at the end of a batch if it holds ``keep`` or
    more; folding leaves ``keep`` less an eighth of it.
    """
    limit = max(keep, batch_size)
    n = rows.shape[0]
    for i in range(n):
        append(head, counters, now, rows[i : i + 1], weights[i : i + 1], forgetting)
        held = counters[N]
        end_of_batch = (i + 1) % batch_size == 0 or i + 1 == n
        if held == limit or (end_of_batch and held >= keep):
            n_fold = held - keep + (keep + 7) // 8
            fold(
                tail,
                head,
                counters,
                now,
                n_fold,
                order,
                correction,
                smoothing,
                solution,
                newcomers,
                room,
                row,
            )


@kernel
def slide(
    tail: Tail,
    head: Head,
    counters: Ints,
    now: Floats,
    rows: Int8s,
    weights: Floats,
    keep: int,
    forgetting: float,
) -> None:
    """Take examples into a window of exactly ``keep``: the oldest leave, and there is no tail."""
    for i in range(rows.shape[0]):
        if counters[N] == keep:
            counters[FIRST] = (counters[FIRST] + 1) % head.weight.size
            counters[N] -= 1
        append(head, counters, now, rows[i : i + 1], weights[i : i + 1], forgetting)
        if counters[NOW_UNIT] > 1000:
            shift_units(tail, head, counters[FIRST], counters[N], counters[NOW_UNIT])
            counters[NOW_UNIT] = 0


@plain
def blend(p: Floats, q: Floats, order: int, base: Floats, base_unit: Ints, sign: int, out: Floats) -> None:
    """The pairs of two tails together: each counts by its share of the row's weight.

    Compiled without contraction: a·x + b·y must be the same as b·y + a·x to the last bit.
    """
    for j in range(base.shape[2]):
        low = first_column(j, order)
        start = row_start(j, order)
        W, W_unit = add(base[0, sign, j], base_unit[0, sign, j], base[1, sign, j], base_unit[1, sign, j])
        if W == 0.0:
            continue
        a = ratio(base[0, sign, j], base_unit[0, sign, j], W, W_unit)
        b = ratio(base[1, sign, j], base_unit[1, sign, j], W, W_unit)
        for k in range(start, start + j - low):
            share = p[k] * a + q[k] * b
            out[k] = 1.0 if share >= min(a + b, 1.0) else share
