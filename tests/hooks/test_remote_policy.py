"""The hook, whatever service it asks: what becomes of calls and their results, beside other hooks."""

import asyncio
import threading
from contextlib import nullcontext
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

import spanhook
from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.openai_ways import CHAT, sync_client
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.hooks.approval import NotApproved
from spanhook.testing import recorder
from tests.hooks.remote_policy.calls import WAYS, policy, refund, refusal
from tests.hooks.remote_policy.policy_server import Odd, serving

ALLOW, DENY = {"result": True}, {"result": False}


@pytest.mark.parametrize("way", WAYS)
def test_calls_are_allowed_and_denied_however_they_are_made(way: str) -> None:
    with serving(ALLOW, DENY) as server, recorder(policy("opa", server.url)) as seen:
        assert WAYS[way]() == "refunded 5"
        assert refusal(WAYS[way]).status_code == 403
    assert [op.status for op in seen.operations] == ["success", "rejected"]
    assert [op.called for op in seen.operations] == [True, False]


# ------------------------------------------------------------------------------------------ results


def test_results_are_checked_withheld_and_replaced() -> None:
    answers = (
        True,
        {"decision": "deny", "reason": "not for you"},
        {"decision": "transform", "replace": {"result": "x"}},
    )
    with serving(*({"result": one} for one in answers)) as server:
        asked = policy("opa", server.url, send=["result"], check=["result"])
        with recorder(asked) as seen:
            assert refund(5) == "refunded 5"
            assert refusal().reason == "not for you"
            assert refund(5) == "x"
    assert [op.called for op in seen.operations] == [True] * 3
    assert server.seen[0].body["input"] == {
        "kind": "tool.execute",
        "phase": "post",
        "name": "refund",
        "result": "refunded 5",
    }


def test_a_result_that_cannot_be_checked_is_withheld() -> None:
    with serving(Odd(500)) as server, recorder(policy("opa", server.url, check=["result"])) as seen:
        assert refusal().status_code == 503
    assert [op.called for op in seen.operations] == [True]


def test_a_request_and_its_result_are_two_questions() -> None:
    with serving(ALLOW) as server, recorder(policy("opa", server.url, check=["request", "result"], send=[])):
        refund(5)
    assert [one.body["input"]["phase"] for one in server.seen] == ["pre", "post"]


# ------------------------------------------------------------------------------------------ other hooks


def test_it_is_asked_again_if_a_later_hook_rewrites_what_it_is_told() -> None:
    def more(op: Operation) -> None:
        op.replace(arguments={"amount": 100})

    def decide(asked: Any) -> Any:
        return {"result": asked.body["input"]["arguments"]["amount"] < 50}

    with serving(decide) as server:
        hooks = Hooks(policy("opa", server.url))
        hooks.before("tool.execute", priority=60)(more)
        with recorder(hooks) as seen:
            assert refusal().status_code == 403
    assert [one.body["input"]["arguments"]["amount"] for one in server.seen] == [5, 100]
    assert [op.called for op in seen.operations] == [False]


def test_what_the_application_changes_meanwhile_is_refused() -> None:
    basket = [1]

    @spanhook.tool
    def buy(things: list[int]) -> int:
        return len(things)

    def change(_asked: Any) -> Any:
        basket.append(2)
        return ALLOW

    with serving(change) as server, recorder(policy("opa", server.url)):
        assert refusal(lambda: buy(basket)).status_code == 409


def test_shadow_asks_and_changes_nothing() -> None:
    with serving(DENY) as server:
        asked = policy("opa", server.url)
        asked.mode = "shadow"
        with recorder(asked) as seen:
            assert refund(5) == "refunded 5"
    assert [one.decision for op in seen.operations for one in op.shadow_decisions] == ["reject"]


def test_a_person_is_asked_if_the_policy_says_so() -> None:
    with serving({"decision": "escalate", "reason": "large"}) as server:
        with recorder(policy("http", server.url)):
            assert refusal().reason == "large"
        asking = policy("http", server.url, approval={"wait": 0})
        with recorder(asking):
            refused = refusal()
            assert isinstance(refused, NotApproved)
            approvals: Any = asking._approval
            approvals._approvals.answer(refused.approval_id, approve=True, by="lead-1")
            assert refund() == "refunded 5"
            assert refusal(lambda: refund(6)).status_code == 409


@pytest.mark.parametrize("is_async", [False, True])
def test_a_graph_is_interrupted_until_the_person_has_answered(is_async: bool) -> None:
    @tool
    def delete(path: str) -> str:
        """Delete a file."""
        return f"deleted {path}"

    def model(_state: MessagesState) -> Any:
        call = {"name": "delete", "args": {"path": "a"}, "id": "1", "type": "tool_call"}
        return {"messages": [AIMessage("", tool_calls=[call])]}

    builder: Any = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_node("tools", ToolNode([delete], handle_tool_errors=False))
    builder.add_edge(START, "model")
    builder.add_edge("model", "tools")
    builder.add_edge("tools", END)
    graph = builder.compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "t"}}

    def run(given: Any) -> Any:
        return asyncio.run(graph.ainvoke(given, thread)) if is_async else graph.invoke(given, thread)

    with serving({"decision": "escalate"}) as server, recorder(policy("http", server.url, approval={})):
        [asked] = run({"messages": [("user", "go")]})["__interrupt__"]
        assert (asked.value["type"], asked.value["tool"]) == ("approval", "delete")
        answer = {"decision": "approve", "approval_id": asked.value["approval_id"], "by": "lead-1"}
        assert run(Command(resume=answer))["messages"][-1].content == "deleted a"


@pytest.mark.parametrize("allowed", [True, False])
def test_a_stream_is_held_back_until_its_result_is_checked(allowed: bool) -> None:
    with OpenAIServer() as provider, serving({"result": allowed}) as server, sync_client(provider.url) as client:
        asked = policy("opa", server.url, send=["result"], check=["result"])
        got: list[Any] = []
        with recorder(asked), nullcontext() if allowed else pytest.raises(Reject):
            got.extend(client.chat.completions.create(**CHAT, stream=True))
    assert bool(got) == allowed
    assert server.seen[0].body["input"]["result"][0]["role"] == "assistant"


def test_many_threads_ask_at_once() -> None:
    with serving(ALLOW) as server, recorder(policy("opa", server.url)):
        found: list[Any] = []
        threads = [threading.Thread(target=lambda n=n: found.append(refund(n))) for n in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == [f"refunded {n}" for n in range(10)]
    assert len(server.seen) == 10
