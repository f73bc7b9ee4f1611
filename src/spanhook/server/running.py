"""Runs the server until it is told to stop."""

import asyncio
import errno
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

import uvicorn

from spanhook.concurrency import Ending
from spanhook.errors import ConfigurationError
from spanhook.server.app import create_app
from spanhook.server.settings import ServerSettings
from spanhook.store.control import Database

GRACE_S = 2.0
"""How long requests may take to end after a signal. The server ends within 5 s."""
_LATEST_S = 20.0
"""How long the server may take if something in it does not let it end."""


def serve(settings: ServerSettings, announce: Callable[[str, str], None]) -> None:
    """Serve until SIGTERM or SIGINT.

    Args:
        settings: What can be set of the server.
        announce: Called with the address and with the database's, once requests are accepted.

    Raises:
        ConfigurationError: The port is taken, or a setting cannot be used.
        StoreError: The database cannot be used.
    """
    settings.check()
    listening = listen(settings.host, settings.port)

    def started(_server: uvicorn.Server, database: Database) -> None:
        announce(address(settings.host, listening), database.shown)

    ending = Ending(_LATEST_S)
    told = _Told(ending.tell)
    try:
        with ending.watching(), told.heeded():
            asyncio.run(serve_on(settings, listening, started, told))
    finally:
        listening.close()


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        ConfigurationError: The port is taken, may not be used, or the host is none of this machine.
    """
    host = host.strip("[]")
    try:
        family = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        # Only if the protocol is named does asyncio turn Nagle's algorithm off, which would keep each body for 40 ms.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except (OSError, UnicodeError) as error:
        raise ConfigurationError(f"host {host!r} cannot be used: {error}; expected an address or a name") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(2048)
    except OSError as error:
        listening.close()
        raise ConfigurationError(_refused(host, port, error)) from None
    return listening


def _refused(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is taken; choose another with --port, or any free one with --port 0"
    if error.errno == errno.EACCES:
        return f"port {port} of {host} may not be used by this user; choose one above 1023 with --port"
    return f"cannot listen on port {port} of {host}: {error.strerror}"


class _Told:
    """Whether the process was told to end. Uvicorn would hear of it only once it runs, and end the process with the
    signal's number.
    """

    def __init__(self, stopping: Callable[[], object] | None = None) -> None:
        self.signals, self._stopping = 0, stopping

    @contextmanager
    def heeded(self) -> Generator[None]:
        """Take the signals that tell it."""
        names = (signal.SIGTERM, signal.SIGINT)
        before = {name: signal.signal(name, self._take) for name in names}
        try:
            yield
        finally:
            for name, handler in before.items():
                signal.signal(name, handler)

    def _take(self, _number: int, _frame: FrameType | None) -> None:
        self.signals += 1
        if self._stopping is not None:
            self._stopping()


class _Server(uvicorn.Server):
    """A server that says when it accepts requests, and ends when the process is told to."""

    def __init__(self, config: uvicorn.Config, started: Callable[[uvicorn.Server], None], told: _Told) -> None:
        super().__init__(config)
        self._say, self._told = started, told

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and not self._told.signals:
            self._say(self)

    async def on_tick(self, counter: int) -> bool:
        if self._told.signals:
            self.should_exit = True
        return await super().on_tick(counter)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


async def serve_on(
    settings: ServerSettings,
    listening: socket.socket,
    started: Callable[[uvicorn.Server, Database], None],
    told: _Told | None = None,
) -> None:
    """Serve on a socket until the server is told to stop.

    Args:
        settings: What can be set of the server.
        listening: The socket; it stays open.
        started: Called with the server and its database once requests are accepted. A server whose ``should_exit`` is
            set stops.
        told: Whether the process was told to end; then it stops as soon as it has started.

    Raises:
        ConfigurationError: A setting cannot be used.
        StoreError: The database cannot be used.
    """
    database = await Database.open(settings.database)
    try:
        config = uvicorn.Config(
            create_app(settings, database),
            http="h11",
            ws="none",
            lifespan="on",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=int(GRACE_S),
        )
        told = told or _Told()
        if not told.signals:
            await _Server(config, lambda server: started(server, database), told).serve([listening])
    finally:
        await database.close()


def address(host: str, listening: socket.socket) -> str:
    """The address that a socket can be reached at."""
    host = host.strip("[]")
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listening.getsockname()[1]}"
