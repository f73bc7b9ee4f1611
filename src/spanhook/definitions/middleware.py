"""Middleware: objects with ``execute(context, call_next)``, run as part of the one chain of hooks.

``call_next`` runs the hooks that follow in the same phase, and, around a whole kind of operation, the call too. Not
calling it does not keep the hooks from running; only ``abort`` does.
"""

import inspect
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Protocol, Self, runtime_checkable

from spanhook.concurrency import is_being_cancelled
from spanhook.definitions.context import HookContext
from spanhook.definitions.contexts import (
    AgentHookContext,
    LLMHookContext,
    MemoryHookContext,
    OperationHookContext,
    ToolHookContext,
    WorkflowHookContext,
)
from spanhook.definitions.requests import RequestHookContext
from spanhook.errors import ConfigurationError, HookError, Reject, TooLate
from spanhook.gating import AFTER, AFTER_NEXT, BEFORE_NEXT, ERROR, WRAP, returned_refusal
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
Rest = Callable[[], Awaitable[Any]]


class HookAbortError(Reject):
    """Middleware has refused the operation with ``abort``; the reason is ``abort_reason``."""


@runtime_checkable
class Middleware(Protocol):
    """An object that ``HookRegistry.register`` takes, with ``execute`` and settings.

    Optional attributes: ``name``, ``event_type`` (such as ``tool.execute.pre``), ``priority`` (100),
    ``enabled`` (true), ``tenant_id``, ``timeout_ms`` (200), ``fail_mode``, ``hook_id``, ``body``
    (false; true if it reads the bodies of requests).
    """

    def execute(self, context: Any, call_next: Callable[[Any], Awaitable[Any]], /) -> Any:
        """Read and change the context of an event; ``def`` or ``async def``.

        Args:
            context: The typed context of the kind, such as ``ToolHookContext``.
            call_next: Runs the hooks that follow: ``return await call_next(context)``, or without ``await`` in a
                plain ``def``.

        Returns:
            The context. A ``Reject`` counts as raised.

        Raises:
            Reject: To refuse the operation, like ``abort``. With any other exception, the hook has failed.
        """


def context_type(kind: str) -> type[HookContext]:
    """The typed context of a kind."""
    return CONTEXTS.get(kind, OperationHookContext)


def check(middleware: object, name: str) -> None:
    """Refuse objects that cannot run as middleware.

    Raises:
        ConfigurationError: It has no ``execute``, or one that does not take a context and ``call_next``.
    """
    execute: Any = getattr(middleware, "execute", None)
    if not callable(execute):
        raise ConfigurationError(
            f"hook {name!r}: {type(middleware).__name__} has no execute(context, call_next), and is not a spanhook.Hook"
        )
    if inspect.isgeneratorfunction(execute) or inspect.isasyncgenfunction(execute):
        raise ConfigurationError(
            f"hook {name!r}: execute is a generator; write `return await call_next(context)` in it"
        )
    try:
        signature = inspect.signature(execute)
    except (TypeError, ValueError):
        return
    try:
        signature.bind("context", "call_next")
    except TypeError:
        raise ConfigurationError(
            f"hook {name!r}: execute takes {signature}; it is called with (context, call_next)"
        ) from None


def form_of(phase: str, *, concurrent: bool) -> str:
    """The form in which the chain runs middleware of a phase, or of a whole kind if the phase is empty."""
    if phase == "post":
        return AFTER if concurrent else AFTER_NEXT
    return {"pre": BEFORE_NEXT, "error": ERROR, "": WRAP}[phase]


