"""The hooks by hand: each row of the design, in sync and async code, over both memories."""

import asyncio
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

import spanhook
from spanhook import ConfigurationError
from spanhook.diagnostics import Repeats
from spanhook.iterations import (
    Frame,
    FrameMemory,
    HookConfig,
    HookResult,
    IterationHooks,
    MemoryFrames,
    SessionStatistics,
    SQLiteFrames,
    _remembering,
)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FrameMemory]:
    if request.param == "memory":
        yield MemoryFrames()
    else:
        with SQLiteFrames(tmp_path / "frames.db") as opened:
            yield opened


@pytest.fixture(params=["sync", "asyncio", "trio"])
def call(request: pytest.FixtureRequest) -> Any:
    """Calls a method, or its twin for async code."""

    def call(hooks: IterationHooks, method: str, *args: Any, **kwargs: Any) -> Any:
        if request.param == "sync":
            return getattr(hooks, method)(*args, **kwargs)

        async def wait() -> Any:
            return await getattr(hooks, f"a{method}")(*args, **kwargs)

        return asyncio.run(wait()) if request.param == "asyncio" else trio.run(wait)

    return call


def contents(result: HookResult) -> list[str]:
    return [frame.content for frame in result.frames]


# ----------------------------------------------------------------------------------------------- start


def test_on_iteration_start_loads_recent_frames_of_the_session(store: FrameMemory, call: Any) -> None:
    hooks = IterationHooks(store, HookConfig(context_frames=2))
    assert call(hooks, "on_iteration_start", session_id="sess-123", iteration=0) == HookResult()
    for number in range(3):
        call(hooks, "on_iteration_end", "sess-123", number, True, f"did {number}")
    result = call(hooks, "on_iteration_start", "sess-123", 3)
    assert (result.success, result.context_loaded) == (True, 2)
    assert contents(result) == ["Iteration 2 succeeded: did 1", "Iteration 3 succeeded: did 2"]


def test_on_iteration_start_includes_errors_and_decisions_of_other_sessions(store: FrameMemory, call: Any) -> None:
    hooks = IterationHooks(store)
    call(hooks, "on_iteration_end", "other", 0, True, "not for you")
    call(hooks, "on_error", "other", 1, ValueError("no disk"))
    call(hooks, "remember", "other", 1, "Use SQLite")
    call(hooks, "remember", "other", 1, "nobody else's business", type="note")
    call(hooks, "on_iteration_end", "mine", 0, True, "mine")
    result = call(hooks, "on_iteration_start", "mine", 1)
    said = ["ValueError: no disk", "Use SQLite", "Iteration 1 succeeded: mine"]
    assert [content.partition("\n")[0] for content in contents(result)] == said


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (HookConfig(include_errors_in_context=False), ["Use SQLite"]),
        (HookConfig(include_decisions_in_context=False), ["ValueError: no disk"]),
        (HookConfig(include_errors_in_context=False, include_decisions_in_context=False), []),
        (HookConfig(context_frames=0), []),
    ],
)
def test_errors_and_decisions_are_optional(store: FrameMemory, config: HookConfig, said: list[str]) -> None:
    hooks = IterationHooks(store, config)
    hooks.on_error("other", 0, ValueError("no disk"))
    hooks.remember("other", 0, "Use SQLite")
    assert contents(hooks.on_iteration_start("mine", 0)) == said


def test_what_is_loaded_is_merged_without_doubles(store: FrameMemory) -> None:
    hooks = IterationHooks(store)
    hooks.on_error("mine", 0, ValueError("no disk"))
    hooks.remember("mine", 0, "Use SQLite")
    hooks.on_error("other", 0, ValueError("no net"))
    result = hooks.on_iteration_start("mine", 1)
    assert [content.partition("\n")[0] for content in contents(result)] == [
        "ValueError: no disk",
        "Use SQLite",
        "ValueError: no net",
    ]
    assert result.context_loaded == 3


def test_tenants_do_not_learn_of_each_other(store: FrameMemory, call: Any) -> None:
    hooks = IterationHooks(store)
    with spanhook.context(tenant_id="acme"):
        call(hooks, "on_error", "s", 0, ValueError("acme's secret"))
        call(hooks, "remember", "s", 0, "acme's way")
        assert call(hooks, "on_iteration_start", "s", 1).context_loaded == 2
    with spanhook.context(tenant_id="ajax"):
        assert call(hooks, "on_iteration_start", "s", 1).context_loaded == 0
        assert call(hooks, "statistics", "s") == SessionStatistics()
    assert call(hooks, "on_iteration_start", "s", 1).context_loaded == 0


# ----------------------------------------------------------------------------------------------- end


@pytest.mark.parametrize("success", [True, False])
def test_on_iteration_end_stores_the_result(store: FrameMemory, call: Any, success: bool) -> None:
    hooks = IterationHooks(store)
    output = "Task completed. " * 100
    result = call(hooks, "on_iteration_end", session_id="sess-123", iteration=1, success=success, output=output)
    (frame,) = store.recent(9)
    assert (result.success, result.frame_id, result.error) == (True, frame.id, None)
    assert (frame.type, frame.success, frame.iteration) == ("iteration", success, 1)
    assert frame.tags == ("iteration", "iter-2", "hook:iteration_end")
    assert len(frame.details["output"]) == 1000


