"""Subscriptions: told of everything, in order, on threads of their own, and in nobody's way."""

import asyncio
import os
import threading
from contextlib import ExitStack
from typing import Any, ClassVar

import pytest

import spanhook
from spanhook import ConfigurationError, Event, Hooks, Operation, Reject, current_operation
from spanhook.diagnostics import internal
from spanhook.gating import Subscriber, listener, subscription
from spanhook.model import Level
from spanhook.testing import recorder
from tests.forking import children
from tests.stub import MODES, stubbed, use


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


def test_each_handler_is_told_in_order(mode: str) -> None:
    hooks = Hooks()
    heard: list[tuple[str, Any]] = []
    later: list[tuple[str, Any]] = []
    hooks.on("*", lambda op: heard.append((op.event, op.request.inputs)), level="trace")

    async def asynchronous(op: Operation) -> None:
        await asyncio.sleep(0)
        later.append((op.event, op.request.inputs))

    hooks.on("llm.call", asynchronous, timeout=60.0)
    with stubbed(hooks) as (library, _):
        for index in range(50):
            use(library, mode, index)
        assert hooks.flush()
    expected = [(f"llm.call.{phase}", index) for index in range(50) for phase in ("pre", "post")]
    assert heard == later == expected


def test_a_call_does_not_wait_for_a_handler(mode: str) -> None:
    hooks = Hooks()
    go = threading.Event()
    heard: list[str] = []

    def slow(op: Operation) -> None:
        go.wait(60.0)
        heard.append(op.event)

    hooks.on("llm.call", slow)
    with stubbed(hooks) as (library, _):
        assert use(library, mode, "x") == "x"
        assert heard == []
        assert not hooks.flush(timeout=0.01)
        go.set()
        assert hooks.flush()
    assert heard == ["llm.call.pre", "llm.call.post"]


def test_an_event_is_the_operation_as_it_was() -> None:
    hooks = Hooks()
    go = threading.Event()
    heard: list[tuple[Any, ...]] = []

    def late(op: Operation) -> None:
        go.wait(60.0)
        heard.append((op.phase, op.status, list(op.request.inputs), op.result, op.response.text))
        op.request.inputs.append("heard")

    @hooks.before("llm.call")
    def rewrite(op: Operation) -> None:
        op.replace(inputs=["rewritten"])

    hooks.on("llm.call", late)
    with stubbed(hooks) as (library, seen):
        result = library.work(["given"])
        assert result == ["rewritten"]
        result.append("changed by the application")
        go.set()
    assert heard == [
        ("pre", "", ["rewritten"], None, ""),
        ("post", "success", ["rewritten"], ["rewritten"], "['rewritten']"),
    ]
    assert result == ["rewritten", "changed by the application"]
    assert seen.operations[0].status == "success"


def test_gates_come_first_and_a_refused_call_has_no_pre_event(mode: str) -> None:
    hooks = Hooks()
    heard: list[str] = []

    @hooks.before("llm.call")
    def gate(op: Operation) -> None:
        if op.request.inputs == "refuse":
            raise Reject("no")
        if op.request.inputs == "answer":
            op.respond("answered")

    hooks.on("*", lambda op: heard.append(f"{op.event} {op.status}"), level="trace")
    with stubbed(hooks) as (library, _):
        with pytest.raises(Reject):
            use(library, mode, "refuse")
        assert use(library, mode, "answer") == "answered"
        hooks.flush()
    assert heard == ["llm.call.error rejected", "llm.call.pre ", "llm.call.post success"]


def test_too_many_events_are_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "MAX_WAITING", 3)
    hooks = Hooks()
    begun, go = threading.Event(), threading.Event()
    heard: list[Any] = []

    def slow(op: Operation) -> None:
        begun.set()
        go.wait(60.0)
        heard.append(op.request.inputs)

    hooks.on("llm.call.pre", slow)
    with stubbed(hooks) as (library, seen):
        library.work(0)
        assert begun.wait(60.0)
        for index in range(1, 6):
            library.work(index)
        go.set()
        assert hooks.flush()
        assert heard == [0, 1, 2, 3]
        assert ({"spanhook.component": "subscription"}, 2) in seen.metrics()["spanhook.telemetry.dropped"]
    internal.lost.pop("subscription")