def carried(middleware: Middleware, event: str, form: str) -> Callable[..., Any]:
    """``middleware`` as a function that the chain runs in this form; plain if ``execute`` is."""

    def plain(op: Operation, rest: Rest | None = None) -> Any:
        with Execution(op, event, rest) as running:
            value = middleware.execute(running.context, running.call_next)
            if isinstance(value, GoingOn):  # nothing is left to do after what follows, which can run by itself
                value = value.given
            return running.settled(value) if hasattr(value, "__await__") else running.finish(value)

    async def waiting(op: Operation, rest: Rest | None = None) -> Any:
        with Execution(op, event, rest) as running:
            await running.settled(middleware.execute(running.context, running.call_next))
            if form == WRAP and not running.called and op.phase == "pre":
                if running.context.result is not None:
                    return running.context.result
                await running.go_on(None)  # only `abort` keeps what follows from running
        return None

    return waiting if form == WRAP or inspect.iscoroutinefunction(middleware.execute) else plain


class Execution:
    """One run of middleware, a context manager: if it fails after it has set ``abort``, it refuses.

    Args:
        op: The operation.
        event: The event or kind that it runs at.
        rest: Runs what follows; ``None`` if nothing does.
    """

    def __init__(self, op: Operation, event: str, rest: Rest | None) -> None:
        self._op, self._rest = op, rest
        self.context = context_type(str(op.kind)).of(op, event)
        self.called = False
        op._refusal = self.refusal  # for where it runs out of time

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _cls: type[BaseException] | None, error: BaseException | None, _traceback: object) -> None:
        failed = isinstance(error, Exception) or (isinstance(error, CancelledError) and not is_being_cancelled())
        if failed and not isinstance(error, Reject) and (refusal := self.refusal()) is not None:
            raise refusal from error

    def call_next(self, given: Any = None) -> Any:
        """``call_next``: runs what follows, for middleware to await or return."""
        return GoingOn(self, given)

    async def go_on(self, given: Any) -> HookContext:
        """Apply the changes of the middleware so far, and run what follows."""
        op, context = self._op, _checked(given, self.context, "call_next() was given")
        if self.called:
            raise HookError("call_next() was called twice; call it once at most")
        self.context = context
        if _is_aborted(context) or self._rest is None:
            return context
        self.called = True
        context._apply(op)
        try:
            await self._rest()
        except Reject:
            if not op._record.decided.refused:
                raise  # the call's own, such as one of an operation inside of it
        context._refresh(op)
        return context

    async def settled(self, value: Any) -> None:
        """``finish`` with what has to be awaited."""
        with self:
            while hasattr(value, "__await__"):
                value = await value
            self.finish(value)

    def finish(self, value: Any) -> None:
        """Apply the changes of the middleware since ``call_next``."""
        self.context = _checked(value, self.context, "it returned")
        if (refusal := self.refusal()) is not None:
            raise refusal
        if self._op._record.error is None:
            self.context._apply(self._op)

    def refusal(self) -> Exception | None:
        """The refusal that the middleware has decided on, if it has."""
        context = self.context
        return _abort(context) if not context._refused and _is_aborted(context) else None


class GoingOn:
    """The return value of ``call_next``: awaiting it runs what follows."""

    __slots__ = ("_execution", "given")

    def __init__(self, execution: Execution, given: Any) -> None:
        self._execution, self.given = execution, given

    def __await__(self) -> Generator[Any, Any, HookContext]:
        return self._execution.go_on(self.given).__await__()


def _checked(given: Any, context: HookContext, what: str) -> HookContext:
    if given is None or given is context:
        return context
    refusal = returned_refusal(given)
    if refusal is not None:
        raise refusal
    if not isinstance(given, HookContext):
        raise HookError(f"{what} a {type(given).__name__}; expected the context that the hook received")
    if not given._given:  # created by `dataclasses.replace`
        given._given = context._given
    return given


def _is_aborted(context: HookContext) -> bool:
    """Whether ``abort`` is set. A value that is neither true nor false, such as an array, counts as set."""
    try:
        return bool(context.abort)
    except Exception:
        return True


def _abort(context: HookContext) -> Exception:
    given: Any = context.abort_reason
    reason = "Aborted by a hook" if given is None or (isinstance(given, str) and not given) else given
    if not context.can_undo:
        return TooLate(reason)
    return HookAbortError(reason, status_code=context.status_of_abort)
