"""Runs an async hook around the hooks that follow it in its phase, but not around the call.

Before the call, ``call_next()`` runs the gates that follow, up to the first around the call; after it, the ``after``
hooks that follow. The code after ``call_next()`` still runs before the call, so it may still refuse.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from spanhook.errors import HookError
from spanhook.gating._decisions import Verdicts
from spanhook.gating._pieces import Pieces, meant, sealed
from spanhook.gating.binding import Bound
from spanhook.model import CALLING, Operation, clock, current

Apply = Callable[[int, Operation], Awaitable[None]]
"""Applies the changes of a hook so far, given its nanoseconds."""


async def nest(
    pieces: Pieces, bound: Bound, verdicts: Verdicts, apply: Apply, go_on: Callable[[], Awaitable[None]]
) -> None:
    """Run a hook that awaits ``call_next`` for the hooks that follow it.

    If it does not await ``call_next`` and refuses nothing, the caller runs these: no hook can prevent that.

    Args:
        pieces: Runs the hook.
        bound: The hook.
        verdicts: Those of the operation.
        apply: Applies the changes of the hook.
        go_on: Runs the hooks that follow.
    """
    op, before = pieces.op, pieces.op.error
    view = Operation(op)
    function, later, begun = bound.function, Later(), 0
    if not bound.slow:
        value, error, begun = pieces.now(view, function, view, later)
        if error is not None or not hasattr(value, "__await__"):
            await _act(bound, view, verdicts, apply, error, begun, refused=False)
            return
        view._locked, function = "", later.going_on(value)
    host = pieces.host()
    own, inside, called, finished = 0, 0, False, False
    held: Any = current.get()
    current.set(pieces)
    started = clock.now() - begun

    async def proceed(_elsewhere: bool) -> None:
        nonlocal own, inside, called, finished
        called = True
        entered = clock.now()
        own = entered - started
        view._locked = CALLING
        current.set(op)
        if view._changed:
            await apply(own, view)
        else:
            verdicts.count(bound, own)  # now, as the hooks that follow are skipped if nothing is left
        if op.error is None:
            await go_on()
        view._reread()
        view._locked = ""
        current.set(pieces)
        inside, finished = clock.now() - entered, True

    error: BaseException | None = None
    try:
        await host.wrap(view, bound.timeout_ns, function, proceed)
    except BaseException as raised:
        error = meant(raised)
    error = sealed(view, error)
    current.set(held)
    spent = clock.now() - started - inside
    if error is None and called and not finished:
        error = HookError("it returned while call_next() was still running; await it")
    verdicts.count(bound, -own)
    await _act(bound, view, verdicts, apply, error, spent, refused=op.error is not before)


async def _act(
    bound: Bound,
    view: Operation,
    verdicts: Verdicts,
    apply: Apply,
    error: BaseException | None,
    spent: int,
    *,
    refused: bool,
) -> None:
    """Apply the hook's last changes; ``refused`` means that a later hook has refused meanwhile."""
    if error is not None:
        verdicts.failed(bound, error, spent, keep=refused)
    elif view._changed and not refused:
        await apply(spent, view)
    else:
        verdicts.allow(bound, spent)


class Later:
    """The ``call_next`` of a plain function, which may return an awaitable."""

    _call_next: Callable[[], Awaitable[Any]]

    def __call__(self) -> Awaitable[Any]:
        return self._call_next()

    def going_on(self, awaitable: Awaitable[Any]) -> Callable[..., Any]:
        """What the function has returned, as a function that is given ``call_next``."""

        async def run(_view: Operation, call_next: Callable[[], Awaitable[Any]]) -> Any:
            self._call_next = call_next
            return await awaitable

        return run
