"""`Alarms`: looks once a second at a model in service, and tells webhooks what somebody should know."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ocboost.errors import InputError
from ocboost.live.clock import system_time
from ocboost.live.http_post import PostUrl, parse_url
from ocboost.live.notices import AlarmNotice
from ocboost.live.side_file import read_side_file, write_side_file
from ocboost.live.silence import Silence
from ocboost.live.webhooks import MAX_WEBHOOKS, Delivered, Last, Webhook

if TYPE_CHECKING:
    from ocboost.live.adapter import Adapter
    from ocboost.live.clock import LiveClock

logger = logging.getLogger("ocboost.live")

SILENCE_NAME = "silence.json"
LOOK_SECONDS = 1.0
SAVE_SECONDS = 300.0  # between two times that the gaps between labels are saved
CLOSE_SECONDS = 2.0


def webhook_urls(urls: Sequence[str]) -> list[PostUrl]:
    """The URLs of ``--webhook``, checked."""
    found = [parse_url(url, "--webhook") for url in urls]
    if len({url.text for url in found}) < len(found):
        raise InputError("--webhook has the same URL twice. Give each once.")
    if len(found) > MAX_WEBHOOKS:
        raise InputError(f"--webhook takes at most {MAX_WEBHOOKS} URLs; got {len(found)}.")
    return found


def _counts(facts: dict[str, Any]) -> tuple[int, int, int]:
    return facts["labels"], facts["pending"], facts["expired"]


class Alarms:
    """Watches a model in service from a thread of its own; requests never wait for it.

    Parameters
    ----------
    adapter : Adapter
        Which must stay open until `close`.
    folder : path
        The adapter's state folder.
    model : str
        The model's name, which is sent along.
    urls : list of PostUrl
        Where to send notices.
    secret : bytes, optional
        What to sign them with.
    within : float, optional
        Seconds in which labels must come; see `Silence`.
    clock : LiveClock, optional
        Whose seconds never go back, also after a restart; by default the adapter's.
    webhook : callable, optional
        Makes each `Webhook`, for tests.
    """

    def __init__(
        self,
        adapter: Adapter,
        folder: Path,
        model: str = "model",
        urls: Sequence[PostUrl] = (),
        secret: bytes | None = None,
        within: float | None = None,
        *,
        clock: LiveClock | None = None,
        webhook: Callable[..., Webhook] = Webhook,
    ) -> None:
        self._adapter, self._clock = adapter, clock or adapter.clock
        self._silence_file = folder / SILENCE_NAME
        found = read_side_file(self._silence_file, lambda fields: Silence.from_tree(fields, within))
        self._silence = found or Silence(within)
        self._saved_at = self._clock.now()
        facts = adapter.facts()
        self._counts = _counts(facts)
        self._after: dict[int, int] = {}  # for each webhook the last event that it was given
        self._delivered: Delivered | None = None
        self.webhooks: list[Webhook] = []
        if urls:
            self._delivered = delivered = Delivered(folder)
            told = self._silence.told
            newest = Last(facts["last_event"], None if told is None else told.id)
            last = delivered.begin([url.text for url in urls], newest)
            for index, url in enumerate(urls, 1):
                made = webhook(index, url, model, secret, partial(delivered.delivered, url.text))
                self._after[index] = last[url.text].number
                self.webhooks.append(made)
                if told is not None and last[url.text].notice != told.id:
                    made.put(told)  # it ended before this was sent
        self._failed = self._closed = False
        self._saving = threading.Lock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ocboost-alarms", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        for webhook in self.webhooks:
            webhook.start()
        self._thread.start()

    @property
    def labels_stopped(self) -> bool:
        """Whether labels have stopped coming while predictions go on."""
        return self._silence.is_stopped

    def look(self) -> None:
        """Look once: hand new events to the webhooks, and see whether labels come."""
        self._hand_on_events()
        facts = self._adapter.facts()
        now = self._clock.now()
        self._silence.clock_ahead = self._clock.ahead
        self._count(facts, now)
        notice = self._silence.check(now)
        if notice is not None or now - self._saved_at >= SAVE_SECONDS:
            self._save_silence()
        if notice is not None:
            logger.warning("%s", notice.text)
            for webhook in self.webhooks:
                webhook.put(notice)

    def _hand_on_events(self) -> None:
        if self._delivered is None:
            return
        events = self._adapter.events(min(self._after.values()))
        for webhook in self.webhooks:
            after = self._after[webhook.index]
            new = [event for event in events if event["number"] > after]
            if not new:
                continue
            webhook.count_dropped(new[0]["number"] - after - 1)
            for event in new:
                webhook.put(AlarmNotice.of_event(event, self._delivered.sender, system_time()))
            self._after[webhook.index] = new[-1]["number"]

    def _count(self, facts: dict[str, Any], now: float) -> None:
        """Tell the silence what has come since the last time; labels of rows alone count as both."""
        before, self._counts = self._counts, _counts(facts)
        labels, pending, expired = (b - a for a, b in zip(before, self._counts, strict=True))
        if facts["pending"] > 0 or labels > 0:
            self._silence.predicted(labels + pending + expired, now)
        self._silence.labelled(labels, now)

    def _save_silence(self) -> None:
        with self._saving:
            self._saved_at = self._clock.now()
            try:
                if not self._closed:
                    write_side_file(self._silence_file, self._silence.tree())
            except OSError as error:
                logger.warning("'%s' could not be written: %s", SILENCE_NAME, error.strerror)

    def _run(self) -> None:
        ended = False
        while not ended:
            ended = self._closing.wait(LOOK_SECONDS)  # then it looks once more
            try:
                self.look()
                self._failed = False
            except Exception as error:
                if not self._failed:
                    logger.error("looking for alarms has failed; it is tried again", exc_info=error)
                self._failed = True

    def close(self) -> None:
        """End within two seconds: what is not delivered by then is sent when the state is used again."""
        by = time.monotonic() + CLOSE_SECONDS
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join(CLOSE_SECONDS / 2)  # longer if the adapter is busy, which is no reason to wait
        for webhook in self.webhooks:
            webhook.end(by)
        for webhook in self.webhooks:
            webhook.join(by - time.monotonic())
        self._save_silence()
        with self._saving:
            self._closed = True  # from now on another process may have the folder
        if self._delivered is not None:
            self._delivered.end()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
