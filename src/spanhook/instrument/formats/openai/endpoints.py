"""OpenAI's other endpoints that use a model: images, sound, videos, moderation, and jobs that run later.

They are similar enough for one class: which field holds the input, and what the result is. Jobs that run later are
gated when they are requested; their later usage is not known here.
"""

from collections.abc import Iterator
from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.openai.describing import OpenAIFormat
from spanhook.instrument.formats.openai.events import EventChunks, used_in
from spanhook.instrument.formats.openai.items import rewrite, to_message, to_messages
from spanhook.instrument.formats.openai.messages import PARTS
from spanhook.instrument.wire import Construct, Event, Fields, Payload, fields_of, one_prompt
from spanhook.model import Attributes, Change, Chunks, Message, Request, Usage, exact_text

MAKES = "generate_content"
RUNS = "invoke_agent"


class Endpoint(OpenAIFormat):
    """One endpoint.

    Args:
        operation: Its ``gen_ai.operation.name``: the conventions' name if they have one.
        api: Its ``openai.api.type``.
        output: Its ``gen_ai.output.type``; empty if nothing is generated.
        content: The field with the input: text, texts, or messages; dotted if nested.
        system: The field with instructions.
        beside: Dotted paths of further fields with text.
        itself: The server is OpenAI's own.
    """

    def __init__(
        self,
        operation: str,
        api: str,
        output: str = "",
        content: str = "",
        system: str = "",
        beside: tuple[str, ...] = (),
        *,
        itself: bool = False,
    ) -> None:
        super().__init__(itself=itself)
        self.operation, self.api = operation, api
        self._output, self._content, self._system = output, content, system
        self.beside = beside
        self.binary = output not in ("text", "image", "")
        self.named_by = semconv.GEN_AI_AGENT_NAME if operation == RUNS else ""
        fields = ("messages", "inputs") if content else ()
        self.takes = frozenset(("model", *fields, *(("system",) if system else ())))

    # ------------------------------------------------------------------------------------------ requests

    def describe(self, attributes: Attributes, body: Fields) -> None:
        super().describe(attributes, body)
        if self._output:
            attributes[semconv.GEN_AI_OUTPUT_TYPE] = self._output
        agent = body.get("assistant_id") if self.operation == RUNS else None
        if isinstance(agent, str) and agent:
            attributes[semconv.GEN_AI_AGENT_ID] = agent

    def request(self, body: Fields) -> Request:
        content = self._content_in(body)
        return Request(
            messages=_messages(content),
            system=str(body.get(self._system) or ""),
            inputs=content,
            model=exact_text(body.get("model")),
        )

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.inputs is not None:
            self._put(body, change.inputs)
        if change.messages is not None:
            self._put(body, _rewritten(self._content_in(body), change.messages))
        if change.system is not None:
            body[self._system] = change.system
        if change.model is not None:
            body["model"] = change.model

    def message(self, wire: Any) -> Message:
        return to_message(wire)

    def _content_in(self, body: Fields) -> Any:
        around, _, field = self._content.rpartition(".")
        return (fields_of(body.get(around)) if around else body).get(field)

    def _put(self, body: Payload, content: Any) -> None:
        around, _, field = self._content.rpartition(".")
        if around:
            body[around] = {**fields_of(body.get(around)), field: content}
        else:
            body[field] = content

    # ------------------------------------------------------------------------------------------ results

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        return self.noted(told), used_in(told)

    def output(self, told: Fields) -> list[Message]:
        """The output messages, if the output is text."""
        said = told.get("text")
        if self._output != "text" or not isinstance(said, str):
            return []
        return [{"role": "assistant", "parts": [{"type": "text", "content": said}]}]

    def chunks(self, body: Fields, construct: Construct) -> Chunks:  # noqa: ARG002
        return EventChunks(itself=self.itself)

    # ------------------------------------------------------------------------------------------ answers

    def payload(self, body: Fields, value: Any) -> Payload:
        """The answer on the wire, for what the SDK would return or its JSON; text if the endpoint returns text.

        Raises:
            TypeError: It is none of these.
        """
        if isinstance(value, str) and self._output == "text":
            value = {"text": value}
        if not isinstance(value, dict):
            raise TypeError(f"an answer to {self.api} is what the SDK returns, or its JSON, not {type(value).__name__}")
        return {"model": exact_text(body.get("model")), **value}

    def events(self, body: Fields, payload: Payload) -> Iterator[Event]:  # noqa: ARG002
        """The answer as a stream.

        Raises:
            TypeError: It is not text.
        """
        if self._output != "text":
            raise TypeError(f"a stream of {self.api} cannot be answered, only refused")
        said = payload.get("text")
        yield "transcript.text.delta", {"type": "transcript.text.delta", "delta": said}
        yield "transcript.text.done", {"type": "transcript.text.done", "text": said}


def _messages(content: Any) -> list[Message]:
    if content is None or isinstance(content, str):
        return to_messages(content)
    if not isinstance(content, list):
        return []
    if all(isinstance(one, str) for one in content):
        return [message for one in content for message in to_messages(one)]
    if any("role" in fields_of(one) for one in content):
        return to_messages(content)
    return [{"role": "user", "parts": list(PARTS.read(content))}]


def _rewritten(content: Any, given: Any) -> Any:
    """The field's value for messages that a hook gave; files are not part of it, and stay."""
    if given and isinstance(given[0], list | tuple):
        given = one_prompt(given)
    if isinstance(content, list) and content:
        if all(isinstance(one, str) for one in content):
            return [_text(message) for message in given]
        if any("role" in fields_of(one) for one in content):
            return rewrite(content, given)
        return PARTS.content([part for message in given for part in _said(message)], content)
    return "".join(_text(message) for message in given)


def _said(message: Any) -> list[dict[str, Any]]:
    """The parts of a message except its files."""
    if "parts" not in message:
        return list(PARTS.read(message["content"]))
    return [part for part in message["parts"] if part.get("type") != "upload"]


def _text(message: Any) -> str:
    if isinstance(message, str):
        return message
    return "".join(str(part.get("content", "")) for part in _said(message) if part.get("type") == "text")
