"""The gauges that say what is active in the process: hooks, and points of libraries."""

import platform
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spanhook import semconv
from spanhook.config.bound import states
from spanhook.engine import registry
from spanhook.instrument import Instrumentor, watch
from spanhook.telemetry import telemetry
from spanhook.version import __version__


def info() -> Iterable[Mapping[str, Any]]:
    """The version, the mode, and a digest of the hooks."""
    yield {
        semconv.VERSION: __version__,
        semconv.HOOKS_DIGEST: registry.digest,
        semconv.MODE: telemetry.settings.mode,
        semconv.RUNTIME_VERSION: platform.python_version(),
    }


def points(active: Sequence[Instrumentor]) -> Iterable[Mapping[str, Any]]:
    """The states of the points of bound libraries and of functions (``bind``), and the libraries that are not bound.

    Args:
        active: The bound libraries.
    """
    for library in active:
        counted: dict[str, int] = {}
        for state in library.states.values():
            counted[state] = counted.get(state, 0) + 1
        for state in counted:
            yield {
                semconv.LIBRARY: library.library,
                semconv.LIBRARY_VERSION: library.version,
                semconv.STATE: state if library.supported else f"{state}_unsupported",
            }
    functions = list(states().values())
    for state in sorted(set(functions)):
        yield {semconv.LIBRARY: "bind", semconv.LIBRARY_VERSION: "", semconv.STATE: state}
    for state, libraries in ((semconv.STATE_UNBOUND, watch.in_use()), (semconv.STATE_IMPORTABLE, watch.importable())):
        for one in libraries:
            yield {
                semconv.LIBRARY: one.known.library,
                semconv.LIBRARY_VERSION: one.version,
                semconv.STATE: state,
            }
