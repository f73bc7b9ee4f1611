"""Operations as conversations, and what services change in them."""

import base64
import json
from typing import Any

import pytest

import spanhook
from spanhook import Operation
from spanhook.cli.conformance.libraries.openai_ways import CHAT, sync_client
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.testing import recorder
from tests.hooks.remote_policy.answers import (
    ALLOWS,
    ANSWERS,
    ARGUMENTS,
    asking,
)
from tests.hooks.remote_policy.calls import refund, refusal
from tests.hooks.remote_policy.policy_server import serving

# --------------------------------------------------------------------------------------------- questions


def test_tools_are_asked_about_in_each_form() -> None:
    asked: dict[str, Any] = {}
    for service, answer in ALLOWS.items():
        with serving(answer) as server, recorder(asking(service, server)):
            refund(5)
        asked[service] = server.seen[0].body
    call = {"id": "call", "type": "function", "function": {"name": "refund", "arguments": ARGUMENTS}}
    message = {"role": "assistant", "content": "", "tool_calls": [call]}
    assert asked["datadog"] == {"data": {"attributes": {"messages": [message]}}}
    assert asked["guard_model"] == {"model": "llama-guard-3", "messages": [message], "temperature": 0, "stream": False}
    assert asked["moderation"] == {"input": [f"refund {ARGUMENTS}"]}
    encoded = base64.b64encode(ARGUMENTS.encode()).decode()
    assert asked["grafana"] == {
        "phase": "preflight",
        "context": {"model": {"provider": "", "name": ""}},
        "input": {
            "messages": [
                {
                    "role": "assistant",
                    "parts": [{"tool_call": {"id": "call", "name": "refund", "input_json": encoded}}],
                }
            ]
        },
    }
    context = asked["agent_hooks"]
    assert context.pop("timestamp").endswith("+00:00")
    assert context == {
        "spec": "agent-hooks/0.1",
        "interception_point": "pre_tool_call",
        "sequence": 0,
        "agent": {"id": "unnamed", "framework": "spanhook"},
        "session": {"id": "unnamed"},
        "target": {"amount": 5, "note": ""},
        "tool_call": {"id": "unnamed", "name": "refund", "args": {"amount": 5, "note": ""}},
    }


@pytest.mark.every_value
@pytest.mark.parametrize("service", ALLOWS)
def test_models_are_asked_about_before_and_after(service: str) -> None:
    settings: dict[str, Any] = {"send": ["system", "messages", "model", "result"], "check": ["request", "result"]}
    with OpenAIServer() as provider, serving(ANSWERS[service]) as server, sync_client(provider.url) as client:
        asked = asking(service, server, **settings)
        with recorder(asked):
            answered = client.chat.completions.create(**CHAT)
    before, after = (one.body for one in server.seen)
    text = answered.choices[0].message.content or ""
    assert "Say hello." in json.dumps(before)
    assert text not in json.dumps(before)
    assert text in json.dumps(after)


def test_a_message_with_an_image_is_not_sent_where_text_is_judged() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    messages: Any = [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]}]
    for service in ("datadog", "moderation", "guard_model", "grafana"):
        with OpenAIServer() as provider, serving(ANSWERS[service]) as server, sync_client(provider.url) as client:
            asked = asking(service, server, send=["messages"])
            with recorder(asked):
                refused = refusal(lambda: client.chat.completions.create(model="gpt-4o-mini", messages=messages))
        assert (refused.status_code, server.seen) == (422, [])


# -------------------------------------------------------------------------------------------- transforms


def test_agent_hooks_transforms_one_place() -> None:
    changed = {"decision": "transform", "transform": {"path": '$target["amount"]', "value": 1}}
    with serving(changed) as server, recorder(asking("agent_hooks", server)):
        assert refund(5, note="x") == "refunded 1"


def test_agent_hooks_transforms_results() -> None:
    changed = {"verdict": {"decision": "transform", "transform": {"path": "$target", "value": "hidden"}}}
    settings: dict[str, Any] = {"send": ["result"], "check": ["result"]}
    with serving(changed) as server, recorder(asking("agent_hooks", server, **settings)):
        assert refund(5) == "hidden"


def test_agent_hooks_is_told_of_models_as_its_contract_says() -> None:
    settings: dict[str, Any] = {"send": ["system", "messages", "model", "result"], "check": ["request", "result"]}
    changed = {"decision": "transform", "transform": {"path": "$target.content", "value": "hidden"}}
    with (
        OpenAIServer() as provider,
        serving({"decision": "allow"}, changed) as server,
        sync_client(provider.url) as client,
        recorder(asking("agent_hooks", server, **settings)),
    ):
        answered = client.chat.completions.create(**CHAT)
    before, after = (one.body for one in server.seen)
    assert before["target"] == before["messages"]
    assert {"role": "user", "content": "Say hello."} in before["messages"]
    assert after["target"] == after["response"]
    assert after["response"].keys() == {"content", "tool_calls", "finish_reason"}
    assert answered.choices[0].message.content == "hidden"


def test_agent_hooks_is_told_of_agents_as_its_contract_says() -> None:
    settings: dict[str, Any] = {"send": ["inputs", "result"], "check": ["request", "result"], "kinds": ["agent.invoke"]}

    @spanhook.agent("desk")
    def desk(question: str) -> str:
        return question

    changed = {"decision": "transform", "transform": {"path": "$target.content", "value": "hidden"}}
    with serving(changed, {"decision": "allow"}) as server, recorder(asking("agent_hooks", server, **settings)):
        assert desk("who?") == "hidden"
    before, after = (one.body for one in server.seen)
    assert before["target"] == before["input"] == {"content": "who?", "role": "user"}
    assert after["target"] == after["output"] == {"content": "hidden"}


def test_agent_hooks_asks_a_person() -> None:
    with serving({"decision": "deny", "reason": "large", "approval": {}}) as server:
        asked = asking("agent_hooks", server, approval={"wait": 0})
        with recorder(asked):
            assert refusal().status_code == 409


def test_grafanas_guards_change_the_texts_of_messages() -> None:
    changed = {
        "action": "allow",
        "transformed_input": {"messages": [{"role": "user", "parts": [{"text": "[x]"}]}] * 2},
    }
    with OpenAIServer() as provider, serving(changed) as server, sync_client(provider.url) as client:
        asked = asking("grafana", server, send=["messages"])
        with recorder(asked) as seen:
            client.chat.completions.create(**CHAT)
    assert [one.decision for op in seen.operations for one in op.decisions] == ["modify"]
    assert "Say hello." not in str([_messages(op) for op in seen.operations])


def test_grafanas_guards_cannot_leave_messages_out() -> None:
    fewer = {"action": "allow", "transformed_input": {"messages": [{"role": "user", "parts": [{"text": "x"}]}]}}
    with OpenAIServer() as provider, serving(fewer) as server, sync_client(provider.url) as client:
        asked = asking("grafana", server, send=["messages"])
        with recorder(asked):
            assert refusal(lambda: client.chat.completions.create(**CHAT)).status_code == 502


def _messages(op: Operation) -> Any:
    return op.request.messages
