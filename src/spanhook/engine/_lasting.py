"""Ends an operation that lasts until the end of the one around it."""

from collections.abc import Awaitable, Callable

from spanhook.engine.lifecycle import settle
from spanhook.model import EndDetails, Record, current
from spanhook.telemetry import context_with, get_context, set_context

Finish = Callable[[Record], Awaitable[None]]


async def end_lasting(around: Record, finish: Finish) -> None:
    """End what lasts inside ``around``, as that one ends.

    Args:
        around: The operation around it, which ends or goes on with another one.
        finish: Runs the remaining hooks of an operation and ends it.
    """
    op, around.lasting = around.lasting, None
    if op is None or op.ended:
        return
    before, held = get_context(), current.get()
    try:
        set_context(context_with(op.span, op.before))
        current.set(op)
        if around.error is None:
            op.part(EndDetails).left = around.ending.left
            settle(op, op.result)
        else:
            op.error = around.error
        await finish(op)
    finally:
        try:
            set_context(before)
        finally:
            current.set(held)
