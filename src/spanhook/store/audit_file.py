"""Writes an audit log: one chain of hashes for each process, in numbered files.

Each record is written by one system call before ``write`` returns, so a process that is killed loses none that it has
reported. A forked child begins a chain and a file of its own. Knows nothing of operations.
"""

import atexit
import os
import socket
import threading
import time
import uuid
import weakref
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from spanhook.store._renewal import renewed
from spanhook.store.audit_chain import ZERO, Entry, sealed
from spanhook.version import __version__

Fsync = Literal["never", "always", "interval"]
_INTERVAL_S = 1.0
_MOST_WAITING = 1000


class Head(NamedTuple):
    """The last record of a chain.

    Attributes:
        chain: The chain's id.
        sequence: The record's number, from 0.
        hash: Its hash.
        file: The name of its file; empty if there is none.
    """

    chain: str
    sequence: int
    hash: str
    file: str


class _State(NamedTuple):
    """How far a chain has come; exchanged as a whole, so that an interrupt leaves either the old or the new one."""

    sequence: int = 0
    hash: str = ZERO
    size: int = 0


class AuditFile:
    """The chain of one process, and the files that it is written to.

    Args:
        directory: Where the files are; created if missing. ``None`` keeps the chain without a file.
        key: The key of the hashes, or ``None``.
        max_bytes: A file that has reached this size is followed by another.
        keep: How many files of this process to keep; ``None`` for all.
        fsync: When the file is flushed to the disk itself: after each record, at most once a second, or when the
            system does it.
        written: Called with each record's line and the head, in order.

    Attributes:
        lost: How many records could not be written and had to be dropped.
    """

    def __init__(
        self,
        directory: Path | None,
        *,
        key: bytes | None = None,
        max_bytes: int = 100_000_000,
        keep: int | None = None,
        fsync: Fsync = "never",
        written: Callable[[bytes, Head], None] | None = None,
    ) -> None:
        self._directory, self._key = directory, key
        self._max_bytes, self._keep, self._fsync, self._written = max_bytes, keep, fsync, written
        self._fd: int | None = None
        self._begin()
        renewed.add(self)
        atexit.register(_close, weakref.ref(self))

    def _begin(self) -> None:
        """A new chain, for this process."""
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._chain, self._state = uuid.uuid4().hex, _State()
        self._waiting: deque[Entry] = deque()
        self._number, self._synced, self._closed = -1, 0.0, False
        self._told = deque[tuple[bytes, Head]]()
        self._name, self._names = "", deque[str]()
        host = "".join(one if one.isalnum() else "-" for one in socket.gethostname())[:60]
        self._stem = f"audit-{host}-{self._pid}-{datetime.now(UTC):%Y%m%dT%H%M%S}-{self._chain[:8]}"
        self.lost = 0

    @property
    def head(self) -> Head | None:
        """The last record written; ``None`` before the first."""
        with self._lock:
            return self._head() if self._state.sequence else None

    def _head(self) -> Head:
        return Head(self._chain, self._state.sequence - 1, self._state.hash, self._name)

    def write(self, entry: Entry) -> None:
        """Append a record.

        If that fails, the record is kept and written before the next one, as far as 1,000 are not waiting already.

        Raises:
            OSError: It could not be written.
        """
        with self._telling(), self._lock:
            if len(self._waiting) < _MOST_WAITING:
                self._waiting.append({"time": _now(), **entry})
            else:
                self.lost += 1
            self._drain()

    def check(self) -> None:
        """Open the file and write what waits.

        Raises:
            OSError: The log cannot be written.
        """
        if self._waiting or self._fd is None:
            with self._telling(), self._lock:
                self._drain()

    def close(self) -> None:
        """Write the closing record. A record written later begins another file of the same chain.

        Raises:
            OSError: It could not be written.
        """
        with self._telling(), self._lock:
            if self._closed or not self._state.sequence:
                return
            self._drain()
            self._append({"kind": "close", "time": _now()})
            self._closed = True
            self._release(sync=self._fsync != "never")

    def __del__(self) -> None:
        """A log that is dropped, as when policies are reloaded, is closed; the garbage collector tells nobody."""
        self._written = None
        with suppress(Exception):
            self.close()

    @contextmanager
    def _telling(self) -> Generator[None, None, None]:
        """Report what was written once the lock is free, as whoever is told may write to the log itself."""
        try:
            yield
        finally:
            while self._told and self._written is not None:
                try:
                    told = self._told.popleft()
                except IndexError:  # another thread was quicker
                    break
                self._written(*told)

    def renew(self) -> None:
        """In a forked child: leave the parent's file alone and begin a chain of its own."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)
        self._begin()

    # ------------------------------------------------------------------------------------------ with the lock

    def _drain(self) -> None:
        if self._closed or not self._state.sequence or (self._fd is None and self._directory is not None):
            self._open()
        if self.lost:
            self._append({"kind": "lost", "time": _now(), "records": self.lost})
            self.lost = 0
        while self._waiting:
            if self._directory is not None and self._state.size >= self._max_bytes:
                self._append({"kind": "continue", "time": _now(), "next_file": self._file_name(self._number + 1)})
                self._release(sync=self._fsync != "never")
                self._open()
            self._append(self._waiting[0])
            self._waiting.popleft()

    def _file_name(self, number: int) -> str:
        return f"{self._stem}.{number:05}.jsonl"

    def _open(self) -> None:
        before = self._name
        if self._directory is not None:
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            name = self._file_name(self._number + 1)
            fd = os.open(self._directory / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600)
            self._fd, self._name = fd, name
            self._state = self._state._replace(size=0)
            self._number += 1
            self._names.append(name)
        self._closed = False
        opening: Entry = {"kind": "open", "time": _now(), "keyed": self._key is not None, "previous_file": before}
        opening |= {"host": socket.gethostname(), "pid": self._pid, "version": __version__, "keep": self._keep}
        try:
            self._append(opening)
        except OSError:
            self._forget_file(before)
            raise
        while self._keep is not None and len(self._names) > self._keep:
            assert self._directory is not None
            (self._directory / self._names.popleft()).unlink(missing_ok=True)

    def _forget_file(self, before: str) -> None:
        """A file whose first record could not be written does not count."""
        if self._fd is not None and self._directory is not None:
            self._release(sync=False)
            (self._directory / self._names.pop()).unlink(missing_ok=True)
            self._name, self._number = before, self._number - 1

    def _append(self, entry: Entry) -> None:
        sequence, last, size = self._state
        line, mark = sealed({**entry, "chain": self._chain, "seq": sequence, "prev": last}, self._key)
        if self._fd is not None:
            self._put(self._fd, line)
        self._state = _State(sequence + 1, mark, size + len(line))
        if self._written is not None:
            self._told.append((line, self._head()))

    def _put(self, fd: int, line: bytes) -> None:
        """Write a whole line or nothing."""
        if os.fstat(fd).st_size > self._state.size:  # of a line that an interrupt came after
            os.ftruncate(fd, self._state.size)
        try:
            done = os.write(fd, line)
            while done != len(line):
                done += os.write(fd, line[done:])
            if self._fsync == "always" or (self._fsync == "interval" and time.monotonic() >= self._synced):
                os.fsync(fd)
                self._synced = time.monotonic() + _INTERVAL_S
        except OSError:
            try:
                os.ftruncate(fd, self._state.size)
            except OSError:  # the chain goes on in another file
                self._release(sync=False)
            raise

    def _release(self, *, sync: bool) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            try:
                if sync:
                    os.fsync(fd)
            finally:
                os.close(fd)


def _now() -> str:
    """The time in UTC, by RFC 3339, with nanoseconds."""
    seconds, rest = divmod(time.time_ns(), 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09}Z"


def _close(known: "weakref.ref[AuditFile]") -> None:
    file: Any = known()
    if file is not None:
        file.close()
