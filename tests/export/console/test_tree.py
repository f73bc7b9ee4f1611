"""What hooks in shadow mode would have done stands in the tree of a run, and the application waits but a moment."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from inline_snapshot import snapshot

from spanhook import Hooks, Operation, Reject
from spanhook.engine import listeners, registry
from spanhook.export.console import Node, Style, Trees, install, render, tree
from spanhook.model import DecisionRecord, Usage, clock
from spanhook.semconv import Decision
from spanhook.testing import recorder
from tests.export.test_console import Screen, agent, model, tool


@pytest.fixture(autouse=True)
def waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """No machine is too slow for what these tests show; those about a slow hook say so."""
    monkeypatch.setattr(tree, "WAIT_S", 30.0)
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def screen() -> Iterator[Screen]:
    stream = Screen()
    uninstall = install(stream)
    yield stream
    uninstall()


def printed(hooks: Hooks, body: Callable[[], Any]) -> None:
    """A run under hooks, in which nothing takes any time."""
    with recorder(hooks):
        clock.now = lambda: 0
        agent("support", body)


def test_what_would_have_been_done_is_a_note(screen: Screen) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute", names={"refund"}, mode="shadow", timeout=None)
    def small_refunds_only(op: Operation) -> None:
        raise Reject("Refunds over 50 need a person", status_code=402)

    @hooks.around("tool.execute", names={"search"}, mode="shadow", timeout=None)
    def cached(op: Operation) -> Any:
        return "a cached result"
        yield

    @hooks.after("tool.execute", names={"search"}, priority=60, mode="shadow", timeout=None)
    def shortened(op: Operation) -> None:
        op.respond("short")

    @hooks.after("agent.invoke", mode="shadow", timeout=None)
    async def archived(op: Operation) -> None:
        raise KeyError("no archive")

    @hooks.before("tool.execute", names={"publish"})
    def enforced(op: Operation) -> None:
        raise Reject("not today")

    def body() -> None:
        tool("refund")
        tool("search")
        with pytest.raises(Reject):
            tool("publish")

    printed(hooks, body)
    assert screen.getvalue() == snapshot("""\
agent.invoke support     0.00 ms  success
│  shadow: archived (post) failed: KeyError: 'no archive'
├─ tool.execute refund   0.00 ms  success
│     shadow: small_refunds_only would reject: Refunds over 50 need a person
├─ tool.execute search   0.00 ms  success
│     shadow: cached would replace: answered instead of the call
│     shadow: shortened (post) would replace: replaced the result
╰─ tool.execute publish  0.00 ms  rejected
      reject 403 · enforced · not today
total: 0 model calls, 2 tool calls
trace 00000000000000000000000000000001

""")


def test_the_same_decisions_are_folded_and_others_are_not() -> None:
    hooks = Hooks()
    count = iter(range(9))

    @hooks.before("tool.execute", names={"refund"}, mode="shadow", timeout=None)
    def every_third(op: Operation) -> None:
        if next(count) % 3 == 2:
            raise Reject("the third")

    seen: list[Node] = []
    trees = Trees(seen.append, registry.flush_shadows)
    listeners.append(trees)
    printed(hooks, lambda: [tool("refund") for _ in range(9)])
    listeners.remove(trees)
    text = render(seen[0], Style(80, height=8))
    assert text == snapshot("""\
agent.invoke support       0.00 ms  success
├─ tool.execute refund x6  0.00 ms  success
╰─ tool.execute refund x3  0.00 ms  success
      shadow: every_third would reject: the third
xN: N similar operations, totals shown
total: 0 model calls, 9 tool calls
trace 00000000000000000000000000000001
""")


def test_a_run_waits_for_a_slow_hook_a_moment_only(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "WAIT_S", 0.01)
    hooks, released = Hooks(), threading.Event()

    @hooks.before("tool.execute", mode="shadow", timeout=None)
    def slow(op: Operation) -> None:
        released.wait(30)
        raise Reject("too late for the console")

    with recorder(hooks):
        clock.now = lambda: 0
        agent("support", lambda: tool("refund"))
        released.set()
    assert screen.getvalue() == snapshot("""\
agent.invoke support    0.00 ms  success
│  shadow: some hooks have not decided yet
╰─ tool.execute refund  0.00 ms  success
total: 0 model calls, 1 tool call
trace 00000000000000000000000000000001

""")


def test_nothing_waits_where_no_hook_in_shadow_mode_saw_anything() -> None:
    def settle(seconds: float) -> bool:
        raise AssertionError(seconds)

    hooks, seen = Hooks(), list[Node]()
    hooks.before("tool.execute", names={"refund"}, mode="shadow", timeout=None)(lambda op: None)
    trees = Trees(seen.append, settle)
    listeners.append(trees)
    printed(hooks, lambda: tool("search"))
    listeners.remove(trees)
    assert [(one.name, one.undecided) for one in seen] == [("support", False)]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_model_that_such_a_hook_asks_is_part_of_the_run(screen: Screen, is_async: bool) -> None:
    hooks = Hooks()

    def judged(op: Operation) -> None:
        model("gpt-4o-mini", Usage(40, 1))

    async def judged_later(op: Operation) -> None:
        await asyncio.sleep(0)
        model("gpt-4o-mini", Usage(40, 1))

    hooks.before("tool.execute", mode="shadow", timeout=None)(judged_later if is_async else judged)
    printed(hooks, lambda: tool("publish"))
    assert len(screen.writes) == 1
    assert "llm.call gpt-4o-mini" in screen.getvalue()
    assert "made by a hook" in screen.getvalue()
    assert "decided yet" not in screen.getvalue()


def test_runs_in_threads_have_their_own_decisions(screen: Screen) -> None:
    hooks = Hooks()

    @hooks.before("tool.execute", mode="shadow", timeout=None)
    def named(op: Operation) -> None:
        raise Reject(f"no {op.name}")

    def run(number: int) -> None:
        for _ in range(5):
            agent(f"agent_{number}", lambda: tool(f"tool_{number}"))

    with recorder(hooks):
        threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(screen.writes) == 20
    for text in screen.writes:
        number = text.split()[1].removeprefix("agent_")
        assert f"shadow: named would reject: no tool_{number}" in text


@pytest.mark.parametrize(
    ("event", "decision", "reason", "code", "shown"),
    [
        ("llm.call.pre", "attempted", "no", 403, "gate would reject: no"),
        ("llm.call.pre", "modify", "messages", 0, "gate would modify: messages"),
        ("llm.call.post", "replace", "", 0, "gate (post) would replace"),
        ("llm.call.post", "too_late", "no: too late", 403, "gate (post) would be too late: no: too late"),
        ("llm.call.pre", "pause", "", 0, "gate would pause"),
        ("llm.call.pre", "timeout", "timed out after 5 ms", 0, "gate timed out after 5 ms"),
        (
            "llm.call.pre",
            "error",
            "hook 'gate' failed: KeyError",
            500,
            "gate would reject: hook 'gate' failed: KeyError",
        ),
        ("llm.call.post", "skipped", "", 0, "gate (post) skipped"),
        ("llm.call.pre", "reject", "\x1b[2J\n", 403, "gate would reject: \\x1b[2J"),
    ],
)
def test_every_decision_is_put_in_words(event: str, decision: Decision, reason: str, code: int, shown: str) -> None:
    record = DecisionRecord("gate", event, decision, reason, status_code=code, mode="shadow", time_ns=1)
    node = Node("llm.call", "gpt", "success", shadow_decisions=[record])
    assert render(node, Style(100)).splitlines()[1].strip() == f"shadow: {shown}"
