"""Checks of what is around a call: samplers, an SDK that is off, exporters that are down, other instrumentations."""

import logging
import os
import re
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from spanhook.cli.conformance.checks.cells import NONE, OK, Cell, Way, Wrong, operations_of, times
from spanhook.cli.conformance.checks.comparing import outcome
from spanhook.cli.conformance.checks.counting import expect_once, expect_tokens, tokens_in, watching
from spanhook.cli.conformance.checks.refusing import STATUS, expect_refused, refusing
from spanhook.cli.conformance.subject import Body, settle
from spanhook.config import instrument, uninstrument
from spanhook.errors import Reject
from spanhook.instrument import INSTRUMENTORS
from spanhook.settings import Settings
from spanhook.testing import Recorder, recorder

_DISABLED = "OTEL_SDK_DISABLED"


def unsampled(way: Way) -> Cell:
    """If no span is sampled, refusals stand, and calls, decisions and tokens are counted."""
    seen = expect_refused(way, refusing(way), sampler=ALWAYS_OFF)
    refused = [op for op in operations_of(way, seen) if op.status == "rejected"]
    decided = [event for event in seen.events if event["name"] == "spanhook.decision"]
    if len(decided) != len(refused):
        raise Wrong(f"{len(refused)} calls were refused, and there are {len(decided)} events of that")
    hooks, passes = watching(way)
    body = Body()
    call = way.take(way.subject.make(body))
    with recorder(hooks, sampler=ALWAYS_OFF) as seen:
        settle(call())
        tokens = tokens_in(seen)
    expect_once(way, seen, passes)
    expect_tokens(way, seen, body, tokens)
    return Cell(OK)


def disabled(way: Way) -> Cell:
    """If OpenTelemetry's SDK is turned off, hooks gate as before."""
    before = os.environ.get(_DISABLED)
    os.environ[_DISABLED] = "true"
    try:
        expect_refused(way, refusing(way))
        expected = outcome(way.take(way.subject.make(Body())))
        hooks, passes = watching(way)
        call = way.take(way.subject.make(Body()))
        with recorder(hooks) as seen:
            found = outcome(call)
        expect_once(way, seen, passes)
    finally:
        if before is None:
            del os.environ[_DISABLED]
        else:
            os.environ[_DISABLED] = before
    if found != expected:
        raise Wrong("the SDK is turned off, and the caller gets something else than without spanhook")
    return Cell(OK)


class _Down(SpanExporter):
    """An exporter whose backend is gone."""

    def export(self, spans: Any) -> SpanExportResult:
        raise ConnectionError("the backend is down")


@contextmanager
def _unlogged() -> Generator[None]:
    """Without what the SDK logs of exporters that fail."""
    log = logging.getLogger("opentelemetry")
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(before)


def exporter(way: Way) -> Cell:
    """If the exporter's backend is down, refusals stand, and calls go on."""
    expected = outcome(way.take(way.subject.make(Body())))
    with _unlogged():
        for hooks, refused in ((refusing(way), True), (watching(way)[0], False)):
            body = Body()
            call = way.take(way.subject.make(body))
            with recorder(hooks) as seen:
                seen.tracer_provider.add_span_processor(SimpleSpanProcessor(_Down()))
                found = outcome(call)
            if refused and body.runs:
                raise Wrong(f"the exporter is down, a hook refused the call, and it was made{times(body.runs)}")
            if refused and not any(op.status == "rejected" for op in operations_of(way, seen)):
                raise Wrong("the exporter is down, and no hook was asked")
            if not refused and found != expected:
                raise Wrong("the exporter is down, and the caller gets something else than without spanhook")
    return Cell(OK)


# ----------------------------------------------------------------------------------------------- others


@cache
def _installed() -> list[tuple[str, EntryPoint, tuple[str, ...]]]:
    """Instrumentations of other projects: the project, and the modules of the libraries of ours that each is for."""
    found: list[tuple[str, EntryPoint, tuple[str, ...]]] = []
    for entry in entry_points(group="opentelemetry_instrumentor"):
        name = entry.dist.name if entry.dist is not None else entry.name
        modules = tuple(library.module for library in INSTRUMENTORS.values() if library.recognises(name))
        found.append((_project(entry, name), entry, modules))
    return found


def _project(entry: EntryPoint, name: str) -> str:
    """Who publishes a distribution: the owner of its repository, or its name."""
    addresses = entry.dist.metadata.get_all("Project-URL") if entry.dist is not None else None
    owners = (re.search(r"github\.com/([\w-]+)/", address) for address in addresses or ())
    return next((owner[1] for owner in owners if owner), name)


def _others() -> dict[str, list[EntryPoint]]:
    """Those for libraries that are in use here, by project."""
    found: dict[str, list[EntryPoint]] = {}
    for project, entry, modules in _installed():
        if any(module in sys.modules for module in modules):
            found.setdefault(project, []).append(entry)
    return found


@contextmanager
def _instrumented(other: EntryPoint, provider: Any) -> Generator[None]:
    made = other.load()()
    made.instrument(tracer_provider=provider)
    try:
        yield
    finally:
        made.uninstrument()


@contextmanager
def _beside(others: list[EntryPoint], hooks: Any, *, first: bool) -> Generator[Recorder]:
    """Instrumented with others, which are active before or after spanhook."""
    with recorder(hooks) as seen, ExitStack() as stack:
        if first:
            uninstrument()
        for other in others:
            stack.enter_context(_instrumented(other, seen.tracer_provider))
        if first:
            instrument(
                hooks,
                tracer_provider=seen.tracer_provider,
                meter_provider=seen.meter_provider,
                logger_provider=seen.logger_provider,
                settings=Settings(),
            )
            stack.callback(uninstrument)
        yield seen


def foreign(way: Way) -> Cell:
    """Beside other instrumentations, each call is refused or counted once, as without them.

    Those of one project are active together, after spanhook; and those of all projects, before it.
    """
    projects = _others()
    for project, others in projects.items():
        _expect_beside(way, f"beside {project}'s", others, first=False)
    if projects:
        _expect_beside(way, "behind all others", [one for others in projects.values() for one in others], first=True)
    return Cell(OK) if projects else NONE


def _expect_beside(way: Way, where: str, others: list[EntryPoint], *, first: bool) -> None:
    for hooks, passes in ((refusing(way), None), watching(way)):
        body = Body()
        call = way.take(way.subject.make(body))
        with _beside(others, hooks, first=first) as seen:
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
                expect_once(way, seen, passes)
                expect_tokens(way, seen, body, tokens)
        except Wrong as wrong:
            raise Wrong(f"{where}: {wrong}") from None
