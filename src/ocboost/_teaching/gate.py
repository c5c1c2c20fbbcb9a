"""Who may ask for the page's data: this machine, its own page, and the token."""

from __future__ import annotations

from ocboost.serve.bodies import Scope, header
from ocboost.serve.failures import HttpError
from ocboost.serve.gate import Gate
from ocboost.serve.security import LOOPBACK_NAMES, host_name, is_own_origin

OPENING_PATH = "/opening"  # gives the token for a word that is good once


class TeachingGate(Gate):
    """The checks of a service, and before them: names of this machine only, no page of another origin.

    A page of another site could only guess the token; and one whose name was pointed to this machine after it
    was loaded (DNS rebinding) still sends its own name as Host.
    """

    def check(self, scope: Scope) -> None:
        """Refuse a request before its body is read."""
        host, origin = header(scope, b"host"), header(scope, b"origin")
        if host_name(host) not in LOOPBACK_NAMES:
            raise HttpError(403, "wrong_host", "The Host header must be localhost, 127.0.0.1 or [::1].")
        if origin is not None and not is_own_origin(origin, host):
            raise HttpError(403, "wrong_origin", "Pages of other sites may not send requests to this page.")
        if scope["path"] != OPENING_PATH:
            super().check(scope)
