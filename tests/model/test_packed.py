"""What is kept of a stream's chunks: as they were when they arrived."""

from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from pydantic import BaseModel

import spanhook.instrument.langchain_core.messages  # noqa: F401  # pyright: ignore[reportUnusedImport] - how they are copied
from spanhook.model import packed, unpacked


class Parsed(BaseModel):
    answer: int


def message(**more: Any) -> AIMessageChunk:
    calls: Any = [{"name": "look_up", "args": "{}", "id": "1", "index": 0}]
    return AIMessageChunk(content=[{"type": "text", "text": "hello"}], id="one", tool_call_chunks=calls, **more)


FORMS: dict[str, Any] = {
    "a model": message,
    "a model with more than plain data": lambda: message(additional_kwargs={"parsed": Parsed(answer=1)}),
    "a model with a field of its own": lambda: message(beyond="x"),
    "a dict": lambda: {"event": "content", "content": [{"text": "hello"}]},
}


@pytest.mark.every_value
@pytest.mark.parametrize("form", FORMS)
def test_it_is_what_it_was(form: str) -> None:
    made = FORMS[form]()
    kind, data = packed(made)
    content = made["content"] if isinstance(made, dict) else made.content
    content[0]["text"] = "edited"
    if not isinstance(made, dict):
        made.tool_call_chunks.clear()
        made.id = "edited"
    found = unpacked(kind, data)
    assert type(found) is type(made)
    assert found == FORMS[form]()


def test_others_are_handed_over_as_they_are() -> None:
    for value in ("text", 1, Parsed(answer=1), None):
        found = unpacked(*packed(value))
        assert found == value
