"""Ends an operation that lasts until the end of the one around it."""

from collections.abc import Awaitable, Callable
from typing import Any

from spanhook.engine.lifecycle import settle
from spanhook.model import Record, current
from spanhook.telemetry import context_with, get_context, set_context

Finish = Callable[[Record, Any], Awaitable[None]]


async def end_lasting(around: Record, finish: Finish) -> None:
    """End what lasts inside ``around``, as that one ends.

    Args:
        around: The operation around it, which ends or goes on with another one.
        finish: Runs the remaining hooks of an operation and ends it.
    """
    lasting, around.lasting = around.lasting, None
    if lasting is None or lasting[0].ended:
        return
    op, run = lasting
    before, held = get_context(), current.get()
    try:
        set_context(context_with(op.span, op.before))
        current.set(op)
        if around.error is None:
            op.left = around.left
            settle(op, op.result)
        else:
            op.error = around.error
        await finish(op, run)
    finally:
        try:
            set_context(before)
        finally:
            current.set(held)
