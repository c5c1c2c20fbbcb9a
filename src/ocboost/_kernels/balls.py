"""Squared distances of rows to centres: Σ_f (x_f - c_f)², in the order of f, in double precision.

Every sum is the one that a plain loop over the features gives, to the last bit, so that an answer depends
neither on which rows are asked together nor on the machine. A matrix product would promise neither, and
cancels where a row is close to a centre. Rows are laid out in tiles of 16, feature by feature; a vector
instruction then works on eight rows, and 16 rows meet four centres while they are in registers. Addresses are
passed as integers; the caller answers for their being in range.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from ocboost._kernels.compile import instruction, plain

ROWS = 16  # rows of a tile
CENTRES = 4  # centres that meet a tile at once
LANES = 8

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_DOUBLE, _FLOAT = ir.DoubleType(), ir.FloatType()
_VECTOR = ir.VectorType(_DOUBLE, LANES)


def _int(value: int) -> Any:
    return ir.Constant(_I64, value)


def _load(builder: Any, address: Any, of: Any, size: int) -> Any:
    return builder.load(builder.inttoptr(address, ir.PointerType(of)), align=size)


def _spread(builder: Any, scalar: Any) -> Any:
    empty = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(empty, scalar, ir.Constant(_I32, 0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES))


def _distances(centres: int, number: Any, size: int) -> Any:
    """Squared distances of a tile's rows to so many centres; the tile holds ``number``, of ``size`` bytes."""
    vectors = ROWS // LANES

    def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        out, tile, first, n_features = args
        before = builder.block
        loop = builder.append_basic_block("features")
        done = builder.append_basic_block("features.done")
        builder.branch(loop)

        builder.position_at_end(loop)
        f = builder.phi(_I64)
        f.add_incoming(_int(0), before)
        sums = [[builder.phi(_VECTOR) for _ in range(vectors)] for _ in range(centres)]
        x = []
        for v in range(vectors):
            offset = builder.add(builder.mul(f, _int(ROWS * size)), _int(LANES * size * v))
            here = _load(builder, builder.add(tile, offset), ir.VectorType(number, LANES), size)
            x.append(here if number is _DOUBLE else builder.fpext(here, _VECTOR))
        after = []
        for j in range(centres):
            row = builder.add(first, builder.mul(n_features, _int(8 * j)))
            c = _load(builder, builder.add(row, builder.mul(f, _int(8))), _DOUBLE, 8)
            c = _spread(builder, c)
            for v in range(vectors):
                gap = builder.fsub(x[v], c)
                after.append(builder.fadd(sums[j][v], builder.fmul(gap, gap)))
        one_more = builder.add(f, _int(1))
        f.add_incoming(one_more, loop)
        flat = [phi for line in sums for phi in line]
        for phi, value in zip(flat, after, strict=True):
            phi.add_incoming(ir.Constant(_VECTOR, [0.0] * LANES), before)
            phi.add_incoming(value, loop)
        builder.cbranch(builder.icmp_unsigned("<", one_more, n_features), loop, done)

        builder.position_at_end(done)
        for place, value in enumerate(after):
            address = builder.add(out, _int(8 * LANES * place))
            builder.store(value, builder.inttoptr(address, ir.PointerType(_VECTOR)), align=8)
        return context.get_dummy_value()

    def typed(typing_context: Any, out: Any, tile: Any, first: Any, n_features: Any) -> Any:
        address = types.intp
        return types.void(address, address, address, address), write

    return instruction(typed)


_four_double, _one_double = _distances(CENTRES, _DOUBLE, 8), _distances(1, _DOUBLE, 8)
_one_float = _distances(1, _FLOAT, 4)


@plain
def lay_dense(X: NDArray[np.floating], tile: NDArray[np.floating]) -> None:
    """Write at most 16 rows into a tile, (F, 16); rows that are wanting become zeros."""
    n = X.shape[0]
    for f in range(X.shape[1]):
        for i in range(ROWS):
            tile[f, i] = X[i, f] if i < n else 0.0


