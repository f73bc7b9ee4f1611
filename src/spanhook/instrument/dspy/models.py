"""Models: ``BaseLM.__call__`` and ``acall``, in front of DSPy's cache and its retries."""

from typing import Any, cast

from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.instrument.dspy.responses import response_told
from spanhook.instrument.formats.openai import Chat, chat_message
from spanhook.instrument.layers import DSPY_MODEL
from spanhook.instrument.wire import decoded, fields_of, messages_in, text_in
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

_CHAT = Chat()
_EXPECTED = "a model's answer is text, a list of outputs, or messages in role/parts form"
_PROVIDERS = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
_PARAMETERS = (
    ("temperature", semconv.GEN_AI_REQUEST_TEMPERATURE),
    ("top_p", semconv.GEN_AI_REQUEST_TOP_P),
    ("max_tokens", semconv.GEN_AI_REQUEST_MAX_TOKENS),
)


def chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a call; ``None`` for a method that calls the one that it overrides."""
    op = current_record()
    if op is None or op.adapter is not MODEL or not op.called or op.ended or op.instance is not instance:
        return MODEL
    same = gated_by(op) == model_carries(instance, args, kwargs)
    return None if same else MODEL  # an override may ask, or edit in place, what nobody has decided about


def named(model: Any) -> tuple[str, str]:
    """Provider and model of a name."""
    provider, slash, rest = exact_text(model).partition("/")
    return (_PROVIDERS.get(provider, provider), rest) if slash else ("", provider)


def model_start(instance: Any, _args: Args, kwargs: Kwargs) -> Attributes:
    provider, model = named(getattr(instance, "model", ""))
    attributes: Attributes = {semconv.GEN_AI_PROVIDER_NAME: provider or "dspy", semconv.GEN_AI_REQUEST_MODEL: model}
    given: dict[str, Any] = {**fields_of(getattr(instance, "kwargs", None)), **kwargs}
    for name, key in _PARAMETERS:
        value = given.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            attributes[key] = value
    return attributes


# ------------------------------------------------------------------------------------------------- requests


def _asked(args: Args, kwargs: Kwargs) -> Any:
    """The prompt, or what is given instead of one: a request of DSPy's own type."""
    return args[0] if args else kwargs.get("prompt", kwargs.get("request"))


def _is_request(asked: Any) -> bool:
    return asked is not None and not isinstance(asked, str) and hasattr(asked, "messages")


def _messages(args: Args, kwargs: Kwargs) -> list[Any]:
    given = args[1] if len(args) > 1 else kwargs.get("messages")
    if given:
        return list(given)
    asked = _asked(args, kwargs) if args or "prompt" in kwargs else kwargs.get("request")
    if _is_request(asked):
        return _read(asked)
    return [] if asked is None else [{"role": "user", "content": asked}]


def _read(request: Any) -> list[Any]:
    """The text of a request of DSPy's own type."""
    system = getattr(request, "system", None)
    messages: list[Any] = [{"role": "system", "content": _text(system)}] if system else []
    given = ((exact_text(getattr(one, "role", "user")), getattr(one, "parts", one)) for one in request.messages)
    return [*messages, *({"role": role, "content": _text(parts)} for role, parts in given)]


def _text(told: Any) -> str:
    if isinstance(told, str):
        return told
    parts: list[Any] = [*cast("Any", told)] if isinstance(told, list | tuple) else [told]
    texts = (getattr(part, "text", None) for part in parts)
    return "".join(text for text in texts if isinstance(text, str))


def model_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    body = {"messages": _messages(args, kwargs), "model": named(getattr(instance, "model", ""))[1]}
    tools = kwargs.get("tools")
    return _CHAT.request({**body, "tools": tools} if tools else body)


def model_carries(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return _CHAT.carries({"messages": _messages(args, kwargs)})


def model_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    if _is_request(_asked(args, kwargs)):
        raise ValueError("a request of DSPy's own type cannot be rewritten; refuse it, or answer it")
    body: dict[str, Any] = {"messages": _messages(args, kwargs)}
    _CHAT.rewrite(body, change)
    others = {name: value for name, value in kwargs.items() if name not in ("prompt", "messages")}
    messages = body["messages"]
    if isinstance(_asked(args, kwargs), str) and _is_prompt(messages):
        return (), {**others, "prompt": messages[0]["content"]}
    return (), {**others, "messages": messages}


def _is_prompt(messages: list[Any]) -> bool:
    """Whether messages say no more than a prompt does."""
    return len(messages) == 1 and messages[0].get("role") == "user" and isinstance(messages[0].get("content"), str)


# ------------------------------------------------------------------------------------------------- answers


def model_output(outputs: Any) -> list[Message]:
    told: list[Any] = [*cast("Any", outputs)] if isinstance(outputs, list) else [outputs]
    return [chat_message({"role": "assistant", **_content(one)}) for one in told]


def _content(output: Any) -> dict[str, Any]:
    if isinstance(output, str):
        return {"content": output}
    if isinstance(output, dict):
        told = fields_of(cast("Any", output))
        calls = told.get("tool_calls")
        return {"content": told.get("text"), **({"tool_calls": calls} if calls else {})}
    return {"content": getattr(output, "text", None) or ""}


def model_answer(_instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Any:
    if _is_request(_asked(args, kwargs)):
        if isinstance(value, str | list | dict):
            raise TypeError("the answer to a request of DSPy's own type is a response of its own type")
        return value
    if isinstance(value, list) and all(map(_is_output, cast("list[Any]", value))):
        return cast("Any", value)
    return [_output(message) for message in messages_in(value, _EXPECTED, key="parts")]


def _is_output(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, dict) and "text" in value)


def _output(message: Any) -> Any:
    parts = message["parts"]
    calls = [
        {
            "type": "function",
            "id": part.get("id"),
            "function": {"name": part["name"], "arguments": decoded(part["arguments"])},
        }
        for part in map(fields_of, parts)
        if part.get("type") == "tool_call"
    ]
    text = text_in(parts)
    return {"text": text or None, "tool_calls": calls} if calls else text


MODEL = Adapter(
    kind="llm.call",
    layer=DSPY_MODEL,
    span_kind=SpanKind.CLIENT,
    start=model_start,
    reading=Reading(
        response=response_told,
        request=model_request,
        message=chat_message,
        output=model_output,
        system_in_messages=True,
    ),
    editing=Editing(rewrite=model_rewrite, takes=frozenset(("messages", "system", "inputs")), answer=model_answer),
    nesting=Nesting(role="framework", carries=model_carries),
)
