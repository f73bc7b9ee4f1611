"""What interceptors do to an agent of LangChain, besides what the kit's vectors say."""

import asyncio
from typing import Any

import pytest
from agent_hooks.ctk import Scenario
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from spanhook import Hooks, Reject
from spanhook.hooks.agent_hooks import AgentHooks
from spanhook.testing import recorder
from tests.agent_hooks.harness import THREAD, WAYS, Host, Scripted, Tokens

pytestmark = pytest.mark.agent_hooks

ALLOW = {"decision": "allow"}
CALL = {"id": "tc-1", "name": "search", "args": {"query": "cats"}}
VECTOR: dict[str, Any] = {
    "scenario": {
        "input": {"role": "user", "content": "find cats"},
        "tools": [{"name": "search", "behavior": [{"return": {"found": ["a cat"]}}]}],
        "model_script": [
            {"respond": {"content": "", "tool_calls": [CALL], "finish_reason": "tool_calls"}},
            {"respond": {"content": "there is a cat", "tool_calls": [], "finish_reason": "stop"}},
        ],
    }
}


def run(way: str, **answers: Any) -> tuple[Any, Host, list[Any]]:
    """The outcome, the host, and the contexts, of a run in which interceptors answer at some points."""
    contexts: list[Any] = []

    def intercept(context: Any) -> Any:
        contexts.append(context)
        answer = answers.get(context["interception_point"], ALLOW)
        return answer(context) if callable(answer) else answer

    host = Host(VECTOR, way)
    host._hooked(Scenario.from_wire(VECTOR["scenario"]), AgentHooks([intercept], records=host.records.append))
    try:
        outcome = asyncio.run(host.run())
    finally:
        host.teardown()
    return outcome, host, contexts


def transform(value: Any, path: str = "$target") -> Any:
    return {"decision": "transform", "transform": {"path": path, "value": value}}


@pytest.mark.parametrize("way", WAYS)
def test_an_input_is_changed(way: str) -> None:
    _, host, contexts = run(way, input=transform("find dogs", "$target.content"))
    asked = next(one for one in contexts if one["interception_point"] == "pre_model_call")
    assert [one["content"] for one in asked["messages"]] == ["find dogs"]
    assert "find cats" not in host.persisted


@pytest.mark.parametrize("way", WAYS)
def test_messages_are_changed(way: str) -> None:
    outcome, host, _ = run(way, pre_model_call=transform("find dogs", "$target[0].content"))
    assert outcome.final_output == "there is a cat"
    assert [heard[0].content for heard in host.model._heard] == ["find dogs", "find dogs"]


@pytest.mark.parametrize("way", WAYS)
def test_a_response_is_changed(way: str) -> None:
    def change(context: Any) -> Any:
        if context["response"]["tool_calls"]:
            return transform("dogs", "$target.tool_calls[0].args.query")
        return transform("there is [x]", "$target.content")

    outcome, host, _ = run(way, post_model_call=change)
    assert outcome.final_output == "there is [x]"
    assert outcome.tool_invocations == [{"name": "search", "args": {"query": "dogs"}}]
    assert "a cat" not in host.released.replace("a cat]", "")


@pytest.mark.parametrize("way", WAYS)
def test_a_tools_result_is_changed(way: str) -> None:
    _, host, contexts = run(way, post_tool_call=transform("[x]", "$target.found[0]"))
    last = [one for one in contexts if one["interception_point"] == "pre_model_call"][-1]
    assert last["messages"][-1]["content"] == '{"found": ["[x]"]}'
    assert "a cat" not in host.persisted.replace("there is a cat", "")


@pytest.mark.parametrize("way", WAYS)
def test_nothing_of_a_denied_response_gets_out(way: str) -> None:
    def refuse(context: Any) -> Any:
        return {"decision": "deny", "reason": "cats"} if "cat" in str(context["response"]["content"]) else ALLOW

    outcome, host, _ = run(way, post_model_call=refuse)
    assert (outcome.outcome.value, outcome.final_output) == ("blocked", None)
    assert "there is a cat" not in host.persisted
    assert "there is a cat" not in host.released


def test_callbacks_get_nothing_that_is_withheld() -> None:
    tokens, host = Tokens(), Host(VECTOR, "invoke")
    host.incremental = True  # the model streams by itself
    hook = AgentHooks([lambda context: ALLOW if context["interception_point"] != "post_model_call" else None])
    host.scenario, host.invocations = Scenario.from_wire(VECTOR["scenario"]), []
    with recorder(Hooks(hook)), pytest.raises(Reject):
        host._agent(None).invoke({"messages": "find cats"}, {**THREAD, "callbacks": [tokens]})
    assert tokens.heard == []


def test_a_run_that_pauses_and_goes_on() -> None:
    contexts: list[Any] = []

    @tool
    def close(account: int) -> str:
        """Close an account."""
        return f"closed {account}" if interrupt("really?") else "kept"

    def intercept(context: Any) -> Any:
        contexts.append(context)
        return ALLOW

    call = {"id": "c1", "name": "close", "args": {"account": 7}}
    answers: list[dict[str, Any]] = [
        {"content": "", "tool_calls": [call], "finish_reason": "tool_calls"},
        {"content": "done", "tool_calls": [], "finish_reason": "stop"},
    ]
    with recorder(Hooks(AgentHooks([intercept]))):
        agent: Any = create_agent(Scripted(answers=answers), [close], checkpointer=InMemorySaver())
        paused = agent.invoke({"messages": "close it"}, THREAD)
        state = agent.invoke(Command(resume=True), THREAD)
    assert paused["__interrupt__"][0].value == "really?"
    assert state["messages"][-2].content == "closed 7"
    first, second = dict.fromkeys(one["session"]["id"] for one in contexts)
    before = [one["interception_point"] for one in contexts if one["session"]["id"] == first]
    after = [one["interception_point"] for one in contexts if one["session"]["id"] == second]
    assert before[-3:] == ["pre_tool_call", "output", "agent_shutdown"]
    assert after[2:4] == ["pre_tool_call", "post_tool_call"]
