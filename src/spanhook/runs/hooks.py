"""What authors write: ``RunHooks`` and ``RejectRun``.

Each function becomes one ``Hook`` for outermost operations, with the order, timeouts and records of all hooks.
"""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, TypeVar

from spanhook.errors import ConfigurationError, HookError, Reject, TimedOut
from spanhook.gating import (
    AFTER,
    BEFORE,
    ERROR,
    FunctionHook,
    Hooks,
    Placed,
    check_signature,
    returned_refusal,
    time_limit,
)
from spanhook.model import Operation, copied_error
from spanhook.runs.context import RunContext, context_of

RunHook = Callable[[RunContext], Any]
F = TypeVar("F", bound=RunHook)

TIMEOUT = 10.0
"""Seconds."""


class RejectRun(Reject):
    """Raised by a ``before_run`` hook to refuse the run: a ``Reject`` of the whole run.

    Args:
        message: The reason, which may be shown to the caller.
        status_code: The HTTP status that a server should answer with.
        retry_after: After how many seconds a run may be asked for again, if that is known.
    """

    def __init__(
        self, message: str = "Run rejected", status_code: int = 429, *, retry_after: float | None = None
    ) -> None:
        super().__init__(message, status_code=status_code, scope="run", retry_after=retry_after)

    @property
    def message(self) -> str:
        """The ``reason``."""
        return self.reason


RejectRun.__module__ = "spanhook.runs"  # where users import it from, and what error.type says


class RunHooks:
    """Hooks for whole runs. Give them to ``spanhook.instrument`` or to ``set_hooks``.

    A run is an operation that is not inside another: a call of a graph, each leg of an interrupted one, a
    ``run_scope``, or a model call outside any agent. Hooks of the same type run in registration order. Each is
    ``def`` or ``async def`` and takes a ``RunContext``; what it returns is ignored.

    Args:
        timeout: Seconds that each hook may take, or ``None`` for no limit. Only ``async def`` hooks can be stopped.

    Raises:
        ConfigurationError: ``timeout`` is not a number of seconds.
    """

    RejectRun = RejectRun

    def __init__(self, *, timeout: float | None = TIMEOUT) -> None:
        self._hooks = Hooks()
        self._timeout = _checked(timeout)

    def before_run(self, function: F) -> F:
        """Decorate a hook that runs before the run starts, and may refuse it.

        Raising ``RejectRun``, or any ``Reject``, refuses the run; then no further hook of the run is called. A timeout
        refuses it with status 504. With any other exception, the run fails.
        """
        return self._add(BEFORE, "before_run", function)

    def after_run(self, function: F) -> F:
        """Decorate a hook that runs after a run that succeeded or was interrupted. Its exceptions are logged."""
        return self._add(AFTER, "after_run", function)

    def on_run_error(self, function: F) -> F:
        """Decorate a hook that runs after a run that failed or was cancelled. Its exceptions are logged."""
        return self._add(ERROR, "on_run_error", function)

    def remove(self, function: RunHook) -> bool:
        """Remove a function, however often it was registered.

        Returns:
            Whether it was registered.
        """
        found = [hook for hook in self._hooks if isinstance(hook, _Adapted) and hook.given == function]
        for hook in found:
            self._hooks.remove(hook)
        return bool(found)

    @property
    def timeout(self) -> float | None:
        """Seconds that each hook may take. A new value applies to runs that start afterwards.

        Raises:
            ConfigurationError: The new value is not a number of seconds.
        """
        return self._timeout

    @timeout.setter
    def timeout(self, seconds: float | None) -> None:
        self._timeout = _checked(seconds)
        for hook in self._hooks:
            hook.timeout = seconds
        self._hooks.reread()

    def _add(self, form: str, name: str, function: F) -> F:
        with Placed():
            if not callable(function):  # pyright: ignore[reportUnnecessaryComparison]
                raise ConfigurationError(f"{name}({function!r}): expected a function; write @hooks.{name} alone")
            check_signature(getattr(function, "__name__", type(function).__name__), function, ("ctx",))
            self._hooks.add(_Adapted(form, function, self._timeout))
        return function

    def __spanhook_hooks__(self) -> Hooks:
        """The hooks that ``spanhook.instrument`` activates."""
        return self._hooks

    def __repr__(self) -> str:
        return f"<RunHooks {', '.join(dict.fromkeys(hook.name for hook in self._hooks))}>"


def _checked(timeout: float | None) -> float | None:
    with Placed():
        time_limit("RunHooks", timeout)
    return timeout


# ------------------------------------------------------------------------------------------------ as hooks


class _Adapted(FunctionHook):
    """A function that takes a ``RunContext``, as a hook of outermost operations.

    Its time does not count towards a chain's budget: it may take ten seconds, and a whole chain only half a second.
    """

    _budgeted = False

    def __init__(self, form: str, function: RunHook, timeout: float | None) -> None:
        self.given = function
        adapted = _ADAPTED[form](function)
        name = getattr(function, "__name__", "") or type(function).__name__
        super().__init__(
            form,
            adapted,
            ("*",),
            {
                "name": name,
                "timeout": timeout,
                "outermost": True,
                "fail_mode": "closed" if form == BEFORE else "open",
            },
        )

    def _fails_with(self, error: Exception, reason: str, status_code: int) -> Exception:
        """A timeout refuses the run; with any other exception the run fails."""
        if not isinstance(error, TimedOut):
            return error
        reject = RejectRun(reason, status_code)
        reject.__cause__ = error
        return reject


def _gate(function: RunHook) -> Callable[[Operation], Any]:
    @wraps(function)
    def before(op: Operation) -> Any:
        try:
            returned = function(context_of(op))
        except Reject as reject:
            raise _of_run(reject) from reject.__cause__
        return _waited(returned, _of_run, _refuse_if_returned)

    return before


def _observer(function: RunHook) -> Callable[[Operation], Any]:
    @wraps(function)
    def after(op: Operation) -> Any:
        if op.status == "rejected" and not op._record.called:
            return None  # it never began
        try:
            returned = function(context_of(op))
        except Reject as reject:
            raise _too_late(reject) from None  # which takes the refusal back
        return _waited(returned, _too_late)

    return after


_ADAPTED = {BEFORE: _gate, AFTER: _observer, ERROR: _observer}


def _waited(
    returned: Any, instead: Callable[[Reject], Exception], judge: Callable[[Any], None] = lambda _value: None
) -> Awaitable[None] | None:
    """An awaitable for what a hook returned, if it must be awaited; ``judge`` is called with the value."""
    if not hasattr(returned, "__await__"):
        judge(returned)
        return None

    async def wait() -> None:
        try:
            judge(await returned)
        except Reject as reject:
            raise instead(reject) from reject.__cause__

    return wait()


def _refuse_if_returned(value: Any) -> None:
    if (reject := returned_refusal(value)) is not None:
        raise _of_run(reject)


def _of_run(reject: Reject) -> Reject:
    """The refusal as one of the whole run."""
    if isinstance(reject, RejectRun) and reject.scope == "run":
        return reject
    if type(reject) is Reject:
        of_run = RejectRun(reject.reason, reject.status_code, retry_after=reject.retry_after)
        of_run.facts = reject.facts
        return of_run
    twin = copied_error(reject)
    assert isinstance(twin, Reject)
    object.__setattr__(twin, "scope", "run")  # assigning it fails for frozen dataclasses
    return twin


def _too_late(reject: Reject) -> HookError:
    return HookError(f"it raised {type(reject).__name__}, but only before_run can refuse a run")
