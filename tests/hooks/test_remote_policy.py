"""The hook, whatever service it asks: what is sent, what becomes of calls, what operators see."""

import asyncio
import dataclasses
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

import spanhook
from spanhook import ConfigurationError, Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.openai_ways import CHAT, sync_client
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.config import load_file
from spanhook.hooks.approval import NotApproved
from spanhook.hooks.remote_policy import RemotePolicy, Verdict
from spanhook.testing import recorder
from tests.hooks.remote_policy.calls import WAYS, policy, refund, refusal
from tests.hooks.remote_policy.policy_server import Odd, nobody, serving, took

ALLOW, DENY = {"result": True}, {"result": False}


@pytest.mark.parametrize("way", WAYS)
def test_calls_are_allowed_and_denied_however_they_are_made(way: str) -> None:
    with serving(ALLOW, DENY) as server, recorder(policy("opa", server.url)) as seen:
        assert WAYS[way]() == "refunded 5"
        assert refusal(WAYS[way]).status_code == 403
    assert [op.status for op in seen.operations] == ["success", "rejected"]
    assert [op.called for op in seen.operations] == [True, False]


# ------------------------------------------------------------------------------------------- what leaves


def test_nothing_leaves_but_what_send_names() -> None:
    settings: dict[str, Any] = {"send": ["arguments", "identity.user_id", "identity.attributes.plan"]}
    known = spanhook.context(user_id="u-1", tenant_id="secret-1", session_id="secret-2", plan="free", pin="secret-3")
    with serving(ALLOW) as server, recorder(policy("opa", server.url, **settings)), known:
        refund(5, note="please")
    [asked] = server.seen
    assert asked.body == {
        "input": {
            "kind": "tool.execute",
            "phase": "pre",
            "name": "refund",
            "arguments": {"amount": 5, "note": "please"},
            "identity": {"user_id": "u-1", "attributes": {"plan": "free"}},
        }
    }
    assert b"secret" not in asked.raw
    assert set(asked.headers) == {
        "host", "accept", "accept-encoding", "connection", "user-agent", "content-type", "content-length",
    }  # fmt: skip


def test_without_send_nothing_but_kind_phase_and_name_leaves() -> None:
    with serving(ALLOW) as server, recorder(policy("opa", server.url, send=[])):
        refund(5, note="secret")
    assert server.seen[0].body == {"input": {"kind": "tool.execute", "phase": "pre", "name": "refund"}}


def test_headers_from_the_environment_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLICY_KEY", "k-1")
    settings = {"headers": {"X-App": "desk"}, "headers_env": {"Authorization": "POLICY_KEY"}}
    with serving(ALLOW) as server, recorder(policy("opa", server.url, **settings)):
        refund()
    assert (server.seen[0].headers["x-app"], server.seen[0].headers["authorization"]) == ("desk", "k-1")
    monkeypatch.delenv("POLICY_KEY")
    with pytest.raises(ConfigurationError, match="POLICY_KEY is not set"):
        policy("opa", "http://policy.internal", **settings)


def test_what_cannot_be_written_as_json_is_not_sent_and_denied() -> None:
    with serving(ALLOW) as server, recorder(policy("opa", server.url)):
        for odd in (float("nan"), object(), b"\xff", "\ud800"):
            assert refusal(lambda odd=odd: refund(odd)).status_code == 422
    assert server.seen == []


# ------------------------------------------------------------------------------------- no answer at all


@pytest.mark.parametrize(
    "answer",
    [*(Odd(status, ALLOW) for status in (500, 429, 201, 404, 401)), Odd(204, b""), Odd(body=ALLOW, cut=1)],
    ids=["500", "429", "201", "404", "401", "204", "cut"],
)
def test_no_answer_refuses_unless_it_fails_open(answer: Any) -> None:
    with serving(answer) as server:
        with recorder(policy("opa", server.url)) as seen:
            assert refusal().status_code == 503
        opened = policy("opa", server.url)
        opened.fail_mode = "open"
        with recorder(opened) as seen_open:
            assert refund(5) == "refunded 5"
    assert [one.decision for op in (*seen.operations, *seen_open.operations) for one in op.decisions] == [
        "error",
        "error",
    ]


