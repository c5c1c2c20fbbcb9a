"""Predictions that wait for their labels, and ids that no longer do: bounded, part of the state."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree
from ocboost.errors import InputError
from ocboost.live.rows import RowReader
from ocboost.live.writer import require_id

MAX_WAITING_BYTES = 200_000_000  # of rows and what is kept with them; the oldest go
GONE = -1  # instead of the code of a label: the prediction was dropped


class Awaited(NamedTuple):
    """A prediction that waits for its label; see `ocboost.live.journal.Entry`."""

    number: int
    epoch: int
    seen: int
    at: float
    said: int
    answered: int
    features: bytes
    kept: bytes | None
    shares: bytes

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return len(self.features) + len(self.kept or b"") + len(self.shares) + 100


class AwaitedLabels:
    """Predictions by their ids, oldest first, and what became of the last ones that wait no more.

    Parameters
    ----------
    most : int
        Predictions that may wait; when there are more the oldest is dropped. Of twice as many that no longer
        wait it is remembered whether they got a label, and which.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.waiting: dict[str, Awaited] = {}
        self.past: dict[str, int] = {}  # the code of the label, or GONE
        self.bytes = 0

    def add(self, id_: str, one: Awaited) -> None:
        """A prediction begins to wait; one that waits under the same id is replaced."""
        self.take(id_)
        self.past.pop(id_, None)
        self.waiting[id_] = one
        self.bytes += one.size
        self.trim()

    def take(self, id_: str) -> Awaited | None:
        """The prediction that waits under an id, which it no longer does."""
        found = self.waiting.pop(id_, None)
        if found is not None:
            self.bytes -= found.size
        return found

    def ended(self, id_: str, code: int) -> None:
        """Remember what became of a prediction."""
        self.past.pop(id_, None)
        self.past[id_] = code

    def trim(self) -> None:
        """Drop the oldest where there are too many."""
        while len(self.waiting) > self.most or self.bytes > MAX_WAITING_BYTES:
            oldest = next(iter(self.waiting))
            self.take(oldest)
            self.ended(oldest, GONE)
        while len(self.past) > 2 * self.most:
            del self.past[next(iter(self.past))]

    # Files ------------------------------------------------------------------------------------------------

    def tree(self, n_features: int, n_classes: int) -> Tree:
        """What a checkpoint holds."""
        waiting = list(self.waiting.values())
        numbers = [(one.number, one.epoch, one.seen, one.said, one.answered) for one in waiting]
        sizes = [GONE if one.kept is None else len(one.kept) for one in waiting]
        return {
            "most": self.most,
            "ids": _joined(self.waiting),
            "numbers": np.array(numbers, np.int64).reshape(-1, 5),
            "at": np.array([one.at for one in waiting], np.float64),
            "features": _stacked([one.features for one in waiting], np.float64, n_features),
            "shares": _stacked([one.shares for one in waiting], np.float32, n_classes),
            "kept_sizes": np.array(sizes, np.int64),
            "kept": np.frombuffer(b"".join(one.kept or b"" for one in waiting), np.int8),
            "past": _joined(self.past),
            "codes": np.array(list(self.past.values()), np.int64),
        }

    @classmethod
    def from_tree(
        cls, fields: Fields, reader: RowReader, n_classes: int, limits: dict[str, int]
    ) -> AwaitedLabels:
        """What `tree` gave; ``limits`` has the largest number, epoch and entry that there can be."""
        found = cls(fields.count("most", 1))
        ids = _split(fields, "ids", found.most)
        n = len(ids)
        numbers = fields.array("numbers", np.int64, (n, 5))
        number, epoch, seen, said, answered = numbers.T
        fits = bool((numbers >= 0).all()) and bool((np.diff(number) > 0).all())
        fits = fits and max(said.max(initial=0), answered.max(initial=0)) < n_classes
        fits = fits and number.max(initial=0) <= limits["number"] and epoch.max(initial=0) <= limits["epoch"]
        fields.require(fits and seen.max(initial=0) <= limits["seen"], "its predictions do not fit")
        at = fields.array("at", np.float64, (n,))
        fields.require(bool(((at >= 0.0) & (at < 1e300)).all()), "the times of its predictions make no sense")
        features = fields.array("features", np.float64, (n, reader.n_features))
        fields.make(reader.check, features)
        shares = fields.array("shares", np.float32, (n, n_classes))
        fields.require(bool(((shares >= 0.0) & (shares <= 1.0)).all()), "the probabilities it keeps are none")
        kept = _cut(fields, n)
        for i, (id_, plain) in enumerate(zip(ids, numbers.tolist(), strict=True)):
            n_th, n_epoch, n_seen, n_said, n_answered = plain
            one = Awaited(
                n_th, n_epoch, n_seen, float(at[i]), n_said, n_answered,
                features[i].tobytes(), kept[i], shares[i].tobytes(),
            )  # fmt: skip
            found.waiting[id_] = one
            found.bytes += one.size
        fields.require(found.bytes <= MAX_WAITING_BYTES, "too much waits for labels")
        past = _split(fields, "past", 2 * found.most)
        codes = fields.array("codes", np.int64, (len(past),))
        fits = bool(((codes >= GONE) & (codes < n_classes)).all()) and not found.waiting.keys() & set(past)
        fields.require(fits, "the labels it remembers do not fit")
        found.past = dict(zip(past, codes.tolist(), strict=True))
        return found


def _joined(ids: dict[str, Any]) -> NDArray[np.int8]:
    """Ids as an array of bytes, each ending with a line: they hold printable characters only."""
    return np.frombuffer("".join(f"{id_}\n" for id_ in ids).encode(), np.int8)


def _split(fields: Fields, key: str, most: int) -> list[str]:
    data = fields.array(key, np.int8, (None,)).tobytes()
    try:
        *ids, end = data.decode().split("\n")
        for id_ in ids:
            require_id(id_)
    except (UnicodeDecodeError, InputError):
        ids, end = [], "wrong"
    fields.require(not end and len(set(ids)) == len(ids) <= most, f"{key} makes no sense")
    return ids


def _stacked(rows: list[bytes], dtype: Any, n: int) -> NDArray[Any]:
    return np.frombuffer(b"".join(rows), dtype).reshape(len(rows), n)


def _cut(fields: Fields, n: int) -> list[bytes | None]:
    """What was kept with each prediction, from one array and the size of each."""
    sizes = fields.array("kept_sizes", np.int64, (n,))
    data = fields.array("kept", np.int8, (None,)).tobytes()
    lengths = np.maximum(sizes, 0)
    fits = bool(((sizes >= GONE) & (sizes <= len(data))).all()) and int(lengths.sum()) == len(data)
    fields.require(fits, "what is kept with its predictions does not fit")
    ends = np.cumsum(lengths).tolist()
    return [
        None if size < 0 else data[end - size : end] for size, end in zip(sizes.tolist(), ends, strict=True)
    ]
