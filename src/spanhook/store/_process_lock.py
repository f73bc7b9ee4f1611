"""A file that a process keeps locked while it lives, so that others know at once when it has ended.

The kernel takes ``flock`` away when the process ends, however that happens, and not while it is stopped or asleep. The
lock belongs to the open file, which a forked child shares until it closes its copy, and which does not outlive an
``exec``. Locks of ``fcntl`` would be lost as soon as anything in the process reads the file and closes it.
"""

import errno
import fcntl
import os
import weakref
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from spanhook.errors import ConfigurationError
from spanhook.store._renewal import renewed

_PREFIX = "spanhook-process-"
_TRIES = 10
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""No program inherits it, and nobody can put a link or a pipe there that others would wait for."""
_Identity = tuple[int, int]


class _File:
    """An open file, closed when it is dropped, but not when the interpreter exits: threads may go on until the end."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor, self.identity = descriptor, _of(descriptor)
        self.close = weakref.finalize(self, _close, descriptor, self.identity)
        self.close.atexit = False


def _close(descriptor: int, identity: "_Identity | None") -> None:
    """Close a file, unless somebody has closed it; without ``LOCK_UN``, which would unlock it for a parent too."""
    if _of(descriptor) == identity:
        os.close(descriptor)


class ProcessLock:
    """The locked files of the processes that share a database.

    They stand in its folder, and not under its name, so that it may be renamed. Whoever calls these methods keeps
    other threads out, and forks: a child would share a lock that nobody knows of.

    Args:
        database: The path of the database, which has the mode and the owner that the files get.
    """

    def __init__(self, database: str) -> None:
        self._database = os.path.realpath(database)
        self._folder = os.path.dirname(self._database)
        self._prefix = os.path.join(self._folder, _PREFIX)
        self._name = ""
        self._file: _File | None = None
        renewed.add(self)

    def renew(self) -> None:
        """In a forked child: close the copy of the parent's lock, which stays locked as the parent has it open."""
        self._close()
        self._name = ""

    def hold(self) -> str:
        """Lock a file of this process, unless it has one. Returns the name by which others look for it.

        Raises:
            ConfigurationError: The file system has no locks.
            OSError: The file cannot be created.
        """
        if not self.is_held():
            self._take()
        return self._name

    def is_held(self) -> bool:
        """Whether this process holds its file, which somebody may have deleted, or closed."""
        file = self._file
        return file is not None and _of(file.descriptor) == file.identity == _of(self._prefix + self._name)

    def has_ended(self, name: str) -> bool:
        """Whether the process of a file has ended: it is no longer locked, or no longer there.

        Raises:
            OSError: The file cannot be looked at.
        """
        return name != self._name and self._ended(name, remove=False)

    def clean(self) -> None:
        """Remove the files of processes that have ended."""
        with os.scandir(self._folder) as entries:
            names = [entry.name.removeprefix(_PREFIX) for entry in entries if entry.name.startswith(_PREFIX)]
        for name in names:
            if name != self._name:
                with suppress(OSError):  # it is another user's
                    self._ended(name, remove=True)

    def check(self) -> None:
        """Find out whether the folder's file system has locks.

        Raises:
            ConfigurationError: It has none.
            OSError: Nothing can be created there.
        """
        self._take()
        os.unlink(self._prefix + self._name)
        self.renew()

    # ----------------------------------------------------------------- files

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _take(self) -> None:
        """Create and lock a file. If it was deleted, the new one has its name, as reservations refer to that."""
        self._close()
        name = self._name or uuid4().hex
        for _ in range(_TRIES):
            path = self._prefix + name
            file = _File(os.open(path, os.O_CREAT | os.O_RDWR | _FLAGS, 0o600))
            try:
                if self._locked(file.descriptor) and file.identity == _of(path):
                    self._share(file.descriptor)
                    if self._ended(name, remove=False):  # another open file gets the lock as well
                        raise self._without_locks("gives one lock to several processes")
                    self._name, self._file = name, file
                    return
            except ConfigurationError:
                os.unlink(path)  # nobody else would
                raise
            file.close()
            name = uuid4().hex  # somebody who cleans up was quicker
        raise OSError(errno.EAGAIN, "no file could be locked", self._folder)

    def _locked(self, descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            raise self._without_locks(f"has no locks: {error.strerror}") from error
        return True

    def _share(self, descriptor: int) -> None:
        """Let all open the file who may open the database, as SQLite does with its own."""
        with suppress(OSError):
            status = os.stat(self._database)
            os.fchmod(descriptor, status.st_mode & 0o666)
            os.fchown(descriptor, status.st_uid if os.geteuid() == 0 else -1, status.st_gid)

    def _ended(self, name: str, *, remove: bool) -> bool:
        path = self._prefix + name
        try:
            descriptor = os.open(path, os.O_RDONLY | _FLAGS)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: others may look at the same moment
            if remove:
                os.unlink(path)
        except BlockingIOError:
            return False
        finally:
            os.close(descriptor)
        return True

    def _without_locks(self, why: str) -> ConfigurationError:
        kind = _type_of(Path(self._folder))
        return ConfigurationError(
            f"the file system of {self._folder!r} ({kind}) {why}, so nobody knows when a process has ended; "
            "put the SQLite file on a local disk, or use redis://HOST"
        )


def _of(file: int | str) -> _Identity | None:
    """Which file this is; ``None`` if there is none."""
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _type_of(folder: Path) -> str:
    """The type of the file system of a folder."""
    longest, name = "", "of an unknown type"
    with suppress(OSError):
        for line in Path("/proc/mounts").read_text("utf-8", "replace").splitlines():
            _, place, kind = line.split()[:3]
            if folder.is_relative_to(place) and len(place) >= len(longest):
                longest, name = place, kind
    return name
