"""A complete response as the events that its stream would have sent."""

from collections.abc import Iterator
from itertools import count
from typing import Any

from spanhook.instrument.wire import Event, Payload


def response_events(payload: Payload) -> Iterator[Event]:
    """The events of a complete response, from ``response.created`` to ``response.completed``."""
    numbers = count()

    def event(kind: str, **data: Any) -> Event:
        return kind, {"type": kind, "sequence_number": next(numbers), **data}

    started = {**payload, "status": "in_progress", "output": [], "usage": None}
    yield event("response.created", response=started)
    yield event("response.in_progress", response=started)
    for index, item in enumerate(payload["output"]):
        for kind, data in _item_events(item):
            yield event(kind, output_index=index, **data)
    last = "incomplete" if payload.get("status") == "incomplete" else "completed"
    yield event(f"response.{last}", response=payload)


def _item_events(item: Payload) -> Iterator[Event]:
    kind, started = item.get("type"), {**item, "status": "in_progress"}
    if kind == "message":
        yield "response.output_item.added", {"item": {**started, "content": []}}
        for index, part in enumerate(item["content"]):
            for name, data in _part_events(part):
                yield name, {"item_id": item.get("id"), "content_index": index, **data}
    elif kind == "function_call":
        yield "response.output_item.added", {"item": {**started, "arguments": ""}}
        said, arguments = {"item_id": item.get("id")}, item["arguments"]
        yield "response.function_call_arguments.delta", {**said, "delta": arguments}
        yield "response.function_call_arguments.done", {**said, "arguments": arguments, "name": item.get("name")}
    else:
        yield "response.output_item.added", {"item": item}
    yield "response.output_item.done", {"item": item}


def _part_events(part: Payload) -> Iterator[Event]:
    if part.get("type") != "output_text":
        yield "response.content_part.added", {"part": part}
        yield "response.content_part.done", {"part": part}
        return
    yield "response.content_part.added", {"part": {**part, "text": ""}}
    yield "response.output_text.delta", {"delta": part["text"], "logprobs": []}
    yield "response.output_text.done", {"text": part["text"], "logprobs": []}
    yield "response.content_part.done", {"part": part}