def test_a_redirect_is_not_followed() -> None:
    with serving(ALLOW) as other, serving(Odd(307, b"", headers={"location": other.url})) as server:
        asked = policy("opa", server.url)
        with recorder(asked):
            assert refusal().status_code == 503
    assert other.seen == []


def test_nobody_there_refuses() -> None:
    with recorder(policy("opa", nobody())):
        refused = refusal()
    assert (refused.reason, refused.status_code) == ("Policy 'remote_policy' cannot be asked now", 503)


@pytest.mark.parametrize("answer", [Odd(body=ALLOW, wait=30), Odd(body=ALLOW, drip=0.04)], ids=["slow", "dripping"])
@pytest.mark.parametrize("way", WAYS)
def test_the_time_limit_is_for_all_of_it(answer: Any, way: str) -> None:
    with serving(answer) as server, recorder(policy("opa", server.url, timeout=0.3, retries=3)):
        began = time.monotonic()
        assert refusal(WAYS[way]).status_code == 504
        assert took(began) < 10


def test_it_asks_again_within_the_limit() -> None:
    with serving(Odd(503), Odd(body=ALLOW, cut=3), ALLOW) as server, recorder(policy("opa", server.url, retries=2)):
        assert refund(5) == "refunded 5"
    assert len(server.seen) == 3


@pytest.mark.parametrize("answer", [Odd(400), Odd(body=b"{"), DENY])
def test_it_does_not_ask_again_where_that_would_not_help(answer: Any) -> None:
    with serving(answer) as server, recorder(policy("opa", server.url, retries=5)):
        refusal()
    assert len(server.seen) == 1


def test_what_keeps_failing_is_not_asked_for_a_while() -> None:
    with serving(Odd(500)) as server:
        asked = policy("opa", server.url, failures=2, open_for=0.2)
        with recorder(asked) as seen:
            refusal()
            refusal()
            refused = refusal()
            assert refused.status_code == 503
            assert 0 < (refused.retry_after or 0) <= 0.2
            assert len(server.seen) == 2
            assert points(seen, "spanhook.remote_policy.open") == [({"spanhook.hook": "remote_policy"}, 1)]
            server.answers = [ALLOW]
            until = time.monotonic() + 10
            while time.monotonic() < until:
                try:
                    assert refund(5) == "refunded 5"
                    break
                except Reject:
                    time.sleep(0.02)  # the circuit has a clock of its own
            assert points(seen, "spanhook.remote_policy.open") == [({"spanhook.hook": "remote_policy"}, 0)]


def test_odd_questions_do_not_stop_the_asking() -> None:
    with serving(*[Odd(400)] * 3, *[Odd(body=b"{")] * 3, ALLOW) as server:
        asked = policy("opa", server.url, failures=1)
        with recorder(asked):
            for _ in range(6):
                refusal()
            assert refund(5) == "refunded 5"


# ------------------------------------------------------------------------------------------- the result


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


# ---------------------------------------------------------------------------------------- other hooks


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
        with recorder(asked):
            try:
                got += client.chat.completions.create(**CHAT, stream=True)
            except Reject as error:
                assert error.status_code == 403
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


# ------------------------------------------------------------------------------------------- telemetry


def points(seen: Any, name: str) -> list[tuple[dict[str, Any], Any]]:
    """The series of a metric; of a histogram, how many values each has."""
    return [(told, value[1] if isinstance(value, tuple) else value) for told, value in seen.metrics()[name]]


