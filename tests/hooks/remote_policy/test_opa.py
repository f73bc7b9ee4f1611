"""OPA's answers, and those of services of one's own."""

from typing import Any

import pytest

from spanhook.testing import recorder
from tests.hooks.remote_policy.calls import policy, refund, refusal
from tests.hooks.remote_policy.policy_server import Odd, serving

NOT_UNDERSTOOD = {
    "text": "true",
    "upper case": {"Allow": True},
    "upper case decision": {"decision": "ALLOW"},
    "number": 1,
    "null": None,
    "empty": {},
    "list": [True],
    "list of objects": [{"allow": True}],
    "text for allow": {"allow": "true"},
    "number for allow": {"allow": 1},
    "null for allow": {"allow": None},
    "list for allow": {"allow": [True]},
    "unknown decision": {"decision": "permit"},
    "empty decision": {"decision": ""},
    "list for decision": {"decision": ["allow"]},
    "space": {"decision": "allow "},
    "both": {"allow": True, "decision": "allow"},
    "another key": {"allow": True, "deny": ["no refunds today"]},
    "misspelt key": {"allow": True, "reson": "x"},
    "reason is not text": {"allow": True, "reason": {"a": 1}},
    "score is not a number": {"allow": True, "score": "0.5"},
    "score is true": {"allow": True, "score": True},
    "replace without transform": {"allow": True, "replace": {"arguments": {}}},
    "transform without replace": {"decision": "transform"},
    "transform of nothing": {"decision": "transform", "replace": {}},
    "transform of the unknown": {"decision": "transform", "replace": {"argument": {"amount": 1}}},
    "transform to a list": {"decision": "transform", "replace": {"arguments": [1]}},
    "transform to null": {"decision": "transform", "replace": {"arguments": None}},
    "transform to no messages": {"decision": "transform", "replace": {"messages": []}},
    "transform to odd messages": {"decision": "transform", "replace": {"messages": ["hello"]}},
    "transform to odd parts": {"decision": "transform", "replace": {"messages": [{"role": "user", "parts": "x"}]}},
}


@pytest.mark.every_value
@pytest.mark.parametrize("result", NOT_UNDERSTOOD.values(), ids=NOT_UNDERSTOOD)
@pytest.mark.parametrize("service", ["opa", "http"])
def test_what_is_not_understood_denies(service: str, result: Any) -> None:
    with serving({"result": result} if service == "opa" else result) as server:
        asked = policy(service, server.url)
        asked.fail_mode = "open"
        with recorder(asked) as seen:
            refused = refusal()
    assert (refused.reason, refused.status_code) == ("The answer of policy 'remote_policy' is not understood", 502)
    assert [op.called for op in seen.operations] == [False]


@pytest.mark.every_value
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"true",
        b"null",
        b"[]",
        b'[{"result": true}]',
        b'{"result": true',
        b'{"result": tru',
        b"{'result': true}",
        b'{"result": True}',
        b'{"result": true} {"result": false}',
        b'{"result": false, "result": true}',
        b'{"result": {"allow": false, "allow": true}}',
        b'{"result": {"allow": true, "score": NaN}}',
        b'{"result": {"allow": true, "score": 1e999}}',
        b'\xef\xbb\xbf{"result": true}',
        '{"result": true}'.encode("utf-16"),
        b'{"result": "\xff"}',
        b"<html>true</html>",
        b'{"result": true, "x": "' + b"x" * 1_100_000 + b'"}',
        b"[" * 100_000,
    ],
    ids=range(20),
)
def test_what_is_no_answer_of_opa_denies(body: bytes) -> None:
    with serving(Odd(body=body)) as server:
        asked = policy("opa", server.url)
        asked.fail_mode = "open"
        with recorder(asked):
            assert refusal().status_code == 502


@pytest.mark.parametrize("answer", [{}, {"Result": True}, {"decision_id": "1"}, {"warning": {"code": "x"}}])
def test_a_policy_that_is_undefined_denies(answer: Any) -> None:
    with serving(answer) as server, recorder(policy("opa", server.url)):
        refused = refusal()
    assert (refused.reason, refused.status_code) == ("The policy says nothing about this", 403)


def test_allow_and_deny_as_boolean_and_as_object() -> None:
    allowed = [True, {"allow": True}, {"decision": "allow", "score": 0.1, "category": None}]
    denied = [False, {"allow": False}, {"decision": "deny"}, {"decision": "escalate"}]
    with serving(*({"result": one} for one in allowed + denied)) as server, recorder(policy("opa", server.url)):
        assert [refund(5) for _ in allowed] == ["refunded 5"] * 3
        reasons = {refusal().reason for _ in denied}
    assert reasons == {"Policy 'remote_policy' does not allow this"}


def test_the_reason_of_the_policy_is_told_in_one_line() -> None:
    said = {"allow": False, "reason": "Refunds over 50\n need a person " + "x" * 500}
    with serving(said) as server, recorder(policy("http", server.url)):
        reason = refusal().reason
    assert reason.startswith("Refunds over 50 need a person xxx")
    assert len(reason) == 300


def test_a_transform_changes_arguments_or_answers() -> None:
    changed = {"decision": "transform", "replace": {"arguments": {"amount": 1}}}
    answered = {"decision": "transform", "replace": {"result": "see a person"}}
    with serving(changed, answered) as server, recorder(policy("http", server.url)) as seen:
        assert [refund(5), refund(5)] == ["refunded 1", "see a person"]
    assert [op.called for op in seen.operations] == [True, False]
    assert [one.decision for op in seen.operations for one in op.decisions] == ["modify", "replace"]
    assert len(server.seen) == 2


def test_a_transform_that_does_not_fit_the_call_refuses_it() -> None:
    changed = {"decision": "transform", "replace": {"arguments": {"other": 1}}}
    with serving(changed) as server, recorder(policy("http", server.url)) as seen:
        assert refusal().status_code == 500
    assert [op.called for op in seen.operations] == [False]
