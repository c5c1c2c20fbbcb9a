"""What a cascade says to windows of its own size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import as_count
from ocboost._kernels.cascade_windows import count_passed, count_passed_in_lanes, sum_stages
from ocboost.cascade.cascade import Cascade
from ocboost.errors import InputError
from ocboost.hypotheses.base import for_each

WINDOWS_PER_TASK = 4096
EARLY_STUMPS = 100  # after which the windows that have passed are gathered
MIN_DEVIATION = 10  # OpenCV does not look at windows whose inner pixels deviate by this or less


def stage_sums(
    cascade: Cascade, windows: NDArray[np.uint8], stages: Sequence[int] | None = None
) -> NDArray[np.float64]:
    """Each stage's sum for each window; no stage rejects, and windows of any contrast are looked at.

    Parameters
    ----------
    cascade : Cascade
        With S stages.
    windows : uint8, shape (n, height, width)
        Grey windows of its size.
    stages : sequence of int, optional
        Only these; all if left out.

    Returns
    -------
    array of shape (n, S)
        Before the thresholds.
    """
    windows = as_windows(cascade, windows)
    chosen = range(cascade.n_stages) if stages is None else stages
    wanted = np.array([as_count(s, "stages", 0, cascade.n_stages - 1, "") for s in chosen], np.int64)
    out = np.empty((windows.shape[0], wanted.size))
    turned, stumps = bool(cascade.tilted.any()), cascade.max_nodes == 1

    def fill(start: int) -> None:
        block = windows[start : start + WINDOWS_PER_TASK]
        sum_stages(
            block, turned, stumps, cascade._window_parts, wanted, out[start : start + WINDOWS_PER_TASK]
        )

    for_each(fill, range(0, windows.shape[0], WINDOWS_PER_TASK))
    return out


def passed(cascade: Cascade, windows: NDArray[np.uint8]) -> NDArray[np.int32]:
    """How many stages each window passes before it fails one: ``cascade.n_stages`` is accepted.

    A window whose inner pixels deviate by 10 or less is not looked at, as in OpenCV, and passes none.

    Parameters
    ----------
    cascade : Cascade
        What judges.
    windows : uint8, shape (n, height, width)
        Grey windows of its size.

    Returns
    -------
    int32 array of shape (n,)
        0 to ``cascade.n_stages``.
    """
    windows = as_windows(cascade, windows)
    out = np.empty(windows.shape[0], np.int32)
    turned = bool(cascade.tilted.any())
    # Windows that pass the early stages are gathered, and continue together.
    early = min(cascade.n_stages, int(np.searchsorted(cascade.stage_tree[1:], EARLY_STUMPS)) + 1)

    def fill(start: int) -> None:
        block, counts = windows[start : start + WINDOWS_PER_TASK], out[start : start + WINDOWS_PER_TASK]
        if cascade.max_nodes == 1:
            count_passed_in_lanes(block, turned, cascade._window_parts, early, counts)
        else:
            count_passed(block, turned, cascade._window_parts, counts)

    for_each(fill, range(0, windows.shape[0], WINDOWS_PER_TASK))
    return out


def accepts(cascade: Cascade, windows: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which windows pass all stages.

    Parameters
    ----------
    cascade : Cascade
        What judges.
    windows : uint8, shape (n, height, width)
        Grey windows of its size.

    Returns
    -------
    bool array of shape (n,)
        True where it finds a face.
    """
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


def has_contrast(windows: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which windows OpenCV looks at: those whose inner pixels deviate by more than 10.

    Parameters
    ----------
    windows : uint8, shape (n, height, width)
        Grey windows.

    Returns
    -------
    bool array of shape (n,)
        True where it looks.

    Examples
    --------
    >>> flat = np.full((1, 24, 24), 7, np.uint8)
    >>> stripes = np.tile(np.array([0, 40], np.uint8), (1, 24, 12))
    >>> has_contrast(np.concatenate([flat, stripes])).tolist()
    [False, True]
    """
    inner = (windows.shape[1] - 2) * (windows.shape[2] - 2)
    # As OpenCV: area / √(area·Σx² - (Σx)²) < 0.1.
    result: NDArray[np.bool_] = inner_spread(windows) > (MIN_DEVIATION * inner) ** 2
    return result


def inner_spread(windows: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Of each window's inner pixels x, all but a frame of one: their number · Σ x² - (Σ x)², (n,)."""
    inner = windows[:, 1:-1, 1:-1].reshape(len(windows), (windows.shape[1] - 2) * (windows.shape[2] - 2))
    sums = inner.sum(axis=1, dtype=np.int64)
    squares = np.einsum("ij,ij->i", inner, inner, dtype=np.int64, casting="unsafe")
    spread: NDArray[np.int64] = inner.shape[1] * squares - sums**2
    return spread
