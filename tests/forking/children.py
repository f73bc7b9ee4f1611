"""Python processes without the second that a program takes to import spanhook: forks of a server of the tests' own.

A child has a working directory, an environment, arguments, standard streams and a process id of its own, and leaves
as any interpreter does. It has not started as one: what a test wants to know of that, it asks of ``subprocess``.
"""

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Self

PATIENCE_S = 120.0


class Child:
    """A process that runs ``python`` with ``arguments``.

    Args:
        arguments: ``-W action`` if wanted, and then ``-c`` and code, ``-m`` and a module, or a script; and its own.
        cwd: Its working directory; this process's otherwise.
        env: Its environment; this process's otherwise.
        stdin, stdout, stderr: File descriptors of its streams.

    Attributes:
        pid: Its process id.
    """

    def __init__(
        self,
        *arguments: str | Path,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: int = 0,
        stdout: int = 1,
        stderr: int = 2,
    ) -> None:
        asked = {
            "arguments": [str(one) for one in arguments],
            "cwd": str(cwd or os.getcwd()),
            "env": dict(os.environ if env is None else env),
        }
        self._ended, written = os.pipe()
        self._code: int | None = None
        try:
            self.pid = _server.start(json.dumps(asked).encode(), [stdin, stdout, stderr, written])
        finally:
            os.close(written)

    def poll(self) -> int | None:
        """Its exit code, or None while it runs; minus the signal that ended it."""
        with contextlib.suppress(TimeoutError):
            return self.wait(0)
        return None

    def wait(self, timeout: float = PATIENCE_S) -> int:
        """Its exit code once it has ended, in ``timeout`` seconds."""
        if self._code is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise TimeoutError(f"process {self.pid} has not ended in {timeout} s")
            code = os.read(self._ended, 16)
            os.close(self._ended)
            self._code = int(code)
        return self._code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it with ``SIGKILL``."""
        self.send_signal(signal.SIGKILL)


class Piped(Child):
    """A child to talk to: ``stdin`` and ``stdout`` are the other ends of its streams. Killed after a ``with`` block."""

    def __init__(
        self,
        *arguments: str | Path,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        stderr: int = 2,
    ) -> None:
        theirs_in, ours_in = os.pipe()
        ours_out, theirs_out = os.pipe()
        try:
            super().__init__(*arguments, cwd=cwd, env=env, stdin=theirs_in, stdout=theirs_out, stderr=stderr)
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
            self.stdin: IO[str] = os.fdopen(ours_in, "w")
            self.stdout: IO[str] = os.fdopen(ours_out)

    def communicate(self, timeout: float = PATIENCE_S) -> str:
        """What it writes until it ends."""
        self.stdin.close()
        with self.stdout:
            said = self.stdout.read()
        self.wait(timeout)
        return said

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        with contextlib.suppress(BrokenPipeError):
            self.stdin.close()
        self.stdout.close()
        self.wait()


def run(
    *arguments: str | Path,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str = "",
    check: bool = False,
    timeout: float = PATIENCE_S,
) -> subprocess.CompletedProcess[str]:
    """Run a child to its end, as ``subprocess.run`` does.

    Args:
        arguments, cwd, env: See ``Child``.
        stdin: What it reads.
        check: Whether the test fails if its exit code is not 0.
        timeout: Seconds after which it is killed.
    """
    with tempfile.TemporaryFile("w+") as typed, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        typed.write(stdin)
        typed.seek(0)
        child = Child(*arguments, cwd=cwd, env=env, stdin=typed.fileno(), stdout=out.fileno(), stderr=err.fileno())
        try:
            code = child.wait(timeout)
        finally:
            child.kill()
        out.seek(0)
        err.seek(0)
        done = subprocess.CompletedProcess(list(map(str, arguments)), code, out.read().decode(), err.read().decode())
    assert not (check and code), done.stderr
    return done


class _Server:
    """The server of this process, started when it is first asked for a child."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None

    def start(self, asked: bytes, fds: list[int]) -> int:
        with self._lock:
            connection = self._connection = self._connection or self._started()
            socket.send_fds(connection, [len(asked).to_bytes(4, "big")], fds)
            connection.sendall(asked)
            answer = connection.recv(4)
        assert len(answer) == 4, "the server of children has ended"
        return int.from_bytes(answer, "big")

    def _started(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "OTEL_", "SPANHOOK_"))}
        with theirs:
            process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("server.py"))],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env=env,
            )

        def end() -> None:
            ours.close()
            process.wait()

        atexit.register(end)
        return ours


_server = _Server()
