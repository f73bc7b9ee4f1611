"""Runs of agents: ``Agent.stream_async``, in which calls, ``invoke_async`` and agents as tools all end."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

from pydantic import BaseModel
from strands.agent.agent_result import AgentResult
from strands.telemetry.metrics import EventLoopMetrics
from strands.types.exceptions import EventLoopException

from spanhook import semconv
from spanhook.errors import Reject
from spanhook.instrument.identities import ids_in
from spanhook.instrument.strands.arguments import AGENT_OUTPUT as ASKED
from spanhook.instrument.strands.arguments import RUN as CALL
from spanhook.instrument.strands.chunks import Last
from spanhook.instrument.strands.models import structured
from spanhook.instrument.strands.prompts import carried_in, messages_of, response, rewritten
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    CallContext,
    Carried,
    Change,
    Editing,
    Kwargs,
    Message,
    Nesting,
    Reading,
    Request,
    Streaming,
    exact_text,
    runs_on,
)

PROVIDER = "strands"


def chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    return None if runs_on(RUN, instance, args, kwargs) else RUN


def run_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {
        semconv.GEN_AI_PROVIDER_NAME: PROVIDER,
        semconv.GEN_AI_AGENT_NAME: exact_text(getattr(instance, "name", None)) or type(instance).__name__,
    }
    if getattr(instance, "agent_id", None):
        attributes[semconv.GEN_AI_AGENT_ID] = exact_text(instance.agent_id)
    return attributes


def _system(agent: Any) -> str:
    system = getattr(agent, "system_prompt", None)
    return system if isinstance(system, str) else ""


def run_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    """The prompt; what was said before is the agent's own."""
    prompt = CALL.given(args, kwargs, "prompt")
    return Request(messages=messages_of(prompt), system=_system(instance), inputs=prompt)


def run_carries(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return carried_in(CALL.given(args, kwargs, "prompt"))


def run_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    return CALL.having(args, kwargs, prompt=rewritten(CALL.given(args, kwargs, "prompt"), change))


# ------------------------------------------------------------------------------------------------- output


def run_output(result: Any) -> list[Message]:
    text = str(result).rstrip("\n") if isinstance(result, AgentResult) else ""
    return [{"role": "assistant", "parts": [{"type": "text", "content": text}]}] if text else []


def run_answer(instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> AgentResult:
    if isinstance(value, AgentResult):
        return value
    metrics = getattr(instance, "event_loop_metrics", None) or EventLoopMetrics()
    return AgentResult(stop_reason="end_turn", message=response(value), metrics=metrics, state={})


def run_events(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Iterable[Any]:
    return ({"result": run_answer(instance, args, kwargs, value)},)


def refusal(error: BaseException) -> Reject | None:
    """The rejection of a model call after the first, which the library makes an exception of its own of."""
    cause = error.__cause__ if isinstance(error, EventLoopException) else None
    return cause if isinstance(cause, Reject) else None


# ------------------------------------------------------------------------------------------------- identity


def _sources(kwargs: Kwargs) -> tuple[Any, ...]:
    """What the application gave to the run: its state, or, as it was done before, arguments of its own."""
    return kwargs.get("invocation_state"), kwargs


def run_identity(instance: Any, _args: Args, kwargs: Kwargs) -> Mapping[str, str]:
    """User, tenant and session: of what was given to the run; the session also of the agent's session manager."""
    found = ids_in(_sources(kwargs))
    if not found["session_id"]:
        kept = getattr(getattr(instance, "_session_manager", None), "session_id", None)
        found["session_id"] = kept if isinstance(kept, str) else ""
    return {name: value for name, value in found.items() if value}


def run_metadata(_instance: Any, _args: Args, kwargs: Kwargs) -> Mapping[str, Any]:
    state = kwargs.get("invocation_state")
    return dict(cast("Mapping[str, Any]", state)) if isinstance(state, Mapping) else {}


RUN = Adapter(
    kind="agent.invoke",
    layer="strands.run",
    start=run_start,
    context=CallContext(identity=run_identity, metadata=run_metadata),
    reading=Reading(request=run_request, output=run_output),
    editing=Editing(rewrite=run_rewrite, takes=frozenset(("inputs", "messages")), answer=run_answer, refusal=refusal),
    streaming=Streaming(chunks=Last, answer_chunks=run_events),
    nesting=Nesting(carries=run_carries),
)


# ------------------------------------------------------------------------------------------------- structured output


def output_chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    return None if runs_on(OUTPUT, instance, args, kwargs) else OUTPUT


def output_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    prompt = ASKED.given(args, kwargs, "prompt")
    return Request(messages=messages_of(prompt), system=_system(instance), inputs=prompt)


def output_carries(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return carried_in(ASKED.given(args, kwargs, "prompt"))


def output_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    return ASKED.having(args, kwargs, prompt=rewritten(ASKED.given(args, kwargs, "prompt"), change))


def output_answer(_instance: Any, args: Args, kwargs: Kwargs, value: Any) -> BaseModel:
    return structured(ASKED.given(args, kwargs, "output_model"), value)


def output_messages(result: Any) -> list[Message]:
    text = result.model_dump_json() if isinstance(result, BaseModel) else ""
    return [{"role": "assistant", "parts": [{"type": "text", "content": text}]}] if text else []


OUTPUT = replace(
    RUN,
    reading=replace(RUN.reading, request=output_request, output=output_messages),
    editing=replace(RUN.editing, rewrite=output_rewrite, answer=output_answer),
    streaming=None,
    nesting=replace(RUN.nesting, carries=output_carries),
)
