"""Text recognition in documents. It is charged by the page, so there is no usage in tokens."""

from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.openai import MAKES, PARTS, Endpoint
from spanhook.instrument.wire import Fields, Payload, fields_of, list_of, text_of
from spanhook.model import Attributes, Change, Message, Request, Usage


class Ocr(Endpoint):
    """Text recognition: ``inputs`` is the document."""

    def __init__(self) -> None:
        super().__init__(MAKES, "ocr", "text")
        self.takes = frozenset(("inputs", "model"))
        self.beside = ("document_annotation_prompt",)

    def describe(self, attributes: Attributes, body: Fields) -> None:
        super().describe(attributes, body)
        attributes[semconv.GEN_AI_OUTPUT_TYPE] = "text"

    def request(self, body: Fields) -> Request:
        document = body.get("document")
        parts = [PARTS.read_one(document)] if document else []
        return Request(
            messages=[{"role": "user", "parts": parts}],
            inputs=document,
            model=text_of(body.get("model")),
        )

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.inputs is not None:
            body["document"] = change.inputs
        if change.model is not None:
            body["model"] = change.model

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        return self.noted(told), None

    def output(self, told: Fields) -> list[Message]:
        pages = [text_of(fields_of(page).get("markdown")) for page in list_of(told.get("pages"))]
        return [{"role": "assistant", "parts": [{"type": "text", "content": "\n\n".join(pages)}]}] if pages else []

    def payload(self, body: Fields, value: Any) -> Payload:
        """The answer on the wire, for the text of the only page, or the JSON of an answer."""
        if isinstance(value, str):
            page = {"index": 0, "markdown": value, "images": [], "dimensions": None}
            value = {"pages": [page], "usage_info": {"pages_processed": 0}}
        return super().payload(body, value)
