"""Runs the checks in child processes, each for one library: a crash costs only one way of calling.

Children see the libraries that are installed here, and nothing else of the user's: no hooks, no ``spanhook.yaml``, no
exporters, no keys, no proxies.
"""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from spanhook.bootstrap import SITE
from spanhook.cli.conformance.checks import CHECKS
from spanhook.cli.conformance.checks.cells import FAILED, NONE, Cell
from spanhook.cli.conformance.child import STARTING, patience_for
from spanhook.cli.conformance.report import Line
from spanhook.cli.conformance.schedule import Portion, Schedule
from spanhook.cli.conformance.servers.authorities import one_authority
from spanhook.instrument import INSTRUMENTORS

PATIENCE = 60.0
"""Seconds that one check may take."""
GRACE = 30.0
"""Seconds after which a child that should have ended itself is killed."""
LOSSES = 3
"""How many processes one portion may lose before the rest of its checks are given up."""
_START = "start of its checks"
WORDS = 12
"""How many of a child's last output lines are kept."""

_CODE = "import sys; sys.path.append(sys.argv[1]); from spanhook.cli.conformance.child import main; main(*sys.argv[2:])"
_ROOT = str(Path(SITE).parents[2])
_DROPPED = (
    *("OTEL_", "SPANHOOK_"),
    *(beginning for one in INSTRUMENTORS.values() for beginning in one.variables),
    *("PYTHONWARNINGS", "PYTHONSTARTUP", "PYTHONINSPECT", "PYTHONOPTIMIZE"),
)
_LAUNCHER = os.path.join("opentelemetry", "instrumentation", "auto_instrumentation")

Told = Callable[[Line], None]


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """``environ`` without anything that would make a child export, trace, call or load something of the user's."""
    found = {
        name: value
        for name, value in environ.items()
        if not name.startswith(_DROPPED) and not name.lower().endswith("_proxy")
    }
    entries = [entry for entry in found.pop("PYTHONPATH", "").split(os.pathsep) if entry]
    kept = [os.path.abspath(entry) for entry in entries if entry != SITE and not entry.endswith(_LAUNCHER)]
    return {**found, **({"PYTHONPATH": os.pathsep.join(kept)} if kept else {})}


