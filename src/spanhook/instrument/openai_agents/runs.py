"""Runs of agents: ``AgentRunner.run``, where ``Runner.run`` and ``run_sync`` end, and the loop of ``run_streamed``."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agents.exceptions import InputGuardrailTripwireTriggered, MaxTurnsExceeded
from agents.run_state import RunState

from spanhook import semconv
from spanhook.instrument.formats.openai import item_message, item_messages, output_message, rewrite_items
from spanhook.instrument.identities import as_id, field_of, ids_in
from spanhook.instrument.openai_agents.signatures import RUN as CALL
from spanhook.instrument.openai_agents.signatures import STREAMING
from spanhook.instrument.wire import one_prompt
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    CallContext,
    Change,
    Editing,
    EndDetails,
    Kwargs,
    Message,
    Reading,
    Request,
    Usage,
    copied,
    current_record,
    exact_text,
)

PROVIDER = "openai_agents"
LAYER = "openai_agents.run"


def _agent(args: Args, kwargs: Kwargs) -> Any:
    """The agent that begins: of a run that is resumed, the one at which it was interrupted."""
    state = CALL.given(args, kwargs, "input")
    resumed = getattr(state, "_current_agent", None) if isinstance(state, RunState) else None
    return resumed if resumed is not None else CALL.given(args, kwargs, "starting_agent")


def agent_attributes(agent: Any) -> Attributes:
    """Start attributes of an agent's run."""
    return {
        semconv.GEN_AI_PROVIDER_NAME: PROVIDER,
        semconv.GEN_AI_AGENT_NAME: exact_text(getattr(agent, "name", "")),
    }


