"""The file that keeps the last known set, for when the server is away at start."""

import contextlib
import os
import stat
import tempfile

from spanhook.control_plane.sets import LARGEST, SetError

_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class Cache:
    """A file, which only its owner may read and write.

    Args:
        path: Its absolute path.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def read(self) -> bytes | None:
        """What is kept; ``None`` if there is nothing.

        Raises:
            SetError: It cannot be read, or others may have written it.
        """
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SetError(f"cannot be read: {error.strerror}") from None
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_mode & _OTHERS or found.st_uid not in (os.geteuid(), 0):
                raise SetError("is not a file that only this user can write; remove it")
            with open(descriptor, "rb", closefd=False) as opened:
                kept = opened.read(LARGEST + 1)
        except OSError as error:
            raise SetError(f"cannot be read: {error.strerror}") from None
        finally:
            os.close(descriptor)
        if len(kept) > LARGEST:
            raise SetError(f"has more than {LARGEST} bytes; remove it")
        return kept

    def write(self, content: bytes) -> None:
        """Replace what is kept: after a crash or a power cut, either all of it or all of the former is there.

        Raises:
            OSError: It cannot be written.
        """
        folder = os.path.dirname(self.path)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=f".{os.path.basename(self.path)}.")  # mode 0600
        try:
            with open(descriptor, "wb") as opened:
                opened.write(content)
                opened.flush()
                os.fsync(descriptor)
            os.replace(temporary, self.path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        _sync(folder)


def _sync(folder: str) -> None:
    """Make the replacement itself last, where the file system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
