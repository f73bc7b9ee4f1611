"""Every service over HTTP: one that allows, and the same answers that none of them gives."""

from typing import Any

import pytest

import spanhook
from spanhook.testing import recorder
from tests.hooks.remote_policy.answers import ALLOWS, CLEAN, FLAGGED, SAFE, asking, datadog, said
from tests.hooks.remote_policy.calls import WAYS, refund, refusal
from tests.hooks.remote_policy.policy_server import Odd, serving
from tests.thinning import a_fifth

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


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("service", ALLOWS)
def test_what_is_allowed_is_called(service: str, way: str) -> None:
    with serving(ALLOWS[service]) as server, recorder(asking(service, server)) as seen:
        assert WAYS[way]() == "refunded 5"
    assert [op.called for op in seen.operations] == [True]


@pytest.mark.every_value
@pytest.mark.parametrize(("service", "answer"), a_fifth(pytest.param(*case) for case in CASES))
def test_what_is_not_understood_denies_even_if_it_fails_open(service: str, answer: Any) -> None:
    with serving(answer) as server:
        asked = asking(service, server)
        asked.fail_mode = "open"
        with recorder(asked) as seen:
            assert refusal().status_code == 502
    assert [op.called for op in seen.operations] == [False]


@pytest.mark.one_value
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


@pytest.mark.every_value
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