def test_on_error_captures_the_error_with_recent_activity(store: FrameMemory, call: Any) -> None:
    hooks = IterationHooks(store, HookConfig(max_error_context=10))
    for number in range(7):
        call(hooks, "on_iteration_end", "sess-123", number, True, f"did {number}")
    call(hooks, "on_iteration_end", "other", 0, True, "elsewhere")
    error = ValueError("Something went wrong")
    result = call(hooks, "on_error", session_id="sess-123", iteration=1, error=error, error_context="x" * 99)
    frame = store.recent(1)[0]
    assert (result.frame_id, frame.importance) == (frame.id, 10)
    assert (frame.details["error_type"], frame.details["message"]) == ("ValueError", "Something went wrong")
    assert frame.details["context"] == "x" * 9 + "…"
    assert frame.details["recent"] == [f"Iteration {number} succeeded: did {number - 1}" for number in range(3, 8)]


def test_on_completion_stores_a_summary_with_metrics(store: FrameMemory, call: Any) -> None:
    hooks = IterationHooks(store)
    for number in range(3):
        call(hooks, "on_iteration_end", "sess-123", number, number != 1, "did")
    call(hooks, "on_error", "sess-123", 1, ValueError("no"))
    result = call(hooks, "on_completion", "sess-123", summary="All done.")
    frame = store.recent(1)[0]
    assert (result.frame_id, frame.importance, frame.iteration) == (frame.id, 8, 2)
    assert frame.content == "Session completed: 3 iterations, 1 error. All done."
    assert frame.details == {"total_iterations": 3, "error_count": 1, "summary": "All done."}


def test_on_completion_is_told_how_many_iterations_there_were(store: FrameMemory) -> None:
    IterationHooks(store).on_completion("s", success=False, total_iterations=12)
    assert store.recent(1)[0].content == "Session failed: 12 iterations, 0 errors"


def test_session_statistics(store: FrameMemory, call: Any) -> None:
    hooks = IterationHooks(store)
    call(hooks, "on_iteration_end", "s", 0, True)
    call(hooks, "on_error", "s", 1, ValueError())
    call(hooks, "on_iteration_end", "s", 1, False)
    call(hooks, "remember", "s", 1, "Use SQLite")
    call(hooks, "on_completion", "s")
    found = call(hooks, "statistics", "s")
    assert (found.frames, found.iterations, found.succeeded, found.failed) == (5, 2, 1, 1)
    assert (found.errors, found.decisions, found.completed, found.last_iteration) == (1, 1, True, 1)
    assert 0 < found.first_ns <= found.last_ns


def test_memory_survives_a_restart(tmp_path: Path) -> None:
    with SQLiteFrames(tmp_path / "a.db") as before:
        IterationHooks(before).on_iteration_end("s", 0, True, "did")
    with SQLiteFrames(tmp_path / "a.db") as after:
        assert contents(IterationHooks(after).on_iteration_start("s", 1)) == ["Iteration 1 succeeded: did"]


# ----------------------------------------------------------------------------------------------- switches

METHODS: dict[str, tuple[Any, ...]] = {
    "on_iteration_start": ("s", 1),
    "on_iteration_end": ("s", 1, True),
    "on_error": ("s", 1, ValueError()),
    "on_completion": ("s",),
}


@pytest.mark.parametrize("method", METHODS)
def test_each_hook_can_be_switched_off(store: FrameMemory, call: Any, method: str) -> None:
    store.add(Frame(id="1", session_id="s", type="note", content="x"))
    hooks = IterationHooks(store, HookConfig(**{method: False}))  # pyright: ignore[reportArgumentType]
    assert call(hooks, method, *METHODS[method]) == HookResult()
    others = [call(hooks, other, *args) for other, args in METHODS.items() if other != method]
    assert all(result.frame_id or result.context_loaded for result in others)


def test_all_hooks_can_be_switched_off(store: FrameMemory, call: Any) -> None:
    hooks = IterationHooks(store, HookConfig(enabled=False))
    assert [call(hooks, method, *args) for method, args in METHODS.items()] == [HookResult()] * 4
    assert call(hooks, "remember", "s", 0, "Use SQLite") == HookResult()
    assert store.recent(9) == []


# ----------------------------------------------------------------------------------------------- faults


class Broken:
    """A memory whose disk is full."""

    blocking = True

    def add(self, frame: Frame) -> None:
        raise OSError("no space left")

    def recent(self, limit: int, **_asked: Any) -> list[Frame]:
        raise OSError("no space left")

    def statistics(self, session_id: str, *, tenant_id: str = "") -> SessionStatistics:
        raise OSError("no space left")