def test_filters_hold_for_subscriptions() -> None:
    hooks = Hooks()
    heard: list[str] = []
    hooks.on("llm.call.post", lambda op: heard.append("acme"), tenant_id="acme")
    hooks.on("llm.call.post", lambda op: heard.append("when"), when=lambda op: op.request.inputs == "y")
    with stubbed(hooks) as (library, _):
        library.work("x")
        library.work("y")
        with spanhook.context(tenant_id="acme"):
            library.work("z")
        hooks.flush()
    assert sorted(heard) == ["acme", "when"]


def test_what_a_handler_calls_is_not_gated_and_makes_no_events() -> None:
    hooks = Hooks()
    heard: list[str] = []

    @hooks.before("llm.call")
    def gate(op: Operation) -> None:
        heard.append("gate")

    with stubbed(hooks) as (library, seen):

        def ask(op: Operation) -> None:
            assert current_operation() == op
            heard.append(library.work("judge"))

        hooks.on("llm.call.post", ask)
        library.work("x")
        hooks.flush()
    assert heard == ["gate", "judge"]
    assert sorted(op.in_hook for op in seen.operations) == [False, True]


def test_a_handler_that_is_told_runs_in_the_context_of_the_operation() -> None:
    from opentelemetry import trace

    hooks = Hooks()
    spans: list[Any] = []
    hooks.on("llm.call", lambda op: spans.append((trace.get_current_span(), op.span)))
    with stubbed(hooks) as (library, _):
        library.work("x")
        hooks.flush()
    assert len(spans) == 2
    assert all(current is span for current, span in spans)


def test_a_handler_may_wait_for_nobody_but_itself() -> None:
    hooks = Hooks()
    told: list[bool] = []
    hooks.on("llm.call.post", lambda op: told.append(hooks.flush()))
    with stubbed(hooks) as (library, _):
        library.work("x")
        assert hooks.flush()
    assert told == [False]


def test_handlers_that_fail_are_told_the_next_event_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    hooks = Hooks()
    heard: list[Any] = []

    def fail(op: Operation) -> None:
        heard.append(op.request.inputs)
        raise SystemExit if op.request.inputs == 0 else KeyError("x")

    async def hang(op: Operation) -> None:
        heard.append(f"async {op.request.inputs}")
        await asyncio.Event().wait()

    hooks.on("llm.call.pre", fail)
    hooks.on("llm.call.pre", hang, timeout=0.01)
    with stubbed(hooks) as (library, _):
        for index in range(3):
            library.work(index)
        assert hooks.flush()
    assert [one for one in heard if isinstance(one, int)] == [0, 1, 2]
    assert [one for one in heard if isinstance(one, str)] == ["async 0", "async 1", "async 2"]
    assert "subscription 'fail' to llm.call.pre failed: KeyError" in caplog.text
    assert "subscription 'hang' to llm.call.pre timed out" in caplog.text


def test_nobody_listens_and_nothing_is_made() -> None:
    hooks = Hooks()
    stop = hooks.on("llm.call", lambda op: None)
    before = set(threading.enumerate())
    stop()
    with stubbed(hooks) as (library, seen):
        library.work("x")
    assert set(threading.enumerate()) <= before
    assert seen.operations[0]._record.plan is None


def test_a_thread_that_has_nothing_to_tell_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "IDLE_S", 0.01)
    monkeypatch.setattr(listener, "QUIET", 0)
    hooks = Hooks()
    heard: list[Any] = []
    hooks.on("llm.call.pre", lambda op: heard.append(op.request.inputs), name="idle")
    [told] = hooks
    assert isinstance(told, subscription.Subscription)
    with stubbed(hooks) as (library, _):
        for index in range(3):
            library.work(index)
            assert hooks.flush()
            thread = told.listener._thread
            if thread is not None:
                thread.join(60.0)
            assert told.listener._thread is None
    assert heard == [0, 1, 2]


