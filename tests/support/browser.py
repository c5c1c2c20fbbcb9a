"""The distribution's Chromium, driven by Playwright; nothing is downloaded.

A test module makes a fixture of `chromium` (scope "module", not "session": while Playwright runs, the thread
has a running event loop, and tests of other modules call `asyncio.run`) and one of `visit` for each test.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
WAIT = 30_000.0  # milliseconds until a condition that never comes true fails the test


@contextmanager
def chromium(*more: str) -> Iterator[Any]:
    """A running browser, with more switches; the test is skipped, with a note, where there is none."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        pytest.skip("playwright is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*OPTIONS, *more])
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """A tab with no memory of others, and what it asked for and complained about.

    ``page`` is Playwright's page, ``requests`` the addresses it asked for, ``complaints`` errors and warnings
    on the console (those of the content security policy too) and exceptions that nobody caught.
    """

    def __init__(self, context: Any) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page = context.new_page()
        self.page.set_default_timeout(WAIT)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._said)

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def hosts(self) -> set[str]:
        """The hosts that were asked, with their ports; a file has none."""
        return {
            url.split("/")[2] for url in self.requests if url.split(":")[0] in ("http", "https", "ws", "wss")
        }


@contextmanager
def visit(browser: Any, **settings: Any) -> Iterator[Visit]:
    """A new tab, closed at the end; ``settings`` are those of Playwright's ``new_context``."""
    context = browser.new_context(**{"locale": "en-GB", "timezone_id": "UTC", **settings})
    try:
        yield Visit(context)
    finally:
        context.close()
