"""Checks of refusals: what hooks of any form refuse, or do not allow in time, is not made."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from spanhook.cli.conformance.checks.cells import (
    OK,
    PATIENCE,
    Cell,
    Way,
    Wrong,
    brief,
    ended,
    of_kind,
    times,
)
from spanhook.cli.conformance.checks.comparing import outcome
from spanhook.cli.conformance.checks.exporting import without_backend
from spanhook.cli.conformance.checks.watching import unhooked
from spanhook.cli.conformance.subject import Body, settle
from spanhook.errors import Reject
from spanhook.gating import Hooks
from spanhook.model import Operation
from spanhook.testing import Recorder, recorder

STATUS = 451
_SHORT = 0.01
"""Seconds that a hook has which takes for ever."""


def refuse(_op: Operation) -> None:
    """A hook that refuses."""
    raise Reject("refused by spanhook conformance", status_code=STATUS)


async def arefuse(op: Operation) -> None:
    """An async hook that refuses."""
    await asyncio.sleep(0)
    refuse(op)


async def _never(_op: Operation) -> None:
    await asyncio.Event().wait()


def denied(way: Way) -> Cell:
    """If a hook refuses the call, the body does not run, and the refusal is on the call's span alone."""
    for span in refused(way).spans:
        attributes = span.attributes or {}
        is_refused = attributes.get("spanhook.status") == "rejected" and "spanhook.decision" in attributes
        if attributes.get("spanhook.kind") != way.subject.kind and is_refused:
            raise Wrong(f"the refusal is also on the span {span.name!r} around it")
    return Cell(OK)


def refusing(way: Way) -> Hooks:
    """A hook that refuses the calls of a subject."""
    hooks = Hooks()
    hooks.before(way.subject.kind, timeout=PATIENCE, name="refuse")(refuse)
    return hooks


def refused(way: Way) -> Recorder:
    """A refused call, beside an exporter whose backend is down: made once for all checks about it.

    Raises:
        Wrong: It was made, or the caller was not told, or no hook was asked.
    """
    if "refused" not in way.memory:
        try:
            way.memory["refused"] = _expect_refused(way, without_backend(refusing(way)))
        except Wrong as wrong:
            way.memory["refused"] = wrong.with_traceback(None)
    found: Recorder | Wrong = way.memory["refused"]
    if isinstance(found, Wrong):
        raise found
    return found


def expect_refused(way: Way, hooks: Hooks) -> Recorder:
    """Make a call that hooks refuse.

    Raises:
        Wrong: It was made, or the caller was not told, or no hook was asked.
    """
    return _expect_refused(way, recorder(hooks))


def _expect_refused(way: Way, recording: AbstractContextManager[Recorder]) -> Recorder:
    body = Body()
    call = way.take(way.subject.make(body))
    with recording as seen:
        expect_refusal(way, call, body, seen)
    return seen


def expect_refusal(
    way: Way, call: Callable[[], Any], body: Body, seen: Recorder, status: int = STATUS
) -> list[Operation]:
    """Make a call that active hooks refuse; returns its operations.

    Raises:
        Wrong: It was made, or the caller was not told, or no hook was asked.
    """
    since = len(seen.operations)
    try:
        result = settle(call())
    except Reject as error:
        if error.status_code != status:
            raise Wrong(f"the caller got {error!r}, which is not what the hook raised") from None
    else:
        if way.subject.raises and not body.runs:
            raise Wrong(f"a hook refused it, and the caller got {brief(repr(result))}")
    mine = of_kind(way, ended(seen, since))
    if body.runs:
        raise Wrong(f"a hook refused it, and the call was made{times(body.runs)}")
    if not any(op.status == "rejected" for op in mine):
        raise Wrong("no hook was asked")
    rejected = [op for op in mine if op.status == "rejected"]
    if not all(any(one.decision in ("reject", "timeout") for one in op.decisions) for op in rejected):
        raise Wrong("a hook refused it, and that is not on its operation")
    return rejected


def asynchronous(way: Way) -> Cell:
    """Async hooks run before, around and after the call, and can refuse it."""
    hooks, passes = Hooks(), dict.fromkeys(("before", "around", "after"), 0)
    refuses = False

    @hooks.before(way.subject.kind, timeout=PATIENCE)
    async def before(op: Operation) -> None:
        await (arefuse(op) if refuses else asyncio.sleep(0))
        passes["before"] += 1

    @hooks.around(way.subject.kind, timeout=PATIENCE)
    async def around(_op: Operation, call_next: Any) -> Any:
        passes["around"] += 1
        return await call_next()

    @hooks.after(way.subject.kind, timeout=PATIENCE)
    async def after(_op: Operation) -> None:
        await asyncio.sleep(0)
        passes["after"] += 1

    body = Body()
    call, refused_call = (way.take(way.subject.make(one)) for one in (Body(), body))
    with recorder(hooks) as seen:
        settle(call())
        ended(seen, 0)
        for form, count in passes.items():
            if count != way.calls:
                raise Wrong(f"an async hook {form} the call ran {count} times; calls: {way.calls}")
        refuses = True
        expect_refusal(way, refused_call, body, seen)
    return Cell(OK)


def timed(way: Way) -> Cell:
    """A gate that does not answer in time refuses the call; with ``fail_mode="open"`` it lets the call through."""
    expected, hooks = unhooked(way), Hooks()
    hooks.before(way.subject.kind, timeout=_SHORT, fail_mode="closed", name="slow")(_never)
    unmade, body = Body(), Body()
    refused_call, call = (way.take(way.subject.make(one)) for one in (unmade, body))
    with recorder(hooks) as seen:
        expect_refusal(way, refused_call, unmade, seen, status=504)
        hooks.remove(_never)
        hooks.before(way.subject.kind, timeout=_SHORT, fail_mode="open", name="slow")(_never)
        since = len(seen.operations)
        found = outcome(call)
        operations = ended(seen, since)
    if found != expected:
        raise Wrong(f"a gate that fails open took too long, and the caller got {brief(repr(found))}")
    if not body.runs:
        raise Wrong("a gate that fails open took too long, and the call was not made")
    told = {decision.decision for op in of_kind(way, operations) for decision in op.decisions}
    if told != {"timeout"}:
        raise Wrong(f"a gate took too long, and this was recorded as {', '.join(sorted(told)) or 'nothing'}")
    return Cell(OK)
