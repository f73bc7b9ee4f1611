"""What LangChain's results report: usage, end attributes, output messages. Shared by chat and text models."""

from collections.abc import Mapping
from typing import Any

from spanhook import semconv
from spanhook.instrument.langchain_core.messages import to_message
from spanhook.instrument.langchain_core.reported import reported_by, reports
from spanhook.model import MOST_TOKENS, Attributes, Message, Usage


def usage_of(reported: Any) -> Usage | None:
    """Usage as LangChain reports it on a message; none for an answer that came from a cache."""
    if not reported:
        return None
    if type(reported) is dict and len(reported) == 3:  # as most do: no details, and no cost
        given, made = reported.get("input_tokens"), reported.get("output_tokens")
        if type(given) is int and type(made) is int and "total_tokens" in reported:  # noqa: SIM102
            if 0 <= given <= MOST_TOKENS and 0 <= made <= MOST_TOKENS:
                return Usage(given, made)
    used = Usage()
    if type(reported) is not dict and not isinstance(reported, Mapping):
        used.skip("usage")
        return used
    if reported.get("total_cost") == 0:
        return None
    count = used.count
    given, made = reported.get("input_tokens"), reported.get("output_tokens")
    if type(given) is not int or not 0 <= given <= MOST_TOKENS:
        given = count(given, "input_tokens")
    if type(made) is not int or not 0 <= made <= MOST_TOKENS:
        made = count(made, "output_tokens")
    inputs, outputs = reported.get("input_token_details"), reported.get("output_token_details")
    read = written = reasoning = 0
    if inputs and isinstance(inputs, Mapping):
        read = count(inputs.get("cache_read"), "cache_read_tokens")
        for name, amount in inputs.items():
            if name == "cache_creation" or name.startswith("ephemeral_"):
                written += count(amount, "cache_write_tokens")
    if outputs and isinstance(outputs, Mapping):
        reasoning = count(outputs.get("reasoning"), "reasoning_tokens")
    if read + written > given:
        given += read + written  # some integrations count cached tokens separately
    if reasoning and (reasoning > made or reported.get("total_tokens") == given + made + reasoning):
        made += reasoning  # and some, such as xAI's, reasoning tokens
    used.input_tokens, used.output_tokens = given, made
    used.cache_read_tokens, used.cache_write_tokens, used.reasoning_tokens = read, written, reasoning
    return used


def _legacy_usage(reported: Any) -> Usage | None:
    """Usage in ``llm_output``, which older integrations and text models fill in OpenAI's terms."""
    if not isinstance(reported, dict) or not reported:
        return None
    used = Usage()
    given, made = reported.get("prompt_tokens"), reported.get("completion_tokens")
    used.input_tokens = used.count(given or reported.get("input_tokens"), "input_tokens")
    used.output_tokens = used.count(made or reported.get("output_tokens"), "output_tokens")
    return used


def result_response(result: Any) -> tuple[Attributes, Usage | None]:
    """End attributes and usage of an ``LLMResult``, over all its prompts."""
    attributes: Attributes = {}
    used: Usage | None = None
    reasons: list[str] = []
    cached, kept = False, reports()
    if len(result.generations) == 1 and len(result.generations[0]) == 1:
        message = getattr(result.generations[0][0], "message", None)
        told, reported = getattr(message, "response_metadata", None), getattr(message, "usage_metadata", None)
        if kept:
            reported = reported_by(kept, message, reported)
        if told and reported and (reason := finish_reason(told, message)):
            note(attributes, told)
            if result.llm_output:
                note(attributes, result.llm_output)
            attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = (reason,)
            return attributes, usage_of(reported)
    for generations in result.generations:
        for generation in generations:
            message = getattr(generation, "message", None)
            info = generation.generation_info or {}
            told = getattr(message, "response_metadata", None) or info
            note(attributes, told)
            reasons.append(finish_reason(told, message) or finish_reason(info, message))
            reported = reported_by(kept, message, getattr(message, "usage_metadata", None))
            if reported is not None:
                mine = usage_of(reported)
                cached = cached or mine is None
                if mine is not None:
                    if used is None:
                        used = mine
                    else:
                        used.add(mine)
    output = reported_by(kept, result.llm_output, result.llm_output) or {}
    if output:
        note(attributes, output)
    if used is None and not cached:
        used = _legacy_usage(output.get("token_usage") or output.get("usage"))
    if any(reasons):
        attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = tuple(reason or "error" for reason in reasons)
    return attributes, used


def result_mark(result: Any) -> Any:
    """The id of the first message in an ``LLMResult``."""
    return getattr(result.generations[0][0], "message", None) and result.generations[0][0].message.id


def note(attributes: Attributes, told: Any) -> None:
    """Add the answering model and the id of its answer, from the first report."""
    model = told.get("model_name") or told.get("model")
    if model and isinstance(model, str):
        attributes.setdefault(semconv.GEN_AI_RESPONSE_MODEL, model)
    identifier = told.get("id")
    if identifier and isinstance(identifier, str):
        attributes.setdefault(semconv.GEN_AI_RESPONSE_ID, identifier)


_REASONS = ("finish_reason", "stop_reason", "done_reason", "stopReason")
"""The keys that integrations use: those of OpenAI, Anthropic, Ollama and Bedrock."""
_INCOMPLETE = {"max_output_tokens": "length"}


def finish_reason(told: Any, message: Any = None) -> str:
    """Why the model stopped, in its provider's words; empty if no valid reason is reported.

    Args:
        told: The metadata of a message or generation.
        message: Its tool calls are the reason, for providers without a word for stopping to call tools.
    """
    for name in _REASONS:
        reason = told.get(name)
        if reason and isinstance(reason, str):
            return reason
    if told.get("object") != "response":
        return ""
    details = told.get("incomplete_details")  # from OpenAI's responses, in the terms of its chat completions
    reason = details.get("reason") if isinstance(details, Mapping) else None
    if isinstance(reason, str):
        return _INCOMPLETE.get(reason, reason)
    called = getattr(message, "tool_calls", None) or getattr(message, "invalid_tool_calls", None)
    return "" if told.get("status") != "completed" else "tool_calls" if called else "stop"


def output_message(message: Any, info: Mapping[str, Any] | None = None) -> Message:
    """An output message, with why its model stopped, if it or ``info`` says so."""
    converted = to_message(message)
    info = info or {}
    reason = finish_reason(getattr(message, "response_metadata", None) or info, message) or finish_reason(info, message)
    if reason:
        converted["finish_reason"] = reason
    return converted


def result_output(result: Any) -> list[Message]:
    """Output messages of an ``LLMResult``."""
    found: list[Message] = []
    for generations in result.generations:
        for generation in generations:
            message = getattr(generation, "message", None)
            if message is not None:
                found.append(output_message(message, generation.generation_info))
                continue
            said: Message = {"role": "assistant", "parts": [{"type": "text", "content": generation.text}]}
            reason = finish_reason(generation.generation_info or {})
            found.append({**said, "finish_reason": reason} if reason else said)
    return found
