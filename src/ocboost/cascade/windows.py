"""What a cascade says to windows of its own size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..kernels.cascade_windows import count_passed, count_passed_in_lanes, sum_stages
from ..margins import as_count
from ..threads import get_num_threads, run
from .cascade import Cascade

BLOCK = 4096  # windows a thread takes at once
EARLY = 100  # stumps after which windows that have passed gather


def stage_sums(
    cascade: Cascade, windows: NDArray[np.uint8], stages: Sequence[int] | None = None
) -> NDArray[np.float64]:
    """Each stage's sum for each window, (n, S); no stage rejects, and windows of any contrast are looked at.

    Parameters
    ----------
    cascade : Cascade
    windows : uint8, shape (n, height, width)
    stages : sequence of int, optional
        Only these; all if left out.
    """
    windows = as_windows(cascade, windows)
    chosen = range(cascade.n_stages) if stages is None else stages
    wanted = np.array([as_count(s, "stages", 0, cascade.n_stages - 1, "") for s in chosen], np.int64)
    out = np.empty((windows.shape[0], wanted.size))
    turned, stumps = bool(cascade.tilted.any()), cascade.max_nodes == 1

    def fill(start: int) -> None:
        block = windows[start : start + BLOCK]
        sum_stages(block, turned, stumps, cascade._window_parts, wanted, out[start : start + BLOCK])

    _by_blocks(fill, windows.shape[0])
    return out


def passed(cascade: Cascade, windows: NDArray[np.uint8]) -> NDArray[np.int32]:
    """How many stages each window passes before it fails one: ``cascade.n_stages`` is accepted.

    A window whose inner pixels deviate by 10 or less is not looked at, as in OpenCV, and passes none.
    """
    windows = as_windows(cascade, windows)
    out = np.empty(windows.shape[0], np.int32)
    turned = bool(cascade.tilted.any())
    # Windows that pass the early stages go on with others that do.
    early = min(cascade.n_stages, int(np.searchsorted(cascade.stage_tree[1:], EARLY)) + 1)

    def fill(start: int) -> None:
        block, counts = windows[start : start + BLOCK], out[start : start + BLOCK]
        if cascade.max_nodes == 1:
            count_passed_in_lanes(block, turned, cascade._window_parts, early, counts)
        else:
            count_passed(block, turned, cascade._window_parts, counts)

    _by_blocks(fill, windows.shape[0])
    return out


def accepts(cascade: Cascade, windows: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which windows pass all stages."""
    return np.equal(passed(cascade, windows), cascade.n_stages)


def as_windows(cascade: Cascade, windows: Any) -> NDArray[np.uint8]:
    """Check windows: bytes, and of the cascade's size."""
    found = np.asarray(windows)
    shape = (cascade.height, cascade.width)
    if found.dtype != np.uint8 or found.ndim != 3 or found.shape[1:] != shape:
        raise InputError(
            f"windows must be uint8 of shape (n, {shape[0]}, {shape[1]}), grey and of the cascade's size; "
            f"got {found.dtype} of shape {found.shape}. Scale them to it, and round to 0..255."
        )
    return np.ascontiguousarray(found)


def _by_blocks(task: Callable[[int], None], n: int) -> None:
    starts = range(0, n, BLOCK)
    if len(starts) > 1 and get_num_threads() > 1:
        run(task, starts)
    else:
        for start in starts:
            task(start)
