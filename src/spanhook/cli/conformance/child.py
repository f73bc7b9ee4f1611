"""Doing the checks of one library in a process of its own, and telling the one that started it how far it is.

What it tells is one JSON document a line, on a pipe of its own: what libraries print does not get in between.
"""

import faulthandler
import functools
import json
import logging
import os
import sys
from importlib import metadata
from typing import Any

from spanhook.cli.conformance.matrix import rows

STARTING = 3.0
"""How much longer importing the library may take than a check."""
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def main(library: str, first: str, patience: str, channel: str) -> None:
    """Do the checks of ``library`` and end the process.

    Args:
        library: A key of ``spanhook.cli.conformance.matrix.LIBRARIES``.
        first: The first check to do; those before it were done by another process.
        patience: Seconds that a check may take; then the process ends, and its threads are on standard error.
        channel: The file descriptor to tell the results on.
    """
    sys.addaudithook(_only_loopback)
    metadata.version = functools.cache(
        metadata.version
    )  # every check asks for each library's, which takes a third of it
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # it tells of refused tasks that LangChain leaves
    with os.fdopen(int(channel), "w") as told:

        def tell(**what: Any) -> None:
            told.write(json.dumps(what) + "\n")
            told.flush()

        faulthandler.dump_traceback_later(STARTING * float(patience), exit=True)
        found = rows(library)
        tell(rows=[(row.subject, row.way, row.note, list(row.checks)) for row in found])
        checks = [check for row in found for check in row.checks.values()]
        for number, check in enumerate(checks[int(first) :], int(first)):
            tell(at=number, said=os.lseek(2, 0, os.SEEK_CUR))
            faulthandler.dump_traceback_later(float(patience), exit=True)
            cell = check()
            faulthandler.cancel_dump_traceback_later()
            tell(state=cell.state, why=cell.why)
        tell(end=True)
    os._exit(0)  # whatever a library would still wait for


def _only_loopback(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse what would leave this machine."""
    if event in ("socket.connect", "socket.sendto"):
        address: Any = arguments[1]
        host = "" if isinstance(address, str | bytes) else address[0]
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    if host and (host.decode() if isinstance(host, bytes) else host) not in _LOOPBACK:
        raise PermissionError(f"spanhook conformance has no network but loopback; something asked for {host!r}")
