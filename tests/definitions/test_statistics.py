"""Statistics of hooks: what is counted, and that they stay small."""

from typing import Any

import pytest

from spanhook import Reject
from spanhook.definitions import HookRegistry, HookResult, HookStatistics
from spanhook.definitions.statistics import SAMPLES, Figures
from spanhook.testing import recorder
from tests.definitions.parts import ACME, Middleware, call, definition, search


def test_percentiles_are_those_of_the_last_executions() -> None:
    figures = Figures()
    assert figures.statistics() == HookStatistics()
    for milliseconds in range(1, 101):
        figures.note(HookResult("a", True, duration_ms=float(milliseconds)))
    assert (figures.statistics().p50_ms, figures.statistics().p95_ms) == (50.0, 95.0)
    for _ in range(SAMPLES):
        figures.note(HookResult("a", True, duration_ms=7.0))
    assert (figures.statistics().p50_ms, figures.statistics().p95_ms) == (7.0, 7.0)
    assert len(figures._durations) == SAMPLES
    assert figures.statistics().executions == 100 + SAMPLES


@pytest.mark.parametrize("values", [[3.0], [1.0, 2.0]])
def test_percentiles_of_few(values: list[float]) -> None:
    figures = Figures()
    for value in values:
        figures.note(HookResult("a", True, duration_ms=value))
    assert (figures.statistics().p50_ms, figures.statistics().p95_ms) == (values[0], values[-1])


def test_executions_failures_and_rejections_are_counted_per_hook() -> None:
    outcomes: list[Any] = [None, KeyError("x"), Reject("no"), None, Reject("no")]

    def by_turns(context: Any, call_next: Any) -> Any:
        outcome = outcomes.pop(0)
        if outcome is not None:
            raise outcome
        return call_next(context)

    registry = HookRegistry(allowed=[ACME])
    registry.register(Middleware(by_turns), hook_id="turns")
    registry.register(definition(hook_id="suffix", event_type="tool.execute.pre", enabled=True))
    registry.register(Middleware(by_turns, "tool.execute.post"), hook_id="off", enabled=False)
    with recorder(registry.hooks):
        for _ in range(5):
            search([]).invoke(call())
    told = registry.statistics()
    assert (told.total_hooks, told.total_definitions) == (3, 1)
    assert dict(told.hooks_by_event_type) == {"tool.execute.pre": 2, "tool.execute.post": 1}
    assert told.active_event_types == ("tool.execute.pre",)
    turns, suffix = told.hooks["turns"], told.hooks["suffix"]
    assert (turns.executions, turns.failures, turns.rejections) == (5, 1, 2)
    assert (suffix.executions, suffix.failures, suffix.rejections) == (3, 0, 0)
    assert told.hooks["off"] == HookStatistics()
    assert (told.executions, told.failures, told.rejections) == (8, 1, 2)
    assert turns.p50_ms > 0


def test_figures_go_with_their_hook() -> None:
    registry = HookRegistry(allowed=[ACME])
    registry.register(definition(hook_id="a"))
    with recorder(registry.hooks):
        search([]).invoke(call())
        registry.update("a", priority=300)
        registry.toggle("a")
        registry.toggle("a")
        search([]).invoke(call())
    assert registry.statistics().hooks["a"].executions == 2
    registry.deregister("a")
    assert registry.statistics().executions == 0
