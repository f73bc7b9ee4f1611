"""Calls of guardrail services, made by hooks."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import get_current_span

import spanhook
from spanhook import Hooks, Operation, OperationError, Reject, semconv
from spanhook.testing import Recorder, recorder
from tests.conventions.checking import Checker

SECRET = "4111 1111 1111 1111"


def ask(hooks: Hooks, **options: Any) -> Recorder:
    @spanhook.tool
    def look_up(text: str) -> str:
        return text

    with recorder(hooks, **options) as seen, suppress(Reject, ConnectionError):
        look_up(SECRET)
    return seen


def spans(seen: Recorder) -> dict[str, Any]:
    return {span.name: span for span in seen.spans}


@pytest.mark.parametrize("is_async", [False, True])
def test_a_call_is_a_span_below_the_operation_and_decisions_stay_apart(is_async: bool) -> None:
    hooks = Hooks()

    def check() -> None:
        with spanhook.guardrail(
            "moderation", policy_id="pii", policy_version="3", server_address="policy.internal", server_port=443
        ) as asked:
            assert get_current_span().get_span_context().span_id == 2
            asked.result("flagged", type="categorical", category="pii", score=1, reason="card number")
        assert get_current_span().get_span_context().span_id == 1
        raise Reject("personal data")

    @hooks.before("tool.execute")
    def gate(op: Operation) -> None:
        check()

    @hooks.before("tool.execute")
    async def agate(op: Operation) -> None:
        await asyncio.sleep(0)
        check()

    kept = Hooks()
    kept.before("tool.execute")(agate if is_async else gate)
    seen = ask(kept)
    found = spans(seen)
    span, tool = found["apply_guardrail moderation"], found["execute_tool look_up"]
    assert span.parent.span_id == tool.context.span_id
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "apply_guardrail",
        "gen_ai.guardrail.component.name": "moderation",
        "server.address": "policy.internal",
        "server.port": 443,
    }
    assert [(event.name, dict(event.attributes)) for event in span.events] == [
        (
            "gen_ai.guardrail.result",
            {
                "gen_ai.guardrail.policy.id": "pii",
                "gen_ai.guardrail.policy.version": "3",
                "gen_ai.guardrail.result.value": "flagged",
                "gen_ai.guardrail.result.type": "categorical",
                "gen_ai.guardrail.result.reason": "card number",
                "gen_ai.guardrail.risk.category": "pii",
                "gen_ai.guardrail.risk.score": 1.0,
            },
        )
    ]
    assert span.status.status_code.name == "UNSET"
    assert tool.attributes[semconv.DECISION] == "reject"
    assert list(Checker("v1.41").span(span)) == []


def test_a_service_that_fails_makes_its_span_an_error_and_says_nothing_of_content() -> None:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def gate(op: Operation) -> None:
        with spanhook.guardrail("moderation"):
            raise ConnectionError(f"could not check {SECRET}")

    span = spans(ask(hooks))["apply_guardrail moderation"]
    assert span.status.status_code.name == "ERROR"
    assert span.attributes["error.type"] == "ConnectionError"
    assert SECRET not in repr((span.to_json(), span.status.description))


def test_a_refusal_within_the_block_is_no_failure_of_the_service() -> None:
    hooks = Hooks()

    @hooks.before("tool.execute")
    def gate(op: Operation) -> None:
        with spanhook.guardrail("moderation"):
            raise Reject("no")

    span = spans(ask(hooks))["apply_guardrail moderation"]
    assert span.status.status_code.name == "UNSET"
    assert "error.type" not in span.attributes


def test_misuse_is_told() -> None:
    asked = spanhook.guardrail("moderation")
    with pytest.raises(OperationError, match="outside the guardrail block"):
        asked.result("fine")
    with asked:
        pass
    with pytest.raises(OperationError, match="outside the guardrail block"):
        asked.result("fine")
    with pytest.raises(OperationError, match="entered only once"), asked:
        pass


def test_unsampled_it_costs_a_span_that_nobody_sees() -> None:
    hooks, told = Hooks(), []

    @hooks.before("tool.execute")
    def gate(op: Operation) -> None:
        with spanhook.guardrail("moderation") as asked:
            asked.result("fine")
        told.append(op.name)

    assert ask(hooks, sampler=ALWAYS_OFF).spans == []
    assert told == ["look_up"]
