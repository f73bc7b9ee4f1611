"""What agent contexts say of messages, responses and arguments, and what comes back of it."""

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanhook import ConfigurationError
from spanhook.hooks import _agent_context as contract
from spanhook.hooks.agent_hooks import AgentHooks

TEXT = {"type": "text", "content": "hi"}
CALL = {"type": "tool_call", "id": "c1", "name": "add", "arguments": {"a": 1}}
IMAGE = {"type": "blob", "mime_type": "image/png", "content": "AAAA"}
MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "parts": [{"type": "text", "content": "be brief"}]},
    {"role": "user", "parts": [TEXT, IMAGE], "name": "ann"},
    {"role": "assistant", "parts": [TEXT, CALL]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": [1]}]},
]


def test_messages() -> None:
    assert contract.messages_of(MESSAGES) == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": {"parts": [TEXT, IMAGE]}},
        {"role": "assistant", "content": "hi", "tool_calls": [{"id": "c1", "name": "add", "args": {"a": 1}}]},
        {"role": "tool", "content": {"value": [1]}, "tool_call_id": "c1"},
    ]


@given(st.lists(st.sampled_from(range(len(MESSAGES))), max_size=6))
def test_messages_that_stay_are_exactly_as_they_were(places: list[int]) -> None:
    told = contract.messages_of(MESSAGES)

    back = contract.messages_back(MESSAGES, told, [told[place] for place in places])

    assert back == [MESSAGES[place] for place in places]


def test_messages_that_change() -> None:
    told = contract.messages_of(MESSAGES)
    said = {"role": "user", "content": "hello"}
    called = {"role": "assistant", "content": None, "tool_calls": [{"id": "x", "name": "add", "args": {"a": 2}}]}
    answered = {"role": "tool", "content": {"value": [2]}, "tool_call_id": "x"}

    assert contract.messages_back(MESSAGES, told, [told[0], said, called, answered]) == [
        MESSAGES[0],
        {"role": "user", "parts": [{"type": "text", "content": "hello"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "x", "name": "add", "arguments": {"a": 2}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "x", "response": [2]}]},
    ]


@pytest.mark.every_value
@pytest.mark.parametrize(
    "wanted",
    [
        None,
        {},
        "text",
        ["text"],
        [{}],
        [{"role": ""}],
        [{"role": 1, "content": "x"}],
        [{"role": "user", "content": 1}],
        [{"role": "user", "content": ["x"]}],
        [{"role": "user", "content": {"text": "x"}}],
        [{"role": "user", "content": {"parts": ["x"]}}],
        [{"role": "assistant", "content": "", "tool_calls": {}}],
        [{"role": "assistant", "content": "", "tool_calls": [{"name": "add", "args": []}]}],
    ],
)
def test_no_messages(wanted: Any) -> None:
    with pytest.raises(ValueError, match="expected"):
        contract.messages_back(MESSAGES, contract.messages_of(MESSAGES), wanted)


def test_responses() -> None:
    one: dict[str, Any] = {"role": "assistant", "parts": [TEXT, CALL], "finish_reason": "tool_call"}
    told = contract.response_of([one], ["tool_calls"])
    assert told == {
        "content": "hi",
        "tool_calls": [{"id": "c1", "name": "add", "args": {"a": 1}}],
        "finish_reason": "tool_calls",
    }
    assert contract.response_back([one], told, told) == one
    assert contract.response_back([one], told, {**told, "content": "[x]"})["parts"] == [
        {"type": "text", "content": "[x]"},
        CALL,
    ]
    assert contract.response_back([one], told, {**told, "tool_calls": []})["parts"] == [TEXT]
    stopped = contract.response_back([one], told, {**told, "tool_calls": [], "finish_reason": "stop"})
    assert stopped["finish_reason"] == "stop"


def test_responses_of_several_choices_cannot_be_changed() -> None:
    several: list[dict[str, Any]] = [{"role": "assistant", "parts": [TEXT]}] * 2
    told = contract.response_of(several)
    assert told["content"] == {"choices": [{"role": "assistant", "content": "hi"}] * 2}
    with pytest.raises(ValueError, match="several choices"):
        contract.response_back(several, told, {**told, "content": "x"})


@pytest.mark.every_value
@pytest.mark.parametrize("wanted", [None, [], "x", {}, {"content": "x"}, {"content": 1, "tool_calls": []}])
def test_no_response(wanted: Any) -> None:
    one: list[dict[str, Any]] = [{"role": "assistant", "parts": [TEXT]}]
    with pytest.raises(ValueError, match="expected"):
        contract.response_back(one, contract.response_of(one), wanted)


@pytest.mark.parametrize(
    ("parts", "content", "reason"),
    [([], None, "stop"), ([TEXT], "hi", "stop"), ([CALL], None, "tool_calls"), ([IMAGE], {"parts": [IMAGE]}, "stop")],
)
def test_content_of_responses(parts: list[Any], content: Any, reason: str) -> None:
    told = contract.response_of([{"role": "assistant", "parts": parts}])
    assert (told["content"], told["finish_reason"]) == (content, reason)


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("given", "told"),
    [
        (None, {}),
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        ("[1]", {"input": "[1]"}),
        ("x", {"input": "x"}),
        (3, {"input": 3}),
    ],
)
def test_arguments(given: Any, told: Any) -> None:
    assert contract.arguments_of(given) == told


@pytest.mark.parametrize("value", ["x", {"a": 1}, [1], 3, None, True])
def test_content_there_and_back(value: Any) -> None:
    told = contract.content_of(value)
    assert isinstance(told, str | dict)
    assert contract.content_back(told, told) == value


def test_the_host_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "agent_hooks", None)
    with pytest.raises(ConfigurationError, match=r"spanhook\[agent-hooks\]"):
        AgentHooks([])
