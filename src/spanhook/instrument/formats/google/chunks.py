"""Streams of content: each chunk is a response with what the candidates say next, and with the counts up to there."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from spanhook.instrument.formats.google.reading import field, name_in, snake
from spanhook.instrument.wire import ChunkLike, Construct, Fields, Part, fields_of, list_of, usage_in_stream
from spanhook.model import NO_TEXT, Attributes, Channel, ChunkText, Leaf, Route, Usage, leaves, with_texts

Respond = Callable[[Fields, list[Any]], tuple[Attributes, Usage | None]]
_HEAD = ("responseId", "modelVersion", "createTime", "promptFeedback")
_PLAIN = frozenset(("candidates", "usageMetadata", "responseId", "modelVersion"))
_PLAIN_CANDIDATE = frozenset(("content", "index"))
"""All that chunks have which say nothing but a piece of text."""
_NAMES = (
    *("thoughtSignature", "mimeType", "fileUri", "finishReason", "category", "probability", "severity", "uri"),
    *("license", "domain", "retrievedUrl", "urlRetrievalStatus", "continuationToken", "language", "outcome", "level"),
)
_NO_TEXT = frozenset((*_NAMES, *map(snake, _NAMES)))
"""Fields that are no text, beside those of all providers."""
_FREE = ("functionCall", "toolCall", "toolResponse")
"""Parts with data of any form, in which every string is text."""
_SPELLED = ("logprobsResult", "avgLogprobs")
"""Fields of a candidate that spell its text out."""


class ContentChunks:
    """Counts the characters of a stream; keeps what the candidates say only if ``keep``.

    Args:
        body: The request.
        construct: Creates the whole from JSON.
        respond: Reads a response, given it and why each candidate has stopped.
    """

    def __init__(self, body: Fields, construct: Construct, respond: Respond) -> None:
        self.keep = False
        self._body, self._construct, self._respond = body, construct, respond
        self._head: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._candidates: dict[int, dict[str, Any]] = {}
        self._reasons: dict[int, Any] = {}
        self._characters = 0

    @property
    def complete(self) -> bool:
        """Every candidate has said why it stopped, or the prompt was blocked."""
        wanted = field(field(self._body, "generationConfig"), "candidateCount")
        wanted = wanted if type(wanted) is int and wanted > 0 else 1
        return len(self._reasons) >= wanted or field(self._head.get("promptFeedback"), "blockReason") is not None

    def add(self, chunk: Any) -> bool:
        if type(chunk) is dict and self._add_text(cast("dict[str, Any]", chunk)):
            return True
        for name in _HEAD:
            value = field(chunk, name)
            if value is not None:
                self._head[name] = value
        self._usage.update(_given(fields_of(field(chunk, "usageMetadata"))))
        for place, candidate in enumerate(list_of(field(chunk, "candidates"))):
            index = field(candidate, "index")
            index = index if type(index) is int else place
            reason = field(candidate, "finishReason")
            if reason:
                self._reasons[index] = reason
            self._hear(index, candidate)
        return True

    def _add_text(self, chunk: dict[str, Any]) -> bool:
        """Add a chunk that has only a piece of the one candidate's text, as most have; false if it has more."""
        try:
            (candidate,) = chunk["candidates"]
            (part,) = candidate["content"]["parts"]
            text = part["text"]
        except (KeyError, TypeError, ValueError):
            return False
        usage = chunk.get("usageMetadata")
        if not _PLAIN.issuperset(chunk) or not _PLAIN_CANDIDATE.issuperset(candidate) or candidate.get("index"):
            return False
        if type(text) is not str or len(part) != 1 or not (usage is None or type(usage) is dict):
            return False
        self._characters += len(text)
        if usage:
            self._usage.update(usage if None not in usage.values() else _given(usage))
        if chunk.get("responseId") is not None:
            self._head["responseId"] = chunk["responseId"]
        if chunk.get("modelVersion") is not None:
            self._head["modelVersion"] = chunk["modelVersion"]
        if self.keep:
            _grow(self._candidates.setdefault(0, {"parts": []})["parts"], part)
        return True

    def _hear(self, index: int, candidate: Any) -> None:
        content = field(candidate, "content")
        parts = list_of(field(content, "parts"))
        for part in parts:
            text = field(part, "text")
            call = field(part, "functionCall")
            if isinstance(text, str):
                self._characters += len(text)
            elif call is not None:
                self._characters += len(str(field(call, "name") or "")) + len(str(field(call, "args") or ""))
        if not self.keep:
            return
        kept = self._candidates.setdefault(index, {"parts": []})
        for part in parts:
            _grow(kept["parts"], part)
        more = {name: one for name, one in fields_of(candidate).items() if name != "content" and one is not None}
        kept.update(more)

    def response(self) -> tuple[Attributes, Usage | None]:
        indexes = range(max(self._reasons, default=-1) + 1)
        reasons = [self._reasons.get(index) for index in indexes]
        attributes, used = self._respond({**self._head, "usageMetadata": self._usage or None}, reasons)
        return attributes, usage_in_stream(used, self._body, self._characters, is_whole=self.complete)

    def result(self) -> Any:
        candidates = [
            {**{name: one for name, one in kept.items() if name != "parts"}, "content": _content(kept), "index": index}
            for index, kept in sorted(self._candidates.items())
        ]
        usage = {"usageMetadata": self._usage} if self._usage else {}
        return self._construct({**self._head, **usage, "candidates": candidates})


def _given(counts: Fields) -> dict[str, Any]:
    """Counts are running totals; a missing one has not changed."""
    return {name: count for name, count in counts.items() if count is not None}


def _content(kept: Fields) -> dict[str, Any]:
    return {"role": "model", "parts": kept["parts"]}


