"""Webhooks: notices sent to URLs, in order, signed, again until they arrive, and never in anybody's way.

Each URL has a queue and a thread of its own. What the journal makes happen has numbers: the last one that a
URL has got is kept in a file, so that a process that was killed sends the next one, or the last one again.
Of other notices it keeps the id of the last.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import random
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple, Self

import ocboost
from ocboost._core.codec import Fields
from ocboost.live.http_post import DeliveryError, PostUrl, post
from ocboost.live.notices import AlarmNotice
from ocboost.live.side_file import read_side_file, write_side_file

logger = logging.getLogger("ocboost.live")

DELIVERED_NAME = "webhooks.json"
MAX_WEBHOOKS = 100
MAX_QUEUED = 1_000
POST_SECONDS = 10.0
FIRST_DELAY, LONGEST_DELAY = 1.0, 300.0
LONGEST_RETRY_AFTER = 3_600.0
GIVE_UP_SECONDS = 86_400.0
TRY_AGAIN = frozenset({408, 425, 429})  # statuses of 400 to 499 that may be others the next time
RESULTS = ("delivered", "retried", "given_up", "dropped")


class Last(NamedTuple):
    """What a URL has got last: the number of an event, and the id of a notice that has no number."""

    number: int
    notice: str | None = None

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """Read it from a file."""
        number = fields.count("number")
        return cls(number, None if fields.takes("notice", None) else fields.text("notice", 64))


class Delivered:
    """The file with what each URL has got last: an event's number, and a notice that has none by its id.

    A URL is known by its digest.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / DELIVERED_NAME
        self._writing = threading.Lock()
        self._ended = False
        found = read_side_file(self._path, self._from_tree)
        self.sender, self._last = (token_hex(16), {}) if found is None else found

    @staticmethod
    def _from_tree(fields: Fields) -> tuple[str, dict[str, Last]]:
        sender = fields.text("sender", 64)
        fields.require(len(sender) >= 16, "its sender is too short")

        def last_of_each(one: Fields) -> dict[str, Last]:
            found = one.read_each(Last.from_tree)
            one.require(len(found) <= MAX_WEBHOOKS, "it has too many webhooks")
            return found

        return sender, fields.read("delivered", last_of_each)

    def begin(self, urls: list[str], newest: Last) -> dict[str, Last]:
        """What each URL has got last; one that is new begins after the newest."""
        with self._writing:
            for url in urls:
                key = _digest(url)
                last = self._last.pop(key, newest)
                # Now at the end: those that were not used for longest go first.
                self._last[key] = Last(min(last.number, newest.number), last.notice)
            while len(self._last) > MAX_WEBHOOKS:
                del self._last[next(iter(self._last))]
            self._write()
            return {url: self._last[_digest(url)] for url in urls}

    def delivered(self, url: str, notice: AlarmNotice) -> None:
        """Remember that a URL has got a notice; where that fails, it may get it again."""
        with self._writing:
            if self._ended:  # another process may have the folder
                return
            key = _digest(url)
            if notice.number is None:
                self._last[key] = self._last[key]._replace(notice=notice.id)
            else:
                self._last[key] = self._last[key]._replace(number=notice.number)
            try:
                self._write()
            except OSError as error:
                logger.warning("'%s' could not be written: %s", DELIVERED_NAME, error.strerror)

    def _write(self) -> None:
        delivered = {key: last._asdict() for key, last in self._last.items()}
        write_side_file(self._path, {"sender": self.sender, "delivered": delivered})

    def end(self) -> None:
        """Write nothing from now on."""
        with self._writing:
            self._ended = True


