"""The beginning and end of an agent's life: where the library runs the hooks of the agent's card.

``_run_lifecycle_hook`` is called for every agent, whether its card has hooks or not, and for every detached clone: once
when everything else has started, once before anything is closed.
"""

from collections.abc import Awaitable
from dataclasses import replace
from typing import Any

from fast_agent.agents.llm_decorator import LlmDecorator

from spanhook import semconv
from spanhook.diagnostics import log
from spanhook.instrument.fast_agent.arguments import LIFECYCLE as CALL
from spanhook.instrument.originals import original
from spanhook.model import Adapter, Args, Attributes, Editing, Kwargs, Reading, Request, exact_text

PROVIDER = "fast_agent"
_PHASES = {"on_start": "start", "on_shutdown": "shutdown"}


def chosen(_instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of one end of a life; ``None`` for hooks of other types."""
    return _ADAPTERS.get(CALL.given(args, kwargs, "hook_type"))


def lifecycle_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    return {
        semconv.GEN_AI_PROVIDER_NAME: PROVIDER,
        semconv.GEN_AI_AGENT_NAME: exact_text(instance.name),
        semconv.LIFECYCLE_PHASE: _PHASES[CALL.given(args, kwargs, "hook_type")],
    }


def lifecycle_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    return Request(inputs={"hook_type": CALL.given(args, kwargs, "hook_type")})


def lifecycle_answer(_instance: Any, _args: Args, _kwargs: Kwargs, _value: Any) -> Any:
    raise TypeError("the start or shutdown of an agent cannot be answered, only refused")


class Made(tuple[Any, ...]):
    """The arguments of a call that has been made."""

    __slots__ = ()


def shutdown_prepare(_instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    return Made(args), kwargs


def shutdown_rejected(instance: Any, args: Args, kwargs: Kwargs, reason: str) -> Awaitable[None]:
    """The agent shuts down all the same, with its card's hook, once: what it holds must be released."""
    log.warning(
        "spanhook: agent %r: its shutdown was refused (%s); it shuts down anyway", exact_text(instance.name), reason
    )
    return (
        _nothing()
        if isinstance(args, Made)
        else original(LlmDecorator, "_run_lifecycle_hook")(instance, *args, **kwargs)
    )


async def _nothing() -> None:
    """What is left to do once the card's hook has run."""


START = Adapter(
    kind="agent.lifecycle",
    layer="fast_agent.lifecycle",
    start=lifecycle_start,
    reading=Reading(request=lifecycle_request),
    editing=Editing(answer=lifecycle_answer),
)
SHUTDOWN = replace(
    START,
    verb="shutdown_agent",
    editing=replace(START.editing, prepare=shutdown_prepare, rejected=shutdown_rejected),
    traits=START.traits | {"boundary"},
)
_ADAPTERS = {"on_start": START, "on_shutdown": SHUTDOWN}
