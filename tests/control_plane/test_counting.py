"""What is told of hooks, from this process's own calls."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation, Reject, Settings
from spanhook.control_plane.applying import Applied
from spanhook.control_plane.counting import Counting
from spanhook.definitions import HookDefinition, HookRegistry
from spanhook.gating import execution_log
from tests.control_plane.test_applying import definition, refund, search

NAME = "test_counting"


@pytest.fixture(autouse=True)
def logged() -> Iterator[Hooks]:
    hooks = Hooks()
    execution_log.clear()
    spanhook.instrument(hooks, settings=Settings(execution_log_enabled=True), only=())
    yield hooks
    spanhook.uninstrument()
    execution_log.clear()


def failing(op: Operation) -> None:
    raise ValueError("the secret")


def refusing(op: Operation) -> None:
    if op.name == "refund":
        raise Reject("no refunds", status_code=402)


def told(counting: Counting, applied: Applied | None = None) -> Any:
    found = counting.new(applied or Applied(()), ending=True)
    executions = {(one["hook"], one["event_type"]): one for one in found.get("executions", ()) if NAME in one["hook"]}
    return executions, [
        one for one in found.get("logs", ()) if any(NAME in it["hook_name"] for it in one["hook_results"])
    ]


def test_hooks_of_code_are_counted_with_what_they_decided(logged: Hooks) -> None:
    counting = Counting()
    before, _ = told(counting)
    name = f"{NAME} refuses"
    logged.before("tool.execute", name=name)(refusing)
    spanhook.instrument(logged, settings=Settings(execution_log_enabled=True), only=())
    search()
    with pytest.raises(Reject):
        refund()
    executions, logs = told(counting)
    one = executions[name, "tool.execute.pre"]
    assert (name, "tool.execute.pre") not in before
    assert (one["executions"], one["failures"], one["rejections"]) == (2, 0, 1)
    assert one["time_ns"] > 0
    assert [(it["name"], it["aborted"], it["abort_reason"]) for it in logs] == [
        ("refund", True, "no refunds"),
        ("search", False, ""),
    ]
    assert logs[0]["hook_results"][0]["status_code"] == 402


def test_nothing_is_told_twice(logged: Hooks) -> None:
    counting = Counting()
    logged.before("tool.execute", name=f"{NAME} once")(refusing)
    spanhook.instrument(logged, settings=Settings(execution_log_enabled=True), only=())
    search()
    first = counting.new(Applied(()), ending=True)
    assert counting.new(Applied(()), ending=True) == first
    counting.was_told(first)
    assert counting.new(Applied(()), ending=True) == {}
    search()
    again = counting.new(Applied(()), ending=True)
    assert len(again["logs"]) == 1


def test_entries_are_told_when_their_hooks_have_had_time_to_end(logged: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    logged.before("tool.execute", name=f"{NAME} young")(refusing)
    spanhook.instrument(logged, settings=Settings(execution_log_enabled=True), only=())
    search()
    assert "logs" not in Counting().new(Applied(()))
    later = time.time() + 5
    monkeypatch.setattr("time.time", lambda: later)
    assert len(Counting().new(Applied(()))["logs"]) == 1


@pytest.mark.parametrize("in_full", [False, True])
def test_what_exceptions_say_stays_here_as_in_telemetry(logged: Hooks, in_full: bool) -> None:
    logged.before("tool.execute", name=f"{NAME} fails", fail_mode="open")(failing)
    spanhook.instrument(logged, settings=Settings(execution_log_enabled=True, error_messages=in_full), only=())
    search()
    executions, [entry] = told(Counting())
    assert executions[f"{NAME} fails", "tool.execute.pre"]["failures"] == 1
    [result] = entry["hook_results"]
    assert (result["success"], "the secret" in result["error"]) == (False, in_full)


def test_definitions_tell_their_own_statistics(logged: Hooks) -> None:
    registry = HookRegistry()
    registry.adopt([HookDefinition.model_validate({**definition("a", "refund"), "name": f"{NAME} defined"})])
    spanhook.instrument(registry, only=())
    for _ in range(3):
        search()
    executions, _ = told(Counting(), Applied((registry.hooks,), definitions=registry))
    [one] = executions.values()
    assert (one["event_type"], one["executions"]) == ("tool.execute.pre", 3)
    assert one["p95_ms"] >= one["p50_ms"] > 0
