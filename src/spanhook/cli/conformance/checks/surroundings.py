"""Checks of what is around a call: samplers, an SDK that is off, exporters that are down, other instrumentations."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from spanhook.cli.conformance.checks.cells import (
    NONE,
    OK,
    PATIENCE,
    Cell,
    Way,
    Wrong,
    ended,
    of_kind,
    operations_of,
    times,
)
from spanhook.cli.conformance.checks.comparing import outcome
from spanhook.cli.conformance.checks.counting import expect_once, expect_tokens
from spanhook.cli.conformance.checks.refusing import STATUS, expect_refusal, refuse, refused, refusing
from spanhook.cli.conformance.checks.watching import tokens_in, unhooked, watch, watching
from spanhook.cli.conformance.subject import Body, settle
from spanhook.errors import Reject
from spanhook.instrument import INSTRUMENTORS
from spanhook.model import Operation
from spanhook.testing import recorder

_DISABLED = "OTEL_SDK_DISABLED"


def unsampled(way: Way) -> Cell:
    """If no span is sampled, refusals stand, and calls, decisions and tokens are counted."""
    calls, turn = _Calls(way), _Turn(way)
    with recorder(turn.hooks, sampler=ALWAYS_OFF) as seen:
        rejected = expect_refusal(way, calls.refused, calls.unmade, seen)
        decided = [event for event in seen.events if event["name"] == "spanhook.decision"]
        if len(decided) != len(rejected):
            raise Wrong(f"{len(rejected)} calls were refused, and there are {len(decided)} events of that")
        earlier, since = tokens_in(seen), len(seen.operations)  # an agent may have asked its model before a refusal
        turn.let_pass()
        settle(calls.passed())
        operations = ended(seen, since)
        tokens = tokens_in(seen) - earlier
    expect_once(way, operations, turn.passes)
    expect_tokens(of_kind(way, operations), calls.made.tokens, tokens)
    return Cell(OK)


class _Calls:
    """Two calls of a way, with references that are taken before hooks are active: one to refuse, one to make."""

    def __init__(self, way: Way) -> None:
        self.unmade, self.made = Body(), Body()
        self.refused, self.passed = (way.take(way.subject.make(body)) for body in (self.unmade, self.made))


class _Turn:
    """Hooks that refuse, until they only look."""

    def __init__(self, way: Way) -> None:
        self.hooks, self.passes = watching(way)
        self._refuses = True
        self.hooks.before(way.subject.kind, timeout=PATIENCE, name="refuse")(self._refuse)

    def _refuse(self, op: Operation) -> None:
        if self._refuses:
            refuse(op)

    def let_pass(self) -> None:
        """Refuse no more, and count anew."""
        self._refuses = False
        self.passes.update(dict.fromkeys(self.passes, 0))


def disabled(way: Way) -> Cell:
    """If OpenTelemetry's SDK is turned off, hooks gate as before."""
    before = os.environ.get(_DISABLED)
    os.environ[_DISABLED] = "true"
    try:
        expected = unhooked(way)
        calls, turn = _Calls(way), _Turn(way)
        with recorder(turn.hooks) as seen:
            expect_refusal(way, calls.refused, calls.unmade, seen)
            since = len(seen.operations)
            turn.let_pass()
            found = outcome(calls.passed)
            operations = ended(seen, since)
        expect_once(way, operations, turn.passes)
    finally:
        if before is None:
            del os.environ[_DISABLED]
        else:
            os.environ[_DISABLED] = before
    if found != expected:
        raise Wrong("the SDK is turned off, and the caller gets something else than without spanhook")
    return Cell(OK)


def exporter(way: Way) -> Cell:
    """If the exporter's backend is down, refusals stand, and calls go on."""
    try:
        refused(way)
    except Wrong as wrong:
        raise Wrong(f"the exporter is down, {wrong}") from None
    if watch(way).found != unhooked(way):
        raise Wrong("the exporter is down, and the caller gets something else than without spanhook")
    return Cell(OK)


# ----------------------------------------------------------------------------------------------- others


@cache
def _installed() -> list[tuple[EntryPoint, list[str]]]:
    """Instrumentations of other projects, with the modules that each is for, of libraries that spanhook binds."""
    found = entry_points(group="opentelemetry_instrumentor")
    named = ((one, one.dist.name if one.dist is not None else one.name) for one in found)
    libraries = INSTRUMENTORS.values()
    return [(one, [library.module for library in libraries if library.recognises(name)]) for one, name in named]


def _others() -> list[EntryPoint]:
    """Those for libraries that are in use here."""
    return [one for one, modules in _installed() if any(module in sys.modules for module in modules)]


@contextmanager
def _instrumented(other: EntryPoint, provider: Any) -> Generator[None]:
    made = other.load()()
    made.instrument(tracer_provider=provider)
    try:
        yield
    finally:
        made.uninstrument()


def foreign(way: Way) -> Cell:
    """Beside another instrumentation of the same library, each call is refused or counted once, as without it."""
    for other in _others():
        for hooks, passes in ((refusing(way), None), watching(way)):
            body = Body()
            call = way.take(way.subject.make(body))
            with recorder(hooks) as seen, _instrumented(other, seen.tracer_provider):
                try:
                    settle(call())
                except Reject as error:
                    if error.status_code != STATUS:
                        raise
                tokens = tokens_in(seen)
            try:
                if passes is None and body.runs:
                    raise Wrong(f"a hook refused it, and the call was made{times(body.runs)}")
                if passes is not None:
                    expect_once(way, seen.operations, passes)
                    expect_tokens(operations_of(way, seen), body.tokens, tokens)
            except Wrong as wrong:
                raise Wrong(f"beside {other.name}: {wrong}") from None
    return Cell(OK) if _others() else NONE
