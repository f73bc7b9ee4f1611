"""Cohere's other endpoints that use a model: reranking, classification, summaries, documents, sound, later jobs."""

from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.cohere.describing import CohereFormat, noted_answer, used_in
from spanhook.instrument.formats.cohere.generate import said_in
from spanhook.instrument.wire import Fields, Payload, list_of, one_prompt, text_of
from spanhook.model import Attributes, Change, Message, Request, Usage


class Endpoint(CohereFormat):
    """One endpoint.

    Args:
        operation: Its ``gen_ai.operation.name``.
        content: The field with the input, text or texts; empty if it has none of these.
        said: The field of the answer with text, if it answers with text.
        beside: Dotted paths of further fields with text.
    """

    streams = False

    def __init__(self, operation: str, content: str = "", said: str = "", beside: tuple[str, ...] = ()) -> None:
        self.operation, self._content, self._said, self.beside = operation, content, said, beside
        self.takes = frozenset(("model", *(("messages", "inputs") if content else ())))

    def describe(self, attributes: Attributes, body: Fields) -> None:
        super().describe(attributes, body)
        if self._said:
            attributes[semconv.GEN_AI_OUTPUT_TYPE] = "text"

    def request(self, body: Fields) -> Request:
        given = body.get(self._content)
        texts = [given] if isinstance(given, str) else [text for text in list_of(given) if isinstance(text, str)]
        messages: list[Message] = [{"role": "user", "parts": [{"type": "text", "content": text}]} for text in texts]
        return Request(messages=messages, inputs=given, model=text_of(body.get("model")))

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.inputs is not None:
            body[self._content] = change.inputs
        if change.messages is not None:
            texts = [said_in(message) for message in one_prompt(change.messages)]
            body[self._content] = texts if isinstance(body.get(self._content), list) else "".join(texts)
        if change.model is not None:
            body["model"] = change.model

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        return noted_answer(told), used_in(told.get("meta") or told.get("usage"))

    def output(self, told: Fields) -> list[Message]:
        said = told.get(self._said) if self._said else None
        return [{"role": "assistant", "parts": [{"type": "text", "content": said}]}] if isinstance(said, str) else []

    def payload(self, body: Fields, value: Any) -> Payload:  # noqa: ARG002
        """The answer on the wire, for its JSON; text if the endpoint returns text.

        Raises:
            TypeError: It is none of these.
        """
        if isinstance(value, str) and self._said:
            value = {self._said: value}
        if not isinstance(value, dict):
            raise TypeError(f"an answer to {self.operation} is a response, not {type(value).__name__}")
        return {"id": "spanhook", **value}


class Rerank(Endpoint):
    """Reranking: the message is the query, ``inputs`` are the documents."""

    def __init__(self) -> None:
        super().__init__("rerank", "query")

    def request(self, body: Fields) -> Request:
        request = super().request(body)
        return Request(messages=request.messages, inputs=body.get("documents"), model=request.model)

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.inputs is not None:
            body["documents"] = change.inputs
        super().rewrite(body, Change(messages=change.messages, model=change.model))


class Parse(Endpoint):
    """Reading a document, which is ``inputs``."""

    def __init__(self) -> None:
        super().__init__("generate_content", "document")
        self.takes = frozenset(("model", "inputs"))


class Sound(Endpoint):
    """Transcription of sound."""

    def __init__(self) -> None:
        super().__init__("generate_content", said="text")
