"""Middleware: objects with ``execute(context, call_next)``, and how the one chain of hooks carries them.

``call_next`` runs the hooks that follow in the same phase; around a whole kind of operation it runs the call too. It
never decides whether they run: that is what ``abort`` is for.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, cast, runtime_checkable

from spanhook.definitions._context import HookContext
from spanhook.definitions.contexts import (
    AgentHookContext,
    LLMHookContext,
    MemoryHookContext,
    OperationHookContext,
    ToolHookContext,
    WorkflowHookContext,
)
from spanhook.definitions.requests import RequestHookContext
from spanhook.errors import HookError, Reject, TooLate
from spanhook.gating import AFTER, AFTER_NEXT, BEFORE_NEXT, ERROR, WRAP
from spanhook.model import Operation

CONTEXTS: dict[str, type[HookContext]] = {
    "agent.invoke": AgentHookContext,
    "tool.execute": ToolHookContext,
    "workflow.step": WorkflowHookContext,
    "request": RequestHookContext,
    "llm.call": LLMHookContext,
    "memory.store": MemoryHookContext,
}
"""The typed context of each kind; others have an ``OperationHookContext``."""

CallNext = Callable[[HookContext], Awaitable[HookContext]]


class HookAbortError(Reject):
    """The operation was refused by middleware that set ``abort``; the reason is ``abort_reason``."""


@runtime_checkable
class Middleware(Protocol):
    """What ``HookRegistry.register`` takes: ``execute`` and the settings that say what it is for.

    Attributes that it may have: ``name``, ``event_type`` (such as ``tool.execute.pre``), ``priority`` (100),
    ``enabled`` (true), ``tenant_id``, ``timeout_ms`` (200), ``fail_mode``, ``hook_id``.
    """

    def execute(self, context: Any, call_next: Callable[[Any], Awaitable[Any]], /) -> Any:
        """Look at an event and change it; ``def`` or ``async def``.

        Args:
            context: The typed context of the kind, such as ``ToolHookContext``.
            call_next: Runs what follows; ``return await call_next(context)``, in a plain ``def`` without ``await``.

        Returns:
            The context.

        Raises:
            Reject: To refuse the operation, as ``abort`` does. Anything else is a failure of the hook.
        """


def context_type(kind: str) -> type[HookContext]:
    """The typed context of a kind."""
    return CONTEXTS.get(kind, OperationHookContext)


def form_of(phase: str, *, concurrent: bool) -> str:
    """How the chain runs middleware of a phase; of a whole kind if the phase is empty."""
    if phase == "post":
        return AFTER if concurrent else AFTER_NEXT
    return {"pre": BEFORE_NEXT, "error": ERROR, "": WRAP}[phase]


def carried(middleware: Middleware, event: str, form: str) -> Callable[..., Any]:
    """``middleware`` as a function that the chain runs in this form."""

    async def around(op: Operation, call_next: Callable[[], Awaitable[Any]]) -> Any:
        return await _execute(middleware, event, op, call_next, answers=form == WRAP)

    async def alone(op: Operation) -> None:
        await _execute(middleware, event, op, None, answers=False)

    return alone if form in (AFTER, ERROR) else around


async def _execute(
    middleware: Middleware, event: str, op: Operation, rest: Callable[[], Awaitable[Any]] | None, *, answers: bool
) -> Any:
    context = context_type(str(op.kind)).of(op, event)
    called = False

    async def call_next(given: Any = None) -> HookContext:
        nonlocal context, called
        context = _checked(given, context, "call_next() was given")
        if context.abort or called or rest is None:
            if called:
                raise HookError("call_next() was called twice; what follows a hook runs once")
            return context
        called = True
        context._apply(op)
        try:
            await rest()
        except Reject:
            if not op._record.decided:
                raise  # the call's own, such as one of an operation inside of it
        context._refresh(op)
        return context

    value = middleware.execute(context, cast("Any", call_next))
    if hasattr(value, "__await__"):
        value = await value
    context = _checked(value, context, "it returned")
    if context.abort and not context._refused:
        raise _abort(context)
    if op._record.error is None:
        context._apply(op)
    if answers and not called and op.phase == "pre":
        return context.result
    return None


def _checked(given: Any, context: HookContext, what: str) -> HookContext:
    if given is None or given is context:
        return context
    if not isinstance(given, HookContext):
        raise HookError(f"{what} a {type(given).__name__}; expected the context that the hook was given")
    if not given._given:  # made of it by `dataclasses.replace`
        given._given = context._given
    return given


def _abort(context: HookContext) -> Exception:
    reason = str(context.abort_reason) or "Aborted by a hook"
    if not context.can_undo:
        return TooLate(reason)
    return HookAbortError(reason, status_code=context.status_of_abort)
