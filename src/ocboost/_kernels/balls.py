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

from ocboost._kernels.arrays import Floats, Int8s, Integers, Ints, Reals, Singles
from ocboost._kernels.compile import instruction, plain
from ocboost._kernels.llvm import (
    ADDRESS,
    DOUBLE,
    FLOAT,
    LANES,
    NO_DOUBLES,
    VECTOR,
    load,
    loop,
    spread,
    store,
    whole,
)

TILE_ROWS = 16  # rows of a tile
CENTRES = 4  # centres that meet a tile at once


def _distances(centres: int, number: Any, size: int) -> Any:
    """Squared distances of a tile's rows to so many centres; the tile holds ``number``, of ``size`` bytes."""
    vectors = TILE_ROWS // LANES

    def distances(typing_context: Any, out: Any, tile: Any, first: Any, n_features: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            out, tile, first, n_features = args

            def body(carried: list[Any]) -> tuple[list[Any], Any]:
                f, *sums = carried
                x = []
                for v in range(vectors):
                    offset = builder.add(builder.mul(f, whole(TILE_ROWS * size)), whole(LANES * size * v))
                    here = load(builder, builder.add(tile, offset), ir.VectorType(number, LANES), align=size)
                    x.append(here if number is DOUBLE else builder.fpext(here, VECTOR))
                after: list[Any] = []
                for j in range(centres):
                    row = builder.add(first, builder.mul(n_features, whole(8 * j)))
                    c = spread(builder, load(builder, builder.add(row, builder.mul(f, whole(8))), DOUBLE))
                    for v in range(vectors):
                        gap = builder.fsub(x[v], c)
                        after.append(builder.fadd(sums[len(after)], builder.fmul(gap, gap)))
                following = builder.add(f, whole(1))
                return [following, *after], builder.icmp_unsigned("<", following, n_features)

            start = [whole(0), *[NO_DOUBLES] * (centres * vectors)]
            _, *sums = loop(builder, "features", None, start, body)
            for place, value in enumerate(sums):
                store(builder, value, builder.add(out, whole(8 * LANES * place)))
            return context.get_dummy_value()

        return types.void(*[ADDRESS] * 4), codegen

    return instruction(distances)


_four_double, _one_double = _distances(CENTRES, DOUBLE, 8), _distances(1, DOUBLE, 8)
_one_float = _distances(1, FLOAT, 4)


@plain
def lay_dense(X: Reals, tile: Reals) -> None:
    """Write at most 16 rows into a tile, (F, 16); rows that are wanting become zeros."""
    n = X.shape[0]
    for f in range(X.shape[1]):
        for i in range(TILE_ROWS):
            tile[f, i] = X[i, f] if i < n else 0.0


@plain
def lay_sparse(data: Reals, indices: Integers, indptr: Integers, first: int, tile: Floats) -> None:
    """Write at most 16 rows of a CSR matrix, from row ``first`` on, into a tile. Repeated entries add."""
    tile[:] = 0.0
    for i in range(min(TILE_ROWS, indptr.size - 1 - first)):
        for k in range(indptr[first + i], indptr[first + i + 1]):
            tile[indices[k], i] += data[k]


@plain
def tile_distances(tile: Floats, centres: Floats, out: Floats) -> None:
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
def distances_to_one(tiles: Reals, centre: Floats, out: Floats) -> None:
    """Squared distances of the rows of many tiles, (T, F, 16), to one centre: ``out`` is (T, 16)."""
    for t in range(tiles.shape[0]):
        if tiles.itemsize == 8:
            _one_double(out[t].ctypes.data, tiles[t].ctypes.data, centre.ctypes.data, centre.size)
        else:
            _one_float(out[t].ctypes.data, tiles[t].ctypes.data, centre.ctypes.data, centre.size)


@plain
def outside(squared: Floats, theta: Floats, sign: Int8s, first: int, block: Int8s) -> None:
    """Answer sign_j where a row is at least theta_j away, and -sign_j where it is closer.

    The rows of the tile go into ``block``, (J, rows), from column ``first`` on.
    """
    n = min(TILE_ROWS, block.shape[1] - first)
    for j in range(theta.size):
        least = theta[j] * theta[j]
        for i in range(n):
            block[j, first + i] = sign[j] if squared[j, i] >= least else -sign[j]


@plain
def rough_scores(squared: Singles, signed: Floats, bins: Floats, score: Floats) -> None:
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
def best_cuts(squared: Floats, order: Ints, signed: Floats, score: Floats, cut: Ints) -> None:
    """Each candidate's best cut between two neighbours in the order of their distances.

    Cutting after place k puts ``order[:k + 1]`` inside; the score is by how much the signed weight inside
    and outside differ. Only distances that are clearly apart are cut, so that the middle lies between them
    however it is rounded. -1 puts none inside.
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