@pytest.mark.slow
def test_forked_children_have_events_and_threads_of_their_own() -> None:
    hooks = Hooks()
    go = threading.Event()
    heard: list[Any] = []

    def note(op: Operation) -> None:
        if op.request.inputs == "parent":
            go.wait(60.0)
        heard.append(op.request.inputs)

    hooks.on("llm.call.pre", note)
    with stubbed(hooks) as (library, _):
        library.work("parent")
        pid = os.fork()
        if pid == 0:
            try:
                library.work("child")
                os._exit(0 if hooks.flush() and heard == ["child"] else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        go.set()
        assert hooks.flush()
    assert heard == ["parent"]


EXITING = """
import atexit
import spanhook
from tests.stub import TABLE, Library
from spanhook.instrument.instrumentor import Bindings

hooks = spanhook.Hooks()
hooks.on("llm.call", lambda op: print(op.event, op.request.inputs, flush=True))
spanhook.instrument(hooks, only=())
Bindings(TABLE).bind()
atexit.register(lambda: Library().work("at exit"))
Library().work("before")
"""


def test_what_has_happened_by_the_end_of_the_process_is_told() -> None:
    done = children.run("-c", EXITING)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "llm.call.pre before",
        "llm.call.post before",
        "llm.call.pre at exit",
        "llm.call.post at exit",
    ]


def test_streams_have_events_too() -> None:
    hooks = Hooks()
    heard: list[tuple[str, str]] = []
    hooks.on("llm.call", lambda op: heard.append((op.event, op.status)))
    with stubbed(hooks) as (library, _):
        letters = library.words("abc")
        assert next(letters) == "a"
        letters.close()  # pyright: ignore[reportAttributeAccessIssue]
        hooks.flush()
    assert heard == [("llm.call.pre", ""), ("llm.call.post", "abandoned")]


def test_a_subscription_changes_nothing(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    hooks = Hooks()

    def rewrite(op: Operation) -> None:
        op.replace(inputs="rewritten")

    def answer(op: Operation) -> None:
        op.respond("answered")

    async def async_answer(op: Operation) -> None:
        op.respond("answered")

    hooks.on("llm.call.pre", rewrite)
    for phase in ("pre", "post", "error"):
        hooks.on(f"llm.call.{phase}", answer)
        hooks.on(f"llm.call.{phase}", async_answer)
    with stubbed(hooks) as (library, seen):
        assert use(library, mode, "x") == "x"
        with pytest.raises(KeyError):
            use(library, mode, KeyError("x"))
        assert library.calls[0] == "x"
        assert hooks.flush()
        assert not any(op.decisions for op in seen.operations)
    assert caplog.text.count("only watches") == 7 * 2  # for each handler a line, and its traceback


def test_a_subscriber_receives_the_events_of_all_its_names_once_and_in_order() -> None:
    class Noting(Subscriber):
        name = "noting"

        def __init__(self, *events: str, level: Level = "summary") -> None:
            super().__init__(events, level)
            self.heard: list[str] = []

        def receive(self, event: Event) -> None:
            self.heard.append(event.type)

    some, everything, twice = (
        Noting("agent:end", "tool:execute", "job:cancelled", "agent.delegate"),
        Noting("*", level="trace"),
        Noting("agent:end", "agent.invoke", "*"),
    )
    names = ("job", "desk"), ("agent.invoke", "outer"), ("tool.execute", "search"), ("agent.invoke", "inner")
    with recorder(Hooks(some, everything, twice)), ExitStack() as stack:
        for kind, name in names:
            stack.enter_context(spanhook.operation(kind, name))
    assert some.heard == [
        "agent.delegate.pre",
        "agent.invoke.post",
        "agent.delegate.post",
        "tool.execute.post",
        "agent.invoke.post",
    ]
    assert twice.heard == ["job.pre", *["agent.invoke.pre"] * 2, *["agent.invoke.post"] * 2, "job.post"]
    assert len(everything.heard) == 10


def test_a_subscriber_can_be_removed_and_says_its_name() -> None:
    class Noting(Subscriber):
        heard: ClassVar[list[str]] = []

        def receive(self, event: Event) -> None:
            self.heard.append(event.type)

    hooks = Hooks(Noting(["tool.execute.post"]))
    with recorder(hooks):
        with spanhook.operation("tool.execute", "x"):
            pass
        assert [one.name for one in hooks] == ["Noting"]
        assert hooks.remove(Noting)
        with spanhook.operation("tool.execute", "x"):
            pass
    assert Noting.heard == ["tool.execute.post"]


@pytest.mark.parametrize(("events", "level"), [([], "summary"), (["nothing"], "summary"), (["*"], "loud")])
def test_a_subscriber_to_nothing_is_refused(events: list[str], level: Any) -> None:
    with pytest.raises(ConfigurationError):
        Subscriber(events, level)
