"""Chat completions: requests, responses, answers."""

from collections.abc import Iterator
from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.openai.asking import asking_for_usage, not_asking
from spanhook.instrument.formats.openai.chat_chunks import ChatChunks
from spanhook.instrument.formats.openai.describing import WHOSE, OpenAIFormat, output_type
from spanhook.instrument.formats.openai.messages import (
    from_message,
    rewrite,
    system_of,
    to_message,
    tool_name,
    with_system,
)
from spanhook.instrument.formats.openai.reading import completion_response
from spanhook.instrument.formats.openai.texts import ChoiceTexts
from spanhook.instrument.surroundings import seconds
from spanhook.instrument.wire import (
    ChunkLike,
    Construct,
    Event,
    Fields,
    Payload,
    fields_of,
    finished,
    list_of,
    messages_in,
    one_prompt,
)
from spanhook.model import Attributes, Carried, Change, Chunks, Message, Request, Texts, Usage, exact_text, text_of


class Chat(OpenAIFormat):
    """Chat completions."""

    api = "chat_completions"
    system_in_messages = True
    parses = True
    turns = "messages"
    last = "[DONE]"
    content = WHOSE | {"messages", "tools", "functions", "prediction"}
    beside: tuple[str, ...] = ("prediction.content",)

    # ------------------------------------------------------------------------------------------ requests

    def describe(self, attributes: Attributes, body: Fields) -> None:
        super().describe(attributes, body)
        asked = output_type(body.get("response_format"))
        if asked:
            attributes[semconv.GEN_AI_OUTPUT_TYPE] = asked

    def request(self, body: Fields) -> Request:
        messages = [to_message(message) for message in body.get("messages") or ()]
        return Request(
            messages=messages,
            system=system_of(messages),
            tools=[tool_name(tool) for tool in body.get("tools") or body.get("functions") or ()],
            tool_definitions=body.get("tools") or body.get("functions") or (),
            inputs=body.get("messages"),
            model=exact_text(body.get("model")),
        )

    def carries(self, body: Fields) -> Carried:
        messages = body.get("messages")
        return [text_of(fields_of(messages[-1]).get("content")) if messages else None]

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.inputs is not None:
            body["messages"] = list(change.inputs)
        if change.messages is not None:
            body["messages"] = rewrite(body.get("messages") or (), one_prompt(change.messages))
        if change.system is not None:
            body["messages"] = with_system(body.get("messages") or (), change.system)
        if change.model is not None:
            body["model"] = change.model

    def asking(self, body: Fields) -> Fields | None:
        return asking_for_usage(body)

    def not_asking(self, body: Fields) -> Fields | None:
        return not_asking(body)

    def is_result(self, turn: Any) -> bool:
        return fields_of(turn).get("role") in ("tool", "function")

    def message(self, wire: Any) -> Message:
        return to_message(wire)

    # ------------------------------------------------------------------------------------------ results

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        return completion_response(told, itself=self.itself)

    def output(self, told: Fields) -> list[Message]:
        messages: list[Message] = []
        for choice in list_of(told.get("choices")):
            said = fields_of(choice)
            messages.append(finished(to_message(said.get("message")), said.get("finish_reason")))
        return messages

    def chunks(self, body: Fields, construct: Construct) -> Chunks:
        return ChatChunks(body, construct, itself=self.itself)

    def texts(self, chunk_like: ChunkLike) -> Texts:
        return ChoiceTexts(chunk_like)

    # ------------------------------------------------------------------------------------------ answers

    def payload(self, body: Fields, value: Any) -> Payload:
        """A chat completion on the wire.

        Args:
            body: The request that it answers.
            value: Text, a completion, or messages in role/parts form: one, or one per choice.

        Raises:
            TypeError: It is none of these.
        """
        if isinstance(value, dict) and "choices" in value:
            made: Payload = {**value, "choices": [_unparsed(choice) for choice in value["choices"]]}
        else:
            expected = "a chat completion's answer is text, a ChatCompletion or messages"
            messages = messages_in(value, expected, key="role")
            made = {"choices": [_choice(index, message) for index, message in enumerate(messages)]}
        known = {"id": "chatcmpl-spanhook", "object": "chat.completion", "created": seconds()}
        return {**known, "model": exact_text(body.get("model")), **made}

    def events(self, body: Fields, payload: Payload) -> Iterator[Event]:
        """A chat completion as the chunks of a stream."""
        usage = payload.get("usage")
        base = {key: value for key, value in payload.items() if key not in ("choices", "usage", "object")}
        base["object"] = "chat.completion.chunk"
        for choice in payload["choices"]:
            message = choice["message"]
            delta = {key: value for key, value in message.items() if key != "tool_calls"}
            calls = message.get("tool_calls")
            if calls:
                delta["tool_calls"] = [{"index": index, **call} for index, call in enumerate(calls)]
            index = choice.get("index", 0)
            yield "", {**base, "choices": [{"index": index, "delta": delta, "finish_reason": None}]}
            yield "", {**base, "choices": [{"index": index, "delta": {}, "finish_reason": choice.get("finish_reason")}]}
        asked = body.get("stream_options") or {}
        if usage and asked.get("include_usage"):
            yield "", {**base, "choices": [], "usage": usage}


def _choice(index: int, message: Message) -> Payload:
    wire = {"content": None, "refusal": None, **from_message(message)}
    reason = message.get("finish_reason") or ("tool_calls" if wire.get("tool_calls") else "stop")
    wire.pop("finish_reason", None)
    return {"index": index, "message": wire, "finish_reason": reason, "logprobs": None}


def _unparsed(choice: Payload) -> Payload:
    """A choice without what ``parse`` added to it; it will be parsed again."""
    message = {key: value for key, value in choice["message"].items() if key != "parsed"}
    for call in message.get("tool_calls") or ():
        if "function" in call:
            call["function"].pop("parsed_arguments", None)
    return {**choice, "message": message}
