"""Batches, which are gated when they are created: all prompts at once. What they use later is not known here."""

from collections.abc import Sequence
from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.google.errors import error_of
from spanhook.instrument.formats.google.parts import texts_in, to_message
from spanhook.instrument.formats.google.reading import field
from spanhook.instrument.wire import Fields, Format, Payload, list_of
from spanhook.model import Attributes, Carried, Change, Request, Usage, exact_text


class Batches(Format):
    """Batches of content or embeddings; prompts in files are not read."""

    takes = frozenset(("model",))
    streams = False

    def describe(self, attributes: Attributes, body: Fields) -> None:  # noqa: ARG002
        attributes[semconv.GEN_AI_OPERATION_NAME] = "batch"

    def request(self, body: Fields) -> Request:
        contents = [content for prompt in _prompts_in(body) for content in prompt]
        return Request(
            messages=[to_message(content) for content in contents],
            inputs=contents,
            model=exact_text(body.get("model")),
        )

    def carries(self, body: Fields) -> Carried:
        return ["".join(texts_in(prompt[-1])) for prompt in _prompts_in(body) if prompt] or [None]

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.model is not None:
            body["model"] = change.model

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:  # noqa: ARG002
        return {}, None

    def payload(self, body: Fields, value: Any) -> Payload:  # noqa: ARG002
        """The answer, which only Google's own JSON can give.

        Raises:
            TypeError: It is something else.
        """
        if not isinstance(value, dict):
            raise TypeError(f"an answer is the response's JSON, not {type(value).__name__}")
        return value

    def error(self, status: int, reason: str) -> Payload:
        return error_of(status, reason)


def _prompts_in(body: Fields) -> list[Sequence[Any]]:
    """The contents of each request; of an embedding, there is one, or there are several that stand in one request."""
    given = field(field(field(body, "batch"), "inputConfig"), "requests")
    found: list[Sequence[Any]] = []
    for one in list_of(field(given, "requests")):
        request = field(one, "request")
        content = field(request, "content")
        found.append(list_of(field(request, "contents")) if content is None else [content])
    return found
