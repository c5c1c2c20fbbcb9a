"""Addresses of logs in a broker, told from names of files. A password in one is never shown."""

from __future__ import annotations

import re

from ocboost._core.escaping import one_line

# The module of each scheme in `ocboost.live.brokers`; its ``open_log(address)`` gives the log.
SCHEMES = {"redis": "redis", "rediss": "redis", "kafka": "kafka"}
# Behind a scheme of ours anything may be mistyped, and a password may have spaces and quotes.
_CREDENTIALS = re.compile(
    rf"""((?:{"|".join(SCHEMES)})[:/]{{1,3}})[^/@\n]*:.*@|([a-z]:/{{1,2}})[^\s'"/@]*:[^\s'"]*@""",
    re.IGNORECASE,
)


class LogAddress(str):
    """The address of a log as it was typed, perhaps with a password: show `public`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(self.public)

    @property
    def public(self) -> str:
        """The address without user, password and parameters.

        >>> LogAddress("redis://me:secret@host:6379/0?stream=s").public
        'redis://host:6379/0'
        """
        scheme, _, rest = self.partition("://")
        place = rest.partition("?")[0].partition("#")[0]
        if "@" in rest and "@" not in place:  # perhaps a password with a question mark
            place = "…"
        return one_line(f"{scheme}://{place.rpartition('@')[2]}")[:200]


def without_passwords(text: str) -> str:
    """A text for people without users and passwords of addresses, also where one was taken for a file.

    >>> without_passwords("there is no 'redis:/me:secret@host/0'")
    "there is no 'redis:/…@host/0'"
    """
    return _CREDENTIALS.sub(r"\1\2…@", text)


def is_log_address(text: str) -> bool:
    """Whether a text is the address of a log in a broker, not the name of a file.

    >>> is_log_address("redis://localhost"), is_log_address("redis.csv")
    (True, False)
    """
    scheme, found, _ = text.partition("://")
    return bool(found) and scheme.lower() in SCHEMES
