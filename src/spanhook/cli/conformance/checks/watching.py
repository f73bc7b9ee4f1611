"""Calls that hooks look at and let pass, and calls without spanhook: each is made once for all checks about it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spanhook import semconv
from spanhook.cli.conformance.checks.cells import Way, ended, operations_of
from spanhook.cli.conformance.checks.comparing import comparable, outcome, told_of
from spanhook.cli.conformance.checks.exporting import without_backend
from spanhook.cli.conformance.subject import Body, Fault, settle
from spanhook.gating import Hooks
from spanhook.model import Operation, context, current_operation
from spanhook.testing import Recorder, recorder

TENANT = "acme"


def watching(way: Way) -> tuple[Hooks, dict[str, int]]:
    """Hooks that look and change nothing, and how often they ran."""
    hooks, passes = Hooks(), {"before": 0, "after": 0}

    @hooks.before(way.subject.kind)
    def count_before(op: Operation) -> None:
        assert op.request is not None
        passes["before"] += 1

    @hooks.around(way.subject.kind)
    def look(_op: Operation) -> Iterator[Any]:
        yield

    @hooks.after(way.subject.kind)
    def count_after(op: Operation) -> None:
        assert op.response is not None
        passes["after"] += 1

    return hooks, passes


def unhooked(way: Way, fault: Fault | None = None) -> Any:
    """The outcome of a call without spanhook."""
    if ("unhooked", fault) not in way.memory:
        way.memory["unhooked", fault] = outcome(way.take(way.subject.make(Body(fault=fault))))
    return way.memory["unhooked", fault]


@dataclass(frozen=True)
class Unwatched:
    """A call of a tenant that no hook looks at.

    Attributes:
        found: What the caller got.
        operations: What was recorded.
        used: The tokens that its body reported.
        counted: The tokens that were counted.
    """

    found: Any
    operations: list[Operation]
    used: int
    counted: int


def unwatched(way: Way) -> Unwatched:
    """Make a call that no hook looks at, for ``TENANT``."""
    if "unwatched" not in way.memory:
        body = Body()
        call = way.take(way.subject.make(body))
        with recorder() as seen, context(tenant_id=TENANT):
            found = comparable(settle(call()))
            counted = tokens_in(seen)
        way.memory["unwatched"] = Unwatched(found, operations_of(way, seen), body.tokens, counted)
    return way.memory["unwatched"]


def tokens_in(seen: Recorder) -> int:
    """The tokens that have been counted because they were reported; calls around may be estimates."""
    series = seen.metrics().get(semconv.METRIC_TOKENS, ())
    return sum(value for attributes, value in series if not attributes.get(semconv.USAGE_ESTIMATED))


@dataclass(frozen=True)
class Watched:
    """A call that hooks looked at and let pass.

    Attributes:
        found: Its outcome.
        error: The exception that the caller got, if the body did not fail.
        runs: How often its body ran.
        passes: How often each hook ran.
        stays: Whether its operation was still current when it had ended.
        operations: What was recorded of it, and of what is around it.
        shown: All telemetry of the calls that were made in a row, as text.
        errors: The status of each operation whose error reached the hooks.
    """

    found: Any
    error: BaseException | None
    runs: int
    passes: dict[str, int]
    stays: bool
    operations: list[Operation]
    shown: str
    errors: list[str]


def watch(way: Way, fault: Fault | None = None) -> Watched:
    """Make a call that hooks look at and let pass.

    If nothing goes wrong, an exporter's backend is down beside it. Calls with faults are made in a row, once for all.
    """
    if ("watched", fault) not in way.memory:
        faults = (None,) if fault is None else way.subject.faults
        for made, watched in zip(faults, _watch(way, faults), strict=True):
            way.memory["watched", made] = watched
    return way.memory["watched", fault]


def _watch(way: Way, faults: Sequence[Fault | None]) -> list[Watched]:
    hooks, passes = watching(way)
    errors: list[str] = []

    @hooks.on_error(way.subject.kind, priority=10, timeout=60.0)  # as a gate: no budget of time leaves it out
    def failed(op: Operation) -> None:
        errors.append(op.status)

    bodies = [Body(fault=fault) for fault in faults]
    calls = [way.take(way.subject.make(body)) for body in bodies]
    made: list[Watched] = []
    with (without_backend if faults == (None,) else recorder)(hooks) as seen:
        for fault, body, call in zip(faults, bodies, calls, strict=True):
            error, before = None, len(seen.operations)
            errors.clear()
            passes.update(dict.fromkeys(passes, 0))
            try:
                found = comparable(settle(call()))
            except BaseException as raised:
                found = told_of(raised)
                error = raised if fault is None else None  # its traceback would keep alive what it was raised in
            stays = current_operation() is not None
            operations = ended(seen, before)
            made.append(Watched(found, error, body.runs, dict(passes), stays, operations, "", list(errors)))
        shown = f"{seen.tree()!r} {seen.events!r} {seen.metrics()!r}"
    return [replace(one, shown=shown) for one in made]
