"""Finds agent libraries that are imported or installed but not bound, without importing anything."""

import difflib
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.machinery import ModuleSpec

from spanhook.diagnostics import log
from spanhook.errors import ConfigurationError
from spanhook.instrument._packages import has_mark, spec_of
from spanhook.instrument._versions import owners
from spanhook.instrument._versions import version as installed
from spanhook.instrument.declarations import INSTRUMENTORS, Declaration
from spanhook.instrument.instrumentors import instrumentor_of
from spanhook.instrument.known import KNOWN, Bypass, Known


@dataclass(frozen=True, slots=True)
class Unbound:
    """A library that is imported or installed but not bound.

    Attributes:
        known: The library.
        version: The installed version; empty if unknown.
    """

    known: Known
    version: str

    @property
    def name(self) -> str:
        """Its name and version."""
        return f"{self.known.library} {self.version or '(of unknown version)'}"

    @property
    def fix(self) -> str:
        """How to fix it."""
        library = self.known.library
        accept = f"accept it with SPANHOOK_ALLOW={library} or Settings(allow=[{library!r}])"
        if library in INSTRUMENTORS:
            instrumentor = instrumentor_of(library)
            if instrumentor.version and instrumentor.supported:
                mend = "call spanhook.instrument() again"
            elif self.version:
                mend = f"install {instrumentor.requirement}"
            else:
                mend = "install it, so that its version is known"
            return f"{mend}, or {accept}"
        if self.known.bypass.direct:
            return f"if only libraries that are bound ({', '.join(INSTRUMENTORS)}) call it, {accept}"
        return f"spanhook has no instrumentor for it yet: do not use it, or {accept}"

    @property
    def warning(self) -> str:
        """The warning if it is tolerated, to follow its name."""
        return f"is {self.known.use} but not bound: {self.known.bypass.what} bypass spanhook; {self.fix}"

    @property
    def violation(self) -> str:
        """The error if it is not tolerated and already in use, to follow its name."""
        about = f"{self.known.bypass.what} would bypass spanhook; {self.fix}"
        return f"is {self.known.use} but not bound, which strict mode does not allow: {about}"

    def refusal(self, what: str) -> str:
        """The error when ``what`` it is refused, such as its import."""
        about = f"{self.known.bypass.what} would bypass spanhook; {self.fix}"
        return f"strict mode refused {what} {self.name}, which is not bound: {about}"


def libraries() -> tuple[Known, ...]:
    """Every library that spanhook knows, bound or not."""
    return _libraries(tuple(INSTRUMENTORS.values()))


@lru_cache(maxsize=8)
def _libraries(declared: tuple[Declaration, ...]) -> tuple[Known, ...]:
    bound = {one.library for one in declared}
    return (*map(_known, declared), *(known for known in KNOWN if known.library not in bound))


def _known(declared: Declaration) -> Known:
    modules = tuple(dict.fromkeys(entry.module for entry in instrumentor_of(declared.library).table))
    return Known(
        declared.library,
        Bypass("its calls"),
        (declared.distribution,),
        modules,
        mark=declared.mark,
        tracing=declared.tracing,
    )


def swallowers() -> set[str]:
    """Scopes of libraries, and of their instrumentations, that make a call even if its span's start raises."""
    tracing = [one.tracing for one in (*INSTRUMENTORS.values(), *KNOWN) if one.tracing is not None]
    own = {scope for one in tracing if one.swallows for scope in one.scopes}
    return own.union(*(one.swallowing for one in INSTRUMENTORS.values()))


def named(given: Iterable[str]) -> frozenset[str]:
    """The libraries meant by ``given``: names of libraries, their modules or their distributions.

    Raises:
        ConfigurationError: spanhook does not know one of them.
    """
    wanted, names = [*given], dict[str, str]()
    for known in libraries() if wanted else ():
        names |= dict.fromkeys((*(known.modules or ()), *known.distributions, known.library), known.library)
    found: set[str] = set()
    for name in wanted:
        library = names.get(name.strip())
        if library is None:
            close = difflib.get_close_matches(name, names, 1)
            hint = f"did you mean {close[0]!r}?" if close else "spanhook doctor lists the unbound libraries"
            raise ConfigurationError(f"unknown library {name!r} to allow; {hint}")
        found.add(library)
    return frozenset(found)


def is_bound(known: Known) -> bool:
    """Whether spanhook can bind it, and has done so."""
    return known.library in INSTRUMENTORS and instrumentor_of(known.library).is_instrumented_by_opentelemetry


def is_covered(known: Known) -> bool:
    """Whether its calls pass the gates of another library, which is bound."""
    return known.through in INSTRUMENTORS and instrumentor_of(known.through).is_instrumented_by_opentelemetry


def imported(known: Known) -> bool:
    """Whether one of its modules is imported."""
    if sys.modules.keys().isdisjoint(known.modules or ()):
        return False
    found = (sys.modules.get(name) for name in known.modules or ())
    return any(module is not None and is_of(known, spec_of(module)) for module in found)


def version(known: Known) -> str:
    """The installed version, or empty."""
    return _version(known.distributions)


def version_in_use(known: Known) -> str:
    """The version of a library that is imported, possibly from a distribution of another name; or empty."""
    return version(known) or _version(_owners(known))


def _owners(known: Known) -> set[str]:
    """The distributions that its modules come from, for a library whose own distribution is missing."""
    tops = {name.partition(".")[0] for name in known.modules or ()}
    try:
        return {name for top, names in owners().items() if top in tops for name in names}
    except Exception as error:  # unreadable metadata must not prevent the import
        log.debug("spanhook: distributions of %s: %s", known.library, error)
        return set()


def _version(distributions: Iterable[str]) -> str:
    for name in distributions:
        try:
            return installed(name)
        except Exception as error:  # unreadable metadata must not prevent the import
            log.debug("spanhook: version of %s: %s", name, error)
    return ""


def is_of(known: Known, spec: ModuleSpec | None) -> bool:
    """Whether a module found under the library's module name belongs to the library, not to another package of that
    name.
    """
    return has_mark(spec, known.mark)
