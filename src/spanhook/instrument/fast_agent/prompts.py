"""Prompts of MCP that are applied as they are: they go to an agent or a model around its other methods."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fast_agent.mcp.prompt_message_extended import PromptMessageExtended
from mcp.types import GetPromptResult

from spanhook.instrument.fast_agent.agents import GENERATE as RUN
from spanhook.instrument.fast_agent.agents import agent_request
from spanhook.instrument.fast_agent.answers import message_of
from spanhook.instrument.fast_agent.arguments import PROMPT as CALL
from spanhook.instrument.fast_agent.describing import describe, instruction_of, model_of
from spanhook.instrument.fast_agent.messages import listed, read, read_all, rewritten, written
from spanhook.instrument.fast_agent.models import GENERATE as MODEL
from spanhook.instrument.wire import last_text, one_prompt
from spanhook.model import Adapter, Args, Attributes, Carried, Change, Kwargs, Message, Request


def chosen_run(_instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a prompt that an agent answers; ``None`` for a text, which it is sent, and for a template."""
    template = CALL.given(args, kwargs, "as_template")
    return RUN_PROMPT if _messages(args, kwargs) and not template else None


def chosen_model(_instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a prompt that a model answers; ``None`` for an empty one, which reaches no provider."""
    return MODEL_PROMPT if _messages(args, kwargs) else None


def _given(args: Args, kwargs: Kwargs) -> Any:
    """The prompt, which is the first parameter, whatever its name is."""
    return args[0] if args else kwargs.get("prompt", kwargs.get("prompt_result"))


def _messages(args: Args, kwargs: Kwargs) -> list[Any]:
    prompt = _given(args, kwargs)
    return PromptMessageExtended.from_get_prompt_result(prompt) if isinstance(prompt, GetPromptResult) else []


def _inputs(messages: list[Any]) -> Any:
    """A prompt as it would be given to an agent: the text, if it is one text."""
    one = messages[0] if len(messages) == 1 else None
    if one is not None and one.role == "user" and [block.type for block in one.content] == ["text"]:
        return one.content[0].text
    return messages


def run_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    return agent_request(instance, (_inputs(_messages(args, kwargs)),), {})


def model_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    return describe(instance, None)


def model_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    messages = _messages(args, kwargs)
    return Request(
        messages=read_all(messages),
        system=instruction_of(instance, None),
        inputs=_inputs(messages),
        model=model_of(instance, None),
    )


def carries(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return last_text(_messages(args, kwargs), read)


def rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    messages = _messages(args, kwargs)
    if change.inputs is not None:
        messages = [written({"content": one}) if isinstance(one, str) else one for one in listed(change.inputs)]
    if change.messages is not None:
        messages = rewritten(messages, one_prompt(change.messages))
    flat = [one for message in messages for one in message.from_multipart()]
    made = _given(args, kwargs).model_copy(update={"messages": flat})
    if args:
        return (made, *args[1:]), kwargs
    changed: Mapping[str, Any] = {"prompt" if "prompt" in kwargs else "prompt_result": made}
    return args, {**kwargs, **changed}


def said(result: Any) -> list[Message]:
    return [{"role": "assistant", "parts": [{"type": "text", "content": str(result)}]}]


def model_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    return message_of(value).first_text()


RUN_PROMPT = replace(
    RUN,
    reading=replace(RUN.reading, request=run_request, response=None, output=said),
    editing=replace(RUN.editing, rewrite=rewrite),
    nesting=replace(RUN.nesting, carries=carries),
)
MODEL_PROMPT = replace(
    MODEL,
    start=model_start,
    reading=replace(MODEL.reading, request=model_request, response=None, output=said, fault=None),
    editing=replace(MODEL.editing, rewrite=rewrite, answer=model_answer, amend=None),
    nesting=replace(MODEL.nesting, carries=carries),
)
