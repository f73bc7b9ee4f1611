"""Streams of interactions: events add up to one, and are made of an answer.

Older versions have outputs instead of steps, and other names for events.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from spanhook.instrument.formats.google.steps import decoded_arguments
from spanhook.instrument.wire import (
    ChunkLike,
    Construct,
    Event,
    Fields,
    as_reported,
    fields_of,
    index_of,
    list_of,
    text_of,
    usage_in_stream,
)
from spanhook.model import Attributes, ChunkText, Leaf, Route, Usage, leaves, with_texts

Respond = Callable[[Fields], tuple[Attributes, Usage | None]]
_LAST = ("interaction.completed", "interaction.complete")
_KINDS = {"text": "text", "summary": "thought_summary", "content": "thought_summary", "arguments": "arguments_delta"}
"""Types of deltas, by the name of the field that has the text."""


class InteractionChunks:
    """Counts the characters of a stream until its end reports usage; keeps the steps only if ``keep``.

    Args:
        body: The request.
        construct: Creates the whole from JSON.
        respond: Reads a complete interaction.
        steps: It has steps; otherwise outputs.
    """

    def __init__(self, body: Fields, construct: Construct, respond: Respond, *, steps: bool) -> None:
        self.keep = self.complete = False
        self._body, self._construct, self._respond, self._steps = body, construct, respond, steps
        self._told: dict[str, Any] = {}
        self._usage: Any = None
        self._items: dict[int, dict[str, Any]] = {}
        self._characters = 0

    def add(self, chunk: Any) -> bool:
        told = fields_of(chunk)
        kind = text_of(told.get("event_type"))
        if kind.endswith(".delta"):
            self._grow(index_of(told), fields_of(told.get("delta")))
        elif kind.endswith(".start") and ("step" in told or "content" in told):
            self._items[index_of(told)] = dict(fields_of(told.get("step") or told.get("content")))
        elif "interaction" in told:
            known = fields_of(told["interaction"]).items()
            self._told.update((name, value) for name, value in known if value is not None)
            self._usage = as_reported(fields_of(told["interaction"]).get("usage")) or self._usage
            self.complete = kind in _LAST
        elif kind == "interaction.status_update":
            self._told["status"] = told.get("status") or self._told.get("status")
            self._usage = as_reported(told.get("usage")) or self._usage
        return True

    def _grow(self, index: int, delta: Fields) -> None:
        text = delta.get("text")
        summary = fields_of(delta.get("content")).get("text")
        arguments = delta.get("arguments")
        for said in (text, summary, arguments):
            self._characters += len(said) if isinstance(said, str) else 0
        if not self.keep:
            return
        kind = delta.get("type")
        item = self._items.setdefault(index, {"type": "model_output" if self._steps else kind})
        if isinstance(text, str) and kind == "text":
            self._say(item, text)
        elif isinstance(summary, str):
            item["summary"] = [*list_of(item.get("summary")), {"type": "text", "text": summary}]
        elif isinstance(arguments, str):
            before = item.get("arguments")
            item["arguments"] = (before if isinstance(before, str) else "") + arguments
        elif kind in ("image", "audio", "video", "document"):
            item["content"] = [*list_of(item.get("content")), dict(delta)]
        else:
            item.update((name, value) for name, value in delta.items() if name != "type" and value is not None)

    def _say(self, item: dict[str, Any], text: str) -> None:
        if not self._steps:
            item["text"] = (item.get("text") or "") + text
            return
        content = [dict(fields_of(one)) for one in list_of(item.get("content"))]
        if content and content[-1].get("type") == "text":
            content[-1]["text"] = (content[-1].get("text") or "") + text
        else:
            content.append({"type": "text", "text": text})
        item["content"] = content

    def response(self) -> tuple[Attributes, Usage | None]:
        attributes, used = self._respond({**self._told, "usage": self._usage})
        return attributes, usage_in_stream(used, self._body, self._characters, is_whole=self.complete)

    def result(self) -> Any:
        name = "steps" if self._steps else "outputs"
        items = [decoded_arguments(item) for _, item in sorted(self._items.items())]
        usage = {} if self._usage is None else {"usage": self._usage}
        return self._construct({"status": "in_progress", **self._told, **usage, name: self._told.get(name) or items})


class EventTexts:
    """Texts of events, each of which belongs to one step.

    Args:
        chunk_like: Creates an event of the same stream.
    """

    def __init__(self, chunk_like: ChunkLike) -> None:
        self._chunk_like = chunk_like

    def read(self, chunk: Any) -> ChunkText:
        told = fields_of(chunk)
        kind = text_of(told.get("event_type"))
        index = index_of(told)
        if kind.endswith(".delta"):
            delta = told.get("delta")
            found = tuple(leaves(delta, ("delta",), (index,)))
            grows = fields_of(delta).get("type") in ("text", "thought_summary", "arguments_delta")
            return ChunkText(grows=found) if grows else ChunkText(whole=found)
        if kind.endswith(".stop"):
            return ChunkText(ends=lambda channel: channel[0] == index)
        name = next((one for one in ("step", "content", "interaction") if one in told), "")
        whole = tuple(_said(told[name], name)) if name else ()
        return ChunkText(whole=whole, ends=lambda _channel: kind in _LAST)

    def write(self, chunk: Any, texts: Mapping[Route, str]) -> Any:
        return with_texts(chunk, texts) if texts else chunk

    def more(self, chunk: Any, leaf: Leaf, text: str) -> Any:
        told = fields_of(chunk)
        kind = text_of(told.get("event_type"))
        if kind.endswith(".delta"):
            return self.write(chunk, {leaf.route: text})
        index, inside = leaf.channel[0], leaf.channel[1:]
        name = str(inside[0])
        said: Any = {"type": "text", "text": text} if name == "content" else text
        family = "content" if kind.startswith("content") or kind == _LAST[1] else "step"
        delta = {"type": _KINDS.get(name, name), name: said}
        value = {"event_type": f"{family}.delta", "index": index, "delta": delta}
        return value if isinstance(chunk, dict) else self._chunk_like(chunk, value)


def _said(value: Any, name: str) -> Iterator[Leaf]:
    """The texts of a step, or of the outputs of a whole interaction; not what it says of the request."""
    if name != "interaction":
        yield from leaves(value, (name,), (name,))
        return
    for key in ("steps", "outputs", "output_text"):
        yield from leaves(fields_of(value).get(key), (name, key), (name, key))


def events_of(interaction: Any, *, steps: bool) -> Iterator[Event]:
    """The events that a stream of this interaction would have sent."""
    name, family = ("steps", "step") if steps else ("outputs", "content")
    head = {key: one for key, one in interaction.items() if key != name}

    def event(kind: str, **data: Any) -> Event:
        return kind, {"event_type": kind, **data}

    yield event("interaction.created" if steps else "interaction.start", interaction={**head, "status": "in_progress"})
    for index, item in enumerate(interaction[name]):
        begun, deltas = _begun(item, steps=steps)
        yield event(f"{family}.start", index=index, **{family: begun})
        for delta in deltas:
            yield event(f"{family}.delta", index=index, delta=delta)
        yield event(f"{family}.stop", index=index)
    yield event("interaction.completed" if steps else "interaction.complete", interaction=head)


def _begun(item: Any, *, steps: bool) -> tuple[dict[str, Any], list[Any]]:
    """A step as it begins, and what follows."""
    if not steps:
        return ({"type": item.get("type")}, [item]) if item.get("type") != "function_call" else ({**item}, [item])
    if item.get("type") == "model_output":
        return {**item, "content": []}, list(list_of(item.get("content")))
    return dict(item), []
