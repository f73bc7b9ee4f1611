"""Finds the libraries that spanhook binds, by the names users give them, and their instrumentors."""

import importlib
from collections.abc import Iterable, Iterator
from functools import cache

from spanhook.errors import ConfigurationError
from spanhook.instrument.declarations import INSTRUMENTORS, plain
from spanhook.instrument.instrumentor import Instrumentor
from spanhook.instrument.known import KNOWN
from spanhook.model import add_library_kind

for _kind in (kind for one in INSTRUMENTORS.values() for kind in one.kinds):
    add_library_kind(_kind)


def meant(name: str) -> str:
    """The library that users mean by ``name``, as package indexes compare names; if there is none, ``name`` itself."""
    name = name.strip()
    return next((one.library for one in INSTRUMENTORS.values() if plain(name) in map(plain, one.names)), name)


def hint(name: str, also: Iterable[str] = ()) -> str:
    """What may help a user who gave a name that nothing has, to be put behind a message; often empty.

    Args:
        name: What the user gave.
        also: Names that would do too, besides those of bound libraries.
    """
    others = (one for known in KNOWN for one in (known.library, *known.distributions))
    if plain(name) in map(plain, others):
        return f"; {name!r} is known, but spanhook does not bind it"
    imported = [one.library for one in INSTRUMENTORS.values() if plain(one.module) == plain(name)]
    if imported:
        return f"; did you mean {imported[0]!r}?"
    import difflib  # only those who mistype need it

    names = [*also, *(one for declared in INSTRUMENTORS.values() for one in declared.names)]
    close = difflib.get_close_matches(name.lower(), names, 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def names(given: Iterable[str]) -> list[str]:
    """The libraries meant by ``given``.

    Raises:
        ConfigurationError: There is no instrumentor for one of them.
    """
    found: list[str] = []
    for name in [given] if isinstance(given, str) else given:
        known = meant(name)
        if known not in INSTRUMENTORS:
            bound = ", ".join(INSTRUMENTORS)
            raise ConfigurationError(f"unknown library {name!r}; spanhook binds {bound}{hint(name)}")
        found.append(known)
    return found


def instrumentor_of(name: str) -> Instrumentor:
    """The instrumentor of one library; the library itself is not imported."""
    return _made(INSTRUMENTORS[name].instrumentor)


@cache
def _made(place: str) -> Instrumentor:
    module, _, attribute = place.partition(":")
    return getattr(importlib.import_module(module), attribute)()


def installed(only: Iterable[str] | None = None) -> Iterator[Instrumentor]:
    """Instrumentors of the installed libraries, limited to ``only`` if given."""
    wanted = names(only) if only is not None else list(INSTRUMENTORS)
    for name in wanted:
        found = instrumentor_of(name)
        if found.version:
            yield found
