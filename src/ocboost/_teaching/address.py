"""The page's address: a token that nobody can guess, and with a state folder the same one next time."""

from __future__ import annotations

import json
import os
import re
import secrets
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ocboost._core.file_format import write_atomically

ADDRESS_FILE = "page.json"  # in the state folder, for its owner's eyes
MAX_ADDRESS_BYTES = 4096
TOKEN = re.compile("[A-Za-z0-9_-]{32,128}")


class Address(NamedTuple):
    """Where the page is: the token is behind the #, which browsers do not send and servers do not log."""

    token: str
    port: int  # 0 is any that is free

    def url(self, base: str, *, once: str | None = None) -> str:
        """What to type into a browser; or to open it with a word that is good once.

        >>> Address("abc", 0).url("http://127.0.0.1:8000")
        'http://127.0.0.1:8000/#token=abc'
        """
        return f"{base}/#token={self.token}" if once is None else f"{base}/#once={once}"


def new_address() -> Address:
    """An address with a new token."""
    return Address(secrets.token_urlsafe(32), 0)


def kept_address(state: Path) -> Address:
    """The address of last time, so that a page that is open finds its server again; else a new one."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        with open(state / ADDRESS_FILE, "rb") as file:
            content = json.loads(file.read(MAX_ADDRESS_BYTES))
        token, port = content["token"], content["port"]
        good = isinstance(token, str) and TOKEN.fullmatch(token) is not None
        if good and isinstance(port, int) and 0 <= port < 1 << 16:
            return Address(token, port)
    return new_address()


def keep_address(state: Path, address: Address) -> None:
    """Write it to the state folder, where only its owner can read it."""
    place = state / ADDRESS_FILE
    state.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    write_atomically(place, json.dumps({"token": address.token, "port": address.port}).encode())