def test_each_attempt_is_a_span_and_is_measured() -> None:
    said = {"decision": "deny", "category": "fraud", "score": 0.9, "policy_id": "refunds", "policy_version": "3"}
    with serving(Odd(500), said) as server:
        asked = policy("http", server.url, retries=1, component="desk-policy", policy_id="default")
        with recorder(asked) as seen:
            refusal(lambda: refund(5, note="secret"))
        spans = [span for span in seen.spans if span.name.startswith("apply_guardrail")]
    port = int(server.url.split(":")[2].split("/")[0])
    assert [(span.kind.name, span.status.status_code.name, {**(span.attributes or {})}) for span in spans] == [
        (
            "CLIENT",
            status,
            {
                "gen_ai.operation.name": "apply_guardrail",
                "gen_ai.guardrail.component.name": "desk-policy",
                "server.address": "127.0.0.1",
                "server.port": port,
                **error,
            },
        )
        for status, error in (
            ("ERROR", {"error.type": "spanhook.hooks.remote_policy.PolicyOverloaded"}),
            ("UNSET", {}),
        )
    ]
    assert [{**(event.attributes or {})} for span in spans for event in span.events] == snapshot(
        [
            {
                "gen_ai.guardrail.policy.id": "refunds",
                "gen_ai.guardrail.result.value": "deny",
                "gen_ai.guardrail.result.type": "categorical",
                "gen_ai.guardrail.risk.category": "fraud",
                "gen_ai.guardrail.risk.score": 0.9,
                "gen_ai.guardrail.policy.version": "3",
            }
        ]
    )
    assert points(seen, "spanhook.remote_policy.duration") == [
        ({"spanhook.hook": "remote_policy", "spanhook.remote_policy.outcome": "deny"}, 1)
    ]
    assert points(seen, "spanhook.remote_policy.errors") == [
        ({"spanhook.hook": "remote_policy", "error.type": "spanhook.hooks.remote_policy.PolicyOverloaded"}, 1)
    ]
    assert "secret" not in str([span.to_json() for span in seen.spans])


# -------------------------------------------------------------------------------------------- settings


def test_a_file_configures_it(tmp_path: Path) -> None:
    file = tmp_path / "spanhook.yaml"
    file.write_text(
        "policies: [{use: remote_policy, id: refunds, tools: [refund], fail_mode: open, with: {service: opa, "
        "url: 'http://policy.internal/v1/data/a', send: [arguments], approval: {wait: 0}}}]"
    )
    [built] = load_file(str(file)).policies
    hook = built.hook
    assert isinstance(hook, RemotePolicy)
    assert (hook.name, hook.fail_mode, set(hook.names or ())) == ("refunds", "open", {"refund"})


URL = "http://policy.internal"
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no such service": ({"service": "opaa", "url": URL}, "service"),
    "no url": ({"service": "opa"}, "opa needs url"),
    "odd url": ({"service": "opa", "url": "policy.internal"}, "expected an address"),
    "odd port": ({"service": "opa", "url": "http://a:b/"}, "expected an address"),
    "unknown fact": ({"service": "opa", "url": URL, "send": ["argument"]}, "unknown argument; expected"),
    "all headers": ({"service": "opa", "url": URL, "send": ["headers."]}, "unknown headers."),
    "no content": ({"service": "moderation", "url": URL, "send": ["model"]}, "moderation judges content"),
    "no result": ({"service": "datadog", "url": URL, "send": ["messages"], "check": ["result"]}, "to name result"),
    "no model": ({"service": "guard_model", "url": URL, "send": ["messages"]}, "guard_model needs model"),
    "other kinds": ({"service": "opa", "url": URL, "kinds": ["run"]}, "expected some of"),
    "remote policies": ({"service": "opa", "url": URL, "policies": ["a"]}, "policies of its own"),
    "local url": ({"service": "cedar", "url": URL, "policies": ["a"]}, "runs in the process"),
    "no policies": ({"service": "cedar"}, "cedar needs policies"),
    "no query": ({"service": "rego", "policies": ["a"]}, "rego needs it"),
    "no such file": ({"service": "cedar", "policies": ["no/such.cedar"]}, "no/such.cedar: cannot be read"),
    "odd header": ({"service": "opa", "url": URL, "headers": {"a b": "c"}}, "is no header"),
    "header of lines": ({"service": "opa", "url": URL, "headers": {"a": "c\r\nb: d"}}, "is no header"),
}


@pytest.mark.parametrize(("given", "said"), WRONG.values(), ids=WRONG)
def test_wrong_settings_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        RemotePolicy(**given)


def test_a_verdict_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Verdict("deny", "false").decision = "allow"  # pyright: ignore[reportAttributeAccessIssue]
