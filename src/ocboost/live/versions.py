"""The versions of a model in service: what was deployed, and saved states of the adapted model."""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ocboost._core.codec import Fields, Tree, read
from ocboost._core.file_format import from_bytes, to_bytes, write_atomically
from ocboost.deployment.model import Model
from ocboost.errors import ModelFileError, UnknownVersionError

MAX_VERSIONS = 20
REASONS = ("deployed", "in good standing", "promoted", "before a rollback")


@dataclass(frozen=True)
class Version:
    """A saved state of the model.

    Attributes
    ----------
    number : int
        The first, which was deployed, is 0.
    reason : str
        Why it was saved, one of `REASONS`.
    labels : int
        Labels that had been learnt.
    time : float
        When it was saved, in seconds since 1970.
    sha256 : str
        Of its file.
    bytes : int
        Of its file.
    seq : int
        The entry of the journal after which it was saved.
    """

    number: int
    reason: str
    labels: int
    time: float
    sha256: str
    bytes: int
    seq: int

    @classmethod
    def from_tree(cls, fields: Fields) -> Version:
        """A version from a checkpoint."""
        reason, digest = fields.text("reason"), fields.text("sha256")
        fields.require(reason in REASONS, "the reason of a version is not known")
        fields.require(len(digest) == 64 and digest.isalnum(), "the digest of a version makes no sense")
        return cls(
            fields.count("number"),
            reason,
            fields.count("labels"),
            fields.number("time", 0.0, 1e300),
            digest,
            fields.count("bytes"),
            fields.count("seq"),
        )


@dataclass
class Versions:
    """All versions that are kept, their files in a folder, and the models of those that are in use.

    A version's file is written once. Where that fails, as on a full disk, its bytes stay in memory until
    `flush` succeeds. Files of versions that are no longer kept are removed by `sweep`, after a
    checkpoint that does not name them.
    """

    folder: Path
    kept: list[Version] = field(default_factory=list)
    next_number: int = 0
    _unwritten: dict[int, bytes] = field(default_factory=dict)
    _models: dict[int, Model] = field(default_factory=dict)

    def _place(self, number: int) -> Path:
        return self.folder / f"{number:06d}.ocb"

    def add(
        self, model: Model, reason: str, labels: int, time: float, protected: set[int], *, seq: int = 0
    ) -> Version:
        """Save a model as a new version; the oldest that is not ``protected`` goes if there are too many."""
        data = to_bytes(model.kind, model.tree())
        digest = hashlib.sha256(data).hexdigest()
        version = Version(self.next_number, reason, labels, time, digest, len(data), seq)
        self.next_number += 1
        self._unwritten[version.number] = data
        self.kept.append(version)
        while len(self.kept) > MAX_VERSIONS:
            droppable = [each for each in self.kept[:-1] if each.number not in protected]
            if not droppable:
                break
            self.kept.remove(droppable[0])
            self._unwritten.pop(droppable[0].number, None)
            self._models.pop(droppable[0].number, None)
        return version

    def flush(self) -> None:
        """Write what is not written yet."""
        for number in sorted(self._unwritten):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self._place(number), self._unwritten[number])
            del self._unwritten[number]

    def sweep(self, named: set[int]) -> None:
        """Remove the files of versions that are no longer kept; the checkpoint has ``named`` some."""
        names = {self._place(number).name for number in named | {each.number for each in self.kept}}
        for place in self.folder.glob("*"):
            if place.name not in names:
                place.unlink(missing_ok=True)

    def find(self, number: int) -> Version:
        """The version of a number."""
        for each in self.kept:
            if each.number == number:
                return each
        numbers = ", ".join(str(each.number) for each in self.kept)
        raise UnknownVersionError(f"version must be one of those that are kept, {numbers}; got {number}.")

    def data(self, number: int) -> bytes:
        """The file of a version."""
        version = self.find(number)
        data = self._unwritten.get(number)
        if data is None:
            place = self._place(number)
            try:
                data = place.read_bytes()
            except FileNotFoundError:
                raise ModelFileError(
                    f"'{place}' is missing, which holds version {number}. Put it back, or begin with another "
                    "state folder."
                ) from None
            if hashlib.sha256(data).hexdigest() != version.sha256:
                raise ModelFileError(f"'{place}' is not version {number} as it was saved. Put that back.")
        return data

    def load(self, number: int) -> Model:
        """The model of a version, for the caller to change."""
        return load_model(self.data(number), os.fspath(self._place(number)))

    def model(self, number: int) -> Model:
        """The model of a version, which nobody may change; it stays in memory until `only`."""
        found = self._models.get(number)
        if found is None:
            found = self._models[number] = self.load(number)
        return found

    def only(self, numbers: set[int]) -> None:
        """Keep in memory the models of these versions."""
        for number in set(self._models) - numbers:
            del self._models[number]

    def tree(self) -> Tree:
        """What a checkpoint holds."""
        return {"next": self.next_number, "kept": [asdict(each) for each in self.kept]}

    def resume(self, fields: Fields) -> None:
        """Take over what `tree` gave."""
        self.kept = fields.read_all("kept", Version.from_tree)
        numbers = [each.number for each in self.kept]
        self.next_number = fields.count("next")
        ordered = numbers == sorted(set(numbers)) and len(numbers) <= MAX_VERSIONS + 10
        fields.require(
            ordered and bool(numbers) and numbers[-1] < self.next_number, "its versions make no sense"
        )

    def facts(self) -> list[dict[str, Any]]:
        """Plain facts about each, oldest first."""
        return [asdict(each) for each in self.kept]


class VersionsInMemory(Versions):
    """Versions whose files are kept in memory, and saved with the state itself."""

    def __init__(self) -> None:
        super().__init__(Path())

    def flush(self) -> None:
        """Nothing is written to a folder."""

    def sweep(self, named: set[int]) -> None:
        """Nothing lies in a folder."""

    def tree(self) -> Tree:
        """What a checkpoint holds, the files included."""
        files = [np.frombuffer(self._unwritten[each.number], np.int8) for each in self.kept]
        return {**super().tree(), "files": files}

    def resume(self, fields: Fields) -> None:
        """Take over what `tree` gave."""
        files = fields.items("files")
        super().resume(fields)
        fields.require(len(files) == len(self.kept), "the files of its versions are not those it has")
        for version, file in zip(self.kept, files, strict=True):
            data = file.tobytes() if isinstance(file, np.ndarray) and file.dtype == np.int8 else b""
            same = hashlib.sha256(data).hexdigest() == version.sha256 and len(data) == version.bytes
            fields.require(same, f"the file of version {version.number} is not the one that was saved")
            self._unwritten[version.number] = data


def load_model(data: bytes, name: str) -> Model:
    """A model from the bytes of its file."""
    for kind in ("OCBClassifier", "AdaptiveClassifier"):
        if f'"kind":"{kind}"'.encode() in data[:200]:
            return read(from_bytes(data, kind, name), name, Model.from_tree)
    raise ModelFileError(f"{name} holds no model. Put back the file that was saved.")