class Child:
    """A process that runs the checks of one portion, and what it has reported so far.

    Attributes:
        lines: The rows of the matrix that it fills in.
        wanted, every: How many ways of calling its library are checked by all processes, and how many there are.
        seconds: The processor time that the process took, once it has ended.
        told: Called with each finished row.
    """

    def __init__(self, portion: Portion, folder: str, told: Told, patience: float, environ: Mapping[str, str]) -> None:
        self.portion = portion
        self.library = portion.library
        self.lines: list[Line] = []
        self.wanted = self.every = 0
        self.seconds = 0.0
        self._told, self._folder, self._patience, self._environ = told, folder, patience, environ
        self._places: list[tuple[Line, str]] = []
        self._done = self._lost = 0
        self._ended = False
        self._start()

    def _start(self) -> None:
        self.channel, theirs = os.pipe()
        self._errors = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - closed when its process has ended
        self._rest, self._said = b"", 0
        part, quick = f"{self.portion.number}/{self.portion.of}", "quick" if self.portion.quick else ""
        self._first = self._done
        given = (_ROOT, self.library.name, part, quick, str(self._done), str(self._patience), str(theirs))
        try:
            self._process = subprocess.Popen(  # noqa: S603 - this Python
                [sys.executable, "-P", "-W", "ignore", *_flags(), "-c", _CODE, *given],
                cwd=self._folder,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                pass_fds=(theirs,),
                start_new_session=True,
            )
        finally:
            os.close(theirs)
        self.deadline = time.monotonic() + STARTING * self._patience + GRACE

    def hear(self) -> bool:
        """Read the reports that have arrived; returns whether more will come."""
        heard = os.read(self.channel, 65536)
        if heard:
            *whole, self._rest = (self._rest + heard).split(b"\n")
            for one in whole:
                self._take(json.loads(one))
            return True
        self._close()
        if not self._ended:
            self._errors.seek(self._said)
            self._lose(_last_words(self._process.returncode, self._errors.read().decode(errors="replace")))
        self._errors.close()
        if self._ended:
            return False
        self._start()
        return True

    def _take(self, told: dict[str, Any]) -> None:
        patience = patience_for(told.get("at", -1), self._first, self._patience)
        self.deadline = time.monotonic() + patience + GRACE
        self._said = told.get("said", 0)  # output from here on belongs to the next check
        if "rows" in told and not self.lines:
            self.wanted, self.every = told["wanted"], told["every"]
            for subject, way, note, columns in told["rows"]:
                line = Line(self.library.name, self.library.version, subject, way, note)
                self.lines.append(line)
                self._places += [(line, column) for column in columns]
        elif "state" in told:
            self._fill(Cell(told["state"], told["why"]))
        elif "end" in told:
            self._ended = True
            self.seconds = told["seconds"]

    def _fill(self, cell: Cell) -> None:
        line, column = self._places[self._done]
        line.cells[column] = cell
        self._done += 1
        if self._done == len(self._places) or self._places[self._done][0] is not line:
            self._told(line)

    def _fill_row(self, why: str) -> None:
        """The current check has failed; the remaining checks of the row are not tried."""
        line, _ = self._places[self._done]
        self._fill(Cell(FAILED, why))
        while self._done < len(self._places) and self._places[self._done][0] is line:
            self._fill(NONE)

    def _lose(self, why: str) -> None:
        """The process ended early: blame the current check."""
        self._lost += 1
        if not self.lines:
            line = Line(self.library.name, self.library.version, _START, "")
            line.cells.update({**dict.fromkeys(CHECKS, NONE), next(iter(CHECKS)): Cell(FAILED, why)})
            self.lines.append(line)
            self._told(line)
            self._ended = True
            return
        if self._done < len(self._places):
            self._fill_row(why)
        while self._lost == LOSSES and self._done < len(self._places):
            self._fill_row(f"not tried: {LOSSES} earlier ways of calling ended their process")
        self._ended = self._done == len(self._places)

    def _close(self) -> None:
        os.close(self.channel)
        self._process.wait()

    def kill(self) -> None:
        """Kill the process and its children; the current check has failed."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def abandon(self) -> None:
        """Kill the process."""
        self.kill()
        self._close()
        self._errors.close()


def fill(schedule: Schedule, told: Told, patience: float = PATIENCE) -> list[Line]:
    """Run every check of ``schedule``, and note in it how many ways of calling there are.

    Args:
        schedule: What to check; all libraries are installed.
        told: Called with each finished row of the matrix.
        patience: Seconds that one check may take.

    Returns:
        The rows, in the order of the schedule's portions.
    """
    waiting = schedule.longest_first()
    started: dict[Portion, Child] = {}
    running: list[Child] = []
    with tempfile.TemporaryDirectory(prefix="spanhook-conformance-") as folder:
        environ = {**environment(os.environ), **one_authority(folder)}
        try:
            while waiting or running:
                while waiting and len(running) < schedule.processes:
                    portion = waiting.pop(0)
                    started[portion] = Child(portion, folder, told, patience, environ)
                    running.append(started[portion])
                until = min(child.deadline for child in running) - time.monotonic()
                ready, _, _ = select.select([child.channel for child in running], (), (), max(0.0, until))
                for child in [child for child in running if child.channel in ready]:
                    if not child.hear():
                        running.remove(child)
                        took = schedule.took.get(child.library.name, 0.0)
                        schedule.took[child.library.name] = took + child.seconds
                    _note(child, schedule)
                for child in running:
                    if time.monotonic() > child.deadline:
                        child.kill()
        finally:
            for child in running:
                child.abandon()
    return _merged([started[portion] for portion in schedule.portions])


def _note(child: Child, schedule: Schedule) -> None:
    """Note how many ways of calling there are, once it is known."""
    if child.every:
        schedule.ways[child.library.name] = child.wanted
        schedule.known[child.library.name] = child.every


def _merged(children: Iterable[Child]) -> list[Line]:
    """The rows of all portions; that a library cannot be imported is told once."""
    lines: list[Line] = []
    for line in (line for child in children for line in child.lines):
        if line.subject != _START or (line.library, _START) not in {(one.library, one.subject) for one in lines}:
            lines.append(line)
    return lines


def _flags() -> list[str]:
    """Interpreter flags with which children find the same libraries."""
    found = {"-E": sys.flags.ignore_environment, "-s": sys.flags.no_user_site}
    return [flag for flag, given in found.items() if given]


def _last_words(code: int, text: str) -> str:
    if "Timeout (" in text:  # faulthandler's dump of all threads, the main one last
        head = "it did not return"
        lines = text.rpartition("Timeout (")[2].strip().split("\n\n")[-1].splitlines()[:WORDS]
    else:
        head = f"it ended its process with {_ending(code)}"
        lines = text.strip().splitlines()[-WORDS:]
    return "\n".join([head, *lines])


def _ending(code: int) -> str:
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name
