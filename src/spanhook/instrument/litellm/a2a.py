"""Agents on other servers, asked over A2A: ``asend_message`` and ``asend_message_streaming``, in which all ways of
asking one end.
"""

from collections.abc import Iterable
from typing import Any, cast
from urllib.parse import urlsplit
from uuid import uuid4

from spanhook import semconv
from spanhook.instrument.litellm.harness import PROVIDER, said_by, text_of
from spanhook.instrument.signatures import Signature
from spanhook.instrument.wire import Fields, fields_of, list_of, plain
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Editing,
    Kwargs,
    Message,
    Reading,
    Request,
    Streaming,
    Usage,
    current_record,
    exact_text,
)

CALL = Signature("a2a_client", "request", "api_base", "litellm_params")


def _name(args: Args, kwargs: Kwargs) -> str:
    """The agent's name on its card; without one, what the application calls it, or where it is."""
    client = CALL.given(args, kwargs, "a2a_client")
    for place in ("_litellm_agent_card", "agent_card", "_card"):
        if name := getattr(getattr(client, place, None), "name", ""):
            return exact_text(name)
    params: Any = CALL.given(args, kwargs, "litellm_params") or {}
    url = CALL.given(args, kwargs, "api_base")
    return (
        exact_text(kwargs.get("agent_name"))
        or exact_text(params.get("model"))
        or urlsplit(str(url or "")).netloc
        or "unknown"
    )


def asked_start(_instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {
        semconv.GEN_AI_PROVIDER_NAME: PROVIDER,
        semconv.GEN_AI_AGENT_NAME: _name(args, kwargs),
    }
    around = current_record()
    if around is not None and around.agent:
        attributes[semconv.DELEGATING_AGENT] = around.agent
    return attributes


def _texts(parts: Any) -> str:
    """The text in the parts of a message or artifact, of either version of the protocol."""
    found = (fields_of(part) for part in list_of(parts))
    inner = (fields_of(part.get("root")) or part for part in found)
    return "".join(part["text"] for part in inner if isinstance(part.get("text"), str))


def _message(args: Args, kwargs: Kwargs) -> Fields:
    request = _fields(CALL.given(args, kwargs, "request"))
    return fields_of(fields_of(request.get("params")).get("message"))


def _fields(value: Any) -> Fields:
    """A model, or a dict, as one."""
    if isinstance(value, dict):
        return cast("Fields", value)
    return fields_of(plain(value)) if hasattr(value, "model_dump") else {}


def asked_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    message = _message(args, kwargs)
    return Request(messages=said_by(_texts(message.get("parts")), "user"), inputs=message)


# ------------------------------------------------------------------------------------------------- answers


def _said(result: Fields) -> str:
    """The text in a message, a task, or an event of one; not what is said about its progress."""
    artifacts = (result.get("artifact"), *list_of(result.get("artifacts")))
    text = _texts(result.get("parts")) + "".join(_texts(fields_of(one).get("parts")) for one in artifacts)
    if text or not (result.get("kind") == "task" or result.get("final")):
        return text
    return _texts(fields_of(fields_of(result.get("status")).get("message")).get("parts"))


def answer_output(result: Any) -> list[Message]:
    return said_by(_said(fields_of(_fields(result).get("result"))))


def answer_fault(result: Any) -> str:
    """Why an answer is an error of the agent's."""
    error = fields_of(_fields(result).get("error"))
    return str(error.get("code") or "a2a_error") if error else ""


def _told(args: Args, kwargs: Kwargs, value: Any) -> dict[str, Any]:
    """A message with an answer, as the agent would have sent it."""
    text = text_of(value, "an agent's answer is text or messages")
    said = {
        "kind": "message",
        "role": "agent",
        "messageId": uuid4().hex,
        "parts": [{"kind": "text", "text": text}],
    }
    request = _fields(CALL.given(args, kwargs, "request"))
    return {"jsonrpc": "2.0", "id": request.get("id"), "result": said}


def asked_answer(_instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Any:
    from litellm.types.agents import LiteLLMSendMessageResponse

    if isinstance(value, LiteLLMSendMessageResponse):
        return value
    return LiteLLMSendMessageResponse.from_dict(_told(args, kwargs, value))


def asked_events(_instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Iterable[Any]:
    """The answer as the stream's only event: a dict where a model is asked, and otherwise the SDK's own."""
    told = _told(args, kwargs, value)
    params: Any = CALL.given(args, kwargs, "litellm_params") or {}
    if params.get("custom_llm_provider"):
        return (told,)
    from a2a.compat.v0_3.types import SendStreamingMessageResponse

    return (SendStreamingMessageResponse.model_validate(told),)


class Events:
    """The events of an answer, with the text that they have added up to."""

    def __init__(self, _instance: Any, _args: Args, _kwargs: Kwargs) -> None:
        self.keep = self.complete = False
        self._told: list[str] = []
        self._error: Fields = {}
        self._op = current_record()

    def add(self, chunk: Any) -> bool:
        event = _fields(chunk)
        event = fields_of(event.get("root")) or event
        result = fields_of(event.get("result"))
        self._error = fields_of(event.get("error")) or self._error
        self.complete = self.complete or result.get("kind") == "message" or bool(result.get("final"))
        if self.keep:
            self._told.append(_said(result))
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        """Nothing is reported here but whether the agent has failed."""
        if self._op is not None and self._error:
            self._op.result = {"error": self._error}
        return {}, None

    def result(self) -> Any:
        told = {"kind": "message", "parts": [{"text": "".join(self._told)}]}
        return {"error": self._error} if self._error else {"result": told}


ASKED = Adapter(
    kind="agent.delegate",
    layer="litellm.a2a",
    start=asked_start,
    reading=Reading(request=asked_request, output=answer_output, fault=answer_fault),
    editing=Editing(answer=asked_answer),
    streaming=Streaming(chunks=Events, answer_chunks=asked_events),
)
