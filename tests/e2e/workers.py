"""Applications in processes of their own, started the way users start theirs: with ``spanhook run``."""

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
from typing import Any

from tests.e2e.backends import Prometheus
from tests.e2e.programs import until

HERE = Path(__file__).parent
SERVICE = "working"


class Application:
    """A program, as long as it lives.

    Args:
        folder: Where its output goes.
        environ: Where it sends its telemetry.
        script: The program; one of those beside this file.
        options: What ``spanhook run`` is told.
    """

    def __init__(self, folder: Path, environ: Mapping[str, str], script: str, *options: str) -> None:
        folder.mkdir(parents=True)
        self.instance = str(uuid.uuid4())
        self._out, self._log = folder / "out.jsonl", folder / "stderr.log"
        own = {"OTEL_SERVICE_NAME": SERVICE, "OTEL_RESOURCE_ATTRIBUTES": f"service.instance.id={self.instance}"}
        with self._out.open("wb") as out, self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "spanhook", "run", *options, str(HERE / script)],
                env={**os.environ, **environ, **own},
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=log,
            )

    def said(self) -> list[dict[str, Any]]:
        """Every line of its output so far."""
        assert self._process.poll() in (None, 0), self.log()
        return [json.loads(line) for line in self._out.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def log(self) -> str:
        """What it wrote to standard error."""
        return self._log.read_text()

    def write(self, line: str) -> None:
        """Give it a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()

    def end(self, seconds: float = 60.0) -> None:
        """Let it end as it would of itself, having sent everything."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(seconds) == 0, self.log()

    def kill(self) -> None:
        """End it, if it has not."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()

    def total(self, prometheus: Prometheus, name: str, *matchers: str) -> float:
        """What it has counted, as Prometheus has it."""
        of = ", ".join((f'instance="{self.instance}"', *matchers))
        return prometheus.value(f"sum(last_over_time({name}{{{of}}}[1h]))")


@dataclass(frozen=True, slots=True)
class Work:
    """A run that the worker has made: when it ended, as a Unix time, and the seconds it took."""

    at: float
    seconds: float
    refused: bool


class Worker(Application):
    """``working.py``: agents' runs at a steady pace."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        super().__init__(folder, environ, "working.py", "--hooks", f"{HERE / 'refusing.py'}:hooks")

    def made(self) -> list[Work]:
        """The runs made so far."""
        return [Work(**line) for line in self.said()]

    def works(self, runs: int = 20) -> None:
        """Wait until it has made so many runs more."""
        wanted = len(self.made()) + runs
        until(lambda: len(self.made()) >= wanted, f"run number {wanted} of the application")

    def works_for(self, seconds: float) -> None:
        """Wait until it has made runs for so long."""
        wanted = time.time() + seconds
        until(lambda: self.made()[-1].at >= wanted, f"run after {seconds} s", seconds + 30)


class Teller(Application):
    """``telling.py``: what it is told to emit, as fast as it can."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        super().__init__(folder, environ, "telling.py")
        self.slowest = 0.0

    def tell(self, *, logs: int = 0, spans: int = 0, size: int = 100) -> None:
        """Have it emit so many more, of so many bytes each, and wait until it has."""
        before = len(self.said())
        self.write(json.dumps({"logs": logs, "spans": spans, "bytes": size}))
        until(lambda: len(self.said()) > before, f"{logs} log records and {spans} spans")
        self.slowest = max(self.slowest, self.said()[-1]["slowest"])

    def made(self, kind: str) -> int:
        """How many ``logs`` or ``spans`` it has emitted."""
        said = self.said()
        return said[-1][kind] if said else 0


@contextmanager
def worker(folder: Path, environ: Mapping[str, str]) -> Generator[Worker, None, None]:
    """A worker, from its first run on; gone when it is left."""
    one = Worker(folder, environ)
    try:
        one.works(1)
        yield one
    finally:
        one.kill()


@contextmanager
def teller(folder: Path, environ: Mapping[str, str]) -> Generator[Teller, None, None]:
    """A teller; gone when it is left."""
    one = Teller(folder, environ)
    try:
        yield one
    finally:
        one.kill()
