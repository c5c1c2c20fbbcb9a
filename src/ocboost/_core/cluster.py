"""Independent tasks on a Dask cluster: connect, check the workers, send tasks, and wait for what they find.

Tasks must give the same result wherever and however often they are run: where a worker is lost, the scheduler
sends its tasks to another one, by Dask's default up to three times (``allowed-failures``).
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import os
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from threading import Event, Lock
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from ocboost._core.cluster_worker import Done, Order, Refused, file_sizes, given, work
from ocboost._core.escaping import one_line
from ocboost._core.interrupts import ignoring_ctrl_c
from ocboost._core.threads import without_warning
from ocboost.errors import ClusterError, InputError, MissingExtraError

SCHEDULER_SECONDS = 5.0  # within which the scheduler must answer, and have a worker
RUN_SECONDS = 60.0  # within which every worker must answer; one may be busy with a task of somebody else's
LOST_SECONDS = 30.0  # without any worker, or without the scheduler, until a run is given up
ASK_SECONDS = 2.0  # between two looks at the workers
BETWEEN_LOOKS = 0.1  # between two looks at the tasks, which needs no message
FETCH_SECONDS = 60.0  # for one attempt to fetch a result
TOPIC = "ocboost"  # under which tasks tell how far they are
NAMED = 3  # workers that a message names
LOGGERS = ("distributed", "distributed.client", "tornado.application", "asyncio")

T = TypeVar("T")
I_ = TypeVar("I_")


class Running(NamedTuple):
    """What a task on a worker is doing, and the share that is done."""

    what: str
    share: float


def require_address(address: str) -> str:
    """Check the address of a scheduler.

    >>> require_address("tcp://127.0.0.1:8786")
    'tcp://127.0.0.1:8786'
    """
    try:
        parts = urlsplit(address)
        whole = bool(parts.hostname and parts.port) and not (parts.path or parts.query or parts.fragment)
    except ValueError:  # a port that is no number
        whole = False
    if not whole or parts.scheme not in ("tcp", "tls") or "@" in address or not address.isprintable():
        raise InputError(
            "the address of the Dask scheduler must be tcp://HOST:PORT or tls://HOST:PORT, such as "
            f"tcp://127.0.0.1:8786; got {address!r:.80}. `dask scheduler` prints it when it starts."
        )
    return address


@contextmanager
def connected(address: str) -> Iterator[Cluster]:
    """A cluster whose workers can run tasks of this version; what is still running at the end is cancelled.

    Raises
    ------
    InputError
        If the address is none.
    ClusterError
        If nobody answers there, there are no workers, or one has another version of ocboost or none.
    MissingExtraError
        If Dask is not installed.
    """
    require_address(address)
    try:
        distributed = import_module("distributed")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("dask", "distributed"):
            raise
        raise MissingExtraError("distributed", "dask", "Running on a Dask cluster") from error
    # Dask prints what comes from the network as it is; what matters of it is in our errors.
    with _quiet_loggers(), without_warning("Mismatched versions found"):
        client = _client(distributed, address)
        try:
            cluster = Cluster(client, address)
            cluster.require_workers()
            require_same_version(client)
            with cluster.listening():
                try:
                    yield cluster
                except BaseException as error:
                    cluster.stop(error)
                    raise
        finally:
            with ignoring_ctrl_c(), suppress(Exception):
                client.close(timeout=SCHEDULER_SECONDS)  # the scheduler then cancels what was for this client


def _client(distributed: Any, address: str) -> Any:
    try:
        # A client waits for its first answer without end, whoever is there.
        asyncio.run(asyncio.wait_for(_greet(distributed, address), SCHEDULER_SECONDS))
        return distributed.Client(address, timeout=SCHEDULER_SECONDS, set_as_default=False)
    except Exception as error:  # whatever may answer there
        raise ClusterError(
            f"a Dask scheduler must answer at {address} within {SCHEDULER_SECONDS:.0f} seconds; it did not "
            f"({_error_text(error)}). Start one with `dask scheduler`, and workers with "
            f"`dask worker {address}`."
        ) from error


async def _greet(distributed: Any, address: str) -> None:
    """Connect as a client does, and hang up."""
    security = distributed.Security().get_connection_args("client")
    connection = await distributed.comm.connect(address, timeout=SCHEDULER_SECONDS, **security)
    connection.abort()


@contextmanager
def _quiet_loggers() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def require_same_version(client: Any) -> None:
    """Check that the scheduler and every worker of a ``distributed.Client`` have this version of ocboost.

    Nothing of ocboost is sent for it, so that those without the package can be told apart.

    Raises
    ------
    ClusterError
        If one has another version or none, or does not answer.
    """
    import ocboost

    here = ocboost.__version__
    question = "__import__('ocboost').__version__"
    found = _of_all(client, eval, question)
    try:
        there = client.run_on_scheduler(eval, question, callback_timeout=RUN_SECONDS)
    except Exception as error:
        there = error
    wrong = {
        **_wrong_versions({"the scheduler": there}, here),
        **_wrong_versions({f"the worker {one_line(name)[:100]}": each for name, each in found.items()}, here),
    }
    if wrong:
        raise ClusterError(
            f"the scheduler and all workers must have ocboost {here}, as this machine has; "
            f"{_some(wrong)}. Install it there: pip install 'ocboost=={here}'"
        )


def _wrong_versions(found: Mapping[str, Any], here: str) -> dict[str, str]:
    wrong = {}
    for name, version in found.items():
        if isinstance(version, ModuleNotFoundError) and version.name == "ocboost":
            wrong[name] = "does not have it"
        elif isinstance(version, BaseException):
            wrong[name] = f"cannot import it ({_error_text(version)})"
        elif version != here:
            wrong[name] = f"has {one_line(version)[:40]}"
    return wrong


def _of_all(client: Any, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
    """What a function returns on each worker, or the error there."""
    try:
        found: dict[str, Any] = client.run(function, *args, on_error="return", callback_timeout=RUN_SECONDS)
    except Exception as error:
        raise ClusterError(
            f"every worker must answer within {RUN_SECONDS:.0f} seconds; one did not "
            f"({_error_text(error)}). See what the workers print, and start those again."
        ) from error
    return found


def _some(by_name: Mapping[str, str]) -> str:
    """The first of several findings, and how many others there are."""
    words = [f"{name} {what}" for name, what in list(by_name.items())[:NAMED]]
    more = len(by_name) - len(words)
    return ", ".join(words) + (f", and {more} more are not fit" if more else "")


def _error_text(error: BaseException) -> str:
    text = one_line(error)
    return f"{type(error).__name__}{f': {text}' if text else ''}"[:300]


class Cluster:
    """A Dask cluster that has been checked; `connected` makes one. Any number of threads may use it."""

    def __init__(self, client: Any, address: str) -> None:
        import ocboost

        self.address = address
        self._client, self._version, self._run = client, ocboost.__version__, uuid.uuid4().hex
        self._cause: BaseException | None = None
        self._stopped, self._lock = Event(), Lock()
        self._asked = self._seen = time.monotonic()
        self._news: dict[int, Running] = {}

    def require_workers(self) -> None:
        """Wait a few seconds for the first worker."""
        deadline = time.monotonic() + SCHEDULER_SECONDS
        while not self._client.nthreads(callback_timeout=SCHEDULER_SECONDS):
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"the Dask scheduler at {self.address} must have a worker; it has none. Start some with "
                    f"`dask worker {self.address}`."
                )
            time.sleep(BETWEEN_LOOKS)

    def require_files(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        """Check that every worker sees these files, each as large as it is here."""
        here = {os.path.abspath(path): os.path.getsize(path) for path in paths}
        if not here:
            return
        wrong: dict[str, str] = {}
        for name, sizes in _of_all(self._client, file_sizes, list(here)).items():
            worker = f"the worker {one_line(name)[:100]}"
            if isinstance(sizes, BaseException):
                wrong[worker] = f"cannot look for it ({_error_text(sizes)})"
                continue
            for (path, size), there in zip(here.items(), sizes, strict=True):
                if there != size:
                    what = "does not see" if there is None else "has another version of"
                    wrong.setdefault(worker, f"{what} '{path}'")
        if wrong:
            raise ClusterError(
                "every worker must see the data folder at the same path as this machine, with the same "
                f"files; {_some(wrong)}. Copy or mount it there, or give another folder with --data."
            )

    def stop(self, cause: BaseException) -> None:
        """Let everything that waits for a task raise this error; the first one counts."""
        with self._lock:
            self._cause = self._cause or cause
        self._stopped.set()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear how far tasks are."""
        self._client.subscribe_topic(TOPIC, self._hear)
        try:
            yield
        finally:
            with suppress(Exception):  # the connection may be lost
                self._client.unsubscribe_topic(TOPIC)

    def _hear(self, event: Any) -> None:
        """Take one piece of news; what others say under the same topic is ignored."""
        with suppress(TypeError, ValueError, KeyError):
            run, number, what, share = event[1]
            if run == self._run and isinstance(number, int):
                self._news[number] = Running(str(what)[:200], min(1.0, max(0.0, float(share))))

    def share(self, value: Any) -> Any:
        """Data for several tasks, sent once: an argument for `call`, which gives them the value itself."""
        with without_warning("Sending large graph"):  # meant; the scheduler can send it again
            return self._client.submit(given, value, pure=False)

    def call(self, function: Callable[..., T], *args: Any) -> tuple[T, float]:
        """What ``function(link, *args)`` returns on a worker, and the seconds it took there."""
        future = self._send(-1, function, *args)
        while future.status in ("pending", "lost"):
            self._watch()
            self._stopped.wait(BETWEEN_LOOKS)
        found = self._fetch(future)
        if isinstance(found, Refused):
            raise InputError(found.text)
        return found.result, found.seconds

    def run(
        self,
        function: Callable[..., T],
        items: Sequence[I_],
        tick: Callable[[dict[int, Running], int], None] = lambda running, left: None,
    ) -> Iterator[tuple[I_, T | InputError]]:
        """Run ``function(link, item)`` for each item; yield each result, or why there is none, when ready.

        ``tick(running, left)`` is called every now and then with what is running, by the items' numbers, and
        how many items are left.
        """
        waiting = {number: self._send(number, function, item) for number, item in enumerate(items)}
        while waiting:
            ready = [n for n, future in waiting.items() if future.status not in ("pending", "lost")]
            if not ready:
                self._watch()
                self._stopped.wait(BETWEEN_LOOKS)
            for number in ready:
                found = self._fetch(waiting.pop(number))
                yield items[number], InputError(found.text) if isinstance(found, Refused) else found.result
            tick({n: news for n, news in list(self._news.items()) if n in waiting}, len(waiting))

    def _send(self, number: int, function: Callable[..., Any], *args: Any) -> Any:
        if self._cause is not None:
            raise self._cause
        order = Order(self._version, self._run, number)
        try:
            return self._client.submit(work, order, function, *args, pure=False)
        except Exception as error:
            raise self._lost(_error_text(error)) from error

    def _watch(self) -> None:
        """Raise if the work was stopped, or if nobody has been there to do it for too long."""
        if self._cause is not None:
            raise self._cause
        if self._client.status == "closed":
            raise self._lost("it was closed")
        if time.monotonic() < self._asked + ASK_SECONDS or not self._lock.acquire(blocking=False):
            return  # not yet, or another thread does it
        try:
            reason = "all workers are gone"
            try:
                if self._client.nthreads(callback_timeout=SCHEDULER_SECONDS):
                    self._seen = time.monotonic()
            except Exception as error:
                reason = f"the scheduler does not answer ({_error_text(error)})"
            self._asked = time.monotonic()
            if self._asked > self._seen + LOST_SECONDS:
                raise ClusterError(
                    f"the Dask scheduler at {self.address} must have a worker; for {LOST_SECONDS:.0f} "
                    f"seconds it had none: {reason}. Start them again, and repeat the command."
                )
        finally:
            self._lock.release()

    def _fetch(self, future: Any) -> Done | Refused:
        """The result of a task that is done."""
        while True:
            try:
                found = future.result(timeout=FETCH_SECONDS)
            except TimeoutError:  # the worker was lost together with the result, which is made again
                self._watch()
                continue
            except (asyncio.CancelledError, concurrent.futures.CancelledError) as error:
                raise self._lost(_error_text(error)) from error
            except OSError as error:
                if future.status == "error":  # the task's own
                    raise ClusterError(f"a task failed on a worker ({_error_text(error)}).") from error
                raise self._lost(_error_text(error)) from error
            except Exception as error:
                raise self._failed(error) from error
            assert isinstance(found, Done | Refused)
            return found

    def _lost(self, reason: str) -> ClusterError:
        return ClusterError(
            f"the Dask scheduler at {self.address} must stay connected until the work is done; the "
            f"connection was lost ({reason}). See whether it still runs, and repeat the command."
        )

    @staticmethod
    def _failed(error: Exception) -> ClusterError:
        """What an error of a task means, or of Dask on its behalf."""
        text = _error_text(error)
        if type(error).__name__ == "KilledWorker":
            return ClusterError(
                "a task was sent to one worker after the other, and each was lost while it ran "
                f"({text}). Workers with too little memory are ended: give them more, or fewer threads."
            )
        return ClusterError(
            f"a task failed on a worker ({text}). Run the command without --dask to see whether it fails "
            "here too; if not, look for the reason in what the workers print."
        )
