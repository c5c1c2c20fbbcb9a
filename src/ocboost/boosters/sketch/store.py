"""What a sketch keeps its examples in: the one interface of `NewestStore` and `HeavyStore`."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree
from ocboost.boosters.sketch.files import SketchState
from ocboost.boosters.sketch.fold import Publish
from ocboost.boosters.sketch.heavy_fold import HeavyState


class Store(Protocol):
    """Takes checked examples in, folds them and solves for α.

    A store is not guarded, nor does it check what it is given: the sketch that owns it does both. The
    sketch's constructor makes an empty one; a changed sketch is a new one whose store is filled from another.
    """

    cost: int  # about what an example costs, in pairs of coordinates

    # What it holds ----------------------------------------------------------------------------------------

    @property
    def limit(self) -> int:
        """How many examples may be kept."""

    @property
    def n_head(self) -> int:
        """Examples in the head."""

    @property
    def n_seen(self) -> int:
        """Examples taken in."""

    @property
    def nbytes(self) -> int:
        """Bytes of the sums and of the head."""

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All arrays that it writes to."""

    @property
    def parameters(self) -> dict[str, Any]:
        """What makes a sketch with such a store."""

    def reshaped(self, n_hypotheses: int) -> dict[str, Any]:
        """The parameters of such a store with another number of coordinates."""

    @property
    def size(self) -> tuple[int, ...]:
        """What of two stores is the larger: that which keeps more examples in the long run."""

    def rows(self) -> NDArray[np.int8]:
        """The margins of the examples in the head, in its order."""

    def solved(self) -> tuple[NDArray[np.float64], bool]:
        """α, solved anew, and whether it has diverged."""

    def tree(self) -> Tree:
        """What a file holds."""

    # Learning ---------------------------------------------------------------------------------------------

    def decay(self, factor: float) -> None:
        """Let everything so far weigh ``factor`` times as much: what comes weighs more."""

    def take(
        self, rows: NDArray[np.int8], weights: NDArray[np.float64], batch_size: int, publish: Publish
    ) -> None:
        """Take in examples, and fold whenever it is due; a long fold publishes α before anything changes."""

    def folds_long(self, n: int, batch_size: int) -> bool:
        """Whether taking in n examples more brings a fold that takes long."""

    # Others of it: an empty store is filled ---------------------------------------------------------------

    def copy(self) -> Self:
        """A store of its own with the same state."""

    def as_newest(self, *, tail: bool) -> SketchState:
        """Its state, to go on with the newest examples; arrays of its own."""

    def as_heavy(self) -> HeavyState:
        """Its state, to go on with heavy examples; arrays of its own."""

    def fill(self, old: Store) -> None:
        """Go on from another store's examples."""

    def fill_appended(self, old: Self, rows: NDArray[np.int8]) -> None:
        """Go on with further coordinates, whose margins for the head's examples are ``rows``."""

    def fill_without(self, old: Self, keep: NDArray[np.int64]) -> None:
        """Go on with the coordinates of ``keep`` alone, which are in order."""

    def fill_merged(self, a: Self, b: Self) -> None:
        """Go on from both, whichever is named first."""

    def resume(self, state: Any, fields: Fields) -> None:
        """Go on from what `read` found in a file."""

    @staticmethod
    def read(fields: Fields) -> tuple[dict[str, Any], Any]:
        """Parameters and state from what a file holds; the parameters are the caller's to check."""
