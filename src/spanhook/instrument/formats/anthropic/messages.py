"""Anthropic's messages, and batches of them; a batch is one call with all its prompts."""

from collections.abc import Iterator, Sequence
from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.anthropic.answers import MessageChunks, message_events, response_of
from spanhook.instrument.formats.anthropic.texts import EventTexts
from spanhook.instrument.wire import (
    ChunkLike,
    Construct,
    Event,
    Fields,
    Format,
    Kind,
    Part,
    Parts,
    Payload,
    Wire,
    by_prompt,
    fields_of,
    finished,
    list_of,
    messages_in,
    rewrite,
    text_in,
)
from spanhook.model import (
    Attributes,
    Carried,
    Change,
    Chunks,
    Message,
    Request,
    Texts,
    Usage,
    exact_text,
    in_pieces,
    source_form,
    text_of,
)

_PARTS = Parts(
    {
        "text": Kind("text", {"content": "text"}),
        "thinking": Kind("reasoning", {"content": "thinking"}),
        "tool_use": Kind("tool_call", {"id": "id", "name": "name", "arguments": "input"}, {"id": "toolu_spanhook"}),
        "tool_result": Kind("tool_call_response", {"id": "tool_use_id", "response": "content"}),
    },
    signed=("reasoning",),
    media=source_form,
)
_ERRORS = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""Anthropic's types of errors, by HTTP status."""
_SERVER = 500
"""From this HTTP status on, errors are the server's."""
_TEXTS = {"text": "content", "tool_call_response": "response"}


class Messages(Format):
    """Messages."""

    parses = True
    operation = "chat"
    content: frozenset[str] | None = frozenset(("messages", "metadata", "system", "tools"))
    turns = "messages"
    beside: tuple[str, ...] = ("compaction.instructions",)

    # ------------------------------------------------------------------------------------------ requests

    def describe(self, attributes: Attributes, body: Fields) -> None:
        attributes[semconv.GEN_AI_OPERATION_NAME] = self.operation
        asked = {_output_type(prompt) for prompt in self._prompts(body)}
        if len(asked) == 1 and asked != {""}:
            attributes[semconv.GEN_AI_OUTPUT_TYPE] = asked.pop()
        level = fields_of(body.get("output_config")).get("effort")
        if isinstance(level, str):
            attributes[semconv.GEN_AI_REQUEST_REASONING_LEVEL] = level

    def is_result(self, turn: Any) -> bool:
        content = fields_of(turn).get("content")
        return type(content) is list and any(fields_of(one).get("type") == "tool_result" for one in content)

    def request(self, body: Fields) -> Request:
        prompts = self._prompts(body)
        tools = [tool for prompt in prompts for tool in list_of(prompt.get("tools"))]
        systems = (text_in(_PARTS.read(prompt.get("system")), "\n") for prompt in prompts)
        return Request(
            messages=[_to_message(one) for prompt in prompts for one in list_of(prompt.get("messages"))],
            system="\n".join(dict.fromkeys(system for system in systems if system)),
            tools=[
                exact_text(fields_of(tool).get("name")) or exact_text(fields_of(tool).get("type")) for tool in tools
            ],
            tool_definitions=tools,
            inputs=self._inputs(body),
            model=exact_text(prompts[0].get("model")) if prompts else "",
        )

    def carries(self, body: Fields) -> Carried:
        sent = (list_of(prompt.get("messages")) for prompt in self._prompts(body))
        return [in_pieces(_texts_in(messages[-1])) if messages else None for messages in sent]

    def rewrite(self, body: Payload, change: Change) -> None:
        prompts: list[Payload] = [dict(prompt) for prompt in self._prompts(body)]
        if change.inputs is not None:
            prompts = self._with_inputs(prompts, list(change.inputs))
        if change.messages is not None:
            sent = [list_of(prompt.get("messages")) for prompt in prompts]
            new = by_prompt(change.messages, [len(messages) for messages in sent])
            for prompt, natives, messages in zip(prompts, sent, new, strict=True):
                prompt["messages"] = rewrite(natives, messages, _to_message, _from_message)
        for prompt in prompts:
            if change.system is not None:
                instructions: Sequence[Part] = [{"type": "text", "content": change.system}]
                prompt["system"] = _PARTS.content(instructions, prompt.get("system"))
            if change.model is not None:
                prompt["model"] = change.model
        self._put(body, prompts)

    def message(self, wire: Any) -> Message:
        return _to_message(wire)

    # What a batch does otherwise.

    def _prompts(self, body: Fields) -> list[Fields]:
        """The JSON of each prompt."""
        return [body]

    def _inputs(self, body: Fields) -> Any:
        return body.get("messages")

    def _with_inputs(self, prompts: list[Payload], given: list[Any]) -> list[Payload]:
        return [{**prompts[0], "messages": given}]

    def _put(self, body: Payload, prompts: list[Payload]) -> None:
        body.update(prompts[0])

    # ------------------------------------------------------------------------------------------ results

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        return response_of(told)

    def output(self, told: Fields) -> list[Message]:
        return [finished(_to_message(told), told.get("stop_reason"))] if "content" in told else []

    def chunks(self, body: Fields, construct: Construct) -> Chunks:
        return MessageChunks(body, construct)

    def texts(self, chunk_like: ChunkLike) -> Texts:
        return EventTexts(chunk_like)

    # ------------------------------------------------------------------------------------------ answers

    def payload(self, body: Fields, value: Any) -> Payload:
        """A message on the wire, for text, a complete message, or messages in role/parts form.

        Raises:
            TypeError: It is none of these.
        """
        is_whole = isinstance(value, dict) and value.get("type") == "message"
        made = value if is_whole else {"content": _said(value, "an answer is text, a Message or messages")}
        called = any(block.get("type") == "tool_use" for block in made["content"])
        known: Payload = {"id": "msg_spanhook", "type": "message", "role": "assistant", "stop_sequence": None}
        known["model"], known["usage"] = body.get("model"), {"input_tokens": 0, "output_tokens": 0}
        return {**known, "stop_reason": "tool_use" if called else "end_turn", **made}

    def events(self, body: Fields, payload: Payload) -> Iterator[Event]:  # noqa: ARG002
        return message_events(payload)

    def error(self, status: int, reason: str) -> Payload:
        kind = _ERRORS.get(status, "api_error" if status >= _SERVER else "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": reason}}


