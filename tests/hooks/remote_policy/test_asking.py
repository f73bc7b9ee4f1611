"""Services that do not answer, or not in time; what operators see of it."""

import time
from typing import Any

import pytest
from inline_snapshot import snapshot

from spanhook.testing import recorder
from tests.hooks.remote_policy.calls import WAYS, points, policy, refund, refusal
from tests.hooks.remote_policy.policy_server import Odd, nobody, serving, took

ALLOW, DENY = {"result": True}, {"result": False}


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


@pytest.mark.one_value
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
        asked, now = policy("opa", server.url, failures=2, open_for=20), 0.0
        asked._asking._clock = lambda: now
        with recorder(asked) as seen:
            refusal()
            refusal()
            refused = refusal()
            assert refused.status_code == 503
            assert refused.retry_after == 20
            assert len(server.seen) == 2
            assert points(seen, "spanhook.remote_policy.open") == [({"spanhook.hook": "remote_policy"}, 1)]
            server.answers = [ALLOW]
            now = 20.1
            assert refund(5) == "refunded 5"
            assert points(seen, "spanhook.remote_policy.open") == [({"spanhook.hook": "remote_policy"}, 0)]


def test_odd_questions_do_not_stop_the_asking() -> None:
    with serving(*[Odd(400)] * 3, *[Odd(body=b"{")] * 3, ALLOW) as server:
        asked = policy("opa", server.url, failures=1)
        with recorder(asked):
            for _ in range(6):
                refusal()
            assert refund(5) == "refunded 5"


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
