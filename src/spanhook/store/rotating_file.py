"""Appends lines to files that are replaced by others, daily or by size; the files before them are compressed.

Several processes may write to the same files at once. A lock file says which file is the current one, and whoever
holds its lock appends a whole line with one system call. It only ever moves to later files, so the earlier ones change
no more and can be compressed without anybody waiting. Locks are those of ``flock``, for local disks.
"""

import fcntl
import os
import re
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from spanhook.concurrency import OwnThread
from spanhook.diagnostics import log
from spanhook.store._compressing import PART, compress
from spanhook.store._renewal import renewed

_NAME = re.compile(r"-(\d{4}-\d{2}-\d{2})(?:\.(\d{1,9}))?\.jsonl(?:\.gz)?\Z")
_LONGEST_STATE = 64
_TRIES = 100


class Place(NamedTuple):
    """A file's place in their order: the day on which it was begun, in UTC, and its number on that day, from 0."""

    day: str
    number: int


def _today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"


class RotatingFile:
    """The current file of a directory, and those before it.

    The files are named ``STEM-YYYY-MM-DD.jsonl``, further ones of that day ``STEM-YYYY-MM-DD.1.jsonl`` and so on, and
    ``.gz`` is added when they have been compressed.

    Args:
        directory: Where the files are; created if missing.
        stem: What their names begin with.
        daily: Begin another file each day, by UTC.
        max_bytes: Begin another file rather than let one grow beyond this size.
        keep: How many files are kept besides the current one; ``None`` for all.
        compressed: Compress the files before the current one, with gzip.
        today: The day, such as ``2026-01-31``.
    """

    def __init__(
        self,
        directory: Path,
        stem: str = "events",
        *,
        daily: bool = True,
        max_bytes: int = 100_000_000,
        keep: int | None = None,
        compressed: bool = True,
        today: Callable[[], str] = _today,
    ) -> None:
        self._directory, self._stem, self._daily, self._max_bytes = directory, stem, daily, max_bytes
        self._keep, self._compressed, self._today = keep, compressed, today
        self._state_fd: int | None = None
        self._tidy_fd: int | None = None
        self._fd: int | None = None
        self.renew()
        renewed.add(self)

    def renew(self) -> None:
        """In a forked child: open the files anew, as a lock belongs to whoever has the same opened file."""
        self._lock, self._tidying, self._starting = threading.Lock(), threading.Lock(), threading.Lock()
        self._thread: threading.Thread | None = None
        self._wanted = self._busy = False
        self._place: Place | None = None
        self._begun = False
        self.close()

    def close(self) -> None:
        """Close the files; the next line opens them again."""
        opened = self._fd, self._state_fd, self._tidy_fd
        self._fd = self._state_fd = self._tidy_fd = None
        for fd in opened:
            if fd is not None:
                os.close(fd)

    def __del__(self) -> None:
        with suppress(Exception):  # it may not have been made
            self.close()

    def write(self, line: bytes) -> None:
        """Append a line, which ends with a line feed.

        Raises:
            OSError: It could not be written, and nothing of it was.
        """
        with self._lock, self._locked() as state:
            moved = self._find(state, len(line))
            self._append(line)
        if moved or not self._begun:
            self._begun = True
            self._tidy_later()

    # ------------------------------------------------------------------------------------------ the current file

    @contextmanager
    def _locked(self) -> Generator[int]:
        """The lock file, locked."""
        for _ in range(_TRIES):
            if self._state_fd is None:
                self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._state_fd = os.open(self._directory / f".{self._stem}.lock", os.O_RDWR | os.O_CREAT, 0o600)
            state = self._state_fd
            fcntl.flock(state, fcntl.LOCK_EX)
            try:
                if os.fstat(state).st_nlink:
                    yield state
                    return
            finally:
                fcntl.flock(state, fcntl.LOCK_UN)
            os.close(state)  # somebody has removed it
            self._state_fd = None
        raise OSError(f"{self._directory}: the lock file is removed again and again")

    def _find(self, state: int, more: int) -> bool:
        """Open the file for a line of ``more`` bytes; returns whether it is another than before."""
        known = _parsed(os.pread(state, _LONGEST_STATE, 0))
        today = self._today()
        place = known or max(self._places(), default=Place(today, 0))
        if self._daily and place.day < today:
            place = Place(today, 0)
        while True:
            size = self._open(place)
            if size is not None and (not size or size + more <= self._max_bytes):
                break
            place = Place(today, 0) if place.day < today else Place(place.day, place.number + 1)
        if place != known:
            os.ftruncate(state, 0)
            os.pwrite(state, f"{place.day} {place.number}\n".encode(), 0)
        return place != known

    def _open(self, place: Place) -> int | None:
        """Open a file unless it is open; returns its size, or ``None`` if it has been compressed already."""
        if self._fd is not None:
            about = os.fstat(self._fd)
            if place == self._place and about.st_nlink:
                return about.st_size
            fd, self._fd = self._fd, None
            os.close(fd)
        path = self._path(place)
        if path.with_name(f"{path.name}.gz").exists():
            return None
        self._fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        self._place = place
        return os.fstat(self._fd).st_size

    def _append(self, line: bytes) -> None:
        """Append the whole line or nothing. What a killed process has left of one ends first."""
        fd = self._fd
        assert fd is not None
        size = os.fstat(fd).st_size
        if size and os.pread(fd, 1, size - 1) != b"\n":
            line = b"\n" + line
        try:
            done = os.write(fd, line)
            while done != len(line):
                done += os.write(fd, line[done:])
        except OSError:
            os.ftruncate(fd, size)
            raise

    def _path(self, place: Place) -> Path:
        number = f".{place.number}" if place.number else ""
        return self._directory / f"{self._stem}-{place.day}{number}.jsonl"

    def _places(self) -> dict[Place, list[Path]]:
        """The files that there are."""
        found: dict[Place, list[Path]] = {}
        for path in self._directory.iterdir():
            named = _NAME.fullmatch(path.name.removeprefix(self._stem)) if path.name.startswith(self._stem) else None
            if named is not None:
                found.setdefault(Place(named[1], int(named[2] or 0)), []).append(path)
        return found

    # ------------------------------------------------------------------------------------------ those before it

    def tidy(self) -> None:
        """Compress the files before the current one, and delete those that are too many.

        What another process is doing already is left to it.

        Raises:
            OSError: A file could not be compressed or deleted.
        """
        with self._tidying:
            if self._tidy_fd is None:
                self._tidy_fd = os.open(self._directory / f".{self._stem}.tidy", os.O_RDWR | os.O_CREAT, 0o600)
            fd = self._tidy_fd
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            try:
                while self._tidied():
                    pass
            finally:
                fcntl.flock(fd, fcntl.LOCK_UN)

    def _tidied(self) -> bool:
        """Go over the files once; returns whether there was anything to do."""
        with self._lock, self._locked() as state:
            known = _parsed(os.pread(state, _LONGEST_STATE, 0))
        if known is None:
            return False
        for path in self._directory.glob(f"{self._stem}-*{PART}"):
            if _NAME.fullmatch(path.name.removeprefix(self._stem).removesuffix(PART)):
                path.unlink(missing_ok=True)  # of a process that was killed
        former = {place: paths for place, paths in self._places().items() if place < known}
        too_many = sorted(former)[: max(len(former) - self._keep, 0)] if self._keep is not None else []
        for place in too_many:
            for path in former.pop(place):
                path.unlink(missing_ok=True)
        plain = [path for paths in former.values() for path in paths if path.suffix == ".jsonl"]
        if not self._compressed:
            return bool(too_many)
        for path in plain:
            compress(path)
        return bool(too_many or plain)

    def _tidy_later(self) -> None:
        """Tidy on a thread, once more if that is what it is doing."""
        if not self._compressed and self._keep is None:
            return
        with self._starting:
            self._wanted = True
            if self._busy:
                return
            self._busy = True
            self._thread = OwnThread(self._tidy_while_wanted, "spanhook-log-files")
            try:
                self._thread.start()
            except RuntimeError:  # the interpreter is leaving; the next process does it
                self._busy, self._thread = False, None

    def _tidy_while_wanted(self) -> None:
        while True:
            with self._starting:
                if not self._wanted:
                    self._busy = False
                    return
                self._wanted = False
            try:
                self.tidy()
            except OSError as error:
                log.warning("spanhook: %s: cannot compress or delete earlier log files: %s", self._directory, error)

    def wait(self, seconds: float) -> None:
        """Wait until earlier files have been compressed, at most so long."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)


def _parsed(state: bytes) -> Place | None:
    """What the lock file says; ``None`` if that is nothing."""
    day, _, number = state.decode("ascii", "replace").strip().partition(" ")
    if not state.endswith(b"\n") or not re.fullmatch(r"\d{4}-\d{2}-\d{2}", day) or not number.isdecimal():
        return None
    return Place(day, int(number))
