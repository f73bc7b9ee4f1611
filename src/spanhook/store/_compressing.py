"""Compresses a file in place of the original, so that a process that is killed meanwhile loses nothing of it."""

import os
import zlib
from pathlib import Path
from typing import BinaryIO

PART = ".gz.part"
_LEVEL = 6
_GZIP = 16 + zlib.MAX_WBITS
"""With gzip's header and trailer (RFC 1952)."""
_BLOCK = 1 << 20


def compress(path: Path) -> None:
    """Replace a file by ``NAME.gz``. While that is being written it is called ``NAME.gz.part``.

    Raises:
        OSError: It could not be written; the original is still there.
    """
    part, done = path.with_name(f"{path.name}{PART}"), path.with_name(f"{path.name}.gz")
    try:
        with path.open("rb") as source:
            target = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(target, "wb") as packed:
                _pack(source, packed)
                packed.flush()
                os.fsync(packed.fileno())
        part.replace(done)
    except OSError:
        part.unlink(missing_ok=True)
        raise
    path.unlink(missing_ok=True)


def _pack(source: BinaryIO, packed: BinaryIO) -> None:
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    while block := source.read(_BLOCK):
        packed.write(packer.compress(block))
    packed.write(packer.flush())
