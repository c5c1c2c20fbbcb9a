"""What both ways of adapting a cascade share: labelled windows, the newest of them, stumps with corrections.

Nobody has the images that a shipped cascade was trained on. So its own score stays, as an offset: stump j
gives the leaf ``c_j + a_j h_j``, h_j = ±1, and the sum of the leaves, scaled and shifted by a few hundred
labelled windows, is F₀. A window (x, y) enters a sketch with weight exp(-y F₀(x)), and the adapted score is
F₀ + Σ_j α_j h_j: again a sum of leaves, which fits into a stage.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import as_count, as_number, as_weights
from ocboost._core.codec import Fields, Tree, read
from ocboost._core.file_format import load, load_any, save
from ocboost._core.kinds import CASCADE_ADAPTER, KINDS, known
from ocboost._core.locks import DeepState, Guard, reads
from ocboost.boosters.base import Settings
from ocboost.boosters.sketch.settings import plan_head
from ocboost.boosters.sketch.sketch import BoostingSketch
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.windows import as_windows, has_contrast
from ocboost.errors import InputError
from ocboost.learners.base import as_labels
from ocboost.offsets.base import reweighted
from ocboost.offsets.fitting import scale_and_shift

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]
Signs = NDArray[np.int8]

MIN_WEIGHT, MAX_WINDOW_WEIGHT = 1e-6, 1e6  # their products with exp(-y F₀) then stay far from a double's ends
MAX_HELD_OUT = 20_000  # windows
MIN_OF_EACH = 20  # faces, and other windows, before the scale of the score can be fitted
MAX_HALF_LOG_ODDS = 600.0  # exp of it still fits into a double

# What a sketch has where an adapter says nothing; and what decides which examples it keeps.
_SKETCH_SETTINGS: Settings = {
    "order": None,
    "head": 1,
    "memory": None,
    "keep": None,
    "tail": True,
    "correction": "balanced",
}
_PLANNED = tuple(_SKETCH_SETTINGS)


class CascadeAdapter(DeepState):
    """Checks and counts the labelled windows of one camera; a subclass learns from them.

    A subclass that is to be saved has a ``kind`` with its entry in ``ocboost._core.kinds``, names in
    ``settings`` what it is made with besides the cascade, each an argument and an attribute, and has
    ``_state_tree`` and ``_resume`` for what it has learnt.

    Parameters
    ----------
    cascade : Cascade
        What is adapted.
    face_weight : float
        What a face weighs, compared with another window.
    smoothing : float
        ε.
    forgetting : float
        λ.
    batch_size : int
        Windows added to the sums at once.
    """

    kind: ClassVar[str]  # its name in files
    settings: ClassVar[tuple[str, ...]] = ("face_weight", "smoothing", "forgetting", "batch_size")

    def __init__(
        self, cascade: Cascade, face_weight: float, smoothing: float, forgetting: float, batch_size: int
    ) -> None:
        self.cascade = cascade
        self.face_weight = as_number(
            face_weight,
            "face_weight",
            MIN_WEIGHT,
            MAX_WINDOW_WEIGHT,
            "A face counts as this many other windows.",
        )
        self.smoothing = as_number(smoothing, "smoothing", 0.0, 1e15, "20000 is usual.")
        self.forgetting = as_number(forgetting, "forgetting", 0.0, 1.0, "1 forgets nothing.", low_open=True)
        self.batch_size = as_count(batch_size, "batch_size", 1, 1 << 20, "")
        self.n_seen = 0
        self._guard: Guard[Any] = Guard()

    def _newest(self) -> NewestWindows:
        return NewestWindows(n_held_out(self.forgetting), self.cascade.height, self.cascade.width)

    def update(self, windows: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> None:
        """Learn from labelled windows, or a single one.

        Parameters
        ----------
        windows : uint8, shape (n, height, width) or (height, width)
            Grey windows of the cascade's size.
        y : shape (n,) or a number
            +1 for a face, -1 for anything else.
        sample_weight : shape (n,) or a number, optional
            1 each if left out.
        """
        found, labels, weights = as_labelled(self.cascade, windows, y, sample_weight)
        if len(found):
            self._take(found, labels, np.where(labels > 0, self.face_weight * weights, weights))

    @abstractmethod
    def _take(self, windows: Pixels, labels: Signs, weights: Floats) -> None:
        """Learn from windows that have been checked."""

    # Files ------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file, in ocboost's own format (no pickle); an old file is replaced at the very end.

        The file holds the cascade, everything learnt, and the windows that are held out or wait: images of
        the camera.

        Parameters
        ----------
        path : path
            The file.
        """
        save(path, self.kind, self.tree())  # written while others may learn

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load what `save` has written; it learns on exactly as the saved one would have.

        ``CascadeAdapter.load`` loads an adapter of any class.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        CascadeAdapter
            Of the class that was saved.

        Raises
        ------
        ModelFileError
            If the file is damaged, of another version, or not such an adapter. Nothing in a file is executed.
        """
        name, own = os.fspath(path), getattr(cls, "kind", None)
        if own is not None:
            return read(load(path, own), name, cls.from_tree)
        found, tree = load_any(path)
        made: Self = read(tree, name, known(found, CASCADE_ADAPTER, name).load().from_tree)
        return made

    @reads
    def tree(self) -> Tree:
        """What a file holds; nothing in it changes when the adapter learns on.

        Returns
        -------
        dict
            Plain values and arrays, by name.
        """
        return {
            "cascade": self.cascade.tree(),
            "settings": {name: getattr(self, name) for name in self.settings},
            "n_seen": self.n_seen,
            **self._state_tree(),
        }

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """An adapter of what `tree` gave; a state that no windows lead to is a `ModelFileError`.

        Parameters
        ----------
        fields : mapping
            What `tree` gave.

        Returns
        -------
        CascadeAdapter
            It goes on exactly as that one would have.
        """
        cascade = fields.read("cascade", Cascade.from_tree)
        settings = fields.read("settings", lambda each: {name: each.plain(name) for name in cls.settings})
        adapter = fields.make(cls, cascade, **settings)
        adapter.n_seen = fields.count("n_seen")
        adapter._resume(fields)
        return adapter

    @abstractmethod
    def _state_tree(self) -> Tree:
        """What it has learnt; the caller holds the lock."""

    @abstractmethod
    def _resume(self, fields: Fields) -> None:
        """Take over what ``_state_tree`` gave, once it is checked against the settings and ``n_seen``."""

    def _read_newest(self, fields: Fields, key: str, n_shown: int) -> NewestWindows:
        """The newest of so many windows that were shown."""
        empty = self._newest()
        n, height, width = empty.capacity, self.cascade.height, self.cascade.width
        newest = fields.read(key, lambda each: NewestWindows.from_tree(each, n, height, width))
        fields.require(
            len(newest) == min(n, n_shown), f"{key} must hold the newest {min(n, n_shown)} windows"
        )
        usable = not len(newest) or has_contrast(newest.windows).all()
        fields.require(usable, f"{key} has windows of low contrast")
        return newest

    def facts(self) -> dict[str, str]:
        """What it is and how far it is, in words.

        Returns
        -------
        dict
            Texts by what they are about.
        """
        return {
            "adapter": KINDS[self.kind].title,
            "cascade": repr(self.cascade).strip("<>"),
            "has seen": f"{self.n_seen:,} windows",
        }


class Calibration(NamedTuple):
    """How a cascade's sums become half log-odds: scale · sum + shift."""

    scale: float
    shift: float
    mean_weight: float  # of the windows, exp(-y F₀) included
    turned: bool  # the sums are no higher for faces
    largest: float  # half log-odds that any window can get


