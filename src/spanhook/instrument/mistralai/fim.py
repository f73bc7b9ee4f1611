"""Completions that fill in the middle: the prompt is what stands before it, the suffix what stands after it."""

from typing import Any

from spanhook.instrument.mistralai.chat import MistralChat
from spanhook.instrument.wire import Fields, Payload, one_prompt, text_of
from spanhook.model import Attributes, Carried, Change, Message, Request

_FIELDS = ("prompt", "suffix")


class Fim(MistralChat):
    """Fill-in-the-middle completions: in common terms, one message of prompt and suffix, a part each."""

    operation = "text_completion"
    content = frozenset(_FIELDS)
    takes = frozenset(("messages", "inputs", "model"))
    system_in_messages = False

    def describe(self, attributes: Attributes, body: Fields) -> None:
        super().describe(attributes, {name: value for name, value in body.items() if name != "response_format"})

    def request(self, body: Fields) -> Request:
        parts = [{"type": "text", "content": said} for said in map(body.get, _FIELDS) if isinstance(said, str)]
        return Request(
            messages=[{"role": "user", "parts": parts}],
            inputs=body.get("prompt"),
            model=text_of(body.get("model")),
        )

    def carries(self, body: Fields) -> Carried:
        return [text_of(body.get("prompt")) or None]

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.inputs is not None:
            body["prompt"] = change.inputs
        if change.messages is not None:
            given = [text for message in one_prompt(change.messages) for text in _texts(message)]
            places = [name for name in _FIELDS if isinstance(body.get(name), str)]
            if len(given) > len(places):
                raise ValueError(f"expected a text for each of {', '.join(places)}, not {len(given)}")
            for name, text in zip(places, [*given, *[""] * len(places)], strict=False):
                body[name] = text
        if change.model is not None:
            body["model"] = change.model


def _texts(message: Message | str) -> list[Any]:
    if isinstance(message, str):
        return [message]
    if "parts" not in message:
        return [message["content"]]
    return [part.get("content", "") for part in message["parts"] if part.get("type") == "text"]
