"""Placeholder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree


class Judge:
    """Who answers."""

    def __init__(self, *, deployed: int = 0) -> None:
        self.answering: int | None = None
        self.n = 0
        self.judged = [deployed]

    def take(self, adapted: bool, versions: Mapping[int, bool]) -> None:
        """One label."""
        self.n += 1

    def take_held_out(self, adapted: NDArray[np.bool_], versions: Mapping[int, NDArray[np.bool_]]) -> None:
        """Held-out results."""

    def wants_version(self) -> bool:
        """Whether to save a version."""
        return self.n >= 1000

    def saved(self, number: int) -> list[int]:
        """Saved."""
        self.n = 0
        self.judged = [self.judged[0], *self.judged[1:], number][-3:]
        return self.judged

    def restart(self, deployed: int) -> None:
        """After promote or rollback."""
        self.__init__(deployed=deployed)  # type: ignore[misc]

    def table(self) -> list[dict[str, Any]]:
        """Facts."""
        return []

    def tree(self) -> Tree:
        """For files."""
        return {"n": self.n, "judged": list(self.judged)}

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """From files."""
        judge = cls()
        judge.n = fields.count("n")
        judge.judged = fields.items("judged")
        return judge
