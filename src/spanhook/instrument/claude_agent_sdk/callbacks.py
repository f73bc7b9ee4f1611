"""Hooks of the SDK: ours are added to those of the application, and see last what these have answered."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from claude_agent_sdk.types import PermissionResultAllow, PermissionResultDeny

from spanhook.instrument.claude_agent_sdk.calls import reason_of, stops
from spanhook.instrument.claude_agent_sdk.sessions import Ours, Session
from spanhook.instrument.claude_agent_sdk.uses import EVENTS

_LONGEST_S = 2_000_000
"""How long the program waits for ours, in seconds: a gate may wait for a person. More than that is no time to it."""
Hooks = dict[str, list[dict[str, Any]]]


def with_ours(hooks: Mapping[str, list[dict[str, Any]]] | None, session: Session) -> Hooks:
    """The application's hooks, in the form in which the SDK keeps them, with ours after them."""
    found: Hooks = {event: list(matchers) for event, matchers in (hooks or {}).items()}
    for event in EVENTS:
        theirs = [_watched(matcher, event, session) for matcher in found.get(event, ())]
        found[event] = [*theirs, _ours(event, session)]
    return found


def _ours(event: str, session: Session) -> dict[str, Any]:
    return {"matcher": None, "hooks": [Ours(event, session)], "timeout": _LONGEST_S, "on_failure": "block"}


def _watched(matcher: Mapping[str, Any], event: str, session: Session) -> dict[str, Any]:
    return {**matcher, "hooks": [_watching(one, event, session) for one in matcher.get("hooks") or ()]}


def _watching(hook: Callable[..., Awaitable[Any]], event: str, session: Session) -> Callable[..., Awaitable[Any]]:
    """A hook of the application, whose answer ours waits for."""

    async def watched(given: Any, tool_use_id: Any, context: Any) -> Any:
        answer: Any = None
        try:
            answer = await hook(given, tool_use_id, context)
            return answer
        finally:
            session.uses.theirs(event, given).answered(answer)

    return watched


def with_permission(asks: Callable[..., Awaitable[Any]], session: Session) -> Callable[..., Awaitable[Any]]:
    """The application's permission callback. What it lets pass with another input is gated once more."""

    async def permitted(name: str, given: dict[str, Any], context: Any) -> Any:
        answer = await asks(name, given, context)
        if not isinstance(answer, PermissionResultAllow):
            return answer
        final = given if answer.updated_input is None else answer.updated_input
        call = session.uses.calls.get(getattr(context, "tool_use_id", None) or "")
        if call is None or call.given is None or final == call.given:
            return answer
        error = await call.again(final)
        if error is None:
            return answer if call.given == final else replace(answer, updated_input=call.given)
        if stops(error):
            await session.stop(error)
        return PermissionResultDeny(message=f"Tool call rejected: {reason_of(error)}", interrupt=stops(error))

    return permitted
