"""Operations that the reaper may have to end before what is around them: streams that their consumers may drop."""

from contextlib import nullcontext

from spanhook.concurrency import AsyncioBell, Bell, TrioBell, reaper, running, shielded_for
from spanhook.model import Record

WAIT_S = 0.1
"""How long an operation that ends waits for the reaper to end what was dropped inside it."""

in_flight: set[int] = set()
"""The ids of operations of streams that are inside others and have not ended. Usually there are none."""


def leave_to_reaper(op: Record) -> None:
    """Let the reaper report the end of the run, because it may have to end ``op`` first."""
    op.run.__dict__.setdefault("pending", set()).add(op)


def take_from_reaper(op: Record) -> None:
    """Note that ``op`` ended by itself after all."""
    pending = op.run.pending
    if pending:
        pending.discard(op)


def await_end(op: Record) -> None:
    """Ensure that the reaper ends ``op``, which it was given, before it reports the enclosing run."""
    leave_to_reaper(op)
    reaper.start()


def is_around_others(op: Record) -> bool:
    """Whether operations inside this one have not ended that the reaper may have to end."""
    for inner in tuple(op.run.pending):
        around = None if inner.ended else inner.parent
        while around is not None and around is not op:
            around = around.parent
        if around is op:
            return True
    return False


async def end_dropped(op: Record, *, is_async: bool) -> None:
    """Have the reaper end streams that were dropped inside an operation, so that its hooks, and its span, have what
    these used. It may have others to end first, so this waits for a short time only.
    """
    if reaper.here() or not is_around_others(op):
        return
    library = running() if is_async else ""
    bell = AsyncioBell() if library == "asyncio" else TrioBell() if library else Bell()
    reaper.put((bell.ring,))
    with shielded_for(WAIT_S) if library else nullcontext():
        await bell.heard(WAIT_S)
