"""Runs of agents: ``run`` of every ``BaseAgent``, in which agents as tools and in workflows end too."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from spanhook import semconv
from spanhook.instrument.agent_framework.chunks import AgentUpdates, waiting
from spanhook.instrument.agent_framework.describing import PROVIDER, instructions_in, name_of, options_of
from spanhook.instrument.agent_framework.messages import natives, read, read_all, rewritten
from spanhook.instrument.agent_framework.responses import agent_response, agent_response_of, agent_updates, output_of
from spanhook.instrument.agent_framework.streams import handing, is_asked_for
from spanhook.instrument.identities import as_id, ids_in
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
    Streaming,
    Usage,
    current_record,
)

CALL = Signature("messages")


def chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter:
    return STREAM if is_asked_for(instance.run, args, kwargs) else RUN


def run_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {
        semconv.GEN_AI_PROVIDER_NAME: PROVIDER,
        semconv.GEN_AI_AGENT_NAME: name_of(instance),
    }
    known = as_id(getattr(instance, "id", None))
    if known:
        attributes[semconv.GEN_AI_AGENT_ID] = known
    return attributes


def run_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    """What the agent is asked; what was said before is its session's."""
    given = CALL.given(args, kwargs, "messages")
    system = instructions_in(getattr(instance, "default_options", None))
    return Request(messages=read_all(given), system=system, inputs=given)


def run_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given = CALL.given(args, kwargs, "messages") if change.inputs is None else change.inputs
    if change.messages is not None:
        given = rewritten(natives(given), one_prompt(change.messages))
    return CALL.having(args, kwargs, messages=given)


# ------------------------------------------------------------------------------------------------- output


def run_response(result: Any) -> tuple[Attributes, Usage | None]:
    """Nothing is reported here, but whether the agent waits for somebody is seen in its result."""
    if getattr(result, "user_input_requests", None):
        waiting(current_record())
    return {}, None


def run_output(result: Any) -> list[Message]:
    return output_of(result)


def run_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    return agent_response(value)


def run_updates(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> list[Any]:
    return agent_updates(value)


def _finalized(instance: Any, _args: Args, kwargs: Kwargs, updates: Sequence[Any]) -> Any:
    default = getattr(instance, "default_options", None)
    form = options_of(kwargs).get("response_format") or options_of({"options": default}).get("response_format")
    return agent_response_of(updates, form)


# ------------------------------------------------------------------------------------------------- identity


def _given(kwargs: Kwargs) -> Mapping[str, Any]:
    """What the application gave to the run for its tools."""
    given = kwargs.get("function_invocation_kwargs")
    return cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else {}


def run_identity(_instance: Any, _args: Args, kwargs: Kwargs) -> Mapping[str, str]:
    """User, tenant and session: of what was given to the run; the session also of its session object."""
    found = ids_in((_given(kwargs), kwargs.get("client_kwargs")))
    found["session_id"] = found["session_id"] or as_id(getattr(kwargs.get("session"), "session_id", None))
    return {name: value for name, value in found.items() if value}


def run_metadata(_instance: Any, _args: Args, kwargs: Kwargs) -> Mapping[str, Any]:
    return dict(_given(kwargs))


RUN = Adapter(
    kind="agent.invoke",
    layer="agent_framework.run",
    start=run_start,
    context=CallContext(identity=run_identity, metadata=run_metadata),
    reading=Reading(response=run_response, request=run_request, message=read, output=run_output),
    editing=Editing(rewrite=run_rewrite, takes=frozenset(("inputs", "messages")), answer=run_answer),
)
STREAM = replace(
    RUN, streaming=Streaming(chunks=AgentUpdates, hands_out=handing(_finalized), answer_chunks=run_updates)
)
