"""Coworkers: the tools by which an agent, such as a crew's manager, has another do something or asks it.

The other agent's task is an operation inside of this one, which is inside of the tool's. A refusal is what the tool
returns, so the model is told of it and goes on. Versions that cache what these tools return do not cache that.
"""

from collections.abc import Callable
from typing import Any

from spanhook import semconv
from spanhook.instrument import caches
from spanhook.instrument.crewai.arguments import CACHED
from spanhook.instrument.crewai.arguments import DELEGATED as CALL
from spanhook.instrument.crewai.runs import PROVIDER, name_of, run_output, text_of
from spanhook.model import Adapter, Args, Attributes, Editing, Kwargs, Reading, Request, current_record, exact_text


def _coworker(tool: Any, args: Args, kwargs: Kwargs) -> Any:
    """The agent that is asked, found as the tool finds it; ``None`` if there is none by this name."""
    wanted = tool.sanitize_agent_name(CALL.given(args, kwargs, "agent_name") or "")
    return next((one for one in tool.agents if tool.sanitize_agent_name(one.role) == wanted), None)


def chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a call; ``None`` for one that asks nobody, of which the model is told."""
    return None if _coworker(instance, args, kwargs) is None else DELEGATION


def delegation_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {
        semconv.GEN_AI_PROVIDER_NAME: PROVIDER,
        semconv.GEN_AI_AGENT_NAME: name_of(_coworker(instance, args, kwargs)),
    }
    around = current_record()
    if around is not None and around.agent:
        attributes[semconv.DELEGATING_AGENT] = around.agent
    return attributes


def delegation_names(instance: Any, args: Args, kwargs: Kwargs) -> frozenset[str]:
    """The role as it was written, and with a crew's inputs in it."""
    coworker = _coworker(instance, args, kwargs)
    return frozenset((name_of(coworker), exact_text(coworker.role).strip()))


def delegation_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    task, context = CALL.given(args, kwargs, "task"), CALL.given(args, kwargs, "context")
    parts = [{"type": "text", "content": one} for one in (task, context) if isinstance(one, str) and one]
    return Request(
        messages=[{"role": "user", "parts": parts}], arguments={"task": task, "context": context}, inputs=task
    )


def delegation_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> str:
    return text_of(value, "a coworker's answer is text or messages")


class Refusal(str):
    """What a tool returns of a refused hand-off: text that is not to be found again."""

    __slots__ = ()


def delegation_rejected(instance: Any, args: Args, kwargs: Kwargs, reason: str) -> str:
    return Refusal(f"Hand-off to {name_of(_coworker(instance, args, kwargs))} rejected: {reason}")


def hold(write: Callable[..., Any], args: Args, kwargs: dict[str, Any]) -> bool:
    """Whether the cache of tools' results does not get one now: never a refusal, which holds for one call."""
    return isinstance(CACHED.given(args, kwargs, "output"), Refusal) or caches.hold(write, args, kwargs)


DELEGATION = Adapter(
    kind="agent.delegate",
    layer="crewai.delegation",
    start=delegation_start,
    reading=Reading(names=delegation_names, request=delegation_request, output=run_output),
    editing=Editing(answer=delegation_answer, rejected=delegation_rejected),
)
