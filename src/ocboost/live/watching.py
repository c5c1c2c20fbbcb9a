"""What the page shows of a model in service, asked from any thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ocboost._watch.document import (
    document,
    events_of,
    explain_mistake,
    feature_shares,
    in_short,
    mistakes_of,
    model_parts,
)
from ocboost._watch.record import MAX_MISTAKES
from ocboost.errors import ClosedError
from ocboost.hypotheses.describe import features_of
from ocboost.live.clock import system_time

if TYPE_CHECKING:
    from ocboost.deployment.model import Model
    from ocboost.live.state import LiveState
    from ocboost.live.writer import Writer


PAUSE = 50  # so that looking takes a fiftieth of a core at most
MAX_PAUSE = 30.0  # seconds
FIRST_VERSION = 0  # which is always kept


class Watching:
    """Makes the document of a model in service; what is costly is done in the caller's thread.

    ``in_turn`` runs a function in the writer's thread, between two commits, where nothing changes.
    """

    def __init__(
        self, writer: Writer, schema: Any, classes: list[Any], in_turn: Callable[[Callable[[], Any]], Any]
    ) -> None:
        self._writer, self._schema, self._classes, self._in_turn = writer, schema, classes, in_turn
        self._explained: dict[int, Any] = {}
        self._explaining = threading.Lock()
        self._parts_lock = threading.Lock()
        self._parts: dict[str, Any] = {}
        self._parts_of: Any = None  # the model that they are of
        self._parts_again = 0.0  # when they are made anew
        self._first_shares: Any = None  # of the features in the model that the service began with

    @property
    def _state(self) -> LiveState:
        return self._writer.state

    def _now(self, work: Callable[[], Any]) -> Any:
        try:
            return self._in_turn(work)
        except ClosedError:
            return work()

    def events(self, after: int) -> list[dict[str, Any]]:
        """What has happened since the event of a number, oldest first."""
        if self._state.watch.n_happenings <= after:
            return []
        found: list[dict[str, Any]] = self._now(lambda: events_of(self._state.watch, after))
        return found

    def document(self, title: str) -> dict[str, Any]:
        """All that the page shows."""

        def work() -> tuple[Any, ...]:
            state = self._state
            watch, adapted = state.watch, state.adapted
            named = features_of(adapted.classifier, self._schema)
            mistakes = mistakes_of(watch, self._classes, named, self._explained)
            return (
                self._status(),
                watch.series(),
                events_of(watch),
                mistakes,
                versions_of(state),
                adapted,
                state.versions.load(FIRST_VERSION) if self._first_shares is None else None,
            )

        status, series, events, mistakes, versions, adapted, first = self._now(work)
        if first is not None:  # a promotion changes nothing: members and hypotheses have moved since then
            self._first_shares = feature_shares(first.classifier, self._schema)
        return document(
            "live",
            in_short(title),
            classes=self._classes,
            status=status,
            series=series,
            events=events,
            parts=self._model_parts(adapted),
            mistakes=mistakes,
            versions=versions,
        )

    def _model_parts(self, adapted: Model) -> dict[str, Any]:
        """What has moved in the model; looked at anew when `PAUSE` times as long has passed as that takes."""
        with self._parts_lock:
            begin = time.monotonic()
            if self._parts_of is not adapted or begin >= self._parts_again:
                self._parts = model_parts(adapted.classifier, self._schema, self._first_shares)
                self._parts_of = adapted
                end = time.monotonic()
                self._parts_again = end + min(PAUSE * (end - begin), MAX_PAUSE)
            return self._parts

    def _status(self) -> dict[str, Any]:
        writer, state = self._writer, self._state
        facts = state.facts()
        kept = ("answering", "frozen", "guard", "deployed", "labels", "learnt", "failed", "accuracy")
        return {
            **{key: facts[key] for key in (*kept, "recent_accuracy", "drift", "last_label")},
            "pending": writer.journal.n_pending,
            "oldest_pending": writer.clock.in_system_time(writer.journal.oldest_at),
            "now": system_time(),
            "storage": writer.storage,
        }

    def explain(self, most: int) -> None:
        """Explain so many mistakes that are not explained yet, the newest first."""
        with self._explaining:
            waiting = [
                each
                for each in self._now(lambda: list(self._state.watch.mistakes))
                if each.number not in self._explained
            ]
            for mistake in waiting[::-1][:most]:
                state = self._state
                found = explain_mistake(mistake, state.adapted.classifier, self._schema, state.watch.n_labels)
                kept = sorted([*self._explained.items(), (mistake.number, found)])[-2 * MAX_MISTAKES :]
                self._explained = dict(kept)


def versions_of(state: LiveState) -> list[dict[str, Any]]:
    """Facts about the versions that are kept."""
    answering = state.serving.version
    judged = {each.get("version"): each for each in state.judge.table()}
    return [
        {
            **each,
            "answering": each["number"] == answering,
            "deployed": each["number"] == state.deployed,
            "recent_accuracy": judged.get(each["number"], {}).get("recent_accuracy"),
        }
        for each in state.versions.facts()
    ]
