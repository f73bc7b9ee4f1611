"""Checks of what is counted and recorded: calls, tokens, and no content unless it is asked for."""

from collections.abc import Iterable

from spanhook.cli.conformance.checks.cells import NONE, OK, Cell, Way, Wrong, brief, of_kind, operations_of
from spanhook.cli.conformance.checks.watching import tokens_in, unhooked, unwatched, watch
from spanhook.cli.conformance.subject import PLANTED, Body, settle
from spanhook.model import Operation
from spanhook.settings import Settings
from spanhook.testing import recorder


def allowed(way: Way) -> Cell:
    """A call that no hook looks at, or that hooks allow, gives what it gives without spanhook."""
    expected, watched = unhooked(way), watch(way)
    if watched.found != expected:
        raise Wrong(f"without spanhook the caller gets {brief(repr(expected))}, with it {brief(repr(watched.found))}")
    if not watched.runs:
        raise Wrong("hooks allowed it, and the call was not made")
    if decided := [decision.decision for op in watched.operations for decision in op.decisions]:
        raise Wrong(f"hooks allowed it, and {', '.join(decided)} was recorded")
    if (found := unwatched(way).found) != expected:
        raise Wrong(f"without hooks the caller gets {brief(repr(found))}, without spanhook {brief(repr(expected))}")
    return Cell(OK)


def once(way: Way) -> Cell:
    """Operations and hook runs match the number of calls."""
    watched = watch(way)
    if watched.error is not None:
        raise watched.error
    if watched.stays:
        raise Wrong("the call has ended, and its operation is still current")
    expect_once(way, watched.operations, watched.passes)
    return Cell(OK)


def expect_once(way: Way, operations: Iterable[Operation], passes: dict[str, int]) -> None:
    """Check that each call was one operation.

    Raises:
        Wrong: It was not.
    """
    mine = of_kind(way, operations)
    found = {"operations": len(mine), **{f"runs of {phase} hooks": count for phase, count in passes.items()}}
    wrong = [f"{count} {what}" for what, count in found.items() if count != way.calls]
    if wrong:
        calls = "was 1 call" if way.calls == 1 else f"were {way.calls} calls"
        raise Wrong(f"{', '.join(wrong)}, where there {calls}")
    if odd := {op.status for op in mine} - {"success"}:
        raise Wrong(f"the call succeeded, and its status is {', '.join(sorted(odd))}")


def usage(way: Way) -> Cell:
    """The tokens that are counted are those that the body reported, once and also several times in a stream."""
    made = unwatched(way)
    expect_tokens(made.operations, made.used, made.counted)
    is_streamed = any(op.parameters.get("stream") for op in made.operations)
    if is_streamed and way.subject.slow and way.subject.kind == "llm.call":
        _running_totals(way)
    return Cell(OK) if made.used or made.counted else NONE


def _running_totals(way: Way) -> None:
    """Check the same with a server that reports running totals, where streams are asked for their usage."""
    body = Body(running=True)
    call = way.take(way.subject.make(body))
    with recorder(settings=Settings(stream_usage=True)) as seen:
        settle(call())
        tokens = tokens_in(seen)
    expect_tokens(operations_of(way, seen), body.tokens, tokens)


def expect_tokens(operations: Iterable[Operation], used: int, counted: int) -> None:
    """Check that what was counted is what was used.

    Raises:
        Wrong: It is not.
    """
    if used and not any(op.usage.estimated for op in operations) and counted != used:
        raise Wrong(f"{counted} tokens were counted, but {used} were used")


def content(way: Way) -> Cell:
    """Telemetry shows nothing of requests, results and errors."""
    for fault in (None, *way.subject.faults[:1]):
        told = watch(way, fault).shown
        for word in (way.subject.said, way.subject.asked, PLANTED):
            if word and word in told:
                where = told[max(0, told.index(word) - 60) : told.index(word) + 20]
                raise Wrong(f"content is off, and telemetry shows {word!r}: {brief(where)}")
    return Cell(OK)
