"""Libraries: each is a table of points and pure functions, imported when its name is first used."""

from spanhook.instrument._threads import threads
from spanhook.instrument._versions import one_moment
from spanhook.instrument.bound import BoundFunction, import_bound
from spanhook.instrument.declarations import INSTRUMENTORS, Declaration
from spanhook.instrument.idle import telling
from spanhook.instrument.instrumentor import BOUND, WAITING, Bindings, Instrumentor
from spanhook.instrument.instrumentors import hint, installed, instrumentor_of, meant, names
from spanhook.instrument.known import KNOWN
from spanhook.instrument.otel import providers
from spanhook.instrument.unbound import (
    Unbound,
    imported,
    is_bound,
    is_covered,
    libraries,
    named,
    swallowers,
    version,
)
from spanhook.instrument.watching import Rule, watch

__all__ = [
    "BOUND",
    "INSTRUMENTORS",
    "KNOWN",
    "WAITING",
    "Bindings",
    "BoundFunction",
    "Declaration",
    "Instrumentor",
    "Rule",
    "Unbound",
    "hint",
    "import_bound",
    "imported",
    "installed",
    "instrumentor_of",
    "is_bound",
    "is_covered",
    "libraries",
    "meant",
    "named",
    "names",
    "one_moment",
    "providers",
    "swallowers",
    "telling",
    "threads",
    "version",
    "watch",
]