def run_start(_instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    return agent_attributes(_agent(args, kwargs))


# ----------------------------------------------------------------------------------------------- input


def _given(value: Any) -> Any:
    """What a run is given: a resumed one goes on with what it was given first."""
    return value._original_input if isinstance(value, RunState) else value


def _request(agent: Any, value: Any) -> Request:
    instructions = getattr(agent, "instructions", None)
    return Request(
        messages=item_messages(_given(value)),
        system=instructions if isinstance(instructions, str) else "",
        inputs=_given(value),
    )


def run_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    return _request(_agent(args, kwargs), CALL.given(args, kwargs, "input"))


def _rewritten(value: Any, change: Change) -> Any:
    if isinstance(value, RunState):
        raise ValueError("a run that is resumed goes on with the input it was given first")
    if change.inputs is not None:
        value = change.inputs
    if change.messages is not None:
        value = rewrite_items(value, one_prompt(change.messages))
    return value


def run_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    return CALL.having(args, kwargs, input=_rewritten(CALL.given(args, kwargs, "input"), change))


# ----------------------------------------------------------------------------------------------- output


def run_response(result: Any) -> tuple[Attributes, Usage | None]:
    """A run that ends with tool calls that a person must approve is interrupted, and so is the tool around it."""
    op = current_record()
    if op is not None and getattr(result, "interruptions", None):
        op.part(EndDetails).left = "interrupted"
        around = op.parent
        if around is not None and around.kind == "tool.execute" and around.adapter.layer.startswith(PROVIDER):
            around.part(EndDetails).left = "interrupted"
    return {}, None


def run_output(result: Any) -> list[Message]:
    """The final output; if there is none, what the model said last."""
    final = getattr(result, "final_output", None)
    if isinstance(final, str):
        return [{"role": "assistant", "parts": [{"type": "text", "content": final}]}]
    responses: Sequence[Any] = getattr(result, "raw_responses", None) or ()
    return [output_message(responses[-1].output)] if responses else []


def run_answer(_instance: Any, _args: Args, _kwargs: Kwargs, _value: Any) -> Any:
    raise TypeError("a run of an agent cannot be answered; refuse it, rewrite its inputs, or answer its model calls")


# ----------------------------------------------------------------------------------------------- identity


def _identity(context: Any, kwargs: Mapping[str, Any]) -> Mapping[str, str]:
    """User, tenant and session: of the context and the metadata of its trace; the session also by what keeps it."""
    config = kwargs.get("run_config")
    metadata = field_of(config, "trace_metadata")
    found = ids_in((context, metadata))
    if not found["session_id"]:
        session = kwargs.get("session")
        told = (field_of(session, "session_id"), kwargs.get("conversation_id"), field_of(config, "group_id"))
        found["session_id"] = next((one for one in map(as_id, told) if one), "")
    return {name: value for name, value in found.items() if value}


def run_identity(_instance: Any, args: Args, kwargs: Kwargs) -> Mapping[str, str]:
    value = CALL.given(args, kwargs, "input")
    context = kwargs.get("context")
    if context is None and isinstance(value, RunState):
        context = getattr(value._context, "context", None)
    return _identity(getattr(context, "context", context), kwargs)


def run_metadata(_instance: Any, _args: Args, kwargs: Kwargs) -> Mapping[str, Any]:
    return dict(field_of(kwargs.get("run_config"), "trace_metadata") or {})


RUN = Adapter(
    kind="agent.invoke",
    layer=LAYER,
    start=run_start,
    context=CallContext(identity=run_identity, metadata=run_metadata),
    reading=Reading(request=run_request, message=item_message, response=run_response, output=run_output),
    editing=Editing(rewrite=run_rewrite, takes=frozenset(("inputs", "messages")), answer=run_answer),
    traits=frozenset(("hosts",)),
)


# ----------------------------------------------------------------------------------------------- streamed runs


def _streaming(name: str, args: Args, kwargs: Kwargs) -> Any:
    return STREAMING.given(args, kwargs, name)


def streamed_start(_instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    return agent_attributes(_streaming("streamed_result", args, kwargs).current_agent)


def streamed_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    agent = _streaming("streamed_result", args, kwargs).current_agent
    return _request(agent, _streaming("starting_input", args, kwargs))


def streamed_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    value = _streaming("starting_input", args, kwargs)
    if kwargs.get("is_resumed_state"):
        value = _streaming("run_state", args, kwargs)
    return STREAMING.having(args, kwargs, starting_input=_rewritten(value, change))


def streamed_prepare(_instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The input is already in the result and in its state: a rewritten one is put there too."""
    result, state = _streaming("streamed_result", args, kwargs), _streaming("run_state", args, kwargs)
    value = _streaming("starting_input", args, kwargs)
    if not kwargs.get("is_resumed_state") and value is not result.input and value != result.input:
        result.input = result._original_input = copied(value)
        if state is not None:
            state._original_input = copied(value)
    return args, kwargs


def streamed_response(_result: Any) -> tuple[Attributes, Usage | None]:
    op = current_record()
    if op is None:
        return {}, None
    result = op.result = _streaming("streamed_result", op.args, op.kwargs)
    if result._cancel_mode == "after_turn":
        op.part(EndDetails).left = "abandoned"
    op.part(EndDetails).handled = _failure(result)
    return run_response(result)


def _failure(result: Any) -> BaseException | None:
    """What a loop that has ended well raises from the stream of events all the same."""
    if result.max_turns is not None and result.current_turn > result.max_turns and not result._max_turns_handled:
        return MaxTurnsExceeded(f"Max turns ({result.max_turns}) exceeded")
    for task in (result._input_guardrails_task, result._output_guardrails_task):
        error = task.exception() if task is not None and task.done() and not task.cancelled() else None
        if error is not None and not getattr(result, "_tool_error_selected", False):
            return error
    for checked in result.input_guardrail_results:
        if checked.output.tripwire_triggered and not getattr(result, "_tool_error_selected", False):
            return InputGuardrailTripwireTriggered(checked)
    return None


def streamed_identity(_instance: Any, args: Args, kwargs: Kwargs) -> Mapping[str, str]:
    told = {name: _streaming(name, args, kwargs) for name in ("run_config", "session", "conversation_id")}
    return _identity(getattr(_streaming("context_wrapper", args, kwargs), "context", None), told)


def streamed_metadata(_instance: Any, args: Args, kwargs: Kwargs) -> Mapping[str, Any]:
    return dict(field_of(_streaming("run_config", args, kwargs), "trace_metadata") or {})


STREAMED = replace(
    RUN,
    start=streamed_start,
    context=CallContext(identity=streamed_identity, metadata=streamed_metadata),
    reading=replace(RUN.reading, request=streamed_request, response=streamed_response),
    editing=replace(RUN.editing, rewrite=streamed_rewrite, prepare=streamed_prepare),
)


def run_streamed(_instance: Any, _args: Args, _kwargs: Kwargs, result: Any) -> None:
    """The loop of a streamed run has begun in a task: tell readers of its events how it ends.

    The loop itself tells them of its errors, but it does not run if a hook refuses it, and does not know of errors that
    come after it.
    """
    task = result.run_loop_task
    if task is not None:
        task.add_done_callback(lambda ended: _tell(result, ended))


def _tell(result: Any, ended: Any) -> None:
    error = None if ended.cancelled() else ended.exception()
    if error is None:
        return
    if result._stored_exception is None:
        result._stored_exception = error
    if not result.is_complete:
        result.is_complete = True
        result._event_queue.put_nowait(_complete())


def _complete() -> Any:
    from agents.run_internal.run_steps import QueueCompleteSentinel

    return QueueCompleteSentinel()
