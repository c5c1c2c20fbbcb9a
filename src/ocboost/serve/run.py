"""Running the service: the socket, uvicorn, signals, and the end in order."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import TYPE_CHECKING

import numpy as np
import uvicorn

from ocboost.errors import InputError, OcboostError
from ocboost.serve.logs import ServerLogHandler
from ocboost.serve.protocol import MAX_CONNECTIONS, LimitedProtocol, protocol_for
from ocboost.serve.service import ServeSettings, Service, app_for

if TYPE_CHECKING:
    from ocboost.live import Adapter
    from ocboost.live.alarms import Alarms
    from ocboost.serve.gate import App
    from ocboost.serve.served import Served

SHUTDOWN_SECONDS = 10
KEEP_ALIVE_SECONDS = 75  # longer than proxies keep a connection, so that they end it
BACKLOG = 1024
UNREAD_MILLISECONDS = 40_000  # after which the system ends a connection whose client takes nothing
TICKS_PER_SECOND = 10  # of uvicorn's loop


def bind(host: str, port: int) -> socket.socket:
    """A socket at an address, which does not listen yet; port 0 takes any that is free."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise InputError(f"--host {host!r:.100} cannot be found. Give an address of this machine.") from None
    family, kind, protocol, _, address = found[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # its connections inherit it; they may hold much unread
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_MILLISECONDS)
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise InputError(_why_not(error, host, port)) from None
    bound.set_inheritable(False)
    return bound


def _why_not(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host!r:.100} is in use. Give another --port, or 0 for one that is free."
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"port {port} needs more rights than this process has. Give a --port of at least 1024."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"--host must be an address of this machine; got {host!r:.100}."
    return f"--host {host!r:.100}, --port {port}: {error.strerror}."


def url_of(bound: socket.socket) -> str:
    """The address of a socket."""
    host, port = bound.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def run_service(
    adapter: Adapter,
    settings: ServeSettings,
    bound: socket.socket,
    ready: Callable[[], None],
    *,
    trusted_proxy: str | None = None,
    alarms: Alarms | None = None,
) -> None:
    """Answer until SIGTERM or Ctrl-C; requests that are under way are finished, for 10 seconds at most.

    ``ready`` is called when the service answers. The adapter stays open; alarms are started and closed here.
    """
    _warm_up(adapter)
    with in_order("ocboost.live"):
        service = Service(adapter, settings)
        try:
            with nullcontext() if alarms is None else alarms:
                if alarms is not None:
                    service.metrics.add_alarms(alarms)
                server_for(service, app_for(service), ready, trusted_proxy=trusted_proxy).run([bound])
        finally:
            service.close()
            adapter.checkpoint()


def server_for(
    service: Served, app: App, ready: Callable[[], None], *, trusted_proxy: str | None = None
) -> ServiceServer:
    """A server with our limits, which is not running yet."""
    config = uvicorn.Config(
        app,
        http=protocol_for(service),
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=trusted_proxy is not None,
        forwarded_allow_ips=trusted_proxy,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        backlog=BACKLOG,
    )
    return ServiceServer(config, service, ready)


class ServiceServer(uvicorn.Server):
    """Uvicorn's server, which says when it answers and ends the connections of slow clients."""

    def __init__(self, config: uvicorn.Config, service: Served, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._service = service
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        self._ready()

    async def on_tick(self, counter: int) -> bool:
        """Look after the connections, once a second."""
        if counter % TICKS_PER_SECOND == 0:
            now = asyncio.get_running_loop().time()
            for connection in list(self.server_state.connections):
                if isinstance(connection, LimitedProtocol):
                    connection.close_if_slow(now)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams that would stay open, then what is under way."""
        self._service.end_streams()
        for connection in list(self.server_state.connections):
            if isinstance(connection, LimitedProtocol):
                connection.end_unread_stream()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end."""
        self._service.stopping = True
        super().handle_exit(sig, frame)


def _warm_up(adapter: Adapter) -> None:
    """Let a copy of the model predict and learn: compiled code is loaded now, not while a client waits."""
    with suppress(OcboostError, OSError), TemporaryDirectory() as folder:
        place = Path(folder) / "model.ocb"
        place.write_bytes(adapter.model_file())
        with type(adapter)(place, Path(folder) / "state") as copy:
            answers = copy.predict(np.zeros((1, adapter.n_features)))
            copy.label([{"id": answers.ids[0], "label": adapter.classes[0]}] if answers.ids else [])


@contextmanager
def in_order(*loggers: str) -> Iterator[None]:
    """What a service runs in: files enough for its connections, logs as our lines, an end without a trace."""
    _allow_files(2 * MAX_CONNECTIONS)
    with _own_logs("uvicorn", *loggers), _signals_in_order():
        yield


@contextmanager
def _own_logs(*names: str) -> Iterator[None]:
    """The warnings and errors of uvicorn and of what it serves as our lines."""
    handler = ServerLogHandler()
    before = []
    for name in names:
        logger = logging.getLogger(name)
        before.append((logger, logger.level, logger.propagate))
        logger.addHandler(handler)
        logger.setLevel(logging.WARNING)
        logger.propagate = False
    try:
        yield
    finally:
        for logger, level, propagate in before:
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagate


@contextmanager
def _signals_in_order() -> Iterator[None]:
    """Let signals do nothing once uvicorn has ended: it raises them again, and the state is being saved."""

    def ignore(number: int, frame: FrameType | None) -> None:
        pass

    before = {number: signal.signal(number, ignore) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _allow_files(n: int) -> None:
    """Allow as many open files as connections need, where the system lets us."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY and soft < n:
            most = n if hard == resource.RLIM_INFINITY else min(n, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
