"""Which processes of this user follow a configuration file on this machine, and with which content.

Each has a small file in the folder for temporary files, and locks it while it lives. Nothing depends on it: where it
cannot be written, ``spanhook doctor`` does not list the process.
"""

import atexit
import fcntl
import json
import os
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from spanhook.config.reading import Document
from spanhook.model import ungated_tools

_LARGEST = 10_000


@dataclass(frozen=True, slots=True)
class FollowingProcess:
    """A process that follows a configuration file.

    Attributes:
        pid: Its process id.
        path: The absolute path of the file.
        digest: The digest of the content that is active in it.
        refused: Why it does not apply the file as it is now; empty if it does.
        ungated: Tools that it runs and that hooks do not see.
    """

    pid: int
    path: str
    digest: str
    refused: str = ""
    ungated: tuple[str, ...] = ()


class Presence:
    """Says that this process follows a file, until it ends."""

    def __init__(self) -> None:
        self._descriptor: int | None = None
        self._path = ""
        self._shown: FollowingProcess | None = None
        self._ended = False
        self._lock = threading.RLock()
        """Held while the file is written or removed: the number of a closed descriptor may soon be another file's."""
        atexit.register(self.end)

    def show(self, document: Document, refused: str = "") -> None:
        """Say which content is active.

        Args:
            document: The content.
            refused: Why the file is not applied as it is now; empty if it is.
        """
        self._write(FollowingProcess(os.getpid(), document.path, document.digest, refused, ungated_tools.names()))

    def show_tools(self) -> None:
        """Say which tools hooks do not see, if there are more now."""
        if self._shown is not None and self._shown.ungated != (names := ungated_tools.names()):
            self._write(replace(self._shown, ungated=names))

    def _write(self, about: FollowingProcess) -> None:
        content = json.dumps(asdict(about)).encode()
        with self._lock, suppress(OSError):
            if self._ended:
                return
            self._shown = about
            if self._descriptor is None:
                self._descriptor, self._path = _locked_file()
            os.pwrite(self._descriptor, content, 0)
            os.ftruncate(self._descriptor, len(content))

    def renew(self) -> None:
        """In a forked child: leave the file to the parent."""
        self._lock = threading.RLock()
        self._close()

    def end(self) -> None:
        """Remove the file, for good."""
        with self._lock:
            self._ended = True
            if self._descriptor is not None:
                with suppress(OSError):
                    os.unlink(self._path)
            self._close()
        atexit.unregister(self.end)

    def _close(self) -> None:
        if self._descriptor is not None:
            with suppress(OSError):
                os.close(self._descriptor)
        self._descriptor, self._path = None, ""


def following(path: str) -> list[FollowingProcess]:
    """The processes that follow a file, by process id. What dead processes left behind is removed."""
    processes = (one for one in _shown() if one.path == path)
    return sorted(processes, key=lambda one: one.pid)


def _shown() -> Iterator[FollowingProcess]:
    with suppress(OSError):
        for entry in sorted(_folder().glob("*.json")):
            with suppress(OSError, ValueError, TypeError), open(entry, "rb") as opened:
                if _is_locked(opened.fileno()):
                    fields: Any = json.loads(opened.read(_LARGEST))
                    found = FollowingProcess(**fields)
                    yield replace(found, ungated=tuple(found.ungated))
                else:
                    entry.unlink()


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _locked_file() -> tuple[int, str]:
    path = str(_folder() / f"{os.getpid()}-{os.urandom(4).hex()}.json")
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor, path


def _folder() -> Path:
    """The folder of this user's processes.

    Raises:
        OSError: It cannot be made, or somebody else can write to it.
    """
    folder = Path(tempfile.gettempdir()) / f"spanhook-{os.getuid()}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o022:
        raise PermissionError(f"{folder} is not a folder of this user alone")
    return folder
