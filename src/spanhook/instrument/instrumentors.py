"""Finds the libraries that spanhook binds, by the names users give them, and their instrumentors."""

import importlib
from collections.abc import Iterable, Iterator

from spanhook.errors import ConfigurationError
from spanhook.instrument.declarations import INSTRUMENTORS
from spanhook.instrument.instrumentor import Instrumentor
from spanhook.model import add_library_kind

for _kind in (kind for one in INSTRUMENTORS.values() for kind in one.kinds):
    add_library_kind(_kind)


def meant(name: str) -> str:
    """The library that users mean by ``name``; if there is none, ``name`` itself."""
    name = name.strip()
    return next((one.library for one in INSTRUMENTORS.values() if name in one.names), name)


def names(given: Iterable[str]) -> list[str]:
    """The libraries meant by ``given``.

    Raises:
        ConfigurationError: There is no instrumentor for one of them.
    """
    found: list[str] = []
    for name in [given] if isinstance(given, str) else given:
        known = meant(name)
        if known not in INSTRUMENTORS:
            raise ConfigurationError(f"unknown library {name!r}; spanhook binds {', '.join(INSTRUMENTORS)}")
        found.append(known)
    return found


def instrumentor_of(name: str) -> Instrumentor:
    """The instrumentor of one library; the library itself is not imported."""
    module, _, attribute = INSTRUMENTORS[name].instrumentor.partition(":")
    return getattr(importlib.import_module(module), attribute)()


def installed(only: Iterable[str] | None = None) -> Iterator[Instrumentor]:
    """Instrumentors of the installed libraries, limited to ``only`` if given."""
    wanted = names(only) if only is not None else list(INSTRUMENTORS)
    for name in wanted:
        found = instrumentor_of(name)
        if found.version:
            yield found
