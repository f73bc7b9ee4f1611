"""Every service over HTTP: one that allows, and the same answers that none of them gives."""

import base64
import json
from typing import Any

import pytest

import spanhook
from spanhook import Operation
from spanhook.cli.conformance.libraries.openai_ways import CHAT, sync_client
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.testing import recorder
from tests.hooks.remote_policy.calls import WAYS, policy, refund, refusal
from tests.hooks.remote_policy.policy_server import Odd, PolicyServer, serving

SAFE = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "\n\nsafe"}}]}
FLAGGED = {
    "flagged": True,
    "categories": {"hate": False, "violence": True, "harassment": True},
    "category_scores": {"hate": 0.1, "violence": 0.9, "harassment": 0.7},
}
CLEAN = {"flagged": False, "categories": {"hate": False}, "category_scores": {"hate": 0.01}}


def datadog(action: Any, **more: Any) -> Any:
    return {"data": {"id": "1", "type": "evaluations", "attributes": {"action": action, **more}}}


def said(content: Any, finish_reason: Any = "stop") -> Any:
    return {"choices": [{"finish_reason": finish_reason, "message": {"content": content}}]}


ALLOWS: dict[str, Any] = {
    "opa": {"result": True},
    "http": True,
    "agent_hooks": {"decision": "allow"},
    "grafana": {"action": "allow", "evaluations": []},
    "datadog": datadog("ALLOW", reason="fine", tags=[], is_blocking_enabled=True),
    "moderation": {"id": "m", "model": "omni", "results": [CLEAN]},
    "guard_model": SAFE,
}
ARGUMENTS = '{"amount": 5, "note": ""}'
MODELS = {"guard_model": {"model": "llama-guard-3"}}

NOT_UNDERSTOOD: dict[str, list[Any]] = {
    "agent_hooks": [
        {"decision": "ALLOW"},
        {"decision": "Allow"},
        {"decision": ["allow"]},
        {"decision": None},
        {"decision": "warn"},
        {"decision": "escalate"},
        {"decision": "allow", "extra": 1},
        {"decision": "allow", "approval": {}},
        {"decision": "allow", "transform": {"path": "$target"}},
        {"decision": "allow", "reason": "host_error:x"},
        {"decision": "allow", "reason": 1},
        {"decision": "transform"},
        {"decision": "transform", "transform": {"path": "$.amount", "value": 1}},
        {"decision": "transform", "transform": {"path": "$targets.amount", "value": 1}},
        {"decision": "transform", "transform": {"path": "$target.other", "value": 1}},
        {"decision": "transform", "transform": {"path": "$target.amount.x", "value": 1}},
        {"decision": "transform", "transform": {"path": "$target..amount", "value": 1}},
        {"decision": "transform", "transform": {"path": "$target", "value": [1]}},
        {"decision": "transform", "transform": {"path": "$target.amount", "value": 1, "more": 1}},
        {"verdict": {"decision": "allow"}, "decision": "allow"},
        {"verdict": [{"decision": "allow"}]},
        {"extensions": {}},
    ],
    "grafana": [
        {"action": "ALLOW"},
        {"action": "warn"},
        {"action": None},
        {"action": ["allow"]},
        {"action": "allow", "rule_id": 1},
        {"action": "allow", "transformed_input": []},
        {"action": "allow", "transformed_input": {}},
        {"action": "allow", "transformed_input": {"system_prompt": "x"}},
        {"decision": "allow"},
    ],
    "datadog": [
        datadog("allow"),
        datadog("Allow"),
        datadog(None),
        datadog(["ALLOW"]),
        datadog("ALLOW "),
        datadog("ALLOW", tags="x"),
        {"data": [datadog("ALLOW")["data"]]},
        {"data": {"attributes": []}},
        {"action": "ALLOW"},
        {"errors": [{"title": "x"}]},
    ],
    "moderation": [
        {"results": []},
        {"results": [CLEAN, CLEAN]},
        {"results": CLEAN},
        {"results": [{"flagged": "false"}]},
        {"results": [{"flagged": 0}]},
        {"results": [{"flagged": None}]},
        {"results": [{"Flagged": False}]},
        {"results": [[]]},
        {"results": None},
    ],
    "guard_model": [
        said("Safe"),
        said("SAFE"),
        said("safe."),
        said("safe\nS1"),
        said("The content is safe"),
        said("unsafe-ish"),
        said("unsafe\nviolence"),
        said("safe unsafe"),
        said(""),
        said(None),
        said(["safe"]),
        said("safe", "length"),
        said("safe", None),
        {"choices": []},
        {"choices": [SAFE["choices"][0]] * 2},
        {"choices": [{"finish_reason": "stop", "delta": {"content": "safe"}}]},
        {"choices": SAFE["choices"][0]},
    ],
}
ODD = [b"", b"allow", b"null", b"true!", b"[]", b"{}", b"0", b'"allow"', b"{", b"\x00", b"\xff\xfe", b"[[[[", b"[{}]"]
CASES = [
    *((service, Odd(body=body)) for service in ALLOWS for body in ODD if (service, body) != ("opa", b"{}")),
    *((service, answer) for service, answers in NOT_UNDERSTOOD.items() for answer in answers),
]


