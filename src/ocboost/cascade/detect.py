"""Find what a cascade accepts anywhere in an image, at any size, as OpenCV's ``detectMultiScale`` does.

Overlapping rectangles are put together as by its ``groupRectangles``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import as_count, as_number
from ocboost._kernels.pyramid import hide_inside, label_similar, shrink
from ocboost._kernels.scan import scan
from ocboost.cascade.cascade import Cascade
from ocboost.errors import InputError

Size = tuple[int, int]

MAX_GROUPED = 100_000  # rectangles: every pair is compared
SMALL_GROUP = 3
MAX_PIXELS = 1 << 26
MAX_SCALES = 2_000
STRIPE_WIDTH = 32.0  # of OpenCV's stripes, in steps of the window


def group_rectangles(
    rects: Any, min_neighbors: int = 3, eps: float = 0.2
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Put similar rectangles together, and drop groups that are too small or inside better ones.

    Parameters
    ----------
    rects : array of whole numbers, shape (n, 4)
        x, y, width and height.
    min_neighbors : int
        Groups of this many or fewer are dropped. 0 changes nothing.
    eps : float
        How far apart, relative to their size, the sides of similar rectangles may be.

    Returns
    -------
    grouped : int64 (m, 4)
        The mean rectangle of each group.
    sizes : int64 (m,)
        How many rectangles each group has.

    Raises
    ------
    InputError
        If the rectangles are not whole numbers of shape (n, 4), or too many.

    Examples
    --------
    >>> group_rectangles([[0, 0, 24, 24], [2, 2, 24, 24], [90, 0, 24, 24]], min_neighbors=1)
    (array([[ 1,  1, 24, 24]]), array([2]))
    """
    given = np.array(rects if np.size(rects) else np.empty((0, 4), np.int64))
    if given.ndim != 2 or given.shape[1] != 4 or given.dtype.kind not in "iu" or (abs(given) >= 2**31).any():
        raise InputError(
            f"rects must be whole numbers of shape (n, 4), x, y, width, height; got {rects!r:.80}."
        )
    min_neighbors = as_count(min_neighbors, "min_neighbors", 0, None, "")
    eps = as_number(eps, "eps", 0.0, np.inf, "")
    given = given.astype(np.int64)
    if min_neighbors == 0 or not given.size:
        return given, np.ones(len(given), np.int64)
    if len(given) > MAX_GROUPED:
        raise InputError(
            f"rects must be at most {MAX_GROUPED:,} to be grouped; got {len(given):,}. Does the cascade "
            "accept almost everything? Take a larger min_size, or min_neighbors=0 for all of them."
        )
    groups = groups_of(given, np.array([len(given)]), min_neighbors + 1, eps)[0]
    kept = groups.kept(min_neighbors)
    return groups.means[kept], groups.sizes[kept]


class Groups(NamedTuple):
    """Similar rectangles put together, before any group is dropped."""

    means: NDArray[np.int64]
    sizes: NDArray[np.int64]
    hidden_by: NDArray[np.int64]  # the size of the largest group that each one lies inside of, or 0

    def kept(self, min_neighbors: int) -> NDArray[np.bool_]:
        """Groups that are large enough, and not inside of a better one that is."""
        kept: NDArray[np.bool_] = (self.sizes > min_neighbors) & (self.hidden_by <= min_neighbors)
        return kept


