"""What requests say about results of tools, in each format."""

from typing import Any

import pytest

from spanhook import operation
from spanhook.instrument.formats.anthropic import Messages
from spanhook.instrument.formats.bedrock import Converse
from spanhook.instrument.formats.google import GenerateContent
from spanhook.instrument.formats.openai import Chat, Responses
from spanhook.instrument.wire import tool_results as module
from spanhook.instrument.wire.format import Format
from spanhook.model.tool_results import ToolResults
from spanhook.testing import recorder

CASES: dict[str, tuple[Format, dict[str, Any]]] = {
    "openai": (
        Chat(),
        {
            "messages": [
                {"role": "user", "content": "hi"},
                {
                    "role": "assistant",
                    "tool_calls": [
                        {"id": "1", "type": "function", "function": {"name": "bash", "arguments": "{}"}},
                        {"id": "2", "type": "function", "function": {"name": "search", "arguments": "{}"}},
                    ],
                },
                {"role": "tool", "tool_call_id": "1", "content": "ok"},
                {"role": "tool", "tool_call_id": "2", "content": "ok"},
            ]
        },
    ),
    "responses": (
        Responses(),
        {
            "input": [
                {"role": "user", "content": "hi"},
                {"type": "function_call", "call_id": "1", "name": "bash", "arguments": "{}"},
                {"type": "function_call", "call_id": "2", "name": "search", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "1", "output": "ok"},
                {"type": "function_call_output", "call_id": "2", "output": "ok"},
            ]
        },
    ),
    "anthropic": (
        Messages(),
        {
            "messages": [
                {"role": "user", "content": "hi"},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "tool_use", "id": "1", "name": "bash", "input": {}},
                        {"type": "tool_use", "id": "2", "name": "search", "input": {}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "1", "content": "ok"},
                        {"type": "tool_result", "tool_use_id": "2", "content": "ok"},
                    ],
                },
            ]
        },
    ),
    "bedrock": (
        Converse(),
        {
            "messages": [
                {
                    "role": "assistant",
                    "content": [
                        {"toolUse": {"toolUseId": "1", "name": "bash", "input": {}}},
                        {"toolUse": {"toolUseId": "2", "name": "search", "input": {}}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"toolResult": {"toolUseId": "1", "content": [{"text": "ok"}]}},
                        {"toolResult": {"toolUseId": "2", "content": [{"text": "ok"}]}},
                    ],
                },
            ]
        },
    ),
    "google": (
        GenerateContent(),
        {
            "contents": [
                {
                    "role": "model",
                    "parts": [
                        {"functionCall": {"name": "bash", "args": {}}},
                        {"functionCall": {"name": "search", "args": {}}},
                    ],
                },
                {
                    "role": "user",
                    "parts": [
                        {"functionResponse": {"name": "bash", "response": {"result": "ok"}}},
                        {"function_response": {"name": "search", "response": {"result": "ok"}}},
                    ],
                },
            ]
        },
    ),
}


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> ToolResults:
    found = ToolResults()
    monkeypatch.setattr(module, "ungated_tools", found)
    return found


@pytest.mark.parametrize("name", CASES)
def test_results_at_the_end(name: str, results: ToolResults) -> None:
    api, body = CASES[name]
    module.note_results(api, body)
    assert results.ungated == {"bash": 1, "search": 1}


@pytest.mark.parametrize("name", CASES)
def test_without_results_nothing_is_read(name: str, results: ToolResults, monkeypatch: pytest.MonkeyPatch) -> None:
    api, body = CASES[name]

    def never(_body: Any) -> None:
        raise AssertionError("the request was read")

    monkeypatch.setattr(api, "request", never)
    turns = [*body[api.turns], {"role": "user", "content": [], "parts": []}]
    for changed in (turns, turns[:1], [], None, "hi"):
        module.note_results(api, {**body, api.turns: changed})
    assert results.ungated == {}


@pytest.mark.parametrize(("kind", "counted"), [("agent.invoke", 2), ("tool.execute", 2)])
def test_agents_of_ones_own_are_looked_at(kind: str, counted: int, results: ToolResults) -> None:
    with recorder(), operation(kind, "mine"):
        module.note_results(*CASES["openai"])
    assert results.ungated.total() == counted
