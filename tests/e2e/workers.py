"""The application of ``working.py``, started the way users start theirs: with ``spanhook run``."""

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.programs import until

APPLICATION = Path(__file__).with_name("working.py")
HOOKS = Path(__file__).with_name("refusing.py")
SERVICE = "working"


@dataclass(frozen=True, slots=True)
class Work:
    """A run that the application has made: when it ended, as a Unix time, and the seconds it took."""

    at: float
    seconds: float
    refused: bool


class Worker:
    """The application, while it works.

    Args:
        folder: Where its output goes.
        environ: Where it sends its telemetry.
    """

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        folder.mkdir(parents=True)
        self.instance = str(uuid.uuid4())
        self._out, self._log = folder / "runs.jsonl", folder / "working.log"
        own = {
            "OTEL_SERVICE_NAME": SERVICE,
            "OTEL_RESOURCE_ATTRIBUTES": f"service.instance.id={self.instance}",
            "PYTHONUNBUFFERED": "1",
        }
        command = [sys.executable, "-m", "spanhook", "run", "--hooks", f"{HOOKS}:hooks", str(APPLICATION)]
        with self._out.open("wb") as out, self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, env={**os.environ, **environ, **own}, stdin=subprocess.PIPE, stdout=out, stderr=log
            )

    def made(self) -> list[Work]:
        """The runs made so far."""
        assert self._process.poll() in (None, 0), self._log.read_text()
        text = self._out.read_text()
        return [Work(**json.loads(line)) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def works(self, runs: int = 20) -> None:
        """Wait until it has made so many runs more."""
        wanted = len(self.made()) + runs
        until(lambda: len(self.made()) >= wanted, f"run number {wanted} of the application")

    def works_for(self, seconds: float) -> None:
        """Wait until it has made runs for so long."""
        wanted = time.time() + seconds
        until(lambda: self.made()[-1].at >= wanted, f"run after {seconds} s", seconds + 30)

    def end(self, seconds: float = 60.0) -> list[Work]:
        """Let it end as it would of itself, having sent everything; returns all of its runs."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(seconds) == 0, self._log.read_text()
        return self.made()

    def kill(self) -> None:
        """End it, if it has not."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()

    def log(self) -> str:
        """What it wrote to standard error."""
        return self._log.read_text()


@contextmanager
def worker(folder: Path, environ: Mapping[str, str]) -> Generator[Worker, None, None]:
    """An application that works, from its first run on; gone when it is left."""
    one = Worker(folder, environ)
    try:
        one.works(1)
        yield one
    finally:
        one.kill()