class AdaptedStumps:
    """Some of a cascade's stumps, and the sketch that corrects them once their sum is calibrated."""

    def __init__(self, cascade: Cascade, trees: slice) -> None:
        self.stumps = cascade._all_stumps[trees]
        leaves = cascade.leaf_pairs[trees].astype(np.float64)
        self.middle, self.reach = leaves.mean(axis=1), (leaves[:, 1] - leaves[:, 0]) / 2.0
        self.scale, self.shift = 0.5, 0.0
        self.sketch: BoostingSketch | None = None

    def calibrated(self, sums: Floats, labels: Signs, weights: Floats) -> Calibration:
        """The calibration that fits the sums of leaves of labelled windows."""
        a, b, turned = scale_and_shift(sums, labels.astype(np.float64), weights)
        scale, shift = a / 2.0, b / 2.0
        largest = self._largest(scale, shift)
        turned = turned or a == 0.0
        unusable = turned or largest > MAX_HALF_LOG_ODDS
        mean = 0.0 if unusable else float(reweighted(weights, labels, scale * sums + shift).mean())
        return Calibration(scale, shift, mean, turned, largest)

    def _largest(self, scale: float, shift: float) -> float:
        """Half log-odds that any window can get."""
        return float(scale * (np.abs(self.reach).sum() + abs(self.middle.sum())) + abs(shift))

    def start(self, found: Calibration, smoothing: float, **settings: Any) -> None:
        """Use a calibration, with a new sketch on top of it."""
        self.scale, self.shift = found.scale, found.shift
        self.sketch = BoostingSketch(len(self.stumps), smoothing=smoothing * found.mean_weight, **settings)

    def update(self, answers: Signs, labels: Signs, weights: Floats, batch_size: int) -> None:
        """Let the sketch learn from the stumps' answers to windows; changes the answers in place."""
        assert self.sketch is not None
        offset = self.scale * (answers @ self.reach + self.middle.sum()) + self.shift
        entering = reweighted(weights, labels, offset)
        answers *= labels[:, None]
        self.sketch.update_many(answers, batch_size=batch_size, sample_weight=entering)

    def calibrated_tree(self) -> Tree | None:
        """What a file holds of the calibration and the sketch on top of it; None before it."""
        if self.sketch is None:
            return None
        return {"scale": self.scale, "shift": self.shift, "sketch": self.sketch.copy().tree()}

    def resume(self, fields: Fields, key: str, settings: Settings) -> None:
        """Take over what `calibrated_tree` gave, if the sketch has these settings."""
        fields.read_optional(key, lambda each: self._resume(each, settings))

    def _resume(self, fields: Fields, settings: Settings) -> None:
        self.scale = fields.number("scale", 0.0, np.inf)
        self.shift = fields.number("shift", -np.inf, np.inf)
        usable = self.scale > 0.0 and self._largest(self.scale, self.shift) <= MAX_HALF_LOG_ODDS
        fields.require(usable, "scale and shift must give half log-odds that can be learnt on top of")
        sketch = fields.read("sketch", BoostingSketch.from_tree)
        J = len(self.stumps)
        fields.require(sketch.n_hypotheses == J, f"sketch must be over the {J} stumps")
        given = {**_SKETCH_SETTINGS, **settings, "smoothing": sketch.smoothing}
        keep = plan_head(J, **{name: given[name] for name in _PLANNED}).keep
        fields.require(
            sketch.has_settings({**given, "keep": keep}), "sketch must have the adapter's settings"
        )
        self.sketch = sketch


