"""What settings say for hooks that leave it open."""

import math
from typing import Any, cast

import pytest

from spanhook import ConfigurationError, Hooks, Operation, Reject, Settings, instrument, uninstrument
from spanhook.engine import registry
from spanhook.gating import Bound
from tests.stub import stubbed


def noop(op: Operation) -> None:
    return None


def in_force(hooks: Hooks, settings: Settings) -> dict[str, Bound]:
    with stubbed(hooks, settings):
        plan = registry.plans["llm.call"]
        return {one.name: one for one in (*plan.pre, *plan.post)}


def test_the_default_timeout_is_for_hooks_that_set_none() -> None:
    hooks = Hooks()
    hooks.before("llm.call", name="open")(noop)
    hooks.before("llm.call", name="own", timeout=3.0)(noop)
    hooks.before("llm.call", name="endless", timeout=None)(noop)
    found = in_force(hooks, Settings(default_timeout_ms=50))
    assert {name: one.timeout_ns for name, one in found.items()} == {
        "open": 50_000_000,
        "own": 3_000_000_000,
        "endless": None,
    }


def test_the_fail_mode_default_acts_from_priority_100_up() -> None:
    hooks = Hooks()
    for priority in (50, 100, 500):
        hooks.before("llm.call", name=str(priority), priority=priority)(noop)
    hooks.before("llm.call", name="own", priority=500, fail_mode="open")(noop)
    assert {name: one.fail_mode for name, one in in_force(hooks, Settings()).items()} == {
        "50": "closed",
        "100": "open",
        "500": "open",
        "own": "open",
    }
    closed = in_force(hooks, Settings(fail_open_default=False))
    assert {name: one.fail_mode for name, one in closed.items()} == {
        "50": "closed",
        "100": "closed",
        "500": "closed",
        "own": "open",
    }


def test_a_broken_hook_rejects_where_none_fails_open() -> None:
    hooks = Hooks()

    @hooks.before("llm.call", priority=500)
    def broken(op: Operation) -> None:  # pyright: ignore[reportUnusedFunction]
        raise KeyError("broken")

    with stubbed(hooks, Settings(fail_open_default=False)) as (library, _), pytest.raises(Reject, match="broken"):
        library.work("x")
    with stubbed(hooks) as (library, _):
        assert library.work("x") == "x"


def test_observers_are_skipped_once_the_chains_time_is_spent() -> None:
    hooks = Hooks()
    hooks.before("llm.call")(noop)
    hooks.after("llm.call", name="observer")(noop)
    with stubbed(hooks, Settings(chain_timeout_ms=0.5)) as (library, seen):  # the clock goes on 1 ms at each look
        library.work("x")
    [skipped] = seen.operations[0].decisions
    assert (skipped.hook, skipped.decision) == ("observer", "skipped")
    assert skipped.reason.endswith("of 0.5 ms")


def test_no_hook_runs_where_they_are_not_enabled() -> None:
    hooks, ran = Hooks(), list[str]()
    hooks.before("llm.call")(lambda op: ran.append("ran"))
    with stubbed(hooks, Settings(hooks_enabled=False)) as (library, seen):
        library.work("x")
    assert (ran, len(seen.spans)) == ([], 1)


def test_more_or_fewer_hooks_per_event() -> None:
    hooks = Hooks()
    for _ in range(25):
        hooks.before("llm.call")(noop)
    with pytest.raises(ConfigurationError, match=r"number 21 on llm.call.pre.*max_per_event"):
        instrument(hooks, only=())
    assert not registry.hooks
    instrument(hooks, only=(), settings=Settings(max_per_event=25))
    try:
        with pytest.raises(ConfigurationError, match="at most 25"):
            hooks.before("llm.call")(noop)
    finally:
        uninstrument()


@pytest.mark.parametrize("name", ["default_timeout_ms", "chain_timeout_ms", "max_per_event"])
@pytest.mark.parametrize("value", [0, -1, True, "5", math.nan])
def test_odd_values_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"{name}={value!r}; expected"):
        Settings(**cast("Any", {name: value}))


def test_a_setting_for_all_is_no_reason_to_hold_streams_back() -> None:
    hooks = Hooks()
    hooks.after("llm.call", name="by setting")(noop)
    hooks.after("llm.call", name="by its author", fail_mode="closed")(noop)
    found = in_force(hooks, Settings(fail_open_default=False))
    assert {name: (one.closed, one.buffers) for name, one in found.items()} == {
        "by setting": (True, False),
        "by its author": (True, True),
    }
