"""Texts in chunks of any type: found, replaced without touching the original, and put into the smallest chunk."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from spanhook.model import leaves, nested, with_texts


class Delta(BaseModel):
    model_config = ConfigDict(extra="allow")
    role: str = "assistant"
    content: str | None = None


@dataclass
class Own:
    text: str
    id: str = "1"


CHUNKS: list[Any] = [
    "a",
    {"text": "a", "type": "text", "n": 1, "none": None},
    [{"index": 7, "text": "a"}, "b"],
    Delta(content="a", reasoning="b"),  # pyright: ignore[reportCallIssue]
    {"delta": Delta(content="a"), "more": (Own("c"), 2.5)},
    Own("a"),
]


@pytest.mark.every_value
@pytest.mark.parametrize("chunk", CHUNKS, ids=lambda chunk: type(chunk).__name__)
def test_every_text_is_found_and_can_be_replaced(chunk: Any) -> None:
    before = repr(chunk)
    found = list(leaves(chunk))
    changed = with_texts(chunk, {leaf.route: leaf.text.upper() for leaf in found})
    assert [leaf.text for leaf in leaves(changed)] == [leaf.text.upper() for leaf in found]
    assert [leaf.channel for leaf in leaves(changed)] == [leaf.channel for leaf in found]
    assert type(changed) is type(chunk)
    assert repr(chunk) == before


def test_names_say_what_is_no_text() -> None:
    chunk = {
        "id": "secret",
        "type": "x",
        "name": "tool",
        "arguments": "said",
        "signature": "s",
        "new_field": "said too",
    }
    assert [leaf.text for leaf in leaves(chunk)] == ["said", "said too"]


def test_items_with_an_index_belong_to_it_wherever_they_stand() -> None:
    first, second = ([leaf.channel for leaf in leaves([{"index": 3, "args": "x"}])] for _ in range(2))
    assert first == second == [(3, "args")]


@pytest.mark.every_value
@pytest.mark.parametrize("chunk", [object(), b"bytes", {"x": object()}, [b""]], ids=["object", "bytes", "dict", "list"])
def test_what_may_hide_text_is_refused(chunk: Any) -> None:
    with pytest.raises(TypeError, match="no text can be read from"):
        list(leaves(chunk))


_NAMES = st.sampled_from(["content", "tool_calls", "function", "arguments", "text"])


_STEPS = st.lists(st.tuples(_NAMES, st.none() | st.integers(0, 5)), min_size=1, max_size=3)


@given(steps=_STEPS)
def test_the_smallest_value_with_a_text_has_it_in_its_channel(steps: list[Any]) -> None:
    channel = [step for name, index in steps for step in ((name,) if index is None else (index, name))]
    made = list(leaves(nested(channel, "x")))
    assert [(leaf.channel, leaf.text) for leaf in made] == [(tuple(channel), "x")]
