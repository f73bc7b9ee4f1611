"""An agent's life: one start, one shutdown, whatever happens in between, and to each clone its own."""

import asyncio
import json
import logging
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
import trio

import spanhook
from spanhook import Hooks, Operation, OperationError, Reject, Settings
from spanhook.cards import AgentCard, AgentConfigError, AgentLifecycleContext, agent_scope, load_card
from spanhook.model import current
from spanhook.testing import recorder
from tests.commands import Folder

MODES = ("with", "async with", "trio")


@dataclass
class Desk:
    name: str = "desk"


@pytest.fixture
def card(folder: Folder) -> Callable[..., AgentCard]:
    """Makes a card whose hooks are what is given; they append to the agent's context."""

    def make(start: str = "def start(ctx): say(ctx)", stop: str = "def stop(ctx): say(ctx)") -> AgentCard:
        say = "def say(ctx, more=''): ctx.context.append((ctx.hook_type + more, ctx.agent_name))"
        folder.write(hooks="\n".join(("import asyncio, threading", say, start, stop)))
        hooks = {"on_start": "hooks.py:start", "on_shutdown": "hooks.py:stop"}
        return AgentCard(name="desk", lifecycle_hooks=hooks, path=folder.path / "desk.md")

    return make


def live(mode: str, card: AgentCard, body: Callable[[], Any] = int, **given: Any) -> None:
    """One agent's whole life, with ``body`` in it."""
    if mode == "with":
        with agent_scope(card, **given):
            body()
        return

    async def wait() -> None:
        async with agent_scope(card, **given):
            body()

    asyncio.run(wait()) if mode == "async with" else trio.run(wait)


BOTH = [("on_start", "desk"), ("on_shutdown", "desk")]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", ["def", "async def"])
def test_lifecycle_hooks_run_as_the_agent_starts_and_shuts_down(card: Any, mode: str, form: str) -> None:
    seen: list[Any] = []
    given = card(f"{form} start(ctx): say(ctx)", f"{form} stop(ctx): say(ctx)")
    live(mode, given, lambda: seen.append("working"), context=seen)
    assert seen == [BOTH[0], "working", BOTH[1]]


def test_lifecycle_hooks_loads_and_calls(folder: Folder) -> None:
    desk, session, found = Desk(), object(), load_card(folder.path / "desk.md")
    seen: list[AgentLifecycleContext[Desk, object]] = []

    async def main() -> None:
        async with agent_scope(found, agent=desk, context=session) as scope:
            function: Any = scope._hooks.on_start
            seen.extend(function.__globals__["seen"])

    asyncio.run(main())
    (ctx,) = seen
    assert ctx.agent is desk
    assert ctx.config is found
    assert ctx.context is session
    assert (ctx.agent_name, ctx.has_context, ctx.hook_type) == ("desk", True, "on_start")


def test_an_agent_without_an_object_is_its_scope(card: Any) -> None:
    made = card("def start(ctx): ctx.agent.found = ctx")
    with agent_scope(made, name="till") as scope:
        ctx: Any = vars(scope)["found"]
    assert (ctx.agent is scope, ctx.agent_name, ctx.has_context) == (True, "till", False)


def test_a_card_without_hooks_starts_and_shuts_down_all_the_same() -> None:
    with recorder() as seen:
        live("with", AgentCard(name="desk"))
    assert [(op.kind, op.name, op.status) for op in seen.operations] == [("agent.lifecycle", "desk", "success")] * 2


def test_hooks_are_loaded_lazily(folder: Folder, card: Any) -> None:
    scope = agent_scope(card(), context=[])
    folder.write(hooks="raise AssertionError('loaded')")
    with pytest.raises(AgentConfigError, match="loaded"):
        scope.__enter__()


@pytest.mark.parametrize("mode", MODES)
def test_each_end_is_one_operation(card: Any, mode: str) -> None:
    with recorder() as seen:
        live(mode, card(), context=[])
    assert [(span.name, dict(span.attributes or {})["spanhook.agent.lifecycle.phase"]) for span in seen.spans] == [
        ("create_agent desk", "start"),
        ("shutdown_agent desk", "shutdown"),
    ]
    names = [dict(span.attributes or {}).get("gen_ai.operation.name") for span in seen.spans]
    assert names == ["create_agent", None]


# ----------------------------------------------------------------------------------------------- failing


@pytest.mark.parametrize("mode", MODES)
def test_a_failed_start_raises_and_nothing_is_shut_down(card: Any, mode: str) -> None:
    seen: list[Any] = []
    made = card("async def start(ctx): raise ValueError('no disk')")
    with recorder() as recorded, pytest.raises(AgentConfigError) as caught:
        live(mode, made, lambda: seen.append("working"), context=seen)
    assert str(caught.value) == "agent 'desk': on_start 'hooks.py:start' failed: ValueError: no disk"
    assert isinstance(caught.value.__cause__, ValueError)
    assert (seen, [op.status for op in recorded.operations]) == ([], ["error"])
    assert current.get() is None


