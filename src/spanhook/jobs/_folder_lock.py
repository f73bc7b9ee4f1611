"""The lock on a folder, which one thread of one process has at a time."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from spanhook.gating import renewed_after_fork


class FolderLock:
    """Keeps other threads and processes out. It ends with its process.

    Args:
        path: The file that is locked. Created if it is not there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open: set[int] = set()
        renewed_after_fork(self)

    def renew(self) -> None:
        """In a forked child: leave the lock to the parent, whose thread has it or waits for it."""
        for descriptor in self._open:
            os.close(descriptor)
        self._open = set()

    @contextmanager
    def held(self) -> Generator[None]:
        """Wait until nobody else has it.

        Raises:
            OSError: The file cannot be locked.
        """
        descriptor = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        self._open.add(descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # closing is not enough: a forked child may have it open, too
            self._open.discard(descriptor)
            os.close(descriptor)
