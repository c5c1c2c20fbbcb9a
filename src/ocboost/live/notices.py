"""`AlarmNotice`: something that somebody should know about a model in service, and how it is sent."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_OID, uuid4, uuid5

from ocboost._core.codec import Fields, Tree
from ocboost.live.clock import LAST_MOMENT

LABELS_STOPPED, LABELS_BACK = "labels_stopped", "labels_back"


@dataclass(frozen=True)
class AlarmNotice:
    """Something to be told.

    Attributes
    ----------
    kind : str
        That of an event (`ocboost._watch.record.KINDS`), or that labels stopped, or came back.
    time : float
        Seconds since 1970.
    text : str
        One sentence.
    data : dict
        The same for programs: plain values.
    number : int or None
        Which event of the journal it is; None for what the journal does not know.
    id : str
        The same whenever it is sent again.
    """

    kind: str
    time: float
    text: str
    data: dict[str, Any]
    number: int | None = None
    id: str = field(default_factory=lambda: str(uuid4()))

    @classmethod
    def of_event(cls, event: dict[str, Any], sender: str, now: float) -> AlarmNotice:
        """An event of the journal. Its id follows from what it is, so that it is the same after a crash.

        A journal that was put back from a backup may give its number to something else.
        """
        time = event.get("time")
        data = {key: value for key, value in event.items() if key not in ("kind", "time", "text")}
        return cls(
            event["kind"],
            now if time is None else time,
            event["text"],
            data,
            event["number"],
            str(uuid5(NAMESPACE_OID, f"{sender} {event['number']} {event['kind']} {time}")),
        )

    def tree(self) -> Tree:
        """What a file holds, for JSON."""
        return {"kind": self.kind, "time": self.time, "text": self.text, "data": self.data, "id": self.id}

    @classmethod
    def from_tree(cls, fields: Fields) -> AlarmNotice:
        """One that the journal does not know, from what `tree` gave."""
        kind, time = fields.text("kind", 64), fields.number("time", 0.0, LAST_MOMENT)
        fields.require(kind in (LABELS_STOPPED, LABELS_BACK), "it tells of something else")
        data = fields.read("data", Fields.rest)
        return cls(kind, time, fields.text("text"), data, id=fields.text("id", 64))

    def body(self, model: str) -> bytes:
        """What is sent, as JSON in ASCII."""
        content = {
            "id": self.id,
            "type": self.kind,
            "time": as_iso(self.time),
            "model": model,
            "text": self.text,
            "data": self.data,
        }
        return json.dumps(content, allow_nan=False).encode()


def as_iso(seconds: float) -> str:
    """A time as ISO 8601 in UTC.

    >>> as_iso(1763330000.25)
    '2025-11-16T21:53:20.250Z'
    """
    stamp = datetime.fromtimestamp(min(max(seconds, 0.0), LAST_MOMENT), UTC)
    return stamp.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