@pytest.mark.parametrize("mode", MODES)
def test_a_failed_shutdown_is_logged(card: Any, mode: str, caplog: pytest.LogCaptureFixture) -> None:
    with recorder() as recorded, caplog.at_level(logging.ERROR, "spanhook"):
        live(mode, card("def start(ctx): ...", "async def stop(ctx): raise ValueError('no disk')"))
    assert [record.getMessage() for record in caplog.records] == [
        "spanhook: agent 'desk': on_shutdown 'hooks.py:stop' failed"
    ]
    assert caplog.records[0].exc_info is not None
    assert [op.status for op in recorded.operations] == ["success", "error"]


@pytest.mark.parametrize("mode", MODES)
def test_a_failed_agent_is_shut_down_and_its_error_kept(card: Any, mode: str) -> None:
    seen: list[Any] = []

    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        live(mode, card(), fail, context=seen)
    assert seen == BOTH


def test_a_failed_agent_that_fails_to_shut_down_keeps_its_own_error(card: Any) -> None:
    with pytest.raises(ZeroDivisionError), agent_scope(card("def start(ctx): ...", "def stop(ctx): 1 / ''")):
        raise ZeroDivisionError


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupted_start_is_no_failure_and_is_not_shut_down(card: Any, error: type[BaseException]) -> None:
    seen: list[Any] = []
    with pytest.raises(error):
        live("with", card(f"def start(ctx): raise {error.__name__}"), context=seen)
    assert seen == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupted_agent_is_shut_down(card: Any, error: type[BaseException]) -> None:
    seen: list[Any] = []
    with pytest.raises(error), agent_scope(card(), context=seen):
        raise error
    assert seen == BOTH


def test_a_scope_is_entered_and_left_once(card: Any) -> None:
    seen: list[Any] = []
    with agent_scope(card(), context=seen) as scope:
        with pytest.raises(OperationError, match="has been started before; make another"):
            scope.__enter__()
        assert len(seen) == 1
    with pytest.raises(OperationError), scope:
        pass
    with pytest.raises(OperationError, match="cannot be shut down: it is not running"):
        scope.__exit__(None, None, None)
    assert seen == BOTH


@pytest.mark.parametrize("given", ["desk.md", None, {}])
def test_only_a_card_makes_a_scope(given: Any) -> None:
    with pytest.raises(spanhook.ConfigurationError, match=r"expected an AgentCard; give it load_card\(path\)"):
        agent_scope(given)


# ----------------------------------------------------------------------------------------------- cancelled


async def begun(seen: list[Any]) -> None:
    while not seen:  # noqa: ASYNC110 - hooks have only what their context is
        await asyncio.sleep(0)


def test_a_cancelled_start_is_no_failure_and_is_not_shut_down(card: Any) -> None:
    seen: list[Any] = []
    made = card("async def start(ctx):\n  ctx.context.append('starting')\n  await asyncio.Event().wait()")

    async def main() -> None:
        async def live() -> None:
            async with agent_scope(made, context=seen):
                raise AssertionError("it started")

        task = asyncio.create_task(live())
        await begun(seen)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with recorder() as recorded:
        asyncio.run(main())
    assert seen == ["starting"]
    assert [op.status for op in recorded.operations] == ["cancelled"]


AWAITS = "async def stop(ctx):\n  import anyio\n  await anyio.sleep(0)\n  say(ctx)"


def test_a_cancelled_agent_is_shut_down_under_asyncio(card: Any) -> None:
    seen: list[Any] = []

    async def main() -> None:
        async def work() -> None:
            async with agent_scope(card(stop=AWAITS), context=seen):
                await asyncio.Event().wait()

        task = asyncio.create_task(work())
        await begun(seen)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert seen == BOTH


@pytest.mark.parametrize("library", ["asyncio", "trio"])
def test_a_cancelled_agent_is_shut_down_where_every_await_is_cancelled_anew(card: Any, library: str) -> None:
    seen: list[Any] = []

    async def main() -> None:
        with anyio.CancelScope() as scope:
            async with agent_scope(card(stop=AWAITS), context=seen):
                scope.cancel()
                await anyio.sleep_forever()
        assert scope.cancelled_caught

    with recorder() as recorded:
        anyio.run(main, backend=library)
    assert seen == BOTH
    assert [op.status for op in recorded.operations] == ["success", "success"]


