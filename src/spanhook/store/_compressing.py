"""Compresses a file in place of the original, so that a process that is killed meanwhile loses nothing of it."""

import gzip
import os
import shutil
from pathlib import Path

PART = ".gz.part"
_LEVEL = 6


def compress(path: Path) -> None:
    """Replace a file by ``NAME.gz``. While that is being written it is called ``NAME.gz.part``.

    Raises:
        OSError: It could not be written; the original is still there.
    """
    part, done = path.with_name(f"{path.name}{PART}"), path.with_name(f"{path.name}.gz")
    try:
        with path.open("rb") as source:
            target = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(target, "wb") as raw:
                with gzip.GzipFile(path.name, "wb", _LEVEL, raw) as packed:
                    shutil.copyfileobj(source, packed, 1 << 20)
                raw.flush()
                os.fsync(raw.fileno())
        part.replace(done)
    except OSError:
        part.unlink(missing_ok=True)
        raise
    path.unlink(missing_ok=True)
