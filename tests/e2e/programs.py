"""Servers that tests start: found in the CI cache, ready when they say so, stopped by their own process id.

``.ci/tools`` builds them. Nothing here knows what any of them is for.
"""

import os
import signal
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

CACHE = Path(os.environ.get("SPANHOOK_CI_CACHE") or Path.home() / ".cache" / "spanhook-ci") / "bin"
"""Where ``.ci/tools`` leaves what it builds."""

Found = TypeVar("Found")


def program(name: str) -> Path | None:
    """The program of this name, or ``None`` if it was not built."""
    path = CACHE / name
    return path if path.exists() else None


def until(look: Callable[[], Found | None], about: str, seconds: float = 60.0) -> Found:
    """What ``look`` gives as soon as that is something.

    Raises:
        AssertionError: It gave nothing for ``seconds``.
    """
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"after {seconds} s: no {about}"
        time.sleep(0.1)


def get(url: str, timeout: float = 10.0) -> str | None:
    """What is at ``url``, or ``None`` if nobody answers with success. Whoever answers is believed."""
    unverified = ssl._create_unverified_context() if url.startswith("https:") else None
    try:
        with urllib.request.urlopen(url, timeout=timeout, context=unverified) as answer:
            return answer.read().decode()
    except (urllib.error.URLError, OSError):
        return None


class Server:
    """A program that runs until it is stopped.

    Args:
        path: The program.
        arguments: Its command line.
        folder: Where it starts, and where its output goes, to ``<name>.log``.
        ready: Address that answers once it is ready.
        environ: Variables beside those of this process.
    """

    def __init__(
        self, path: Path, arguments: Sequence[str], folder: Path, ready: str, environ: Mapping[str, str] | None = None
    ) -> None:
        self.path, self.arguments, self.folder, self.ready = path, list(arguments), folder, ready
        self.environ = dict(environ or {})
        self.log = folder / f"{path.name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.path.name} was not started"
        return self._process.pid

    def start(self, seconds: float = 60.0) -> None:
        """Start it and wait until it is ready."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [self.path, *self.arguments],
                cwd=self.folder,
                env={**os.environ, **self.environ},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

        def answers() -> bool:
            assert self._process is not None
            assert self._process.poll() is None, f"{self.path.name} ended:\n{self.tail()}"
            return self.answers()

        try:
            until(answers, f"answer of {self.path.name}", seconds)
        except AssertionError:
            self.stop()
            raise

    def answers(self) -> bool:
        """Whether it is ready."""
        return get(self.ready, timeout=1.0) is not None

    def stop(self, seconds: float = 30.0) -> None:
        """Ask it to end, and make it if it does not."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """End it without a chance to put anything in order."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def tail(self, lines: int = 20) -> str:
        """The end of what it wrote."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