@plain
def lay_sparse(
    data: NDArray[np.floating],
    indices: NDArray[np.integer],
    indptr: NDArray[np.integer],
    first: int,
    tile: NDArray[np.float64],
) -> None:
    """Write at most 16 rows of a CSR matrix, from row ``first`` on, into a tile. Repeated entries add."""
    tile[:] = 0.0
    for i in range(min(ROWS, indptr.size - 1 - first)):
        for k in range(indptr[first + i], indptr[first + i + 1]):
            tile[indices[k], i] += data[k]


@plain
def tile_distances(tile: NDArray[np.float64], centres: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Squared distances of a tile's rows to J centres: ``out`` is (J, 16)."""
    J, F = centres.shape
    j = 0
    while j + CENTRES <= J:
        _four_double(out[j].ctypes.data, tile.ctypes.data, centres[j].ctypes.data, F)
        j += CENTRES
    while j < J:
        _one_double(out[j].ctypes.data, tile.ctypes.data, centres[j].ctypes.data, F)
        j += 1


@plain
def distances_to_one(
    tiles: NDArray[np.floating], centre: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Squared distances of the rows of many tiles, (T, F, 16), to one centre: ``out`` is (T, 16)."""
    for t in range(tiles.shape[0]):
        if tiles.itemsize == 8:
            _one_double(out[t].ctypes.data, tiles[t].ctypes.data, centre.ctypes.data, centre.size)
        else:
            _one_float(out[t].ctypes.data, tiles[t].ctypes.data, centre.ctypes.data, centre.size)


@plain
def outside(
    squared: NDArray[np.float64],
    theta: NDArray[np.float64],
    sign: NDArray[np.int8],
    first: int,
    block: NDArray[np.int8],
) -> None:
    """Answer sign_j where a row is at least theta_j away, and -sign_j where it is closer.

    The rows of the tile go into ``block``, (J, rows), from column ``first`` on.
    """
    n = min(ROWS, block.shape[1] - first)
    for j in range(theta.size):
        least = theta[j] * theta[j]
        for i in range(n):
            block[j, first + i] = sign[j] if squared[j, i] >= least else -sign[j]


@plain
def first_not_finite(X: NDArray[np.floating]) -> int:
    """Where in a flat array the first NaN or infinity is; -1 if there is none."""
    for i in range(X.size):
        if not np.isfinite(X[i]):
            return i
    return -1


@plain
def rough_scores(
    squared: NDArray[np.float32],
    signed: NDArray[np.float64],
    bins: NDArray[np.float64],
    score: NDArray[np.float64],
) -> None:
    """About what `best_cuts` finds for each candidate, from distances cut into equal bins and not sorted."""
    total = 0.0
    for i in range(signed.size):
        total += signed[i]
    for c in range(squared.shape[0]):
        line = squared[c]
        most = np.float32(0.0)
        for i in range(line.size):
            most = max(most, line[i])
        bins[:] = 0.0
        scale = np.float32(bins.size - 1) / most if most > 0.0 else np.float32(0.0)
        for i in range(line.size):
            bins[int(max(line[i], np.float32(0.0)) * scale)] += signed[i]
        best, inside = abs(total), 0.0
        for b in range(bins.size - 1):
            inside += bins[b]
            best = max(best, abs(2.0 * inside - total))
        score[c] = best


@plain
def best_cuts(
    squared: NDArray[np.float64],
    order: NDArray[np.int64],
    signed: NDArray[np.float64],
    score: NDArray[np.float64],
    cut: NDArray[np.int64],
) -> None:
    """Each candidate's best cut between two neighbours in the order of their distances.

    Cutting after place k puts ``order[:k + 1]`` inside; the score is by how much the signed weight inside
    and outside differ. Only distances that are clearly apart are cut, so that the middle lies between them
    whatever is rounded. -1 puts none inside.
    """
    total = 0.0
    for i in range(signed.size):
        total += signed[i]
    for c in range(order.shape[0]):
        best, at = abs(total), -1
        inside = 0.0
        for k in range(order.shape[1] - 1):
            i = order[c, k]
            inside += signed[i]
            found = abs(2.0 * inside - total)
            if found > best and squared[c, order[c, k + 1]] > squared[c, i] * (1.0 + 1e-9):
                best, at = found, k
        score[c], cut[c] = best, at
