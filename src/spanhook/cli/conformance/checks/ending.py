"""Checks of how calls end: failed, cancelled, or left by the caller before the end."""

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from spanhook.cli.conformance.checks.cells import (
    NONE,
    OK,
    PATIENCE,
    Cell,
    Way,
    Wrong,
    brief,
    ended,
    of_kind,
    operations_of,
)
from spanhook.cli.conformance.checks.comparing import is_awaited
from spanhook.cli.conformance.checks.watching import unhooked, watch, watching
from spanhook.cli.conformance.loops import run
from spanhook.cli.conformance.subject import Body, Fault
from spanhook.testing import recorder


def errors(way: Way) -> Cell:
    """The caller gets the error of the body unchanged, and hooks are told of it."""
    for fault in way.subject.faults:
        expected, watched = unhooked(way, fault), watch(way, fault)
        if watched.found != expected:
            raise Wrong(
                f"{fault.name}: without spanhook the caller gets {brief(repr(expected))}, "
                f"with it {brief(repr(watched.found))}"
            )
        failed = [op for op in of_kind(way, watched.operations) if op.status == "error"]
        if _raises(expected, fault) and not failed:
            raise Wrong(f"{fault.name}: the call failed, and its operation did not")
        told = watched.errors.count("error")
        if told != len(failed):
            raise Wrong(f"{fault.name}: {len(failed)} operations failed, and {told} reached the error hooks")
    return Cell(OK)


def _raises(expected: Any, fault: Fault) -> bool:
    """Whether the caller of a call that fails gets an exception; what is cut may also just be short."""
    is_error = isinstance(expected[0], type) if isinstance(expected, tuple) else False
    return is_error and fault.cut is None


def cancelled(way: Way) -> Cell:
    """If the task of an async call is cancelled, the call is, and its operation says so."""
    if not way.subject.slow:
        return NONE
    body = Body()
    call = way.take(way.subject.make(body))

    async def main() -> bool:
        made = call()
        if not is_awaited(made):
            return False
        body.hold = threading.Event()
        task: asyncio.Task[Any] = asyncio.ensure_future(_awaited(made))
        try:
            started = asyncio.ensure_future(asyncio.to_thread(body.started.wait, PATIENCE))
            await asyncio.wait((started, task), return_when=asyncio.FIRST_COMPLETED)
            body.started.set()
            await started
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        finally:
            body.hold.set()
        if not task.cancelled():
            raise Wrong("the task of the call was cancelled, and the call went on")
        return True

    with recorder(watching(way)[0]) as seen:
        if not run(main()):
            return NONE
    found = [op.status for op in operations_of(way, seen)]
    if not found or set(found) != {"cancelled"}:
        raise Wrong(f"the call was cancelled, and its status is {', '.join(found) or 'unknown'}")
    return Cell(OK)


async def _awaited(made: Awaitable[Any]) -> Any:
    return await made


def left(way: Way) -> Cell:
    """A stream that its caller leaves after the first chunk ends its operation, closed or not."""
    opened = way.subject.opened.get(way.name)
    if opened is None:
        return NONE
    things = [way.subject.make(Body()) for _ in range(2)]
    with recorder(watching(way)[0]) as seen:
        for closes in (True, False):
            since = len(seen.operations)
            run(_leave(opened, things.pop(), closes=closes))
            gc.collect()
            found = [op.status for op in of_kind(way, ended(seen, since))]
            if found != ["abandoned"]:
                did = "closed" if closes else "dropped"
                raise Wrong(
                    f"the stream was {did} after its first chunk, and its status is {', '.join(found) or 'unknown'}"
                )
    return Cell(OK)


async def _leave(opened: Callable[[Any], Any], thing: Any, *, closes: bool) -> None:
    stream, is_async = await stream_in(opened, thing)
    own: Any = getattr(stream, "__wrapped__", stream)
    if is_async:
        await anext(aiter(stream))
    else:
        next(iter(stream))
    # not every library's streams can be closed
    name = next((name for name in ("aclose" if is_async else "", "close") if hasattr(own, name)), "")
    if closes and name:
        done = getattr(stream, name)()
        if is_awaited(done):
            await done


async def stream_in(opened: Callable[[Any], Any], thing: Any) -> tuple[Any, bool]:
    """A stream that has been opened and not read yet, and whether it is async."""
    made = opened(thing)
    stream: Any = await made if is_awaited(made) else made
    own: Any = getattr(stream, "__wrapped__", stream)  # a proxy's own methods do not tell
    return stream, is_awaited(made) or not (hasattr(own, "__next__") or hasattr(own, "__iter__"))
