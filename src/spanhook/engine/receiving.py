"""The last look at a call: where its body receives what the framework has made of the arguments that gates were shown.

One operation, one span: what gates decide here is recorded as before the call, and hooks around it go on waiting.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

from spanhook.concurrency import drive
from spanhook.engine._chunks import answer_chunks
from spanhook.engine._gates import broken, show
from spanhook.errors import HookError, Unwound
from spanhook.gating import LastLook, Plan, count_decision, publish
from spanhook.model import Args, Kwargs, Receipt, Record, Rewritten, as_read, note_gated, same, with_received


def look_for(op: Record, receipt: Receipt, instance: Any, args: Args, kwargs: Kwargs) -> "Look | None":
    """The look that has to be taken before the body of the current operation is called.

    Args:
        op: The operation; it has been shown arguments.
        receipt: How the body receives arguments.
        instance, args, kwargs: The call of the body.

    Returns:
        ``None`` if there is nothing new to see, and nobody has waited for it.
    """
    looking = op.looking
    shown, looking.shown = looking.shown, None
    if isinstance(shown, Look):
        return shown
    try:
        arguments = receipt.arguments(instance, args, kwargs, shown)
        if arguments is None:
            looking.shown = shown
            return None
        shown, arguments = receipt.visible(instance, shown), receipt.visible(instance, arguments)
        differs = not same(shown, arguments)
        if differs:
            op.args, op.kwargs = with_received(op.adapter, op.instance, op.args, op.kwargs, as_read(shown, arguments))
            if op.gated is not None:
                note_gated(op)
    except Exception as error:
        broken(op, error)
        return Look(op, op.plan, receipt, instance, args, kwargs, differs=False, waited=False)
    waited = looking.later is not None
    plan = looking.later or op.plan
    looking.later = None
    if not waited and not looking.unheard and not (differs and plan.looks_again):
        if receipt.returns:
            looking.shown = arguments
        return None
    return Look(op, plan, receipt, instance, args, kwargs, differs=differs, waited=waited)


def hear(op: Record) -> None:
    """Notify listeners who have waited for what the body receives."""
    publish(op, "pre", count_decision)


def taken(op: Record) -> "Look | None":
    """The look for which a call was left, to be taken now; ``None`` if it was left for an answer."""
    look: Look | None = op.looking.look
    if look is not None:
        op.looking.look = None
    return look


class Look:
    """One look at what a body receives, and the call of the body."""

    __slots__ = ("_body", "_differs", "_instance", "_op", "_plan", "_receipt", "_taken", "_waited")

    def __init__(
        self,
        op: Record,
        plan: Plan,
        receipt: Receipt,
        instance: Any,
        args: Args,
        kwargs: Kwargs,
        *,
        differs: bool,
        waited: bool,
    ) -> None:
        self._op, self._plan, self._receipt, self._instance = op, plan, receipt, instance
        self._body = args, kwargs
        self._differs, self._waited, self._taken = differs, waited, False

    def make(self, wrapped: Callable[..., Any]) -> Any:
        op, inside, stopped = self._op, self._receipt.inside, self._op.looking.stopped
        if stopped is not None:
            raise stopped
        if not self._taken:
            if inside and op.runner is not None and op.runner.is_async and op.error is None and self._waits():
                op.looking.look = self
                raise Unwound
            drive(self._gates(is_async=False))
        if op.decided.answered:
            return self._answer()
        args, kwargs = self._body
        if self._receipt.returns:
            op.looking.shown = self._receipt.visible(
                self._instance, self._receipt.arguments(self._instance, args, kwargs, {})
            )
        return wrapped(*args, **kwargs)

    async def amake(self, wrapped: Callable[..., Awaitable[Any]]) -> Any:
        stopped = self._op.looking.stopped
        if stopped is not None:
            raise stopped
        await self._gates(is_async=True)
        if self._op.decided.answered:
            return self._answer()
        args, kwargs = self._body
        return await wrapped(*args, **kwargs)

    async def wait(self) -> None:
        """Take the look outside of the framework, whose body then receives what gates have seen, whatever it makes of
        the call when that is made again.
        """
        await self._gates(is_async=True)
        if self._op.decided.answered:
            self._answer()
        self._taken, self._op.looking.shown = True, self

    def _waits(self) -> bool:
        return any(gate.slow for gate in self._plan.pre if gate.acts_once or (self._differs and gate.asked_again))

    async def _gates(self, *, is_async: bool) -> None:
        op = self._op
        if op.error is None:
            gates = LastLook(op, self._plan, count_decision, self._validated, is_async=is_async)
            try:
                await gates.look(differs=self._differs, waited=self._waited)
            except BaseException as error:
                broken(op, error)
        if op.error is not None:
            looking = op.looking
            looking.stopped, op.called, looking.unheard = op.error, False, False
            looking.shown = self  # a framework that tries again gets the same answer
            raise op.error
        if op.looking.unheard:
            hear(op)

    def _answer(self) -> Any:
        """What the body would have returned for an answer by a hook."""
        self._op.called = False
        if self._receipt.inside:
            raise Unwound
        return self._receipt.answered(self._instance, self._op.result)

    def _validated(self, asked: Rewritten) -> Rewritten:
        """Have the framework validate a call that a hook has rewritten; returns what the body receives then.

        Raises:
            HookError: It makes something else of it.
        """
        op, receipt = self._op, self._receipt
        request = op.adapter.reading.request(op.instance, asked.args, asked.kwargs)
        body = receipt.validated(self._instance, *self._body, request, op.attributes)
        arguments = receipt.visible(self._instance, receipt.arguments(self._instance, *body, request.arguments))
        read = as_read(request.arguments, arguments)
        lost = [name for name, value in request.arguments.items() if not same(value, read.get(name, self))]
        if lost:
            raise HookError(f"op.replace() would not arrive: validation makes something else of {len(lost)} arguments")
        args, kwargs = with_received(op.adapter, op.instance, asked.args, asked.kwargs, read)
        self._body = body
        return asked._replace(args=args, kwargs=kwargs)


async def looked_at(op: Record, make: Callable[..., AsyncIterator[Any]]) -> AsyncGenerator[Any]:
    """The stream of a call whose body gates look at, made once more if they have to wait where the framework cannot."""
    show(op)
    args, kwargs = op.args, op.kwargs
    while True:
        source: Any = make(*args, **kwargs)
        try:
            async for chunk in source:
                yield chunk
            return
        except Unwound:
            look = taken(op)
            if look is not None:
                with suppress(Unwound):  # a hook has answered
                    await look.wait()
            elif not op.decided.answered:
                raise
        finally:
            await source.aclose()
        if op.decided.answered:
            for chunk in answer_chunks(op, None):
                yield chunk
            return
