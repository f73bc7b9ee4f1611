"""LangChain messages in role/parts form and back: nothing that a hook left alone is changed or lost."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage

from spanhook.instrument.langchain_core.messages import from_message, rewrite, to_message, with_system

IMAGE: dict[str, Any] = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}

text = st.text(max_size=20)
blocks = st.one_of(
    text.map(lambda said: {"type": "text", "text": said}),
    st.just(IMAGE),
    text.map(lambda said: {"type": "reasoning", "reasoning": said}),
)
content: st.SearchStrategy[Any] = st.one_of(text, st.lists(blocks, max_size=3))
calls = st.lists(
    st.builds(
        lambda name, args, number: {"name": name, "args": args, "id": f"c{number}", "type": "tool_call"},
        st.text(min_size=1, max_size=5),
        st.dictionaries(st.text(max_size=5), st.integers(), max_size=2),
        st.integers(0, 99),
    ),
    max_size=2,
)
messages = st.one_of(
    content.map(lambda said: HumanMessage(content=said)),
    content.map(lambda said: SystemMessage(content=said)),
    st.builds(lambda said, made: AIMessage(content=said, tool_calls=made, id="m1"), content, calls),
    content.map(lambda said: ToolMessage(content=said, tool_call_id="c1", name="search", status="error")),
    text.map(lambda said: ChatMessage(content=said, role="critic")),
)


@given(st.lists(messages, max_size=4))
def test_what_a_hook_left_alone_stays_the_same_object(natives: list[BaseMessage]) -> None:
    result = rewrite(natives, [to_message(message) for message in natives])
    assert all(new is old for new, old in zip(result, natives, strict=True))


@given(messages)
def test_there_and_back(message: BaseMessage) -> None:
    assert to_message(from_message(to_message(message), message)) == to_message(message)
    assert type(from_message(to_message(message))) is type(message)


@given(messages)
def test_ids_and_metadata_of_the_message_it_stands_for_are_kept(message: BaseMessage) -> None:
    message.response_metadata = {"kept": True}
    changed = to_message(message)
    changed["parts"] = [*changed["parts"], {"type": "text", "content": "added"}]
    new = rewrite([message], [changed])[0]
    assert type(new) is type(message)
    assert new.id == message.id
    assert new.response_metadata == {"kept": True}


def test_a_changed_text() -> None:
    natives = [SystemMessage("be kind"), HumanMessage("my card is 4111", id="h1")]
    new = [to_message(message) for message in natives]
    new[1]["parts"][0]["content"] = "my card is [redacted]"
    result = rewrite(natives, new)
    assert result[0] is natives[0]
    assert (result[1].content, result[1].id) == ("my card is [redacted]", "h1")


def test_messages_may_be_added_and_dropped() -> None:
    natives = [HumanMessage("one"), AIMessage("two"), HumanMessage("three")]
    new = [to_message(natives[2]), {"role": "user", "parts": [{"type": "text", "content": "four"}]}]
    result = rewrite(natives, new)
    assert result[0] is natives[2]
    assert isinstance(result[1], HumanMessage)
    assert rewrite(natives, [natives[0]])[0] is natives[0]  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]


def test_multimodal_content_survives() -> None:
    message = HumanMessage(content=[{"type": "text", "text": "what is this?"}, IMAGE])
    assert to_message(message)["parts"] == [
        {"type": "text", "content": "what is this?"},
        {"type": "uri", "modality": "image", "uri": "https://example.com/a.png"},
    ]
    changed = to_message(message)
    changed["parts"][0]["content"] = "redacted"
    assert rewrite([message], [changed])[0].content == [{"type": "text", "text": "redacted"}, IMAGE]


def test_tool_calls_and_results() -> None:
    asked = AIMessage(content="", tool_calls=[{"name": "search", "args": {"q": "x"}, "id": "c1", "type": "tool_call"}])
    assert to_message(asked) == {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "c1", "name": "search", "arguments": {"q": "x"}}],
    }
    result = ToolMessage(content="found", tool_call_id="c1")
    assert to_message(result) == {
        "role": "tool",
        "parts": [{"type": "tool_call_response", "id": "c1", "response": "found"}],
    }


def test_system_instructions() -> None:
    assert [one.content for one in with_system([HumanMessage("hi")], "be brief")] == ["be brief", "hi"]
    assert [one.content for one in with_system([SystemMessage("old"), HumanMessage("hi")], "new")] == ["new", "hi"]


def test_a_message_without_a_role_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a role"):
        from_message({"role": None, "parts": []})