def _digest(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()


def signature(secret: bytes, body: bytes, at: int) -> str:
    """The header by which a receiver knows that a body is ours, and when it was sent.

    >>> signature(b"secret", b"{}", 1763330000)[:31]
    't=1763330000,v1=6797fbd3cde59f8'
    """
    digest = hmac.new(secret, b"%d.%b" % (at, body), hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


def backoff(attempt: int) -> float:
    """Seconds until the next attempt after so many: twice as long each time, and somewhat at random."""
    return min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** min(attempt - 1, 30)) * random.uniform(0.5, 1.0)


def seconds_of(retry_after: str | None, now: float) -> float:
    """What a Retry-After header asks for, an hour at most; 0 if it makes no sense.

    >>> seconds_of("120", 0.0), seconds_of("Thu, 01 Jan 1970 00:01:00 GMT", 15.0), seconds_of("soon", 0.0)
    (120.0, 45.0, 0.0)
    """
    text = (retry_after or "").strip()[:100]
    if text.isascii() and text.isdigit():
        return min(float(text), LONGEST_RETRY_AFTER)
    try:
        then = parsedate_to_datetime(text)
        wanted = (then if then.tzinfo else then.replace(tzinfo=UTC)).timestamp() - now
    except (ValueError, TypeError, OverflowError, IndexError):
        return 0.0
    return min(max(wanted, 0.0), LONGEST_RETRY_AFTER)


@dataclass(frozen=True)
class Queued:
    """A notice in a queue, and since when."""

    notice: AlarmNotice
    at: float


class Webhook:
    """One URL with its queue and thread.

    Parameters
    ----------
    index : int
        Which it is, from 1; how it is called in logs and metrics.
    url : PostUrl
    model : str
        The model's name.
    secret : bytes or None
        What to sign with.
    delivered : callable
        Called with each notice that was delivered or given up.
    delay, clock, send
        `backoff`, `time.monotonic` and `post`, for tests.
    """

    def __init__(
        self,
        index: int,
        url: PostUrl,
        model: str,
        secret: bytes | None,
        delivered: Callable[[AlarmNotice], None],
        *,
        delay: Callable[[int], float] = backoff,
        clock: Callable[[], float] = time.monotonic,
        send: Callable[..., tuple[int, str | None]] = post,
    ) -> None:
        self.index, self._url, self._model, self._secret = index, url, model, secret
        self._delivered, self._delay, self._clock, self._send = delivered, delay, clock, send
        self.results: Counter[str] = Counter(dict.fromkeys(RESULTS, 0))
        self._queue: deque[Queued] = deque()
        self._changed = threading.Condition()
        self._end_by: float | None = None  # by the clock, once it is to end
        self._thread = threading.Thread(target=self._run, name=f"ocboost-webhook-{index}", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def put(self, notice: AlarmNotice) -> None:
        """Add to the queue, at once; of too many the oldest is dropped."""
        with self._changed:
            if len(self._queue) >= MAX_QUEUED:
                del self._queue[1]  # the first is being sent
                self.count_dropped(1)
            self._queue.append(Queued(notice, self._clock()))
            self._changed.notify()

    def count_dropped(self, n: int) -> None:
        """Count events that are not sent, as there were too many."""
        if n > 0:
            if not self.results["dropped"]:
                logger.warning("%s: too many events wait, and the oldest are dropped", self)
            self.results["dropped"] += n

    @property
    def waiting(self) -> int:
        """Notices in the queue."""
        return len(self._queue)

    def end(self, by: float) -> None:
        """Try what waits once more until a time of the clock, and end."""
        with self._changed:
            self._end_by = by
            self._changed.notify()

    def join(self, seconds: float) -> None:
        """Wait for the end, not longer than this; what is still being sent then is sent again later."""
        self._thread.join(max(0.0, seconds))

    def __str__(self) -> str:
        return f"webhook {self.index} ({self._url.shown})"

    # The thread -------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while (first := self._next()) is not None:
            try:
                done = self._bring(first)
            except Exception as error:
                logger.error("%s: an unexpected error; the event is given up", self, exc_info=error)
                self.results["given_up"] += 1
                done = True
            if not done:
                return  # it is ending
            with self._changed:
                self._queue.popleft()
            self._delivered(first.notice)

    def _next(self) -> Queued | None:
        """The first in the queue, once there is one; None at the end."""
        with self._changed:
            while not self._queue and self._end_by is None:
                self._changed.wait()
            return self._queue[0] if self._queue else None

    def _bring(self, queued: Queued) -> bool:
        """Send until it has arrived or is given up; False if the time to end came first."""
        body = queued.notice.body(self._model)
        attempt = 0
        while (seconds := self._seconds_left()) > 0:
            attempt += 1
            try:
                status, retry_after = self._send(self._url, body, self._headers(queued.notice, body), seconds)
            except DeliveryError as error:
                why, asked, final = str(error), 0.0, False
            else:
                if 200 <= status < 300:
                    self.results["delivered"] += 1
                    if attempt > 1:
                        logger.warning("%s: delivered after %d attempts", self, attempt)
                    return True
                why, asked = f"it answered {status}", seconds_of(retry_after, time.time())
                if 300 <= status < 400:
                    why += ", a redirect, which is not followed"
                final = 400 <= status < 500 and status not in TRY_AGAIN
            if final or self._clock() - queued.at >= GIVE_UP_SECONDS:
                logger.warning("%s: %s; event %s is given up", self, why, queued.notice.id)
                self.results["given_up"] += 1
                return True
            if self._end_by is not None:
                return False
            self.results["retried"] += 1
            if attempt == 1:
                logger.warning("%s: %s; event %s is sent again later", self, why, queued.notice.id)
            if not self._pause(max(self._delay(attempt), asked)):
                return False
        return False

    def _seconds_left(self) -> float:
        end = self._end_by
        return POST_SECONDS if end is None else min(POST_SECONDS, end - self._clock())

    def _pause(self, seconds: float) -> bool:
        """Wait; False if it is to end: what has just failed is not tried again then."""
        until = self._clock() + seconds
        with self._changed:
            while self._end_by is None and (left := until - self._clock()) > 0:
                self._changed.wait(left)
            return self._end_by is None

    def _headers(self, notice: AlarmNotice, body: bytes) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"ocboost/{ocboost.__version__}",
            "Ocboost-Event": notice.kind,
            "Ocboost-Delivery": notice.id,
        }
        if self._secret is not None:
            headers["Ocboost-Signature"] = signature(self._secret, body, int(time.time()))
        return headers
