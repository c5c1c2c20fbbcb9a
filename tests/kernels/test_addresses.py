"""Arrays that kernels reach by address live as long as the address is used.

numba gives an array back after the last use of its name. If its address is used after that, the memory may
belong to somebody else by then: a kernel in another thread.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ocboost

KERNELS = sorted((Path(ocboost.__file__).parent / "_kernels").glob("*.py"))
MAKERS = {"empty", "zeros", "ones", "full"}


def given_back_too_early(source: str) -> list[str]:
    """The arrays that are made in a function, and named for the last time before their address is used."""
    return [
        f"{function.name}: {name}"
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef)
        for name in _made_in(function)
        if _last_use(function, _addresses(function, name)) > _last_use(function, {name})
    ]


def _pairs(function):
    """Names that are assigned, each with its value."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                both = (target, node.value)
                tuples = all(isinstance(each, ast.Tuple) for each in both)
                pairs = zip(target.elts, node.value.elts, strict=True) if tuples else [both]
                yield from ((a.id, b) for a, b in pairs if isinstance(a, ast.Name))


def _made_in(function):
    return {
        name
        for name, value in _pairs(function)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in MAKERS
    }


def _addresses(function, array):
    """Names that hold an address in this array."""
    wanted = f"{array}.ctypes.data"
    return {name for name, value in _pairs(function) if wanted in ast.unparse(value)}


def _last_use(function, names):
    """The last line that uses one of these names; all of a loop counts, as it comes back there."""
    lines = [0]

    def visit(node, end):
        for child in ast.iter_child_nodes(node):
            loop = isinstance(child, ast.For | ast.While)
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load) and child.id in names:
                lines.append(end or child.lineno)
            visit(child, end or (child.end_lineno if loop else 0))

    visit(function, 0)
    return max(lines)


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_arrays_outlive_their_addresses(path):
    assert given_back_too_early(path.read_text(encoding="utf-8")) == []


def test_the_check_finds_what_it_looks_for():
    early = """
def kernel(n):
    counts, sums = np.empty(n), np.zeros(n)
    counts_at, sums_at = counts.ctypes.data, sums.ctypes.data
    for i in range(n):
        add(sums_at + 8 * i, counts_at)
    return sums[0]
"""
    assert given_back_too_early(early) == ["kernel: counts"]
    assert given_back_too_early(early.replace("sums[0]", "sums[0] + counts[0]")) == []
    assert given_back_too_early(early.replace("sums_at + 8", "counts[i] + sums_at + 8")) == []