def groups_of(
    rects: NDArray[np.int64], ends: NDArray[np.int64], smallest: int = 2, eps: float = 0.2
) -> list[Groups]:
    """The groups of the first ``ends[t]`` rectangles, for each t, rising; those below ``smallest`` left out.

    From them follow the groups for every number of neighbours from ``smallest - 1`` on.
    """
    label = np.empty((len(ends), len(rects)), np.int64)
    counts = np.empty(len(ends), np.int64)
    label_similar(rects, eps, ends, label, counts)
    found = []
    for end, own, n_groups in zip(ends.tolist(), label, counts.tolist(), strict=True):
        sizes = np.bincount(own[:end], minlength=n_groups)
        totals = np.zeros((n_groups, 4), np.int64)
        np.add.at(totals, own[:end], rects[:end])
        large = sizes >= smallest
        sizes, totals = sizes[large], totals[large]
        share = np.float32(1.0) / sizes.astype(np.float32)
        means = np.rint(totals.astype(np.float32) * share[:, None]).astype(np.int64)
        hidden_by = np.empty_like(sizes)
        hide_inside(means, sizes, eps, SMALL_GROUP, hidden_by)
        found.append(Groups(means, sizes, hidden_by))
    return found


def detect(
    cascade: Cascade,
    image: NDArray[np.uint8],
    scale_factor: float = 1.1,
    min_neighbors: int = 3,
    min_size: Size | None = None,
    max_size: Size | None = None,
) -> list[tuple[int, int, int, int]]:
    """The rectangles (x, y, width, height) in which a cascade finds something, in an image of any size.

    The image is shrunk again and again, the window slides over each size, and what is found is put together
    by `group_rectangles`. Scales, steps, roundings and the resizing are OpenCV's, so that its
    ``CascadeClassifier(…).detectMultiScale`` finds the same; the order may differ.

    Parameters
    ----------
    cascade : Cascade
        What looks for faces.
    image : uint8, shape (height, width)
        A grey image.
    scale_factor : float, default 1.1
        By how much the window grows from one size to the next; at least 1.001.
    min_neighbors : int, default 3
        How many rectangles at least, besides one, must be found at about the same place. 0 gives all.
    min_size, max_size : (width, height), optional
        Windows that are smaller or larger are left out.

    Returns
    -------
    array of shape (n, 4)
        x, y, width and height of each.
    """
    found = candidates(cascade, image, scale_factor, min_size, max_size)
    grouped, _ = group_rectangles(found, min_neighbors)
    cut, inside = clipped(grouped, *np.shape(image))
    return [(int(x), int(y), int(w), int(h)) for x, y, w, h in cut[inside]]