class Batches(Messages):
    """Batches of messages."""

    operation = "batch"
    streams = False
    content = None
    beside = ()

    def _prompts(self, body: Fields) -> list[Fields]:
        return [fields_of(fields_of(one).get("params")) for one in list_of(body.get("requests"))]

    def _inputs(self, body: Fields) -> Any:
        return self._prompts(body)

    def _with_inputs(self, prompts: list[Payload], given: list[Any]) -> list[Payload]:  # noqa: ARG002
        return given

    def _put(self, body: Payload, prompts: list[Payload]) -> None:
        requests = zip(list_of(body.get("requests")), prompts, strict=True)
        body["requests"] = [{**fields_of(one), "params": prompt} for one, prompt in requests]

    def describe(self, attributes: Attributes, body: Fields) -> None:
        super().describe(attributes, body)
        models = {exact_text(prompt.get("model")) for prompt in self._prompts(body)}
        if len(models) == 1 and models != {""}:
            attributes[semconv.GEN_AI_REQUEST_MODEL] = models.pop()

    def payload(self, body: Fields, value: Any) -> Payload:  # noqa: ARG002
        """A batch on the wire.

        Raises:
            TypeError: It is neither a batch nor its JSON.
        """
        if not isinstance(value, dict):
            raise TypeError(f"an answer to a batch is a MessageBatch or its JSON, not {type(value).__name__}")
        return value

    def events(self, body: Fields, payload: Payload) -> Iterator[Event]:  # noqa: ARG002
        return iter(())

    def chunks(self, body: Fields, construct: Construct) -> Chunks:
        return Format.chunks(self, body, construct)


def _output_type(body: Fields) -> str:
    asked = fields_of(body.get("output_config")).get("format") or body.get("output_format")
    return "json" if fields_of(asked).get("type") == "json_schema" else ""


def _to_message(wire: Any) -> Message:
    """A message in role/parts form; one with only tool results has the role ``tool``."""
    told = fields_of(wire)
    parts = list(_PARTS.read(told.get("content")))
    found = bool(parts) and all(part.get("type") == "tool_call_response" for part in parts)
    return {"role": "tool" if found else exact_text(told.get("role")) or "assistant", "parts": parts}


def _from_message(message: Message, like: Wire | None = None) -> list[Wire]:
    """A message on the wire, with the other keys of the message it replaces; one in Anthropic's form stays as it is."""
    if "parts" not in message:
        return [dict(message)]
    role = "user" if message["role"] == "tool" else message["role"]
    kept = like if like is not None and like.get("role") == role else {}
    return [{**kept, "role": role, "content": _PARTS.content(message["parts"], kept.get("content"))}]


def _texts_in(wire: Any) -> list[str]:
    """The texts of a message, including tool results, even if empty."""
    parts = _to_message(wire)["parts"]
    said = [part.get(_TEXTS[part["type"]]) for part in parts if part.get("type") in _TEXTS]
    return [text_of(one) or "" for one in said]


def _said(value: Any, expected: str) -> list[Part]:
    """The content of a hook's answer, given as text, a message, or several.

    Raises:
        TypeError: It is none of these; ``expected`` says what it may be.
    """
    messages = messages_in(value, expected, key="role")
    content = [_from_message(message)[0]["content"] for message in messages]
    texts = [[{"type": "text", "text": one}] if isinstance(one, str) else one for one in content]
    return [part for parts in texts for part in parts]
