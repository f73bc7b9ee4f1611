"""What LiteLLM's answers have beyond OpenAI's: usage in other places, and answers from its cache."""

from typing import Any

from spanhook.instrument.formats.anthropic import Messages
from spanhook.instrument.formats.openai import (
    Chat,
    ChatChunks,
    Completions,
    Deltas,
    Embeddings,
    TextChunks,
)
from spanhook.instrument.litellm.local_counts import is_counted_locally
from spanhook.instrument.wire import (
    SERVER_SENT,
    ChunkLike,
    Construct,
    Fields,
    Frames,
    bounded,
    extra_of,
    fields_of,
    json_in,
)
from spanhook.model import Attributes, Chunks, Usage

NOTES = "_hidden_params"
"""The attribute in which LiteLLM notes what it knows of an answer."""
Told = tuple[Attributes, Usage | None]


def is_cached(notes: Fields) -> bool:
    """Whether an answer comes from LiteLLM's cache."""
    return notes.get("cache_hit") is True or notes.get("custom_llm_provider") == "cached_response"


def used_by(told: Told, reported: Any, notes: Fields) -> Told:
    """End attributes and usage: an answer from the cache has used nothing, whatever the cached answer reports.

    Args:
        told: What OpenAI's form says.
        reported: The answer's usage.
        notes: LiteLLM's notes.
    """
    attributes, used = told
    if is_cached(notes):
        nothing = Usage()
        nothing.charge(0)
        return attributes, nothing
    if used is not None and not used.cache_write_tokens:
        details = _field(reported, "prompt_tokens_details")
        written = _field(details, "cache_creation_tokens") or _field(reported, "cache_creation_input_tokens")
        used.cache_write_tokens = used.count(written, "cache_write_tokens")
        by_time = _field(details, "cache_creation_token_details")
        used.cache_hour_tokens = used.count(_field(by_time, "ephemeral_1h_input_tokens"), "cache_hour_tokens")
        bounded(used)
    return attributes, used


def _field(value: Any, name: str) -> Any:
    found = fields_of(value).get(name)
    return extra_of(value, name) if found is None else found


class LiteLLMChat(Chat):
    """Chat completions."""

    def response(self, told: Fields) -> Told:
        return used_by(super().response(told), told.get("usage"), fields_of(told.get(NOTES)))

    def chunks(self, body: Fields, construct: Construct) -> Chunks:
        return _NotedChunks(body, construct, itself=self.itself)


class LiteLLMCompletions(Completions):
    """Text completions."""

    def response(self, told: Fields) -> Told:
        return used_by(super().response(told), told.get("usage"), fields_of(told.get(NOTES)))

    def chunks(self, body: Fields, construct: Construct) -> Chunks:
        return _NotedTextChunks(body, construct, itself=self.itself)


class LiteLLMEmbeddings(Embeddings):
    """Embeddings. If some of them come from the cache, only what is below LiteLLM knows what the others have used."""

    def response(self, told: Fields) -> Told:
        attributes, used = super().response(told)
        return attributes, None if is_cached(fields_of(told.get(NOTES))) else used


class LiteLLMMessages(Messages):
    """Anthropic's messages, whose streams are bytes; hooks decide about such a stream as a whole."""

    def chunks(self, body: Fields, construct: Construct) -> Chunks:
        made: Any = _EventBytes(super().chunks(body, construct))
        return made

    def texts(self, chunk_like: ChunkLike) -> Any:  # noqa: ARG002
        return None


class _EventBytes:
    """Adds up the events in bytes, however they are cut.

    Args:
        chunks: Adds up the events.
    """

    __slots__ = ("_chunks", "_frames")

    def __init__(self, chunks: Chunks) -> None:
        self._chunks, self._frames = chunks, Frames(SERVER_SENT.end)

    def add(self, chunk: Any) -> bool:
        if not isinstance(chunk, bytes | str):
            return self._chunks.add(chunk)
        for frame in self._frames.add(chunk.encode() if isinstance(chunk, str) else chunk):
            told = json_in(SERVER_SENT.data_in(frame))
            if told is not None:
                self._chunks.add(told)
        return True

    @property
    def keep(self) -> bool:
        return self._chunks.keep

    @keep.setter
    def keep(self, value: bool) -> None:
        self._chunks.keep = value

    @property
    def complete(self) -> bool:
        return self._chunks.complete

    def response(self) -> Told:
        return self._chunks.response()

    def result(self) -> Any:
        return self._chunks.result()


class _Noted(Deltas):
    """Adds up chunks, one of whose notes has the usage of the stream, if the provider has reported it."""

    __slots__ = ()
    notes: Fields
    is_local: bool

    def add(self, chunk: Any) -> bool:
        notes = chunk[NOTES]
        # zeros stand for usage that was not reported: LiteLLM puts its own count there when the stream ends
        if notes and (is_cached(notes) or _field(notes.get("usage"), "total_tokens")):
            self.notes = notes
        if is_counted_locally(chunk.get("usage")):
            self.is_local = True
        return super().add(chunk)

    def response(self) -> Told:
        if self.usage is None:
            self.usage = self.notes.get("usage")
        attributes, used = used_by(super().response(), self.usage, self.notes)
        if used is not None and self.is_local:
            used.come_from("estimate")
        return attributes, used


class _NotedChunks(_Noted, ChatChunks):
    __slots__ = ("is_local", "notes")

    def __init__(self, body: Fields, construct: Construct, *, itself: bool) -> None:
        super().__init__(body, construct, itself=itself)
        self.notes, self.is_local = {}, False


class _NotedTextChunks(_Noted, TextChunks):
    __slots__ = ("is_local", "notes")

    def __init__(self, body: Fields, construct: Construct, *, itself: bool) -> None:
        super().__init__(body, construct, itself=itself)
        self.notes, self.is_local = {}, False
