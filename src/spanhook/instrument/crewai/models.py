"""Models: ``BaseLLM.call`` and ``acall`` of every provider, and of the application's own classes."""

from typing import Any, cast

from opentelemetry.trace import SpanKind
from pydantic import BaseModel

from spanhook import semconv
from spanhook.instrument.crewai import tool_calls
from spanhook.instrument.crewai.arguments import CALL
from spanhook.instrument.crewai.prompts import TAKES, carried_in, request_of, rewritten
from spanhook.instrument.crewai.refusals import aborted
from spanhook.instrument.crewai.responses import response_told
from spanhook.instrument.formats.openai import chat_message
from spanhook.instrument.layers import CREWAI_MODEL
from spanhook.instrument.wire import messages_in, text_in
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Carried,
    Change,
    Editing,
    Kwargs,
    Message,
    Nesting,
    Reading,
    Request,
    current_record,
    exact_text,
    gated_by,
)

_EXPECTED = "a model's answer is text, tool calls, the model class that was asked for, or messages in role/parts form"
_PROVIDERS = {
    "aws": "aws.bedrock",
    "azure": "azure.ai.inference",
    "azure_openai": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "claude": "anthropic",
    "gemini": "gcp.gemini",
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
_OWN = ("crewai.llm.", "crewai.llms.providers.")
_PARAMETERS = (
    ("temperature", semconv.GEN_AI_REQUEST_TEMPERATURE),
    ("top_p", semconv.GEN_AI_REQUEST_TOP_P),
    ("max_tokens", semconv.GEN_AI_REQUEST_MAX_TOKENS),
    ("max_completion_tokens", semconv.GEN_AI_REQUEST_MAX_TOKENS),
    ("frequency_penalty", semconv.GEN_AI_REQUEST_FREQUENCY_PENALTY),
    ("presence_penalty", semconv.GEN_AI_REQUEST_PRESENCE_PENALTY),
    ("seed", semconv.GEN_AI_REQUEST_SEED),
)


def chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a call; ``None`` for a method that calls the one that it overrides.

    Azure's model has another one that makes its calls of the responses API.
    """
    op = current_record()
    if op is None or op.adapter is not MODEL or not op.called or op.ended:
        return MODEL
    if op.instance is not instance and getattr(op.instance, "_responses_delegate", None) is not instance:
        return MODEL
    same = gated_by(op) == model_carries(instance, args, kwargs)
    return None if same else MODEL  # an override may ask, or edit in place, what nobody has decided about


def _names(instance: Any) -> tuple[str, str]:
    """Provider and model."""
    provider, model = _provider(instance), exact_text(getattr(instance, "model", ""))
    first, slash, rest = model.partition("/")
    if slash and first.lower() == (provider or first).lower():
        provider, model = first, rest
    return _PROVIDERS.get(provider.lower(), provider.lower()), model


def _provider(instance: Any) -> str:
    """A model's provider; CrewAI takes it to be OpenAI for models that are not its own."""
    provider = exact_text(getattr(instance, "provider", ""))
    own = any(f"{one.__module__}.".startswith(_OWN) for one in type(instance).__mro__)
    return provider if own or provider != "openai" else ""


def model_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    provider, model = _names(instance)
    attributes: Attributes = {
        semconv.GEN_AI_PROVIDER_NAME: provider or semconv.UNKNOWN_PROVIDER,
        semconv.GEN_AI_REQUEST_MODEL: model,
    }
    for name, key in _PARAMETERS:
        value = getattr(instance, name, None)
        if isinstance(value, int | float) and not isinstance(value, bool):
            attributes[key] = value
    return attributes


def model_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    return request_of(CALL.given(args, kwargs, "messages"), _names(instance)[1], CALL.given(args, kwargs, "tools"))


def model_carries(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return carried_in(CALL.given(args, kwargs, "messages"))


def model_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    return CALL.having(args, kwargs, messages=rewritten(CALL.given(args, kwargs, "messages"), change))


# ------------------------------------------------------------------------------------------------- answers


def model_output(result: Any) -> list[Message]:
    if isinstance(result, BaseModel):
        return [chat_message({"role": "assistant", "content": result.model_dump_json()})]
    calls = _calls(result)
    if not calls:
        return [chat_message({"role": "assistant", "content": result if isinstance(result, str) else str(result)})]
    return [chat_message({"role": "assistant", "content": None, "tool_calls": calls})]


def _calls(result: Any) -> list[dict[str, Any]]:
    """The tool calls that a model gave instead of text."""
    given = cast("list[Any]", result) if isinstance(result, list) else []
    found = [tool_calls.read(one) for one in given]
    return [tool_calls.made(*one) for one in found if one is not None and one[1]]


def model_answer(_instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Any:
    asked = CALL.given(args, kwargs, "response_model")
    if isinstance(value, BaseModel) or (isinstance(value, list) and _calls(cast("Any", value))):
        return cast("Any", value)
    messages = messages_in(value, _EXPECTED, key="parts")
    parts: list[Any] = [part for message in messages for part in message["parts"]]
    calls = [part for part in parts if part.get("type") == "tool_call"]
    if calls:
        return [tool_calls.made(str(one.get("id") or "call_spanhook"), one["name"], one["arguments"]) for one in calls]
    text = text_in(parts)
    return text if asked is None else asked.model_validate_json(text)


MODEL = Adapter(
    kind="llm.call",
    layer=CREWAI_MODEL,
    span_kind=SpanKind.CLIENT,
    start=model_start,
    reading=Reading(
        response=response_told,
        request=model_request,
        message=chat_message,
        output=model_output,
        system_in_messages=True,
    ),
    editing=Editing(rewrite=model_rewrite, takes=TAKES, answer=model_answer, native_error=aborted),
    nesting=Nesting(role="framework", carries=model_carries),
)