def test_statistics_of_a_memory_that_fails(
    call: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_remembering, "_repeats", Repeats())
    hooks = IterationHooks(Broken())
    found = [call(hooks, "statistics", "s") for _ in range(2)]
    assert found == [SessionStatistics(error="OSError: no space left")] * 2
    assert [one.getMessage() for one in caplog.records] == ["spanhook: the memory of iterations failed at statistics"]
    with pytest.raises(ConfigurationError, match="session_id=''"):
        call(hooks, "statistics", "")


def test_a_memory_that_fails_fails_no_agent(
    call: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_remembering, "_repeats", Repeats())
    told: list[Any] = []
    hooks = IterationHooks(Broken())
    with caplog.at_level(logging.ERROR, "spanhook"):
        results = [call(hooks, method, *args) for method, args in METHODS.items() for _ in range(2)]
    assert results == [HookResult(success=False, error="OSError: no space left")] * 8
    assert told == []
    assert [record.getMessage() for record in caplog.records] == [
        f"spanhook: the memory of iterations failed at {event}"
        for event in ("iteration_start", "iteration_end", "error", "completion")
    ]


def test_an_output_that_cannot_be_printed_fails_no_agent() -> None:
    class Odd:
        def __str__(self) -> str:
            raise RuntimeError("odd")

    assert IterationHooks().on_iteration_end("s", 0, True, Odd()).error == "RuntimeError: odd"


@pytest.mark.parametrize("session_id", ["", None, 3])
def test_a_session_is_named(session_id: Any) -> None:
    with pytest.raises(ConfigurationError, match="expected the session's id, such as 'sess-123'"):
        IterationHooks().on_iteration_start(session_id, 0)


@pytest.mark.parametrize("iteration", [-1, "1", 1.5, True, None, 2**63])
def test_an_iteration_is_numbered(iteration: Any) -> None:
    hooks = IterationHooks()
    with pytest.raises(ConfigurationError, match="expected a number, 0 or more"):
        hooks.on_iteration_end("s", iteration, True)
    with pytest.raises(ConfigurationError, match="expected a number, 0 or more"):
        hooks.iteration("s", iteration)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"store": object()}, "expected MemoryFrames"),
        ({"store": "frames.db"}, "it has no 'add'"),
        ({"config": {"enabled": True}}, r"expected a HookConfig; see HookConfig\.of"),
    ],
)
def test_hooks_are_made_of_a_memory_and_a_configuration(given: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        IterationHooks(**given)


@pytest.mark.parametrize(
    "given", [{"type": "error"}, {"tags": "storage"}, {"importance": 0}, {"importance": 11}, {"importance": "high"}]
)
def test_what_is_remembered_is_of_a_type_and_an_importance(given: Any) -> None:
    with pytest.raises(ConfigurationError, match="expected"):
        IterationHooks().remember("s", 0, "x", **given)


def test_odd_text_is_kept(store: FrameMemory) -> None:
    hooks = IterationHooks(store)
    assert hooks.on_iteration_end("s\ud800", 0, True, "\ud800 \0 \U0001f600").success
    assert contents(hooks.on_iteration_start("s\ud800", 1)) == ["Iteration 1 succeeded: \ufffd \0 \U0001f600"]


# ----------------------------------------------------------------------------------------------- concurrent


def test_sessions_in_threads_do_not_mix(store: FrameMemory) -> None:
    hooks = IterationHooks(store)
    found: dict[str, SessionStatistics] = {}

    def work(session: str) -> None:
        for number in range(10):
            assert hooks.on_iteration_start(session, number).context_loaded == number
            hooks.on_iteration_end(session, number, True, session)
        found[session] = hooks.statistics(session)

    threads = [threading.Thread(target=work, args=(f"s{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.iterations for one in found.values()] == [10] * 8


def test_a_blocking_memory_keeps_no_event_loop_waiting() -> None:
    asked, released = threading.Event(), threading.Event()

    class Slow(MemoryFrames):
        blocking = True

        def add(self, frame: Frame) -> None:
            asked.set()
            assert released.wait(60)
            super().add(frame)

    hooks = IterationHooks(Slow())

    async def main() -> None:
        writing = asyncio.create_task(hooks.aon_iteration_end("s", 0, True))
        await asyncio.to_thread(asked.wait, 60)
        released.set()
        assert (await writing).success

    asyncio.run(main())
    assert hooks.statistics("s").frames == 1


def test_what_was_being_written_when_it_was_cancelled_is_written() -> None:
    asked, released = threading.Event(), threading.Event()

    class Slow(MemoryFrames):
        blocking = True

        def add(self, frame: Frame) -> None:
            asked.set()
            assert released.wait(60)
            super().add(frame)
            done.set()

    done = threading.Event()
    hooks = IterationHooks(Slow())

    async def main() -> None:
        writing = asyncio.create_task(hooks.aon_iteration_end("s", 0, True))
        await asyncio.to_thread(asked.wait, 60)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        released.set()

    asyncio.run(main())
    assert done.wait(60)
    assert hooks.statistics("s").frames == 1
