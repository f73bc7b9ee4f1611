"""The check of the way back: without spanhook, everything is what it was."""

import inspect
import sys
from typing import Any

from spanhook.cli.conformance.checks.cells import OK, Cell, Way, Wrong, brief
from spanhook.cli.conformance.checks.comparing import outcome
from spanhook.cli.conformance.checks.refusing import refusing
from spanhook.cli.conformance.checks.watching import unhooked
from spanhook.cli.conformance.subject import Body
from spanhook.instrument import INSTRUMENTORS, instrumentor_of
from spanhook.testing import recorder


def restored(way: Way) -> Cell:
    """After spanhook is removed, functions are the objects they were, and calls pass no hook."""
    before, expected = _functions(), unhooked(way)
    body = Body()
    thing = way.subject.make(body)
    with recorder(refusing(way)):
        call = way.take(thing)
    if changed := [name for name, function in _functions().items() if function != before.get(name)]:
        raise Wrong(f"{changed[0]} is not the function it was")
    found = outcome(call)
    if found != expected or not body.runs:
        raise Wrong(f"spanhook was removed, and the caller gets {brief(repr(found))}")
    return Cell(OK)


def _functions() -> dict[str, Any]:
    """The functions that spanhook binds in libraries that are in use here, and their code, by place."""
    found: dict[str, Any] = {}
    for declared in INSTRUMENTORS.values():
        for entry in instrumentor_of(declared.library).table if declared.module in sys.modules else ():
            owner: Any = sys.modules.get(entry.module)
            *path, name = entry.name.split(".")
            for part in path:
                owner = getattr(owner, part, None)
            if owner is not None:
                function = inspect.getattr_static(owner, name, None)
                found[str(entry)] = id(function), getattr(function, "__code__", None)
    return found
