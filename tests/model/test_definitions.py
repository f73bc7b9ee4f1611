"""Tools as every provider and framework is given them, as the conventions write them."""

from typing import Any

import pytest
from langchain_core.tools import tool

from spanhook.model import tool_definitions

SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}}
LOOK_UP = {"type": "function", "name": "look_up", "description": "Looks up.", "parameters": SCHEMA}
SAID = {"name": "look_up", "description": "Looks up."}


@tool
def found(query: str) -> str:
    """Finds."""
    return query


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"type": "function", "function": {**SAID, "parameters": SCHEMA, "strict": True}}, LOOK_UP),
        ({"type": "function", **SAID, "parameters": SCHEMA, "strict": True}, LOOK_UP),
        ({**SAID, "parameters": SCHEMA}, LOOK_UP),
        ({**SAID, "input_schema": SCHEMA, "cache_control": {"type": "ephemeral"}}, LOOK_UP),
        ({"type": "custom", **SAID, "input_schema": SCHEMA}, LOOK_UP),
        ({"function_declarations": [{**SAID, "parameters": SCHEMA}]}, LOOK_UP),
        ({"toolSpec": {**SAID, "inputSchema": {"json": SCHEMA}}}, LOOK_UP),
        ({"type": "custom", "custom": {"name": "run", "format": {"type": "text"}}}, {"type": "custom", "name": "run"}),
        ({"type": "custom", "name": "run"}, {"type": "custom", "name": "run"}),
        ({"type": "web_search_1", "name": "web_search", "max_uses": 2}, {"type": "web_search_1", "name": "web_search"}),
        ({"type": "web_search"}, {"type": "web_search", "name": "web_search"}),
        (
            {"type": "mcp", "server_label": "shop", "authorization": "secret", "headers": {"a": "secret"}},
            {"type": "mcp", "name": "shop"},
        ),
        (found, {"type": "function", "name": "found", "description": "Finds."}),
        ("look_up", {"type": "function", "name": "look_up"}),
    ],
)  # fmt: skip
def test_a_definition(given: Any, expected: Any) -> None:
    assert tool_definitions([given]) == [expected]


def test_each_once_and_in_their_order() -> None:
    other = {"name": "other", "input_schema": SCHEMA}
    names = [one["name"] for one in tool_definitions([other, LOOK_UP, other])]
    assert names == ["other", "look_up"]
    assert tool_definitions(()) == []