def _grow(parts: list[Any], part: Any) -> None:
    """Add a part; a text that goes on with the last one is added to that."""
    text = field(part, "text")
    last: Any = parts[-1] if parts else None
    told = dict(fields_of(part))
    if (
        isinstance(text, str)
        and isinstance(field(last, "text"), str)
        and field(last, "thought") == field(part, "thought")
    ):
        parts[-1] = {**last, **told, name_in(last, "text"): field(last, "text") + text}
    else:
        parts.append(told)


class ContentTexts:
    """Texts of chunks. What a candidate says in parts is one text, and what it thinks is another.

    Args:
        chunk_like: Creates a chunk of the same stream.
    """

    def __init__(self, chunk_like: ChunkLike) -> None:
        self._chunk_like = chunk_like

    def read(self, chunk: Any) -> ChunkText:
        grows, whole, ended = list[Leaf](), list[Leaf](), set[int]()
        for place, candidate in enumerate(list_of(field(chunk, "candidates"))):
            told = fields_of(candidate)
            index = told.get("index")
            index = index if type(index) is int else place
            if field(candidate, "finishReason"):
                ended.add(index)
            for leaf in _said_in(told, index, ("candidates", place)):
                (grows if leaf.channel[-1] in ("said", "thought", "partial") else whole).append(leaf)
        feedback = field(chunk, "promptFeedback")
        if feedback is not None:
            whole += _text_in(feedback, (name_in(fields_of(chunk), "promptFeedback"),), ("feedback",))
        return ChunkText(grows, whole, ends=lambda channel: channel[0] in ended)

    def write(self, chunk: Any, texts: Mapping[Route, str]) -> Any:
        changes: dict[Route, Any] = dict(texts)
        for place, candidate in enumerate(list_of(field(chunk, "candidates"))):
            for name in _SPELLED:
                if field(candidate, name) is not None:
                    changes["candidates", place, name_in(fields_of(candidate), name)] = None
        return with_texts(chunk, changes) if changes else chunk

    def more(self, chunk: Any, leaf: Leaf, text: str) -> Any:
        index, kind = leaf.channel[0], leaf.channel[-1]
        head = {name: one for name, one in fields_of(chunk).items() if name not in ("candidates", "usageMetadata")}
        part: Part = {"text": text, "thought": True} if kind == "thought" else {"text": text}
        if kind == "partial":
            part = _only(chunk, leaf.route, text)
        whole = {**head, "candidates": [{"index": index, "content": {"role": "model", "parts": [part]}}]}
        return whole if isinstance(chunk, dict) else self._chunk_like(chunk, whole)


def _only(chunk: Any, route: Route, text: str) -> Part:
    """The part of a chunk at a route, with this text as the only piece of its arguments."""
    part = chunk
    for step in route[:5]:
        part = part[step] if isinstance(step, int) else fields_of(part)[step]
    called, pieces, at = route[5:8]
    call = fields_of(fields_of(part)[str(called)])
    piece = {**fields_of(call[str(pieces)][at]), str(route[-1]): text}
    return {str(called): {**call, str(pieces): [piece]}}


def _said_in(candidate: Fields, index: int, route: Route) -> Iterator[Leaf]:
    """The texts of a candidate: those of its parts, then those about them."""
    for name, value in candidate.items():
        if name == "content":
            for at, part in enumerate(list_of(field(value, "parts"))):
                yield from _of_part(part, index, (*route, "content", "parts", at))
        elif value is not None and name not in _SPELLED:
            yield from _text_in(value, (*route, name), (index, name))


def _of_part(part: Any, index: int, route: Route) -> Iterator[Leaf]:
    text = field(part, "text")
    if isinstance(text, str):
        if text:
            thought = field(part, "thought") is True
            yield Leaf((index, "thought" if thought else "said"), (*route, name_in(fields_of(part), "text")), text)
        return
    call = field(part, "functionCall")
    pieces = list_of(field(call, "partialArgs"))
    if not pieces:
        for name, value in fields_of(part).items():
            own: Channel = (index, "part", route[-1], name)
            free = any(name in (one, snake(one)) for one in _FREE)
            yield from (_every if free else _text_in)(value, (*route, name), own)
        return
    above = (*route, name_in(fields_of(part), "functionCall"), name_in(fields_of(call), "partialArgs"))
    for at, piece in enumerate(pieces):
        value = field(piece, "stringValue")
        if isinstance(value, str) and value:
            channel = (index, str(field(piece, "jsonPath") or ""), "partial")
            yield Leaf(channel, (*above, at, name_in(fields_of(piece), "stringValue")), value)


def _text_in(value: Any, route: Route, channel: Channel) -> Iterator[Leaf]:
    """The texts in what is said about a candidate."""
    if str(route[-1]) in NO_TEXT or value is None:
        return iter(())
    return (leaf for leaf in leaves(value, route, channel) if str(leaf.route[-1]) not in _NO_TEXT)


def _every(value: Any, route: Route, channel: Channel) -> Iterator[Leaf]:
    """Every string in the arguments or the result of a function; not its name and its id."""
    for name, one in fields_of(value).items():
        if name in ("args", "response", "toolArgs"):
            yield from _strings(one, (*route, name), (*channel, name))


def _strings(value: Any, route: Route, channel: Channel) -> Iterator[Leaf]:
    if isinstance(value, str):
        if value:
            yield Leaf(channel, route, value)
    elif isinstance(value, dict):
        for name, one in cast("dict[str, Any]", value).items():
            yield from _strings(one, (*route, name), (*channel, name))
    elif isinstance(value, list):
        for at, one in enumerate(cast("list[Any]", value)):
            yield from _strings(one, (*route, at), (*channel, at))
