"""``spanhook conformance``: the gate matrix, checked against the installed libraries.

Every way of calling is listed once, in the module of its library; ``tests/conformance`` runs the same ones. No library
is imported here.
"""

import json
import platform
import sys
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from spanhook.errors import ConfigurationError
from spanhook.version import __version__

__all__ = ["run_conformance"]

if TYPE_CHECKING:
    from spanhook.cli.conformance.matrix import Library
    from spanhook.cli.conformance.report import Report


def run_conformance(libraries: Sequence[str] = (), as_json: bool = False, quick: bool = False) -> int:
    """Check and print.

    Args:
        libraries: The libraries to check, by any of their names; all installed ones unless given.
        as_json: Print only one JSON document on standard output; on standard error, nothing unless it is a terminal.
        quick: Check only one subject of each kind, such as tools, called in one way.

    Returns:
        The exit code: 1 if a promise of the documentation is broken.

    Raises:
        ConfigurationError: A library is unknown or not installed, or none is installed.
    """
    from spanhook.cli.conformance.printing import print_report

    report = examine(libraries, quick=quick, quiet=as_json)
    if as_json:
        print(json.dumps(report.as_json(), indent=2))  # noqa: T201
    else:
        print_report(report)
    return report.exit_code


def _wanted(given: Sequence[str]) -> "list[Library]":
    from spanhook.cli.conformance.matrix import LIBRARIES
    from spanhook.instrument import hint, meant

    names: list[str] = []
    for given_name in (name.strip() for some in given for name in some.split(",") if name.strip()):
        name = given_name.lower().replace("-", "_")
        name = name if name in LIBRARIES else meant(given_name)
        names.append(name)
        if name not in LIBRARIES:
            expected = f"expected one of {', '.join(LIBRARIES)}{hint(given_name, LIBRARIES)}"
            raise ConfigurationError(f"--library {given_name}: unknown; {expected}")
        if not LIBRARIES[name].version:
            raise ConfigurationError(f"--library {name}: not installed; {_fix(LIBRARIES[name])}")
    found = [one for one in LIBRARIES.values() if one.version and (not names or one.name in names)]
    if not found:
        raise ConfigurationError(f"none of {', '.join(LIBRARIES)} is installed; {_fix(LIBRARIES['langgraph'])}")
    return found


def _fix(library: "Library") -> str:
    return f'pip install "spanhook[{library.extra}]"' if library.extra else f"pip install {library.distribution}"


def examine(libraries: Sequence[str] = (), *, quick: bool = False, quiet: bool = False) -> "Report":
    """Check in child processes; arguments and errors are those of ``run_conformance``."""
    from spanhook.cli.conformance.children import fill
    from spanhook.cli.conformance.matrix import LIBRARIES
    from spanhook.cli.conformance.progress import Progress
    from spanhook.cli.conformance.report import Absent, Report
    from spanhook.cli.conformance.schedule import schedule

    wanted = _wanted(libraries)
    planned = schedule(wanted, quick=quick)
    progress = Progress(planned, quiet=quiet)
    started = time.monotonic()
    try:
        lines = fill(planned, progress)
    finally:
        progress.end()
    return Report(
        spanhook=__version__,
        python=platform.python_version(),
        executable=sys.executable,
        lines=lines,
        absent=[Absent(one.name, _fix(one)) for one in LIBRARIES.values() if not one.version and not libraries],
        unsupported=list(_unsupported(wanted)),
        seconds=time.monotonic() - started,
        quick=quick,
        ways=sum(planned.known.values()),
        took=planned.took,
    )


def _unsupported(libraries: "Iterable[Library]") -> Iterable[str]:
    from spanhook.instrument import INSTRUMENTORS, instrumentor_of

    for library in libraries:
        if library.name in INSTRUMENTORS:
            found = instrumentor_of(library.name)
            if not found.supported:
                yield f"{library.name} {found.version} is not among the versions tested ({found.requirement})"
