"""Runs of agents: ``Agent.iter``, in which ``run``, ``run_sync``, ``run_stream`` and their events all end."""

import sys
from collections.abc import Iterable, Mapping
from types import FrameType, SimpleNamespace
from typing import Any

from pydantic_ai.messages import ModelRequest, UserPromptPart

from spanhook import semconv
from spanhook.instrument.identities import ids_in
from spanhook.instrument.pydantic_ai.arguments import RUN as CALL
from spanhook.instrument.pydantic_ai.messages import json_of, read, read_all, rewritten
from spanhook.instrument.wire import encoded, one_prompt
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
    current_record,
    exact_text,
)

PROVIDER = "pydantic_ai"


def run_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    if getattr(instance, "name", None) is None and CALL.given(args, kwargs, "infer_name") is not False:
        _infer_name(instance)
    return {
        semconv.GEN_AI_PROVIDER_NAME: PROVIDER,
        semconv.GEN_AI_AGENT_NAME: exact_text(getattr(instance, "name", None)) or "agent",
    }


def _infer_name(agent: Any) -> None:
    """Let the agent find its name in the code that uses it, as it does itself, but beyond spanhook's own frames."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("spanhook", "wrapt"):
        frame = frame.f_back
    if frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] != "pydantic_ai":
        agent._infer_name(SimpleNamespace(f_back=frame))


# ------------------------------------------------------------------------------------------------- input


def _history(kwargs: Kwargs) -> list[Any]:
    return list(kwargs.get("message_history") or ())


def _prompt(args: Args, kwargs: Kwargs) -> list[Any]:
    prompt = CALL.given(args, kwargs, "user_prompt")
    return [] if prompt is None else [ModelRequest(parts=[UserPromptPart(prompt)])]


def run_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    return Request(
        messages=read_all([*_history(kwargs), *_prompt(args, kwargs)]),
        system=_instructions(instance, kwargs),
        inputs=CALL.given(args, kwargs, "user_prompt"),
    )


def _instructions(agent: Any, kwargs: Kwargs) -> str:
    """The instructions that are known before the run; functions for others have not been called yet."""
    given = (getattr(agent, "_system_prompts", ()), getattr(agent, "_instructions", ()), kwargs.get("instructions"))
    return "\n\n".join(text for one in given for text in _texts(one))


def _texts(given: Any) -> Iterable[str]:
    if isinstance(given, str):
        yield given
    elif isinstance(given, list | tuple):
        for one in given:
            text = getattr(one, "instruction", one)
            text = getattr(text, "content", text)
            if isinstance(text, str):
                yield text


def run_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    changes: dict[str, Any] = {}
    if change.inputs is not None:
        changes["user_prompt"] = change.inputs
        args, kwargs = CALL.having(args, kwargs, **changes)
    if change.messages is not None:
        messages = rewritten([*_history(kwargs), *_prompt(args, kwargs)], one_prompt(change.messages))
        history, prompt = _apart(messages)
        changes["user_prompt"] = prompt
        if history or "message_history" in kwargs:
            changes["message_history"] = history
    return CALL.having(args, kwargs, **changes)


def _apart(messages: list[Any]) -> tuple[list[Any], Any]:
    """The history, and the prompt that follows it."""
    last = messages[-1] if messages else None
    prompt = last.parts[-1] if isinstance(last, ModelRequest) and last.parts else None
    if last is None or not isinstance(prompt, UserPromptPart):
        return messages, None
    before = last.parts[:-1]
    return [*messages[:-1], *([ModelRequest(parts=before)] if before else [])], prompt.content


# ------------------------------------------------------------------------------------------------- output


def run_response(run: Any) -> tuple[Attributes, Usage | None]:
    """A run that was left early has no result; one that waits for tools is interrupted."""
    op = current_record()
    result = getattr(run, "result", None)
    if op is not None:
        op.result = result
        if result is None:
            op.part(EndDetails).left = op.ending.left or "abandoned"
        elif type(result.output).__name__ == "DeferredToolRequests":
            op.part(EndDetails).left = "interrupted"
    return {}, None


def run_output(result: Any) -> list[Message]:
    if result is None:
        return []
    output = result.output
    text = output if isinstance(output, str) else encoded(json_of(output))
    return [{"role": "assistant", "parts": [{"type": "text", "content": text}]}]


def run_answer(_instance: Any, _args: Args, _kwargs: Kwargs, _value: Any) -> Any:
    raise TypeError("a run of an agent cannot be answered; refuse it, rewrite its prompt, or answer its model calls")


# ------------------------------------------------------------------------------------------------- identity


def run_identity(_instance: Any, _args: Args, kwargs: Kwargs) -> Mapping[str, str]:
    """User, tenant and session: of the dependencies and the metadata; the session also by the conversation."""
    metadata = kwargs.get("metadata")
    sources = (kwargs.get("deps"), metadata if isinstance(metadata, Mapping) else None)
    found = ids_in(sources)
    if not found["session_id"]:
        found["session_id"] = _conversation(kwargs)
    return {name: value for name, value in found.items() if value}


def _conversation(kwargs: Kwargs) -> str:
    told = kwargs.get("conversation_id")
    if told == "new":
        return ""
    if not told:
        history = (getattr(one, "conversation_id", None) for one in reversed(_history(kwargs)))
        told = next((one for one in history if one), None)
    return told if isinstance(told, str) else ""


def run_metadata(_instance: Any, _args: Args, kwargs: Kwargs) -> Mapping[str, Any]:
    metadata = kwargs.get("metadata")
    return dict(metadata) if isinstance(metadata, Mapping) else {}


RUN = Adapter(
    kind="agent.invoke",
    layer="pydantic_ai.run",
    start=run_start,
    context=CallContext(identity=run_identity, metadata=run_metadata),
    reading=Reading(request=run_request, message=read, response=run_response, output=run_output),
    editing=Editing(rewrite=run_rewrite, takes=frozenset(("inputs", "messages")), answer=run_answer),
)