def as_labelled(
    cascade: Cascade, windows: Any, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Pixels, Signs, Floats]:
    """Check windows with their labels, +1 for a face and -1 for anything else, or a single window.

    Windows of weight 0 are left out, and those of low contrast, at which OpenCV never looks.
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
    if (weights[counts] < MIN_WEIGHT).any() or (weights > MAX_WINDOW_WEIGHT).any():
        raise InputError(
            f"sample_weight must be 0 or from {MIN_WEIGHT:g} to {MAX_WINDOW_WEIGHT:g}; got "
            f"{weights.min():g} to {weights.max():g}. Scale the weights: only their ratios matter."
        )
    counts &= has_contrast(found)
    return found[counts], labels[counts], weights[counts]


def check_sketch(n_hypotheses: int, settings: Settings) -> None:
    """Refuse settings that no sketch can have, without the memory of one."""
    BoostingSketch.check_settings({**_SKETCH_SETTINGS, "smoothing": 1.0, **settings}, n_hypotheses)


def every_nth(labels: Signs, kind: int, n_before: int, n: int) -> NDArray[np.int64]:
    """Every n-th window of a kind, counted on from those before: these are held out.

    >>> every_nth(np.array([1, -1, 1, 1, 1], np.int8), kind=1, n_before=0, n=2).tolist()
    [2, 4]
    """
    own = np.flatnonzero(labels == kind)
    held: NDArray[np.int64] = own[(n_before + np.arange(own.size)) % n == n - 1]
    return held


def n_held_out(forgetting: float) -> int:
    """How many held-out windows are kept to set thresholds by: fewer where the past fades.

    >>> n_held_out(1.0), n_held_out(0.9999), n_held_out(0.5)
    (20000, 10000, 500)
    """
    if forgetting == 1.0:
        return MAX_HELD_OUT
    return int(min(MAX_HELD_OUT, max(500, round(1.0 / (1.0 - forgetting)))))


class NewestWindows:
    """The newest windows, up to a capacity; new ones replace the oldest.

    >>> newest = NewestWindows(3, 24, 24)
    >>> for shade in range(5):
    ...     newest.add(np.full((1, 24, 24), shade, np.uint8))
    >>> sorted(newest.windows[:, 0, 0].tolist())
    [2, 3, 4]
    """

    def __init__(self, capacity: int, height: int, width: int) -> None:
        self.capacity = capacity
        self.windows: Pixels = np.empty((0, height, width), np.uint8)  # in no particular order
        self._next = 0

    def __len__(self) -> int:
        return len(self.windows)

    def add(self, windows: Pixels) -> None:
        """Add these as the newest."""
        windows = windows[-self.capacity :]
        free = self.capacity - len(self.windows)
        if free:
            self.windows = np.concatenate([self.windows, windows[:free]])
            windows = windows[free:]
        if len(windows):
            self.windows[(self._next + np.arange(len(windows))) % self.capacity] = windows
            self._next = (self._next + len(windows)) % self.capacity

    def tree(self) -> Tree:
        """What a file holds: a copy, as `add` writes into the array."""
        return {"windows": self.windows.copy(), "next": self._next}

    @classmethod
    def from_tree(cls, fields: Fields, capacity: int, height: int, width: int) -> Self:
        """Those of what `tree` gave; who holds them knows how many and how large they may be."""
        newest = cls(capacity, height, width)
        newest.windows = fields.array("windows", np.uint8, (None, height, width))
        fields.require(len(newest) <= capacity, f"windows must be at most {capacity}")
        newest._next = fields.count("next", 0, capacity - 1 if len(newest) == capacity else 0)
        return newest
