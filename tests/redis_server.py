"""A Redis server of the tests' own, on a free port of the loopback interface."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager

from tests.ports import free_port
from tests.programs import need


class RedisProcess:
    """A server that can be stopped, started again on the same port, and made to hang.

    Attributes:
        url: Its address.
    """

    def __init__(self, program: str, folder: str) -> None:
        self._program = program
        self._folder = folder
        self._port = free_port()
        self.url = f"redis://127.0.0.1:{self._port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, empty, and wait until it answers."""
        given = ["--port", str(self._port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self._process = subprocess.Popen([self._program, *given], cwd=self._folder, stdout=subprocess.DEVNULL)
        ends = time.monotonic() + 60
        while time.monotonic() < ends:
            try:
                with socket.create_connection(("127.0.0.1", self._port), 1) as connection:
                    connection.sendall(b"PING\r\n")
                    if connection.recv(16).startswith(b"+PONG"):
                        return
            except OSError:
                assert self._process.poll() is None, "redis-server has ended"
            time.sleep(0.01)
        raise AssertionError("redis-server does not answer")

    def stop(self) -> None:
        """End it; what it has is gone."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    @contextmanager
    def hung(self) -> Generator[None]:
        """It accepts connections, but answers nothing."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self._process.pid, signal.SIGCONT)


@contextmanager
def running_redis() -> Generator[RedisProcess]:
    """A running server; the test is skipped where it is not installed."""
    program = need("redis-server", shutil.which("redis-server"))
    with tempfile.TemporaryDirectory() as folder:
        server = RedisProcess(program, folder)
        try:
            server.start()
            yield server
        finally:
            server.stop()
