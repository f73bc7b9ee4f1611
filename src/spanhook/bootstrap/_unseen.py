"""Says at the end of a program under ``spanhook run`` that nothing of it was seen, where a person is watching.

It is one line, and only on a terminal: what a service or a pipeline writes stays as it is without spanhook. It is left
out where it could be wrong or in the way: if child processes may have made the calls, if the program has failed, and if
it only printed its help.
"""

import atexit
import os
import resource
import sys

from spanhook.engine import begun

_LINE = (
    "spanhook: no call of a model, tool or agent was seen in this program. `spanhook doctor` says which libraries are "
    "bound; functions of your own need @spanhook.tool or @spanhook.agent, or bind in the configuration file.\n"
)
_HELP = frozenset(("-h", "--help", "-V", "--version"))


def watch(started: str) -> None:
    """Look when this process ends, if ``spanhook run`` has become it.

    Args:
        started: The process id of ``spanhook run``.
    """
    if started == str(os.getpid()):
        atexit.register(_look, os.getpid(), _used_by_children())


def _look(process: int, before: resource.struct_rusage) -> None:
    if begun.any or os.getpid() != process or not _has_terminal():
        return
    has_failed = getattr(sys, "last_value", None) is not None
    had_children = _used_by_children() != before
    if not (has_failed or had_children or _HELP.intersection(sys.argv[1:])):
        os.write(2, _LINE.encode())


def _used_by_children() -> resource.struct_rusage:
    """What ended child processes have used; those of ``spanhook run`` are among them, as it was this process."""
    return resource.getrusage(resource.RUSAGE_CHILDREN)


def _has_terminal() -> bool:
    try:
        return os.isatty(2)
    except OSError:
        return False
