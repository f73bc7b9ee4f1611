"""Runs of agents: ``Agent.run`` and ``Agent.run_async``, in which agents as tools and in pipelines end too."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from spanhook import semconv
from spanhook.instrument.haystack.describing import PROVIDER
from spanhook.instrument.haystack.messages import listed, natives, read, read_all, rewritten
from spanhook.instrument.haystack.responses import replies_for
from spanhook.instrument.identities import ids_in
from spanhook.instrument.metaclass import meet
from spanhook.instrument.signatures import Signature
from spanhook.instrument.wire import one_prompt
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    CallContext,
    Change,
    Editing,
    Kwargs,
    Message,
    Reading,
    Request,
    current_record,
    exact_text,
    runs_on,
)

CALL = Signature("messages", "streaming_callback")
_NOTHING: Mapping[str, Any] = {"step_count": 0, "token_usage": {}, "tool_call_counts": {}, "exit_reason": "text"}
"""What a run reports that has called no model."""


def chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    if runs_on(RUN, instance, args, kwargs):
        return None
    meet(instance)  # its generator may be no component
    return RUN


def _name(agent: Any) -> str:
    """The name of an agent: that of the tool that it is, or of the component in its pipeline, or of its class."""
    op = current_record()
    while op is not None and op.instance is agent:
        op = op.parent
    if op is not None and op.kind == "tool.execute" and getattr(op.instance, "_component", None) is agent:
        return exact_text(op.instance.name)
    return exact_text(getattr(agent, "__component_name__", None)) or type(agent).__name__


def run_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    return {semconv.GEN_AI_PROVIDER_NAME: PROVIDER, semconv.GEN_AI_AGENT_NAME: _name(instance)}


def run_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    """What the agent is asked; what its prompts make of other arguments is among them."""
    given = CALL.given(args, kwargs, "messages")
    system = kwargs.get("system_prompt") or getattr(instance, "system_prompt", None)
    others = {name: value for name, value in kwargs.items() if name not in _KNOWN}
    return Request(
        messages=read_all(listed(given)),
        system=system if isinstance(system, str) else "",
        arguments=others,
        inputs=given,
    )


_KNOWN = frozenset(
    (
        *("messages", "streaming_callback", "generation_kwargs", "tools", "hook_context", "break_point", "snapshot"),
        *("system_prompt", "user_prompt", "hooks"),
    )
)
"""What has a meaning for agents themselves."""


def run_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    messages = natives(CALL.given(args, kwargs, "messages") if change.inputs is None else change.inputs)
    if change.messages is not None:
        messages = rewritten(messages, one_prompt(change.messages))
    return CALL.having(args, kwargs, messages=messages)


# ------------------------------------------------------------------------------------------------- output


def run_output(result: Any) -> list[Message]:
    last = result.get("last_message") if isinstance(result, Mapping) else None
    return [] if last is None else [read(last)]


def run_answer(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping) and "last_message" in value:
        return cast("Mapping[str, Any]", value)
    replies = replies_for(value)
    made = {"messages": [*listed(CALL.given(args, kwargs, "messages")), *replies], "last_message": replies[-1]}
    outputs = instance.__haystack_output__._sockets_dict
    return {**made, **{name: told for name, told in _NOTHING.items() if name in outputs}}


# ------------------------------------------------------------------------------------------------- identity


def _sources(kwargs: Kwargs) -> Iterator[Any]:
    """What the application gave to the run: for its hooks, its state and its prompts."""
    yield kwargs.get("hook_context")
    yield kwargs


def run_identity(_instance: Any, _args: Args, kwargs: Kwargs) -> Mapping[str, str]:
    """User, tenant and session."""
    return {name: value for name, value in ids_in(_sources(kwargs)).items() if value}


def run_metadata(_instance: Any, _args: Args, kwargs: Kwargs) -> Mapping[str, Any]:
    given = kwargs.get("hook_context")
    return dict(cast("Mapping[str, Any]", given)) if isinstance(given, Mapping) else {}


RUN = Adapter(
    kind="agent.invoke",
    layer=f"{PROVIDER}.agent",
    start=run_start,
    context=CallContext(identity=run_identity, metadata=run_metadata),
    reading=Reading(request=run_request, message=read, output=run_output),
    editing=Editing(rewrite=run_rewrite, takes=frozenset(("inputs", "messages")), answer=run_answer),
)
