"""Runs the checks of one library, or a part of them, in a separate process, and reports progress to the parent.

Reports are JSON documents, one per line, on a separate pipe, so that output of libraries does not interfere.
"""

import faulthandler
import functools
import gc
import json
import logging
import os
import ssl
import sys
import time
from collections import deque
from importlib import metadata
from typing import Any
from urllib import request

from spanhook.cli.conformance.matrix import Row, quick_rows, rows
from spanhook.instrument import one_moment

STARTING = 3.0
"""How many times longer than other checks the library's import may take, and the first check of a process."""
SLACK = 1.1
"""How many times longer a check may take at most, because noting the start of each takes longer than many checks."""
GARBAGE = 100_000
"""How many new objects lead to a collection of garbage in the middle of a row."""
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def main(library: str, part: str, quick: str, first: str, patience: str, channel: str) -> None:
    """Run the checks of ``library`` and end the process.

    Args:
        library: A key of ``spanhook.cli.conformance.matrix.LIBRARIES``.
        part: Which part of its rows, from 0, and of how many, such as ``0/2``.
        quick: Not empty if only the ways of calling of ``--quick`` are checked.
        first: The first check to run; another process did those before it.
        patience: Seconds that a check may take; after that the process prints its threads on standard error and ends.
        channel: The file descriptor for results.
    """
    sys.addaudithook(_only_loopback)
    prepare()
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # it reports refused tasks that LangChain leaves behind
    with one_moment(), os.fdopen(int(channel), "w") as told:

        def tell(**what: Any) -> None:
            told.write(json.dumps(what) + "\n")
            told.flush()

        faulthandler.dump_traceback_later(STARTING * float(patience), exit=True)
        every = rows(library)
        wanted = quick_rows(every) if quick else every
        found = _part(wanted, part)
        tell(
            rows=[(row.subject, row.way, row.note, list(row.checks)) for row in found],
            wanted=len(wanted),
            every=len(every),
            at=int(first),
            said=_said(),
        )
        checks = [deque(row.checks.values()) for row in reversed(found)]
        del every, wanted, found  # what the checks of a row remember goes with the last of them
        number, watch = 0, Watch(int(first), float(patience))
        while checks:
            row = checks.pop()
            if number + len(row) > int(first):
                _shelve()
            while row:
                check = row.popleft()
                if number >= int(first):
                    watch.starts(number)
                    cell = check()
                    tell(state=cell.state, why=cell.why, said=_said())
                number += 1
        tell(end=True, seconds=sum(os.times()[:4]))
    os._exit(0)  # whatever libraries still wait for


def prepare() -> None:
    """Do once what would take a third of the time of every check, before libraries take hold of it.

    It is each library's version, what clients need for TLS, which the servers here do not speak, and the proxies in
    the environment, where there are none. Garbage is collected after each row.
    """
    metadata.version = functools.cache(metadata.version)
    ssl.create_default_context = functools.cache(ssl.create_default_context)
    proxies = request.getproxies()
    request.getproxies = request.getproxies_environment = proxies.copy
    gc.set_threshold(GARBAGE)


def patience_for(number: int, first: int, patience: float) -> float:
    """The seconds that a check may take: the first of a process may start a server."""
    return STARTING * patience if number == first else patience


class Watch:
    """Ends the process if a check takes too long.

    Args:
        first: The first check of the process.
        patience: Seconds that another one may take.
    """

    def __init__(self, first: int, patience: float) -> None:
        self._first, self._patience, self._until = first, patience, 0.0

    def starts(self, number: int) -> None:
        """A check starts."""
        now = time.monotonic()
        if now >= self._until:
            patience = patience_for(number, self._first, self._patience)
            faulthandler.dump_traceback_later(SLACK * patience, exit=True)
            self._until = now if number == self._first else now + (SLACK - 1) * patience


def _said() -> int:
    """How much the process has written so far."""
    return os.lseek(2, 0, os.SEEK_CUR)


def _shelve() -> None:
    """Checks collect garbage, which would go through all that a library's modules have left each time."""
    gc.collect()
    gc.freeze()


def _part(found: list[Row], part: str) -> list[Row]:
    number, of = map(int, part.split("/"))
    return found[len(found) * number // of : len(found) * (number + 1) // of]


def _only_loopback(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse connections that would leave this machine."""
    if event in ("socket.connect", "socket.sendto"):
        address: Any = arguments[1]
        host = "" if isinstance(address, str | bytes) else address[0]
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    if host and (host.decode() if isinstance(host, bytes) else host) not in _LOOPBACK:
        raise PermissionError(f"spanhook conformance allows only loopback connections; a library tried {host!r}")
