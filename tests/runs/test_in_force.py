"""The hooks of runs that are set for a process."""

import multiprocessing
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import spanhook
from spanhook import ConfigurationError
from spanhook.runs import RejectRun, RunContext, RunHooks, get_hooks, get_hooks_timeout, run_scope, set_hooks
from spanhook.runs import in_force as module
from spanhook.testing import recorder


@pytest.fixture(autouse=True)
def unset() -> Iterator[None]:
    yield
    set_hooks(None)


def noting(noted: list[str], name: str) -> RunHooks:
    hooks = RunHooks()
    hooks.before_run(lambda ctx: noted.append(name))
    return hooks


def run() -> None:
    with run_scope("own"):
        pass


def test_there_are_none_and_ten_seconds_at_first() -> None:
    assert (get_hooks(), get_hooks_timeout()) == (None, 10.0)


def test_hooks_that_are_set_are_in_force_in_place_of_those_before() -> None:
    noted: list[str] = []
    first, second = noting(noted, "first"), noting(noted, "second")
    set_hooks(first)
    assert get_hooks() is first
    run()
    set_hooks(second)
    set_hooks(second)
    run()
    assert get_hooks() is second
    set_hooks(None)
    assert get_hooks() is None
    run()
    assert noted == ["first", "second"]


def test_the_timeout_of_hooks_is_set_with_them() -> None:
    hooks = RunHooks(timeout=3)
    set_hooks(hooks)
    assert get_hooks_timeout() == 3
    set_hooks(hooks, timeout=2.5)
    assert get_hooks_timeout() == hooks.timeout == 2.5
    set_hooks(hooks, timeout=None)
    assert get_hooks_timeout() is None
    set_hooks(None)
    assert get_hooks_timeout() == 10.0


def test_hooks_that_are_set_hold_beside_those_that_are_instrumented() -> None:
    noted: list[str] = []
    set_hooks(noting(noted, "set"))
    with recorder(noting(noted, "instrumented")):
        run()
    assert noted == ["set", "instrumented"]
    assert get_hooks() is None, "uninstrument takes every hook out"
    run()
    assert noted == ["set", "instrumented"]


def test_hooks_both_set_and_instrumented_run_once() -> None:
    noted: list[str] = []
    hooks = noting(noted, "once")
    with recorder(hooks):
        set_hooks(hooks)
        run()
    assert noted == ["once"]


def test_what_is_none_is_refused_and_changes_nothing() -> None:
    noted: list[str] = []
    hooks = noting(noted, "kept")
    set_hooks(hooks)
    wrong: Any = spanhook.Hooks()
    with pytest.raises(ConfigurationError, match="expected a RunHooks, or None"):
        set_hooks(wrong)
    with pytest.raises(ConfigurationError, match="timeout=-1"):
        set_hooks(RunHooks(), timeout=-1)
    many = RunHooks()
    for _ in range(20):
        many.before_run(lambda ctx: None)
    with recorder(spanhook.Hooks()):
        set_hooks(hooks)
        others = spanhook.Hooks()
        others.before("run")(lambda op: None)
        spanhook.instrument(others)
        with pytest.raises(ConfigurationError, match="at most 20 are allowed"):
            set_hooks(many, timeout=3)
        run()
        assert (get_hooks(), noted, many.timeout) == (hooks, ["kept"], 10.0)


def test_setting_hooks_from_several_threads_leaves_one_in_force() -> None:
    noted: list[str] = []
    several = [noting(noted, str(n)) for n in range(8)]
    together = threading.Barrier(8)

    def swap(mine: RunHooks) -> None:
        together.wait(60)
        for _ in range(20):
            set_hooks(mine)
            run()

    threads = [threading.Thread(target=swap, args=(mine,)) for mine in several]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    noted.clear()
    run()
    assert get_hooks() in several
    assert len(noted) == 1


@pytest.mark.slow
def test_hooks_that_are_set_hold_in_a_forked_child() -> None:
    hooks = RunHooks()

    @hooks.before_run
    async def refuse(ctx: RunContext) -> None:
        raise RejectRun

    set_hooks(hooks)

    def child() -> None:
        try:
            run()
        except RejectRun:
            set_hooks(None)
            run()
            os._exit(7)

    with module._lock:
        forked = multiprocessing.get_context("fork").Process(target=child)
        forked.start()
    forked.join(60)
    assert forked.exitcode == 7