@pytest.mark.parametrize("library", ["asyncio", "trio"])
def test_a_cancelled_agent_has_so_long_to_shut_down(
    card: Any, library: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("spanhook.cards._scope.SHUTDOWN_S", 0.01)
    made = card("def start(ctx): ...", "async def stop(ctx):\n  import anyio\n  await anyio.sleep_forever()")

    async def main() -> None:
        with anyio.CancelScope() as scope:
            async with agent_scope(made):
                scope.cancel()
                await anyio.sleep_forever()

    with caplog.at_level(logging.ERROR, "spanhook"):
        anyio.run(main, backend=library)
    assert [record.getMessage() for record in caplog.records] == [
        "spanhook: agent 'desk' did not shut down within 0.01 s of being cancelled"
    ]


# ----------------------------------------------------------------------------------------------- gated


def refusing(hook_type: str, **settings: Any) -> Hooks:
    hooks = Hooks()

    @hooks.before("agent.lifecycle", names={"desk"})
    async def refuse(op: Operation) -> None:
        if op.request.inputs["hook_type"] == hook_type:
            raise Reject("no agents today", status_code=503, **settings)

    return hooks


@pytest.mark.parametrize("mode", MODES)
def test_a_refused_agent_does_not_start(card: Any, mode: str) -> None:
    seen: list[Any] = []
    with recorder(refusing("on_start")) as recorded, pytest.raises(Reject, match="no agents today") as caught:
        live(mode, card(), context=seen)
    assert (seen, caught.value.status_code) == ([], 503)
    assert [op.status for op in recorded.operations] == ["rejected"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scope", ["operation", "run"])
def test_a_refused_shutdown_lets_go_of_everything_all_the_same(
    card: Any, mode: str, scope: Any, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Any] = []
    with recorder(refusing("on_shutdown", scope=scope)), caplog.at_level(logging.WARNING, "spanhook"):
        live(mode, card(), context=seen)
    assert seen == BOTH
    assert "its shutdown was refused (no agents today); on_shutdown 'hooks.py:stop' runs anyway" in caplog.text


def test_an_agent_in_a_run_that_was_refused_is_shut_down(card: Any) -> None:
    seen: list[Any] = []
    hooks = Hooks()

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("the budget is spent", scope="run")

    @spanhook.agent("desk")
    def answer() -> None:
        with agent_scope(card(), context=seen), spanhook.operation("tool.execute", "refund"):
            raise AssertionError("it ran")

    with recorder(hooks) as recorded, pytest.raises(Reject, match="the budget is spent"):
        answer()
    assert seen == BOTH
    assert [(op.kind, op.status) for op in recorded.operations if op.parent is None] == [("agent.invoke", "rejected")]


def test_an_agent_that_is_refused_once_it_has_started_is_shut_down(card: Any) -> None:
    seen: list[Any] = []
    hooks = Hooks()

    @hooks.after("agent.lifecycle")
    def refuse(op: Operation) -> None:
        if op.request.inputs["hook_type"] == "on_start":
            raise Reject("too late")

    with recorder(hooks), pytest.raises(Reject, match="too late"):
        live("with", card(), context=seen)
    assert seen == BOTH


def test_a_hook_that_answers_takes_the_place_of_the_cards(card: Any) -> None:
    seen: list[Any] = []
    hooks = Hooks()
    hooks.before("agent.lifecycle")(lambda op: op.respond("stubbed"))
    with recorder(hooks) as recorded:
        live("with", card(), lambda: seen.append("working"), context=seen)
    assert seen == ["working"]
    assert [op.status for op in recorded.operations] == ["success", "success"]


def test_a_rejection_by_the_cards_own_hook_stays_one(card: Any) -> None:
    made = card("from spanhook import Reject\ndef start(ctx): raise Reject('closed', status_code=503)")
    with pytest.raises(Reject, match="closed") as caught:
        live("with", made)
    assert caught.value.status_code == 503


@pytest.mark.parametrize("mode", MODES)
def test_hooks_that_are_off_leave_the_cards_own(card: Any, mode: str) -> None:
    seen: list[Any] = []
    with recorder(refusing("on_start"), settings=Settings(mode="off")):
        live(mode, card(), context=seen)
    assert seen == BOTH


# ----------------------------------------------------------------------------------------------- clones


def test_two_detached_clones_made_concurrently_do_not_mix(folder: Folder) -> None:
    """As a parent agent calls a child as a tool twice at once, each call on a detached clone of its own."""
    folder.write(
        hooks="""
        import json

        async def start_agent(ctx):
            write(ctx)

        async def stop_agent(ctx):
            write(ctx)

        def write(ctx):
            line = {"agent_name": ctx.agent_name, "agent_id": id(ctx.agent), "hook_type": ctx.hook_type}
            with open(ctx.context, "a") as marker:
                marker.write(json.dumps(line) + "\\n")
        """
    )
    marker = folder.path / "marker"
    child = agent_scope(load_card(folder.path / "desk.md"), agent=Desk(), context=marker)
    kept: list[Any] = []

    @spanhook.tool
    async def ask_child(question: str) -> str:
        async with child.clone(name="desk[tool]") as clone:
            kept.append(clone.agent)  # so that no other object gets its id
            together = asyncio.Event()
            asyncio.get_running_loop().call_soon(together.set)
            await together.wait()
            return question

    async def main() -> None:
        async with child:
            await asyncio.gather(ask_child("one"), ask_child("two"))

    with recorder() as recorded:
        asyncio.run(main())
    events = [json.loads(line) for line in marker.read_text().splitlines()]
    clones = [event for event in events if event["agent_name"].endswith("[tool]")]
    assert len({event["agent_id"] for event in clones}) == 2
    assert len({event["agent_id"] for event in events}) == 3
    for agent_id in {event["agent_id"] for event in events}:
        assert [event["hook_type"] for event in events if event["agent_id"] == agent_id] == ["on_start", "on_shutdown"]
    inside = [op.parent.name for op in recorded.operations if op.kind == "agent.lifecycle" and op.parent is not None]
    assert inside == ["ask_child"] * 4


def test_clones_in_threads_start_and_shut_down_once_each(card: Any) -> None:
    seen: list[Any] = []
    made = card("async def start(ctx): say(ctx)", "async def stop(ctx): say(ctx)")
    origin = agent_scope(made, agent=Desk(), context=seen)
    together = threading.Barrier(8)

    def live(number: int) -> None:
        together.wait()
        for turn in range(10):
            with origin.clone(name=f"{number}-{turn}"):
                pass

    threads = [threading.Thread(target=live, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = [f"{number}-{turn}" for number in range(8) for turn in range(10)]
    assert Counter(seen) == Counter((kind, name) for name in expected for kind in ("on_start", "on_shutdown"))


def test_a_clone_lives_on_its_own(card: Any) -> None:
    seen: list[Any] = []
    with agent_scope(card(), context=seen) as scope:
        clone = scope.clone(name="clone").__enter__()
    assert seen == [("on_start", "desk"), ("on_start", "clone"), ("on_shutdown", "desk")]
    clone.__exit__(None, None, None)
    assert seen[-1] == ("on_shutdown", "clone")


def test_a_clone_is_a_copy_of_its_own_or_what_it_is_given(card: Any) -> None:
    desk, other = Desk(), Desk("other")
    scope = agent_scope(card(), agent=desk, context="here")
    clone, given = scope.clone(), scope.clone(agent=other, context=None)
    assert (clone.agent == desk, clone.agent is desk, clone.context) == (True, False, "here")
    assert (given.agent is other, given.context) == (True, None)
    plain = agent_scope(card())
    assert plain.clone().agent is not plain


def test_an_agent_that_cannot_be_copied_says_what_to_do(card: Any) -> None:
    with pytest.raises(AgentConfigError, match=r"give the clone its own: scope\.clone\(agent=\.\.\.\)"):
        agent_scope(card(), agent=threading.Lock()).clone()


# ----------------------------------------------------------------------------------------------- loops


def test_both_ends_of_a_sync_block_run_on_one_loop(card: Any) -> None:
    seen: list[Any] = []
    loop = "ctx.context.append(asyncio.get_running_loop())"
    made = card(f"async def start(ctx): {loop}", f"async def stop(ctx): {loop}")
    live("with", made, context=seen)
    assert len(set(seen)) == 1


def test_both_ends_of_an_async_block_run_in_its_task(card: Any) -> None:
    seen: list[Any] = []
    task = "ctx.context.append(asyncio.current_task())"
    made = card(f"async def start(ctx): {task}", f"async def stop(ctx): {task}")

    async def main() -> None:
        async with agent_scope(made, context=seen):
            pass
        assert set(seen) == {asyncio.current_task()}

    asyncio.run(main())
    assert len(seen) == 2


def test_async_hooks_of_a_sync_block_in_an_async_hook_are_refused_at_once(card: Any) -> None:
    seen: list[str] = []
    made = card("async def start(ctx): ...")
    hooks = Hooks()

    @hooks.before("tool.execute")
    async def start_another(op: Operation) -> None:
        try:
            with agent_scope(made):
                pass
        except AgentConfigError as error:
            seen.append(str(error))

    with recorder(hooks), spanhook.operation("tool.execute", "refund"):
        pass
    (said,) = seen
    assert said.endswith("async code cannot be waited for by sync code in an async hook; await it there")
