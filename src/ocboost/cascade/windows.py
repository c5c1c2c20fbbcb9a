"""What a cascade says to windows of its own size.

Windows that an adapter was shown: checked, and the newest of them kept for setting thresholds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import as_count, as_number, as_weights
from ocboost._core.threads import get_num_threads, run
from ocboost._kernels.cascade_windows import count_passed, count_passed_in_lanes, sum_stages
from ocboost.cascade.cascade import Cascade
from ocboost.errors import InputError
from ocboost.hypotheses.learners.base import as_labels

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


Pixels = NDArray[np.uint8]
LIGHTEST, HEAVIEST = 1e-6, 1e6  # weights; their products with exp(-y F₀) then stay far from a double's ends
MOST_KEPT = 20_000
LEAST_DEVIATION = 10  # OpenCV does not look at windows whose inner pixels deviate by this or less


def as_labelled(
    cascade: Cascade, windows: Any, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Pixels, NDArray[np.int8], NDArray[np.float64]]:
    """Check windows with their labels, +1 for a face and -1 for anything else; one window may come alone.

    What is given back is to be learnt from: windows of weight 0 are left out, and those of low contrast, at
    which OpenCV never looks.
    """
    found = np.asarray(windows)
    if found.ndim == 2:
        found, y = found[None], np.reshape(np.asarray(y), -1)
        sample_weight = None if sample_weight is None else np.reshape(np.asarray(sample_weight), -1)
    found = as_windows(cascade, found)
    if not len(found):
        raise InputError("windows must hold at least one window; got none.")
    labels, weights = as_labels(y, len(found)), as_weights(sample_weight, len(found))
    counts = weights > 0.0
    if (weights[counts] < LIGHTEST).any() or (weights > HEAVIEST).any():
        raise InputError(
            f"sample_weight must be 0 or from {LIGHTEST:g} to {HEAVIEST:g}; got {weights.min():g} to "
            f"{weights.max():g}. Scale the weights: only their ratios matter."
        )
    counts &= has_contrast(found)
    return found[counts], labels[counts], weights[counts]


def as_face_weight(value: object) -> float:
    """Check how many others a face counts."""
    return as_number(value, "face_weight", LIGHTEST, HEAVIEST, "A face counts so many others.")


def newest_kept(forgetting: float) -> int:
    """How many held-out windows thresholds are set by: fewer where the past fades.

    >>> newest_kept(1.0), newest_kept(0.9999), newest_kept(0.5)
    (20000, 10000, 500)
    """
    if forgetting == 1.0:
        return MOST_KEPT
    return int(min(MOST_KEPT, max(500, round(1.0 / (1.0 - forgetting)))))


def has_contrast(windows: Pixels) -> NDArray[np.bool_]:
    """Which windows OpenCV looks at: those whose inner pixels deviate by more than 10.

    >>> flat = np.full((1, 24, 24), 7, np.uint8)
    >>> stripes = np.tile(np.array([0, 40], np.uint8), (1, 24, 12))
    >>> has_contrast(np.concatenate([flat, stripes])).tolist()
    [False, True]
    """
    inner = windows[:, 1:-1, 1:-1].reshape(len(windows), -1)
    area = inner.shape[1]
    sums = inner.sum(axis=1, dtype=np.int64)
    squares = np.einsum("ij,ij->i", inner, inner, dtype=np.int64, casting="unsafe")
    # As OpenCV: area / √(area·Σx² - (Σx)²) < 0.1.
    result: NDArray[np.bool_] = area * squares - sums**2 > (LEAST_DEVIATION * area) ** 2
    return result


class Newest:
    """The newest windows, at most so many; the oldest give way.

    >>> kept = Newest(3, 24, 24)
    >>> for shade in range(5):
    ...     kept.add(np.full((1, 24, 24), shade, np.uint8))
    >>> sorted(kept.windows[:, 0, 0].tolist())
    [2, 3, 4]
    """

    def __init__(self, most: int, height: int, width: int) -> None:
        self._most = most
        self._room = np.empty((0, height, width), np.uint8)
        self._next = 0

    @property
    def windows(self) -> Pixels:
        """Those that are kept, in no particular order."""
        return self._room

    def __len__(self) -> int:
        return len(self._room)

    def add(self, windows: Pixels) -> None:
        """Keep these too."""
        windows = windows[-self._most :]
        free = self._most - len(self._room)
        if free:
            self._room = np.concatenate([self._room, windows[:free]])
            windows = windows[free:]
        if len(windows):
            self._room[(self._next + np.arange(len(windows))) % self._most] = windows
            self._next = (self._next + len(windows)) % self._most
