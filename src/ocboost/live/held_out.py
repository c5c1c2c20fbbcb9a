"""Trusted rows with labels, kept in the state folder, on which models are judged."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree, read
from ocboost._core.file_format import from_bytes, to_bytes, write_atomically
from ocboost.deployment.model import Model
from ocboost.errors import InputError, ModelFileError
from ocboost.live.rows import LabelReader
from ocboost.streams.rows import Rows
from ocboost.streams.schema import Schema

HELD_OUT_KIND = "HeldOut"
MAX_HELD_OUT_ROWS = 20_000


class HeldOut:
    """Rows with the codes of their classes.

    Parameters
    ----------
    X : array of shape (n, F)
    codes : int64 array of shape (n,)
    """

    def __init__(self, X: NDArray[np.float64], codes: NDArray[np.int64]) -> None:
        if not 1 <= len(codes) <= MAX_HELD_OUT_ROWS:
            raise InputError(
                f"held_out must have 1 to {MAX_HELD_OUT_ROWS:,} rows with a label; got {len(codes):,}. Give "
                "a sample of them."
            )
        self.X, self.codes = X, codes
        self.data = to_bytes(HELD_OUT_KIND, self.tree())
        self.sha256 = hashlib.sha256(self.data).hexdigest()
        self._of_versions: dict[int, NDArray[np.bool_]] = {}

    @classmethod
    def of(cls, X: NDArray[np.float64], codes: Sequence[int | None], classes: list[Any]) -> HeldOut:
        """From features and codes, None where the label is no class."""
        if len(codes) != len(X):
            raise InputError(
                f"held_out must have a label for each row; got {len(X)} rows, {len(codes)} labels."
            )
        for i, code in enumerate(codes):
            if code is None:
                raise InputError(
                    f"held_out: the label of row {i} must be one of the classes {classes!s:.100}."
                )
        return cls(np.ascontiguousarray(X), np.array(codes, np.int64))

    def results(self, model: Model) -> NDArray[np.bool_]:
        """Which rows a model predicts right."""
        right: NDArray[np.bool_] = model.answers_to(Rows(self.X))[0] == self.codes
        return right

    def of_version(self, number: int, model: Callable[[int], Model]) -> NDArray[np.bool_]:
        """The same of a version, which is looked at once."""
        found = self._of_versions.get(number)
        if found is None:
            found = self._of_versions[number] = self.results(model(number))
        return found

    def forget(self) -> None:
        """Forget the results of versions."""
        self._of_versions = {}

    def tree(self) -> Tree:
        """What its file holds."""
        return {"X": self.X, "codes": self.codes}

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write it to a state folder."""
        write_atomically(_place(folder, self.sha256), self.data)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], sha256: str) -> HeldOut:
        """Load what `save` wrote."""
        place = _place(folder, sha256)
        try:
            data = place.read_bytes()
        except FileNotFoundError:
            raise ModelFileError(
                f"'{place}' is missing, which holds the held-out rows. Put it back."
            ) from None
        found = read(from_bytes(data, HELD_OUT_KIND, str(place)), str(place), cls.from_tree)
        if found.sha256 != sha256:
            raise ModelFileError(f"'{place}' does not hold the rows that were held out. Put those back.")
        return found

    @classmethod
    def from_tree(cls, fields: Fields) -> HeldOut:
        """From what `tree` gave."""
        codes = fields.array("codes", np.int64, (None,))
        fields.require(bool((codes >= 0).all()), "its codes make no sense")
        return fields.make(cls, fields.array("X", np.float64, (len(codes), None)), codes)


def read_held_out(path: str | os.PathLike[str], schema: Schema | None, labels: LabelReader) -> HeldOut:
    """Rows with labels from a file of CSV, JSON lines or Parquet."""
    from ocboost.streams import open_stream

    if schema is None or schema.label is None:
        raise InputError(
            "held_out must be a pair (X, y) where the model does not know its label's column; got a file."
        )
    parts, codes = [], []
    with open_stream(path, schema=schema) as stream:
        for rows in stream:
            known = rows.labelled()
            parts.append(known.X)
            assert known.y is not None
            codes += [labels.code(label) for label in known.y.tolist()]
            if len(codes) > MAX_HELD_OUT_ROWS:
                break
    return HeldOut.of(np.concatenate(parts), codes, labels.classes)


def _place(folder: str | os.PathLike[str], sha256: str) -> Path:
    return Path(folder) / f"held_out-{sha256[:16]}.ocb"