def asking(service: str, server: PolicyServer, **settings: Any) -> Any:
    return policy(service, server.url, **MODELS.get(service, {}), **settings)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("service", ALLOWS)
def test_what_is_allowed_is_called(service: str, way: str) -> None:
    with serving(ALLOWS[service]) as server, recorder(asking(service, server)) as seen:
        assert WAYS[way]() == "refunded 5"
    assert [op.called for op in seen.operations] == [True]


@pytest.mark.parametrize(("service", "answer"), CASES)
def test_what_is_not_understood_denies_even_if_it_fails_open(service: str, answer: Any) -> None:
    with serving(answer) as server:
        asked = asking(service, server)
        asked.fail_mode = "open"
        with recorder(asked) as seen:
            assert refusal().status_code == 502
    assert [op.called for op in seen.operations] == [False]


@pytest.mark.parametrize("service", ALLOWS)
@pytest.mark.parametrize("how", ["500", "cut", "slow"])
def test_no_answer_lets_nothing_through(service: str, how: str) -> None:
    allowed = ALLOWS[service]
    odd = {"500": Odd(500, allowed), "cut": Odd(body=allowed, cut=1), "slow": Odd(body=allowed, wait=30)}[how]
    with serving(odd) as server, recorder(asking(service, server, timeout=0.3 if how == "slow" else 20)) as seen:
        assert refusal().status_code == (504 if how == "slow" else 503)
    assert [op.called for op in seen.operations] == [False]


@pytest.mark.parametrize("service", ALLOWS)
def test_no_service_is_told_what_send_does_not_name(service: str) -> None:
    known = spanhook.context(user_id="secret-1", tenant_id="secret-2", session_id="secret-3", plan="secret-4")
    with serving(ALLOWS[service]) as server, recorder(asking(service, server)), known:
        refund(5)
    assert b"secret" not in server.seen[0].raw


# ---------------------------------------------------------------------------------------------- denials

DENIALS: list[tuple[str, Any, str, str]] = [
    ("agent_hooks", {"decision": "deny", "reason": "egress", "message": "No refunds"}, "No refunds", "deny"),
    ("agent_hooks", {"verdict": {"decision": "deny", "approval": {}}}, "Policy 'remote_policy' does not", "deny"),
    (
        "grafana",
        {"action": "deny", "reason": "a judge said so", "rule_id": "r1"},
        "Policy 'remote_policy' does",
        "deny",
    ),
    ("datadog", datadog("DENY", reason="secret", tags=["jailbreak"]), "Policy 'remote_policy' does not", "DENY"),
    ("moderation", {"results": [FLAGGED]}, "The content is flagged as violence", "true"),
    ("guard_model", said("unsafe\nS1, S9"), "The content is unsafe (S1,S9)", "unsafe"),
    ("guard_model", said("unsafe"), "The content is unsafe", "unsafe"),
]


@pytest.mark.parametrize(("service", "answer", "reason", "value"), DENIALS)
def test_a_denial_has_the_services_own_result(service: str, answer: Any, reason: str, value: str) -> None:
    with serving(answer) as server, recorder(asking(service, server)) as seen:
        refused = refusal()
    assert refused.reason.startswith(reason)
    assert (refused.status_code, refused.scope) == (403, "operation")
    [event] = [event for span in seen.spans for event in span.events if event.name == "gen_ai.guardrail.result"]
    assert (event.attributes or {})["gen_ai.guardrail.result.value"] == value
    assert "secret" not in str(event.attributes)
    assert "judge" not in str(event.attributes)


def test_datadogs_abort_ends_the_run() -> None:
    with serving(datadog("ABORT")) as server, recorder(asking("datadog", server)):
        assert refusal().scope == "run"


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


ANSWERS: dict[str, Any] = {**ALLOWS, "moderation": lambda seen: {"results": [CLEAN] * len(seen.body["input"])}}


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