def clipped(rects: NDArray[np.int64], height: int, width: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Rectangles cut at the edges of an image, and which of them have something left."""
    corner = np.clip(rects[:, :2], 0, None)
    end = np.minimum(rects[:, :2] + rects[:, 2:], [width, height])
    return np.hstack([corner, end - corner]), (end > corner).all(axis=1)


def candidates(
    cascade: Cascade,
    image: NDArray[np.uint8],
    scale_factor: float = 1.1,
    min_size: Size | None = None,
    max_size: Size | None = None,
) -> NDArray[np.int64]:
    """Every window that passes all stages, before any are put together.

    Parameters
    ----------
    cascade : Cascade
        What looks for faces.
    image : uint8, shape (height, width)
        A grey picture.
    scale_factor : float, default 1.1
        As in `detect`, like those that follow.
    min_size : (int, int), optional
        Smallest width and height.
    max_size : (int, int), optional
        Largest width and height.

    Returns
    -------
    array of shape (n, 4)
        x, y, width and height of each.
    """
    found: NDArray[np.int64]
    found, _ = scored_candidates(cascade, image, scale_factor, min_size, max_size, lowest=0.0)
    return found


def scored_candidates(
    cascade: Cascade,
    image: NDArray[np.uint8],
    scale_factor: float = 1.1,
    min_size: Size | None = None,
    max_size: Size | None = None,
    *,
    lowest: float = -np.inf,
    most: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Every window that passes all stages before the last, and by how much it clears the last one.

    A score is the last stage's sum minus what OpenCV compares it with, the threshold lowered by 1e-5 in
    single precision: the cascade itself accepts from 0 on. In a cascade of two stages and more, those that
    score at least t are the `candidates` with the last threshold raised by t. In a cascade of one stage they
    need not be: a window that fails it lets the next one be skipped, and it fails, for this, below 0.

    Parameters
    ----------
    cascade, image, scale_factor, min_size, max_size
        As in `detect`.
    lowest : float, default -∞
        Windows that score less are left out. 0 gives `candidates`.
    most : int, optional
        Only this many, those that score highest; of equal ones the first.

    Returns
    -------
    rects : int64 (n, 4)
        x, y, width and height, in the order of the scan.
    scores : float64 (n,)
    """
    if isinstance(lowest, bool) or not isinstance(lowest, Real) or np.isnan(lowest):
        raise InputError(
            f"lowest must be a number or -∞; got {lowest!r:.80}. Take 0 for what the cascade accepts, "
            "-np.inf for all windows that come to its last stage."
        )
    most = None if most is None else as_count(most, "most", 1, None, "Leave it out for all of them.")
    image = as_image(image)
    sizes = list(_sizes(cascade, image, scale_factor, min_size, max_size))
    places, values = _scan(cascade, image, sizes, lowest)
    scales = np.array([size.scale for size in sizes], np.float32)
    rects = _rects(cascade, places[:, :2], scales[places[:, 2], None])
    if most is not None and len(values) > most:
        best = np.sort(np.argsort(-values, kind="stable")[:most])
        rects, values = rects[best], values[best]
    return rects, values


class _Size(NamedTuple):
    """One size of the pyramid, and the places at which a window is looked at.

    Corners of windows are at x = 0, stride, … below ``across`` and y = 0, stride, … below ``down``.
    """

    scale: np.float32
    rows: int
    columns: int
    across: int
    down: int
    stride: int

    @property
    def n_windows(self) -> int:
        """How many places there are. OpenCV skips some, after windows that fail the first stage."""
        return -(-self.across // self.stride) * -(-self.down // self.stride)


class Level(NamedTuple):
    """A `_Size` of the pyramid, with the shrunk image."""

    scale: np.float32
    image: NDArray[np.uint8]
    across: int
    down: int
    stride: int

    @property
    def n_windows(self) -> int:
        """As for its size."""
        return self._size.n_windows

    @property
    def _size(self) -> _Size:
        rows, columns = self.image.shape
        return _Size(self.scale, rows, columns, self.across, self.down, self.stride)

    def rects_at(self, cascade: Cascade, places: NDArray[np.int32]) -> NDArray[np.int64]:
        """The windows at these x and y of the shrunk image, (n, 4) in the whole image."""
        return _rects(cascade, places, np.broadcast_to(self.scale, (len(places), 1)))


def _rects(cascade: Cascade, places: NDArray[np.int32], scales: NDArray[np.float32]) -> NDArray[np.int64]:
    sides = np.array([cascade.width, cascade.height], np.float32) * scales
    return np.hstack([np.rint(places.astype(np.float32) * scales), np.rint(sides)]).astype(np.int64)


def scan_level(
    cascade: Cascade, level: Level, lowest: float
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """X and y in the shrunk image of windows that score at least ``lowest``, and their scores."""
    places, scores = _scan(cascade, level.image, [level._size], lowest)
    return places[:, :2], scores


def _scan(
    cascade: Cascade, image: NDArray[np.uint8], sizes: list[_Size], lowest: float
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """X, y and the number of the size of windows that score at least ``lowest``, and their scores."""
    n_windows = sum(size.n_windows for size in sizes)
    places, scores = np.empty((n_windows, 3), np.int32), np.empty(n_windows)
    n = scan(
        image,
        np.array([size[1:] for size in sizes], np.int64).reshape(-1, 5),
        cascade.rects,
        cascade.tilted,
        cascade._window_parts,
        cascade.max_nodes == 1,
        bool(cascade.tilted.any()),
        cascade.width,
        cascade.height,
        float(lowest),
        places,
        scores,
    )
    return places[:n].copy(), scores[:n].copy()


def levels(
    cascade: Cascade,
    image: NDArray[np.uint8],
    scale_factor: float = 1.1,
    min_size: Size | None = None,
    max_size: Size | None = None,
) -> Iterator[Level]:
    """The image at each size at which a cascade looks at it, as OpenCV shrinks it; as in `detect`."""
    image = as_image(image)
    return _shrunk(image, _sizes(cascade, image, scale_factor, min_size, max_size))


def _shrunk(image: NDArray[np.uint8], sizes: Iterator[_Size]) -> Iterator[Level]:
    for size in sizes:
        small = image
        if (size.rows, size.columns) != image.shape:
            small = np.empty((size.rows, size.columns), np.uint8)
            shrink(image, small)
        yield Level(size.scale, small, size.across, size.down, size.stride)


def _sizes(
    cascade: Cascade,
    image: NDArray[np.uint8],
    scale_factor: float,
    min_size: Size | None,
    max_size: Size | None,
) -> Iterator[_Size]:
    height, width = image.shape
    scale_factor = as_number(scale_factor, "scale_factor", 1.001, np.inf, "Take 1.1 or so.")
    smallest = _as_size(min_size, "min_size", (0, 0))
    largest = _as_size(max_size, "max_size", (width, height))
    scales = list(islice(_scales(cascade, (width, height), scale_factor, smallest, largest), MAX_SCALES + 1))
    if len(scales) > MAX_SCALES:
        raise InputError(
            f"scale_factor must be so large that at most {MAX_SCALES:,} sizes of the window fit between "
            f"min_size and max_size in an image of {width} × {height} pixels; got {scale_factor}. "
            "Take 1.1 or so."
        )
    return _sizes_at(cascade, (width, height), scales)


def _sizes_at(cascade: Cascade, size: Size, scales: list[np.float32]) -> Iterator[_Size]:
    stripes = 0
    for scale in scales:
        columns, rows = (int(np.rint(np.float32(side) / scale)) for side in size)
        across, down = max(columns + 1 - cascade.width, 0), max(rows + 1 - cascade.height, 0)
        stride = 1 if scale >= 2 else 2
        if not stripes:
            stripes = max(math.ceil(across / STRIPE_WIDTH), 1)
        # OpenCV cuts the image into stripes, and rounding can leave out the last line.
        stripe = max((down // stride + stripes - 1) // stripes, 1) * stride
        yield _Size(scale, rows, columns, across, min(down, stripes * stripe), stride)


def _scales(
    cascade: Cascade, size: Size, scale_factor: float, smallest: Size, largest: Size
) -> Iterator[np.float32]:
    factor = 1.0
    while True:
        window = round(cascade.width * factor), round(cascade.height * factor)
        if any(w > min(most, side) for w, most, side in zip(window, largest, size, strict=True)):
            return
        if all(w >= least for w, least in zip(window, smallest, strict=True)):
            yield np.float32(factor)
        factor *= scale_factor


def as_image(image: Any) -> NDArray[np.uint8]:
    """Check a grey image of any size."""
    found = np.asarray(image)
    if found.dtype != np.uint8 or found.ndim != 2 or not 0 < found.size <= MAX_PIXELS:
        raise InputError(
            f"image must be uint8 of shape (height, width), a grey image of at most {MAX_PIXELS:,} pixels; "
            f"got {found.dtype} of shape {found.shape}. Turn colours into grey first."
        )
    return np.ascontiguousarray(found)


def _as_size(size: Size | None, name: str, default: Size) -> Size:
    if size is None:
        return default
    if not isinstance(size, tuple | list) or len(size) != 2:
        raise InputError(f"{name} must be a width and a height in pixels; got {size!r:.80}.")
    width, height = (as_count(side, name, 0, None, "") for side in size)
    return default if name == "max_size" and 0 in (width, height) else (width, height)
