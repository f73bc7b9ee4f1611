"""Adds up the chunks of a stream of completions, as models or as JSON: what chat and text have in common."""

from abc import ABC, abstractmethod
from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.openai.asking import was_asked
from spanhook.instrument.formats.openai.reading import CHAT_USAGE, noted_answer, usage_of
from spanhook.instrument.wire import Construct, Fields, as_reported, fields_of, plain, usage_in_stream
from spanhook.model import Attributes, Usage

_MOST_CHOICES = 128
"""As many as OpenAI gives at once; whoever asks for more is not told of each."""


class Deltas(ABC):
    """Counts the characters of a stream, and keeps its usage and finish reasons; the text only if ``keep``.

    Args:
        body: The request.
        construct: Creates the whole from JSON.
        itself: The server is OpenAI's own.
    """

    __slots__ = (
        "_head",
        "_hides",
        "_is_summed_up",
        "_itself",
        "_reported_at",
        "_waits",
        "body",
        "characters",
        "construct",
        "keep",
        "reasons",
        "usage",
    )

    def __init__(self, body: Fields, construct: Construct, *, itself: bool) -> None:
        self.keep = False
        self.characters = 0
        self.reasons: dict[int, str] = {}
        self.body, self.construct, self._itself = body, construct, itself
        self._waits, self._hides = was_asked(body)
        self._head: Fields = {}
        self._is_summed_up = False
        self._reported_at: int | None = None
        self.usage: Any = None

    @property
    def complete(self) -> bool:
        """Every choice has a finish reason, and usage has arrived if the application requested it."""
        return len(self.reasons) >= self.wanted() and (self.usage is not None or not self._waits)

    def wanted(self) -> int:
        """The number of choices that the request asks for."""
        return self.body.get("n") or 1

    def add(self, chunk: Any) -> bool:
        told = fields_of(chunk)
        if not self._head.get("id"):  # Azure's first chunk is about the prompt and has none
            self._head = dict(told)  # its consumer may edit the chunk
        usage = told.get("usage")
        if usage is not None:
            self.usage = as_reported(usage)
        choices = told.get("choices")
        if not choices:
            self._is_summed_up = self._is_summed_up or usage is not None
            return usage is None or not self._hides
        for choice in choices:
            said = fields_of(choice)
            index, reason = said.get("index"), said.get("finish_reason")
            if type(index) is not int:
                index = 0
            if reason and isinstance(reason, str):
                self.reasons[index] = reason
            self.hear(index, said)
        if usage is not None:
            self._reported_at = self.arrived()
        return True

    @abstractmethod
    def hear(self, index: int, said: Fields) -> None:
        """Take a chunk's content for one choice."""

    def said(self) -> int:
        """The number of characters so far."""
        return self.characters

    def arrived(self) -> int:
        """A number that grows with the text."""
        return self.characters

    def _is_whole(self) -> bool:
        """Whether the part that reports usage has arrived; no text comes after the last report of a running total."""
        if self._is_summed_up:
            return True
        return bool(self.reasons) and self._reported_at in (None, self.arrived())

    def response(self) -> tuple[Attributes, Usage | None]:
        attributes = noted_answer(self._head, itself=self._itself)
        if self.reasons:
            attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = tuple(self._reasons())
        used = usage_of(self.usage, CHAT_USAGE)  # of some servers in each chunk, as a running total
        is_whole = self._is_whole()
        if is_whole and used is not None and used.output_tokens:  # to count what was said takes long
            return attributes, used
        return attributes, usage_in_stream(used, self.body, self.said(), is_whole=is_whole)

    def _reasons(self) -> list[str]:
        """Why each choice has stopped; ``error`` for those asked for that have not come to their end."""
        wanted: Any = self.wanted()
        places = range(wanted) if type(wanted) is int and wanted <= _MOST_CHOICES else ()
        more = [reason for index, reason in sorted(self.reasons.items()) if index not in places]
        return [*(self.reasons.get(index, "error") for index in places), *more]

    def whole(self) -> dict[str, Any]:
        """What the chunks contained besides the choices."""
        names = ("id", "created", "model", "service_tier", "system_fingerprint")
        usage = None if self.usage is None else plain(self.usage)
        return {**{name: self._head.get(name) for name in names}, "usage": usage}
