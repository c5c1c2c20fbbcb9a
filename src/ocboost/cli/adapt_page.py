"""``ocboost adapt --report``: the page of a run, one file with everything inside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ocboost._core.escaping import shown
from ocboost.cli.terminal import say

if TYPE_CHECKING:
    from ocboost.deployment.adaptation import Adaptation
    from ocboost.deployment.model import Model


@dataclass(frozen=True)
class RunPage:
    """The page of a run: where it is written, the file of the model, and the name of the stream."""

    path: Path
    model: Path
    stream: str

    def write(self, run: Adaptation, *, ended: bool) -> None:
        """Write it, beside and renamed; ``ended`` says whether the stream has ended."""
        from ocboost._core.file_format import write_atomically
        from ocboost._watch.page import one_file

        if run.watched is not None:
            document = run.watched.document(run.model, shown(self.model.name), self._notes(run, ended=ended))
            write_atomically(self.path, one_file(document).encode(errors="backslashreplace"))

    def _notes(self, run: Adaptation, *, ended: bool) -> list[str]:
        """What a reader should know."""
        assert run.watched is not None
        n, since = run.rows - run.first, run.watched.since
        taken = "1 row was" if n == 1 else f"{n:,} rows were"
        notes = [
            f"Adapted to {self.stream}: {taken} taken{'' if ended else ' so far'}, {run.learnt:,} learnt."
        ]
        if bad := sum(run.left_out.values()):
            notes.append("1 bad row was left out." if bad == 1 else f"{bad:,} bad rows were left out.")
        if since > run.first:
            notes.append(
                f"This page begins with row {since:,}, where the run was resumed; the deployed model is the "
                "model as it was there."
            )
        return notes


class PageErrors:
    """Errors of writing a page on the way: the first is told, and learning goes on."""

    def __init__(self) -> None:
        self._told = False

    @contextmanager
    def passed_over(self, path: Path) -> Iterator[None]:
        """Write the page to this path inside the block."""
        try:
            yield
        except OSError as error:
            if not self._told:
                say(f"the page could not be written to '{path}' ({error.strerror}); going on.")
            self._told = True


def watch(run: Adaptation, page: RunPage | None, deployed: Model | None) -> None:
    """Let a run be watched if a page is wanted, from the model that it began with; if not, not any more.

    ``deployed`` is that model where the run is new.
    """
    from ocboost.deployment.watched import WatchedRun

    if page is None:
        if run.watched is not None:
            say("without --report what its page would show is forgotten.")
        run.watched = None
    elif run.watched is None and not run.finished:
        if deployed is None and run.rows > run.first:
            say(f"the page begins with row {run.rows:,}: the run was begun without --report.")
        run.watched = WatchedRun(run.model if deployed is None else deployed, run.rows)
    elif run.watched is None:
        say("no page is written: the run was ended without --report.")
