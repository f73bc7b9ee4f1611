"""Runs async ``after`` hooks of one operation at the same time, each with its own view.

They are awaited together, on the call's own loop or, on sync calls, on spanhook's. Their decisions are applied in
order, whichever finished first.
"""

import asyncio
from collections.abc import Sequence

from spanhook.gating._hosts import asynchronous
from spanhook.gating._pieces import Outcome, Pieces, meant, sealed
from spanhook.gating._refusals import returned_refusal
from spanhook.gating.binding import Bound
from spanhook.model import Operation, clock, current

Done = tuple[Bound, Operation, Outcome]
"""A hook, its view, and its result."""


async def together(pieces: Pieces, wanted: Sequence[Bound]) -> list[Done]:
    """Run these hooks at the same time; each has its own timeout. Results are in the order of the hooks."""
    views = [Operation(pieces.op) for _ in wanted]

    async def all_of_them() -> list[Outcome]:
        return await asyncio.gather(*(_run(pieces, *one) for one in zip(wanted, views, strict=True)))

    held = current.get()
    current.set(pieces)
    try:
        outcomes: list[Outcome] = await pieces.host().settle(Operation(pieces.op), None, all_of_them())
    finally:
        current.set(held)
    return list(zip(wanted, views, outcomes, strict=True))


async def _run(pieces: Pieces, bound: Bound, view: Operation) -> Outcome:
    current.set(pieces)
    value = error = None
    started = clock.now()
    try:
        if bound.blocking:
            value, error = await asynchronous.blocking(view, bound.timeout_ns, bound.function, (view,))
        else:
            value = bound.function(view)
            if value is not None and hasattr(value, "__await__"):
                value = await asynchronous.settle(view, bound.timeout_ns, value)
        error = returned_refusal(value) if error is None else error
    except Exception as raised:
        error = raised
    except asyncio.CancelledError as raised:
        error = meant(raised)
        if error is raised:
            raise
    return None, sealed(view, error), clock.now() - started
