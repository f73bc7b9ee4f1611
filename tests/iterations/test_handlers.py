"""Custom handlers: told in order, isolated from each other, registered and unregistered at any time."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
import trio

from spanhook import ConfigurationError
from spanhook.concurrency import loops
from spanhook.diagnostics import Repeats
from spanhook.iterations import HookConfig, HookContext, HookEvent, IterationHooks, MemoryFrames, _handlers


@pytest.fixture(autouse=True)
def unsaid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_handlers, "_repeats", Repeats())


def fire(hooks: IterationHooks, how: str = "sync") -> None:
    """Each of the four events once."""
    if how == "sync":
        hooks.on_iteration_start("s", 0)
        hooks.on_iteration_end("s", 0, True, "done")
        hooks.on_error("s", 0, ValueError("no"), "here")
        hooks.on_completion("s")
        return

    async def main() -> None:
        await hooks.aon_iteration_start("s", 0)
        await hooks.aon_iteration_end("s", 0, True, "done")
        await hooks.aon_error("s", 0, ValueError("no"), "here")
        await hooks.aon_completion("s")

    asyncio.run(main()) if how == "asyncio" else trio.run(main)


@pytest.mark.parametrize("how", ["sync", "asyncio", "trio"])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_handler_is_told_of_its_event(how: str, is_async: bool) -> None:
    seen: list[HookContext] = []
    hooks = IterationHooks()

    async def atell(context: HookContext) -> None:
        seen.append(context)

    for event in HookEvent:
        hooks.register_handler(event, atell if is_async else seen.append)
    fire(hooks, how)
    assert [one.event for one in seen] == list(HookEvent)
    assert {(one.session_id, one.iteration) for one in seen} == {("s", 0)}
    start, end, error, completion = (dict(one.data) for one in seen)
    assert (start, end) == ({"frames": ()}, {"success": True, "output": "done"})
    assert (str(error["error"]), error["error_context"]) == ("no", "here")
    assert completion == {"success": True, "summary": "", "total_iterations": 1, "error_count": 1}
    assert seen[0].timestamp.tzinfo is not None


def test_a_handler_of_one_event_is_told_of_no_other() -> None:
    seen: list[Any] = []
    hooks = IterationHooks()
    hooks.register_handler(HookEvent.ERROR, seen.append)
    fire(hooks)
    assert [one.event for one in seen] == ["error"]


def test_handlers_are_told_in_the_order_they_were_registered_and_once_each() -> None:
    seen: list[str] = []
    hooks = IterationHooks()

    def first(_context: HookContext) -> None:
        seen.append("first")

    def second(_context: HookContext) -> None:
        seen.append("second")

    for handler in (first, second, first):
        hooks.register_handler(HookEvent.ITERATION_END, handler)
    fire(hooks)
    assert seen == ["first", "second"]


def test_an_unregistered_handler_is_told_no_more() -> None:
    seen: list[Any] = []
    hooks = IterationHooks()
    hooks.register_handler(HookEvent.ERROR, seen.append)
    assert hooks.unregister_handler(HookEvent.ERROR, seen.append) is True
    assert hooks.unregister_handler(HookEvent.ERROR, seen.append) is False
    fire(hooks)
    assert seen == []


def test_a_handler_may_unregister_itself() -> None:
    seen: list[str] = []
    hooks = IterationHooks()

    def once(_context: HookContext) -> None:
        seen.append("once")
        hooks.unregister_handler(HookEvent.ITERATION_END, once)

    def always(_context: HookContext) -> None:
        seen.append("always")

    hooks.register_handler(HookEvent.ITERATION_END, once)
    hooks.register_handler(HookEvent.ITERATION_END, always)
    fire(hooks)
    fire(hooks)
    assert seen == ["once", "always", "always"]


@pytest.mark.parametrize("how", ["sync", "asyncio", "trio"])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_handler_that_fails_keeps_nothing_else_from_being_done(
    how: str, is_async: bool, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Any] = []
    hooks = IterationHooks()

    def fail(_context: HookContext) -> None:
        raise ValueError("no")

    async def afail(_context: HookContext) -> None:
        raise ValueError("no")

    for event in HookEvent:
        hooks.register_handler(event, afail if is_async else fail)
        hooks.register_handler(event, seen.append)
    with caplog.at_level(logging.ERROR, "spanhook"):
        fire(hooks, how)
        fire(hooks, how)
    assert len(seen) == 8
    assert hooks.statistics("s").frames == 6
    assert len([one for one in caplog.records if "failed" in one.getMessage()]) == 4  # the second time is not said


def test_an_interrupt_goes_through() -> None:
    hooks = IterationHooks()

    def interrupt(_context: HookContext) -> None:
        raise KeyboardInterrupt

    hooks.register_handler(HookEvent.ITERATION_END, interrupt)
    with pytest.raises(KeyboardInterrupt):
        hooks.on_iteration_end("s", 0, True)


def test_what_a_handler_is_told_cannot_be_changed() -> None:
    hooks = IterationHooks()
    failed: list[type[BaseException]] = []

    def change(context: HookContext) -> None:
        try:
            context.data["output"] = "mine"  # pyright: ignore[reportIndexIssue]
        except TypeError as error:
            failed.append(type(error))

    hooks.register_handler(HookEvent.ITERATION_END, change)
    fire(hooks)
    assert failed == [TypeError]


@pytest.mark.parametrize("config", [HookConfig(enabled=False), HookConfig(on_error=False)])
def test_handlers_of_a_hook_that_is_off_are_not_told(config: HookConfig) -> None:
    seen: list[Any] = []
    hooks = IterationHooks(MemoryFrames(), config)
    hooks.register_handler(HookEvent.ERROR, seen.append)
    fire(hooks)
    assert seen == []


@pytest.mark.parametrize("change", [IterationHooks.register_handler, IterationHooks.unregister_handler])
def test_an_event_that_is_none_is_refused(change: Callable[..., Any]) -> None:
    with pytest.raises(ConfigurationError, match="there is no event 'iteration_over'; expected one of HookEvent"):
        change(IterationHooks(), "iteration_over", print)


def test_what_cannot_be_called_is_refused() -> None:
    hooks: Any = IterationHooks()
    with pytest.raises(ConfigurationError, match=r"expected a function \(context\)"):
        hooks.register_handler(HookEvent.ERROR, "print")


def test_an_async_handler_in_an_async_hook_of_a_sync_call_fails_at_once(fresh_loops: None) -> None:
    hooks = IterationHooks()

    async def tell(_context: HookContext) -> None: ...

    hooks.register_handler(HookEvent.ITERATION_END, tell)

    async def in_hook() -> None:
        assert hooks.on_iteration_end("s", 0, True).success

    loops.block_on(in_hook())
