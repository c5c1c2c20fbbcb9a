"""Decision trees: how they are laid out for answering, and their answers on a block of rows.

A small tree is a list of operations, each over all rows of the block: bottom up, every inner node chooses
between the lines that hold its children's values. That compares more than a walk would, but it is
contiguous and has no branches. A large tree is walked, all rows of the block one level at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._kernels.arrays import Flags, Floats, Int8s, Int32s, Ints, Reals, UInt32s
from ocboost._kernels.compile import exact, kernel

#: A node that is walked: the children are neighbours, ``left`` and ``left + 1``. At a leaf ``left`` is -1 and
#: ``code`` its row of answers; elsewhere ``code`` is twice the feature's line, plus one if NaN goes left.
NODE = np.dtype([("threshold", "f8"), ("left", "i4"), ("code", "u4")])

WALKED = -1


class Plan(NamedTuple):
    """Trees laid out for answering. U are the distinct ones."""

    tree: Ints  # (T,): which of the distinct trees
    first: Ints  # (U,): first operation, or first node if it is walked
    last: Ints  # (U,): one after the last operation, or WALKED
    leaf: Ints  # (U,): first row of answers
    line: Ints  # of each operation: the feature's line
    missing_left: Int8s
    yes: Ints  # the line of values to take at or below the threshold
    no: Ints  # and above it
    to: Ints  # where the chosen values go
    result: Ints  # (U,): the line that holds a tree's values in the end
    node: NDArray[np.void]  # what is walked, of type NODE
    answer: Int8s  # (leaves, G)


@kernel
def measure_trees(left: Int32s, right: Int32s, depth: Ints, inner: Ints) -> None:
    """How deep the tree below each node is, and how many inner nodes it has; children come after parents."""
    for v in range(left.size - 1, -1, -1):
        if left[v] < 0:
            depth[v] = inner[v] = 0
        else:
            depth[v] = 1 + max(depth[left[v]], depth[right[v]])
            inner[v] = 1 + inner[left[v]] + inner[right[v]]


@kernel
def mark_reached(root: Int32s, left: Int32s, right: Int32s) -> Flags:
    """Which nodes belong to the trees with these roots."""
    reached = np.zeros(left.size, np.bool_)
    for r in root:
        reached[r] = True
    for v in range(left.size):
        if reached[v] and left[v] >= 0:
            reached[left[v]] = reached[right[v]] = True
    return reached


@kernel
def lay_out(
    root: Ints,
    line: Ints,
    threshold: Floats,
    left: Int32s,
    right: Int32s,
    missing_left: Int8s,
    answer: Int8s,
    constants: int,
    plan: Plan,
    limit: Floats,
) -> None:
    """Fill a plan of the trees with the distinct ``root``; ``limit`` are the operations' thresholds.

    Lines of values start with ``constants`` lines of the leaves' own: with one answer for each leaf these are
    -1 and +1, with more they are the numbers of the leaf within its tree.
    """
    single = answer.shape[1] == 1
    place = np.zeros(left.size, np.int64)
    order = np.zeros(left.size, np.int64)
    for u in range(root.size):
        leaf = plan.leaf[u]
        order[0] = root[u]
        if plan.last[u] == WALKED:
            first, total, k = plan.first[u], 1, 0
            while k < total:  # level by level
                v, node = order[k], plan.node[first + k]
                node["threshold"] = threshold[v]
                if left[v] < 0:
                    node["left"], node["code"] = -1, leaf
                    plan.answer[leaf] = answer[v]
                    leaf += 1
                else:
                    node["left"], node["code"] = first + total, 2 * line[v] + missing_left[v]
                    order[total], order[total + 1] = left[v], right[v]
                    total += 2
                k += 1
        else:
            inner, k, total = 0, 0, 1
            while k < total:
                v = order[k]
                if left[v] < 0:
                    plan.answer[leaf] = answer[v]
                    place[v] = (1 if answer[v, 0] > 0 else 0) if single else leaf - plan.leaf[u]
                    leaf += 1
                else:
                    place[v] = constants + inner
                    inner += 1
                    order[total], order[total + 1] = left[v], right[v]
                    total += 2
                k += 1
            plan.result[u] = place[root[u]]
            at = plan.first[u]
            for k in range(total - 1, -1, -1):  # children before parents
                v = order[k]
                if left[v] >= 0:
                    plan.line[at], limit[at] = line[v], threshold[v]
                    plan.missing_left[at] = missing_left[v]
                    plan.yes[at], plan.no[at] = place[left[v]], place[right[v]]
                    plan.to[at] = place[v]
                    at += 1


@exact
def _missing_right(x: Reals, limit: float, yes: Int8s, no: Int8s, to: Int8s) -> None:
    # With bits, for LLVM makes a choice between two loads one between their addresses, which is slow.
    for i in range(x.size):
        mask = np.int8(-1) if x[i] <= limit else np.int8(0)  # NaN is never <=
        to[i] = no[i] ^ ((yes[i] ^ no[i]) & mask)


@exact
def _missing_left(x: Reals, limit: float, yes: Int8s, no: Int8s, to: Int8s) -> None:
    for i in range(x.size):
        mask = np.int8(-1) if x[i] > limit else np.int8(0)  # NaN is never >
        to[i] = yes[i] ^ ((yes[i] ^ no[i]) & mask)


@exact
def _walk(lines: Reals, node: NDArray[np.void], first: int, at: UInt32s, active: UInt32s) -> None:
    """Lead every row from the root ``first`` to its leaf, ``at``."""
    left = 0
    for i in range(at.size):
        at[i] = first
        active[i] = i
    if node[first]["left"] >= 0:
        left = at.size
    while left > 0:
        still = 0
        for a in range(left):
            i = active[a]
            here = node[at[i]]
            code = here["code"]
            x = lines[code >> np.uint32(1), i]
            right = (x > here["threshold"]) | ((x != x) & ((code & np.uint32(1)) == 0))
            there = np.uint32(here["left"] + (1 if right else 0))
            at[i] = there
            active[still] = i
            still += 1 if node[there]["left"] >= 0 else 0
        left = still


@kernel
def answer_trees(lines: Reals, plan: Plan, limit: Reals, values: Int8s, constants: int, block: Int8s) -> None:
    """Answer g of tree t goes to line g·T + t of the block; ``values`` is room for the operations' lines."""
    T, G, n = plan.tree.size, plan.answer.shape[1], lines.shape[1]
    at, active = np.empty(n, np.uint32), np.empty(n, np.uint32)
    for c in range(constants):
        values[c] = 2 * c - 1 if G == 1 else c
    for t in range(T):
        u = plan.tree[t]
        if plan.last[u] == WALKED:
            _walk(lines, plan.node, plan.first[u], at, active)
            for g in range(G):
                out = block[g * T + t]
                for i in range(n):
                    out[i] = plan.answer[plan.node[at[i]]["code"], g]
            continue
        for o in range(plan.first[u], plan.last[u]):
            x, yes, no, to = lines[plan.line[o]], values[plan.yes[o]], values[plan.no[o]], values[plan.to[o]]
            if plan.missing_left[o]:
                _missing_left(x, limit[o], yes, no, to)
            else:
                _missing_right(x, limit[o], yes, no, to)
        result = values[plan.result[u]]
        if G == 1:
            block[t] = result
        else:
            answer = plan.answer[plan.leaf[u] :]
            for g in range(G):
                out = block[g * T + t]
                for i in range(n):
                    out[i] = answer[result[i], g]
