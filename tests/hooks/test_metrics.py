"""Counters by the application's own attributes: what is counted, once each, and how many values there may be."""

from typing import Any

import pytest

import spanhook
from spanhook import ConfigurationError, Hooks, Reject, operation
from spanhook.gating import find, make
from spanhook.hooks.metrics import Metrics
from spanhook.testing import Recorder, recorder


def points(seen: Recorder, name: str) -> list[tuple[Any, dict[str, Any]]]:
    """The values of a counter, each with its attributes."""
    return [(value, attributes) for attributes, value in seen.metrics().get(name, [])]


def counting(seen: Recorder, *attributes: str, **settings: Any) -> None:
    spanhook.instrument(
        Hooks(Metrics(list(attributes), meter_provider=seen.meter_provider, **settings)),
        tracer_provider=seen.tracer_provider,
        meter_provider=seen.meter_provider,
    )


@spanhook.agent("desk")
def desk(calls: int) -> None:
    for _ in range(calls):
        with operation("llm.call", "gpt-4o-mini", provider="openai", request={"messages": ["hi"]}) as op:
            op.record_usage(input_tokens=10, output_tokens=5, cost_usd=0.25)


def test_operations_are_counted_by_kind_status_and_attributes() -> None:
    with recorder() as seen:
        counting(seen, "plan", "region")
        with spanhook.context(plan="pro", other="x"):
            desk(2)
        desk(1)

    counted = {tuple(sorted(told.items())): value for value, told in points(seen, "spanhook.attributed.operations")}
    assert counted == {
        (("plan", "pro"), ("spanhook.kind", "agent.invoke"), ("spanhook.status", "success")): 1,
        (("plan", "pro"), ("spanhook.kind", "llm.call"), ("spanhook.status", "success")): 2,
        (("spanhook.kind", "agent.invoke"), ("spanhook.status", "success")): 1,
        (("spanhook.kind", "llm.call"), ("spanhook.status", "success")): 1,
    }


def test_a_runs_usage_is_counted_once() -> None:
    with recorder() as seen:
        counting(seen, "plan")
        with spanhook.context(plan="pro"):
            desk(2)

    assert points(seen, "spanhook.attributed.tokens") == [(30, {"plan": "pro"})]
    assert points(seen, "spanhook.attributed.cost") == [(0.5, {"plan": "pro"})]


def test_what_failed_or_was_rejected_is_counted_too() -> None:
    with recorder() as seen:
        hooks = Hooks(Metrics(["plan"], meter_provider=seen.meter_provider))

        @hooks.before("tool.execute", names={"refund"})
        def refuse(op: spanhook.Operation) -> None:
            raise Reject("no")

        spanhook.instrument(hooks, tracer_provider=seen.tracer_provider)
        with pytest.raises(Reject), operation("tool.execute", "refund"):
            pass
        with pytest.raises(ZeroDivisionError), operation("tool.execute", "other"):
            _ = 1 / 0

    counted = {told["spanhook.status"]: value for value, told in points(seen, "spanhook.attributed.operations")}
    assert counted == {"rejected": 1, "error": 1}


def test_values_are_bounded() -> None:
    with recorder() as seen:
        counting(seen, "plan", most_values=2)
        for plan in ("a", "b", "c", "d", "a", "x" * 200, 7, "\ud800"):
            with spanhook.context(plan=plan), operation("tool.execute", "t"):
                pass

    counted = {told["plan"]: value for value, told in points(seen, "spanhook.attributed.operations")}
    assert counted == {"a": 2, "b": 1, "_other": 5}


def test_by_its_short_name() -> None:
    hook = make(find("metrics"), {"attributes": ["plan"]})

    bound = Hooks(hook).bound
    assert {one.form for one in bound} == {"after", "error"}
    assert {one.closed for one in bound} == {False}
    assert "workflow.step" not in bound[0].kinds


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, "attributes is missing"),
        ({"attributes": []}, "attributes=[]: List should have at least 1 item"),
        ({"attributes": ["a b"]}, "attributes.0='a b': String should match pattern"),
        ({"attributes": ["a"], "most_values": 0}, "most_values=0: expected greater than or equal to 1"),
    ],
)
def test_mistakes_are_named(config: Any, expected: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make(Metrics, config)
    assert expected in str(caught.value)
