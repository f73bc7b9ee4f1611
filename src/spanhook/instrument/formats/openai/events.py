"""Adds up streams that report usage only at the end: images, transcripts, runs."""

from typing import Any

from spanhook.instrument.formats.openai.reading import CHAT_USAGE, RESPONSES_USAGE, noted_answer, usage_of
from spanhook.instrument.wire import Fields, as_reported, fields_of
from spanhook.model import Attributes, Usage, copied

_LAST = (".completed", ".done", ".failed", ".cancelled", ".expired", ".incomplete")


def used_in(told: Fields) -> Usage | None:
    """Tokens, whatever the names under which they are reported; ``None`` for usage in seconds."""
    reported = told.get("usage")
    said = fields_of(reported)
    if reported is None or (said and not {"input_tokens", "prompt_tokens"} & said.keys()):
        return None
    return usage_of(reported, CHAT_USAGE if "prompt_tokens" in said else RESPONSES_USAGE)


class EventChunks:
    """Keeps the event that reports usage, and the last event.

    Args:
        itself: The server is OpenAI's own.
    """

    __slots__ = ("_itself", "_last", "_told", "complete", "keep")

    def __init__(self, *, itself: bool) -> None:
        self.keep = self.complete = False
        self._itself = itself
        self._told: Fields = {}
        self._last: Any = None

    def add(self, chunk: Any) -> bool:
        told = fields_of(chunk)
        inner = fields_of(told.get("data"))
        if told.get("usage") is not None or inner.get("usage") is not None:
            reporting = told if told.get("usage") is not None else inner
            self._told = {**reporting, "usage": as_reported(reporting["usage"])}
        kind = told.get("type") or told.get("event")
        self.complete = isinstance(kind, str) and kind.endswith(_LAST)
        self._last = copied(chunk) if self.keep else chunk  # its consumer may edit it
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        return noted_answer(self._told, itself=self._itself), used_in(self._told)

    def result(self) -> Any:
        return self._last
