"""A teaching session behind HTTP: which thread does what, and what a request may hold."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

from ocboost._teaching.tabs import TAB_NAME, Tabs
from ocboost.errors import ClosedError
from ocboost.serve.bodies import Receive, Scope, header, read_body
from ocboost.serve.failures import HttpError
from ocboost.serve.service import ServeSettings

if TYPE_CHECKING:
    from ocboost._teaching.session import TeachingSession
    from ocboost._teaching.source import FrameSource

P = ParamSpec("P")
R = TypeVar("R")

TAB = b"ocboost-tab"
MAX_FRAME_PIXELS = 1920 * 1080
MIN_SIDE = 16
MAX_WAITING = 40
N_THREADS = 3


class PageFacts(NamedTuple):
    """What the page is told once."""

    detector: str  # the name of its file
    window: tuple[int, int]  # width and height
    kept: bool  # whether what is taught is kept on the disk


class TeachingService:
    """What the page asks. Methods are for the event loop's thread; whatever takes long goes to others.

    One thread looks at frames, so that none overtakes another; a few do the rest.
    """

    def __init__(
        self, session: TeachingSession, facts: PageFacts, source: FrameSource | None, token: bytes
    ) -> None:
        self.session = session
        self.facts = facts
        self.source = source
        self.settings = ServeSettings("teach", token, max_body=MAX_FRAME_PIXELS, max_waiting=MAX_WAITING)
        self.run = secrets.token_hex(8)  # frames of an earlier run have other numbers
        self.once: bytes | None = None  # opens the page once, in place of the token
        self.tabs = Tabs()
        self.stopping = False
        self.waiting = 0
        self.route_paths: dict[Any, str] = {}
        self.judged: tuple[int, int] | None = None  # how many of how many frames, while it judges
        self._judging: asyncio.Task[dict[str, Any]] | None = None
        self._looking = ThreadPoolExecutor(1, thread_name_prefix="ocboost-look")
        self._threads = ThreadPoolExecutor(N_THREADS, thread_name_prefix="ocboost-teach")

    async def body(self, scope: Scope, receive: Receive, kind: bytes) -> bytes:
        """The body of a request within the limits; a breach is an `HttpError`."""
        try:
            return await read_body(
                scope,
                receive,
                max_bytes=self.settings.max_body,
                seconds=self.settings.body_seconds,
                types=(kind,),
            )
        except HttpError as error:
            if error.code != "too_large":
                raise
            most = f"A frame must have at most {MAX_FRAME_PIXELS:,} pixels, a byte each."
            raise HttpError(413, error.code, most, error.headers) from None

    async def look(self, function: Callable[P, R], /, *args: P.args, **more: P.kwargs) -> R:
        """Look for faces, one frame after the other."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._looking, lambda: function(*args, **more))

    async def in_thread(self, function: Callable[P, R], /, *args: P.args, **more: P.kwargs) -> R:
        """Call what may take long without keeping others waiting."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: function(*args, **more))

    def teaches(self, scope: Scope) -> bool:
        """Whether the tab that asks is the one that teaches."""
        return self.tabs.hold(tab_of(scope))

    def must_teach(self, scope: Scope) -> None:
        """Refuse a tab that only looks on."""
        if not self.teaches(scope):
            raise HttpError(
                409, "other_tab", "Another tab teaches this detector. Press “Teach here instead” first."
            )

    async def judge(self) -> dict[str, Any]:
        """The figures; who asks while they are being computed gets the same."""
        if self._judging is None or self._judging.done():
            self._judging = asyncio.create_task(self._judge())
        return await asyncio.shield(self._judging)

    async def _judge(self) -> dict[str, Any]:
        self.judged = (0, 0)
        try:
            return await self.in_thread(self.session.judge, self._tell)
        finally:
            self.judged = None

    def _tell(self, what: str, done: int, total: int) -> None:
        if self.stopping:
            raise ClosedError("The server is being stopped.")
        self.judged = (done, total)

    def token_for(self, word: bytes) -> bytes:
        """The token, for the word that the browser was opened with; good once."""
        expected, token = self.once, self.settings.token
        if expected is None or token is None or not hmac.compare_digest(word, expected):
            raise HttpError(
                401, "unauthorized", "This address was used already. Take the one that the terminal shows."
            )
        self.once = None
        return token

    def count_request(self, path: str, method: str, status: int, seconds: float) -> None:
        """Nothing counts them: the page is one person's."""

    def count_invalid(self) -> None:
        """As above."""

    def end_streams(self) -> None:
        """No answer stays open."""
        self.stopping = True

    def close(self) -> None:
        """End the threads; session and source are closed by whoever made them."""
        self.stopping = True
        self._looking.shutdown(wait=True, cancel_futures=True)
        self._threads.shutdown(wait=True, cancel_futures=True)


def tab_of(scope: Scope) -> bytes:
    """The name that a tab has given itself."""
    tab = header(scope, TAB) or b""
    if not TAB_NAME.fullmatch(tab):
        raise HttpError(422, "bad_request", "Each tab sends a name of its own. Load the page again.")
    return tab
