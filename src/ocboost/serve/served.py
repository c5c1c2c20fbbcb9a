"""What a service must have so that the gate, the protocol and the server can look after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ocboost.serve.service import ServeSettings


class Served(Protocol):
    """Something behind HTTP: a model in service, or a page of its own."""

    settings: ServeSettings
    stopping: bool
    waiting: int  # requests that are under way

    @property
    def route_paths(self) -> Mapping[Any, str]:
        """The path of each endpoint, as it is counted."""

    def count_request(self, path: str, method: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""

    def count_invalid(self) -> None:
        """Count what was not HTTP."""

    def end_streams(self) -> None:
        """End answers that would stay open."""
