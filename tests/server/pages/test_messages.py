import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanhook.server.pages.messages import LONGEST, Message, messages_of

INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
ASKED = [{"role": "user", "parts": [{"type": "text", "content": "Where is it?"}]}]
CALLS = [
    {
        "role": "assistant",
        "parts": [
            {"type": "reasoning", "content": "Look it up."},
            {"type": "tool_call", "name": "search", "arguments": {"order": 7}},
        ],
    },
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": "on its way"}]},
]


@pytest.mark.parametrize("as_json", [False, True])
def test_messages_are_read_as_data_and_as_json(as_json: bool) -> None:
    found: dict[str, Any] = {
        INPUT: ASKED,
        OUTPUT: CALLS,
        "gen_ai.system_instructions": [{"type": "text", "content": "Be brief"}],
    }
    if as_json:
        found = {name: json.dumps(value) for name, value in found.items()}
    assert messages_of(found) == [
        Message("system", "Be brief"),
        Message("user", "Where is it?"),
        Message("assistant (reasoning)", "Look it up."),
        Message("assistant calls search", '{\n  "order": 7\n}', "data"),
        Message("tool response", "on its way", "data"),
    ]


def test_nothing_captured_is_nothing() -> None:
    assert messages_of({}) == messages_of({INPUT: None, OUTPUT: "[]"}) == []


def test_long_messages_are_cut() -> None:
    (one,) = messages_of({INPUT: [{"role": "user", "parts": [{"type": "text", "content": "a" * 100_000}]}]})
    assert len(one.text) == LONGEST
    assert len(messages_of({INPUT: ASKED * 10_000})) == 200


JSON: Any = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(), lambda one: st.lists(one) | st.dictionaries(st.text(), one)
)


@given(JSON)
def test_any_content_is_shown(value: Any) -> None:
    for given_as in (
        value,
        json.dumps(value),
        [value],
        [{"role": value, "parts": [value, {"type": "text", "content": value}]}],
    ):
        for one in messages_of({INPUT: given_as, "gen_ai.tool.call.result": given_as}):
            assert isinstance(one.text, str)
