"""What this process had to compile because no cache held it. Without numba, which is slow to import."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

LONG_SECONDS = 1.0  # of compiling: from here on it is worth a word


@dataclass
class Compilations:
    """Counts of kernels, and somebody to tell when compiling takes long.

    ``compiled`` and ``loaded`` are numbers of kernels, of each of their signatures; ``unsaved`` were compiled
    and could not be cached. ``folders`` are those of the cache. ``tell`` is called once, after
    `LONG_SECONDS` of compiling.
    """

    compiled: int = 0
    loaded: int = 0
    unsaved: int = 0
    seconds: float = 0.0
    folders: set[str] = field(default_factory=set)
    tell: Callable[[], None] | None = None

    def add(self, seconds: float) -> None:
        """Count a kernel that was compiled."""
        self.compiled += 1
        self.seconds += seconds
        if self.seconds > LONG_SECONDS and self.tell is not None:
            tell, self.tell = self.tell, None
            tell()


COMPILATIONS = Compilations()  # of this process
