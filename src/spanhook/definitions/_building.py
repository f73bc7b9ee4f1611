"""Builds the hooks that the chain runs from registered handlers."""

from collections.abc import Callable, Collection, Iterator
from itertools import chain, repeat
from typing import Any, cast

from spanhook.definitions.contexts import AGENT_MODEL
from spanhook.definitions.definition import split_event
from spanhook.definitions.middleware import Middleware, carried, form_of
from spanhook.definitions.statistics import Figures
from spanhook.errors import ConfigurationError
from spanhook.gating import (
    AFTER,
    AROUND,
    BEFORE,
    ERROR,
    Auditor,
    Bound,
    ChainRun,
    FunctionHook,
    Hook,
    HookResult,
    HookSettings,
    ResultListener,
    TextFilter,
)
from spanhook.model import DecisionRecord, Operation

_METHODS = {"before": BEFORE, "around": AROUND, "after": AFTER, "on_error": ERROR}
_OF_PHASE = {
    "pre": ("before", "around"),
    "post": ("after",),
    "error": ("on_error",),
    "": ("before", "around", "after", "on_error"),
}


class RegisteredFunction(FunctionHook):
    """One function of a registered hook, as the chain runs it.

    Args:
        hook_id: The id of that hook.
        figures: Its statistics.
        listeners: Called with the result of each hook of its events.
        together: Whether it may run at the same time as other such hooks.
        made_with: The validated settings of the handler.
    """

    def __init__(
        self,
        form: str,
        function: Callable[..., Any],
        kinds: Collection[str],
        settings: HookSettings,
        *,
        hook_id: str,
        figures: Figures,
        listeners: tuple[ResultListener, ...],
        together: bool = False,
        made_with: Any = None,
    ) -> None:
        super().__init__(form, function, kinds, settings)
        self.hook_id, self.figures = hook_id, figures
        self._made_with = made_with
        self._listeners, self._together = listeners, together


class RegisteredMethod(RegisteredFunction):
    """One method of a registered ``Hook``, which stays responsible for what else it does as a hook.

    Args:
        handler: The hook.
        *args: As for ``RegisteredFunction``.
        **kwargs: As for ``RegisteredFunction``.
    """

    def __init__(self, handler: Hook, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._handler, self.window = handler, handler.window
        self._budgeted, self._not_replayed = handler._budgeted, handler._not_replayed
        self._acts_once = handler._acts_once

    def _remarks(self) -> Iterator[str]:
        return self._handler._remarks()

    def text_filter(self, op: Operation) -> TextFilter:
        return self._handler.text_filter(op)

    def _fails_with(self, error: Exception, reason: str, status_code: int) -> Exception:
        return self._handler._fails_with(error, reason, status_code)


class _Concealing(RegisteredMethod):
    def conceal(self, text: str) -> str:
        return self._handler.conceal(text)


class _Auditing(RegisteredMethod, Auditor):
    def ended(self, op: Operation) -> None:
        cast("Auditor", self._handler).ended(op)

    def decided(self, op: Operation, decision: DecisionRecord) -> None:
        cast("Auditor", self._handler).decided(op, decision)


class _ConcealingAndAuditing(_Concealing, _Auditing):
    pass


def _class_for(handler: Hook) -> type[RegisteredMethod]:
    """The class of a hook's first method: it also has what a hook does once, whatever the number of its methods."""
    if type(handler).conceal is Hook.conceal:
        return _Auditing if isinstance(handler, Auditor) else RegisteredMethod
    return _ConcealingAndAuditing if isinstance(handler, Auditor) else _Concealing


def note(_chain: ChainRun, bound: Bound, result: HookResult, before: HookResult | None) -> None:
    """Count the result of a registered hook: once, in however many registries there are hooks of its event."""
    hook = bound.hook
    if isinstance(hook, RegisteredFunction):
        hook.figures.note(result, before)


def functions_of(
    handler: Hook | Middleware,
    hook_id: str,
    event: str,
    settings: HookSettings,
    listeners: tuple[ResultListener, ...],
    figures: Figures,
    *,
    concurrent: bool,
) -> list[RegisteredFunction]:
    """The functions that the chain runs for a handler.

    Args:
        handler: A ``Hook``, or an object with ``execute``.
        hook_id: Its id.
        event: The event or kind that it runs at.
        settings: The given settings; a ``Hook`` keeps its own unless they are given.
        listeners: Called with the result of each hook of its events.
        figures: Its statistics.
        concurrent: Whether it runs at the same time as other hooks of its event, after the call.

    Raises:
        ConfigurationError: It does nothing at this event, or a setting cannot be used.
    """
    kind, phase = split_event(event)
    made_with = getattr(handler, "_made_with", None)
    given: dict[str, Any] = {"hook_id": hook_id, "figures": figures, "listeners": listeners, "made_with": made_with}
    if isinstance(handler, Hook):
        own = {name: getattr(handler, name) for name in HookSettings.__annotations__}
        settings = cast("HookSettings", {**own, **settings})
        classes = chain([_class_for(handler)], repeat(RegisteredMethod))
        return [
            cls(handler, form, function, (kind,), settings, together=concurrent and form == AFTER, **given)
            for cls, (form, function) in zip(classes, _methods(handler, event, phase), strict=False)
        ]
    form = form_of(phase, concurrent=concurrent)
    function = carried(handler, event, form)
    return [RegisteredFunction(form, function, (kind,), settings, together=concurrent and form == AFTER, **given)]


def _methods(hook: Hook, event: str, phase: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    found = [name for name in _OF_PHASE[phase] if getattr(type(hook), name) is not getattr(Hook, name)]
    if not found:
        raise ConfigurationError(
            f"{type(hook).__name__} has none of {', '.join(_OF_PHASE[phase])}, so it would do nothing at {event!r}"
        )
    return ((_METHODS[name], getattr(hook, name)) for name in found)


def agent_models() -> FunctionHook:
    """Gives model calls the model that middleware has set for their agent."""

    def agent_model(op: Operation) -> None:
        around = op.parent
        while around is not None:
            chosen = around.state.get(AGENT_MODEL)
            if chosen is not None:
                if chosen != op.model:
                    op.replace(model=chosen)
                return
            if around.kind == "agent.invoke":
                return
            around = around.parent

    settings: HookSettings = {"name": "agent_model", "priority": 100, "fail_mode": "closed"}
    hook = FunctionHook(BEFORE, agent_model, ("llm.call",), settings)
    hook._compared = False
    return hook
