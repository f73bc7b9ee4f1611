"""What hooks may do and what comes of it, on every calling convention."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import pytest

import spanhook
from spanhook import HookError, Hooks, Operation, Reject, Settings
from tests.stub import MODES, Library, Paused, passing, stubbed, use

Next = Callable[[], Awaitable[Any]]

pytestmark = pytest.mark.usefixtures("logged")


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.WARNING, "spanhook"):
        yield


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


def decisions(op: Operation) -> list[tuple[str, str]]:
    return [(one.hook, one.decision) for one in op.decisions]


# ------------------------------------------------------------------------------------------------ order


def test_order_is_priority_then_system_before_tenant_then_registration(mode: str) -> None:
    hooks = Hooks()
    ran: list[str] = []

    def note(name: str, **settings: Any) -> None:
        hooks.before("llm.call", name=name, **settings)(lambda op: ran.append(name))

    note("late", priority=900)
    note("tenant", priority=10, tenant_id="acme")
    note("first", priority=10)
    note("second", priority=10)
    note("default")
    note("earliest", priority=0)

    @hooks.around("llm.call", priority=50, name="around")
    def around(op: Operation) -> Iterator[None]:
        ran.append("around in")
        yield
        ran.append("around out")

    @hooks.around("llm.call", priority=60, timeout=60.0)
    async def wrapping(op: Operation, call_next: Next) -> None:
        ran.append("wrapping in")
        await call_next()
        ran.append("wrapping out")

    hooks.after("llm.call", name="after late", priority=700)(lambda op: ran.append("after late"))
    hooks.after("llm.call", name="after")(lambda op: ran.append("after"))
    with stubbed(hooks) as (library, _), spanhook.context(tenant_id="acme"):
        use(library, mode, "x")
    assert ran == [
        "earliest",
        "first",
        "second",
        "tenant",
        "around in",
        "wrapping in",
        "default",
        "late",
        "wrapping out",
        "around out",
        "after",
        "after late",
    ]


def test_every_form_may_be_sync_or_async(mode: str) -> None:
    ran: list[str] = []

    class Plain(spanhook.Hook):
        def before(self, op: Operation) -> None:
            ran.append("before")

        def after(self, op: Operation) -> None:
            ran.append("after")

        def around(self, op: Operation) -> Iterator[None]:  # pyright: ignore[reportIncompatibleMethodOverride]
            ran.append("in")
            yield
            ran.append("out")

    class Async(spanhook.Hook):
        timeout = 5.0

        async def before(self, op: Operation) -> None:
            await asyncio.sleep(0)
            ran.append("abefore")

        async def after(self, op: Operation) -> None:
            ran.append("aafter")

        async def around(self, op: Operation, call_next: Next) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            ran.append("ain")
            result = await call_next()
            ran.append("aout")
            return result

    with stubbed(Hooks(Plain(), Async())) as (library, _):
        assert use(library, mode, "x") == "x"
    assert ran == ["before", "in", "abefore", "ain", "aout", "out", "after", "aafter"]


def test_subscriptions_watch_and_can_be_ended(mode: str) -> None:
    hooks = Hooks()
    heard: list[str] = []
    stop = hooks.on("llm.call.post", lambda op: heard.append(op.event))
    hooks.on("*", lambda op: heard.append(f"any {op.event}"), level="trace")
    hooks.on("llm.call.error", lambda op: heard.append(op.event))
    with stubbed(hooks) as (library, _):
        use(library, mode, "x")
        stop()
        use(library, mode, "y")
        assert hooks.flush()
    told = {kind: [one for one in heard if one.startswith("any") is kind] for kind in (False, True)}
    assert told[False] == ["llm.call.post"]
    assert told[True] == [
        "any llm.call.pre",
        "any llm.call.post",
        "any llm.call.pre",
        "any llm.call.post",
    ]


def test_a_subscriber_cannot_refuse(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    hooks = Hooks()

    def refuse(op: Operation) -> None:
        raise Reject("I would like to")

    for phase in ("pre", "post", "error"):
        hooks.on(f"llm.call.{phase}", refuse, priority=0)
    with stubbed(hooks) as (library, seen):
        assert use(library, mode, "x") == "x"
        with pytest.raises(KeyError):
            use(library, mode, KeyError("x"))
        assert hooks.flush()
    assert not any(op.decisions for op in seen.operations)
    told = {
        (one["spanhook.event"], one["spanhook.decision"]): n for one, n in seen.metrics()["spanhook.hook.decisions"]
    }
    assert told == {("llm.call.pre", "error"): 2, ("llm.call.post", "error"): 1, ("llm.call.error", "error"): 1}
    assert "I would like to" in caplog.text


# ------------------------------------------------------------------------------------------------ reject


def test_a_rejection_runs_error_hooks_and_no_after_hooks(mode: str) -> None:
    hooks = Hooks()
    ran: list[str] = []

    @hooks.before("llm.call")
    def refuse(op: Operation) -> None:
        raise Reject("no", status_code=451)

    hooks.before("llm.call", priority=76)(lambda op: ran.append("later gate"))
    hooks.after("llm.call")(lambda op: ran.append("after"))
    hooks.on_error("llm.call")(lambda op: ran.append(f"error {op.status} {type(op.error).__name__}"))
    with stubbed(hooks) as (library, seen), pytest.raises(Reject) as caught:
        use(library, mode, "x")
    assert caught.value.status_code == 451
    assert library.calls == []
    assert ran == ["error rejected Reject"]
    span = seen.spans[0]
    assert span.status.status_code.name == "ERROR"
    assert span.status.description == "no"
    attributes = span.attributes or {}
    assert attributes["spanhook.decision"] == "reject"
    assert attributes["spanhook.decision.hook"] == "refuse"
    assert attributes["spanhook.decision.reason"] == "no"
    assert attributes["error.type"] == "spanhook.Reject"
    assert [event.name for event in span.events] == ["spanhook.decision"]


def test_arounds_entered_before_a_rejection_are_left_by_it(mode: str) -> None:
    hooks = Hooks()
    ran: list[str] = []

    @hooks.around("llm.call", priority=10)
    def outer(op: Operation) -> Iterator[None]:
        try:
            yield
        except Reject as reject:
            ran.append(f"outer saw {reject.reason}")
            raise

    @hooks.around("llm.call", priority=20, timeout=60.0)
    async def wrapping(op: Operation, call_next: Next) -> Any:
        try:
            return await call_next()
        finally:
            ran.append("wrapping left")

    @hooks.before("llm.call", priority=30)
    def refuse(op: Operation) -> None:
        raise Reject("no")

    with stubbed(hooks) as (library, _), pytest.raises(Reject):
        use(library, mode, "x")
    assert library.calls == []
    assert ran == ["wrapping left", "outer saw no"]


def test_an_around_hook_cannot_turn_a_rejection_into_an_answer(mode: str) -> None:
    hooks = Hooks()

    @hooks.around("llm.call", priority=10)
    def swallow(op: Operation) -> Any:
        try:
            yield
        except Reject:
            return "a way around the gate"

    @hooks.around("llm.call", priority=11, timeout=60.0)
    async def aswallow(op: Operation, call_next: Next) -> Any:
        try:
            return await call_next()
        except Reject:
            return "a way around the gate"

    @hooks.before("llm.call", priority=30)
    def refuse(op: Operation) -> None:
        raise Reject("no")

    with stubbed(hooks) as (library, _), pytest.raises(Reject, match="no"):
        use(library, mode, "x")
    assert library.calls == []


async def _areject(op: Operation) -> None:
    await asyncio.sleep(0)
    raise Reject("no")


def _reject(op: Operation) -> None:
    raise Reject("no")


def _reject_first(op: Operation) -> Any:
    raise Reject("no")
    yield


def _reject_then(op: Operation) -> Any:
    yield
    raise Reject("no")


async def _wrap_and_reject(op: Operation, call_next: Next) -> Any:
    raise Reject("no")


async def _wrap_then_reject(op: Operation, call_next: Next) -> Any:
    await call_next()
    raise Reject("no")


REJECTING: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "before": ("before", _reject, {}),
    "async before": ("before", _areject, {}),
    "blocking before": ("before", _reject, {"blocking": True}),
    "around": ("around", _reject_first, {}),
    "blocking around": ("around", _reject_first, {"blocking": True}),
    "wrapping": ("around", _wrap_and_reject, {}),
    "around, after the call": ("around", _reject_then, {"stream": "buffer"}),
    "wrapping, after the call": ("around", _wrap_then_reject, {"stream": "buffer"}),
    "after": ("after", _reject, {"stream": "buffer"}),
    "async after": ("after", _areject, {"stream": "buffer"}),
}


@pytest.mark.parametrize("form", REJECTING)
def test_reject_inside_a_fail_open_hook_still_rejects(form: str, mode: str) -> None:
    """That a hook may fail does not make a decision of a failure."""
    method, function, settings = REJECTING[form]
    hooks = Hooks()
    getattr(hooks, method)("llm.call", priority=900, fail_mode="open", timeout=60.0, name="refuse", **settings)(
        function
    )
    with stubbed(hooks) as (library, seen), pytest.raises(Reject, match="no"):
        use(library, mode, "x")
    assert library.calls == (["x"] if "after" in form else [])
    assert [op.status for op in seen.operations] == ["rejected"]
    assert decisions(seen.operations[0]) == [("refuse", "reject")]


# ------------------------------------------------------------------------------------------------ failures


@pytest.mark.parametrize(
    ("settings", "closed"),
    [
        ({"priority": 0}, True),
        ({"priority": 49}, True),
        ({"priority": 99}, True),
        ({"priority": 100}, False),
        ({}, True),
        ({"priority": 0, "fail_mode": "open"}, False),
        ({"priority": 800, "fail_mode": "closed"}, True),
    ],
)
def test_what_a_failing_gate_means(settings: Any, closed: bool, mode: str) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", **settings)
    def broken(op: Operation) -> None:
        raise ValueError("secret of the hook")

    with stubbed(hooks) as (library, seen):
        if closed:
            with pytest.raises(Reject) as caught:
                use(library, mode, "x")
            assert caught.value.status_code == 500
            assert caught.value.reason == "hook 'broken' failed: ValueError"
            assert isinstance(caught.value.__cause__, ValueError)
        else:
            assert use(library, mode, "x") == "x"
    assert library.calls == ([] if closed else ["x"])
    assert decisions(seen.operations[0]) == [("broken", "error")]
    assert seen.operations[0].decisions[0].fail_mode == ("closed" if closed else "open")


def test_a_failing_filter_is_a_failing_hook(mode: str) -> None:
    hooks = Hooks()

    def when(op: Operation) -> bool:
        raise ValueError("cannot tell")

    hooks.before("llm.call", when=when, name="closed")(lambda op: None)
    with stubbed(hooks) as (library, _), pytest.raises(Reject, match="hook 'closed' failed"):
        use(library, mode, "x")
    assert library.calls == []


def test_a_filter_that_fails_is_not_asked_once_more(mode: str) -> None:
    hooks, asked = Hooks(), list[str]()

    def when(op: Operation) -> bool:
        asked.append(op.phase)
        if len(asked) == 1:
            raise ValueError("not now")
        return False

    hooks.before("llm.call", when=when, name="closed")(lambda op: None)
    with stubbed(hooks) as (library, _), pytest.raises(Reject, match="hook 'closed' failed"):
        use(library, mode, "x")
    assert (asked, library.calls) == (["pre"], [])


@pytest.mark.parametrize("form", ["before", "around", "after"])
@pytest.mark.parametrize("first", [None, "waits"])
def test_a_filter_that_cancels_what_nobody_cancelled_is_a_failing_hook(mode: str, form: str, first: str | None) -> None:
    hooks = Hooks()

    async def waits(op: Operation) -> None:
        """After it, no hook runs inline."""

    def when(op: Operation) -> bool:
        raise asyncio.CancelledError

    for one in ("before", "after") if first else ():
        getattr(hooks, one)("llm.call", priority=0)(waits)
    getattr(hooks, form)("llm.call", when=when, name="closed", fail_mode="closed")(
        passing if form == "around" else lambda op: None
    )
    with stubbed(hooks) as (library, _), pytest.raises(Reject, match="hook 'closed' failed"):
        use(library, mode, "x")
    assert library.calls == (["x"] if form == "after" else [])


def test_observers_change_nothing(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    hooks = Hooks()

    @hooks.after("llm.call")
    def broken(op: Operation) -> None:
        raise ValueError("after broke")

    @hooks.on_error("llm.call", priority=0)
    def broken_too(op: Operation) -> None:
        raise Reject("error hooks do not decide")

    with stubbed(hooks) as (library, seen):
        assert use(library, mode, "x") == "x"
        with pytest.raises(KeyError, match="mine"):
            use(library, mode, KeyError("mine"))
    assert [op.status for op in seen.operations] == ["success", "error"]
    assert [decisions(op) for op in seen.operations] == [[("broken", "error")], [("broken_too", "error")]]
    assert "after broke" in caplog.text


def test_a_hook_that_fails_after_the_call_runs_nothing_again(mode: str) -> None:
    """In a chain that handled failures by going on, everything behind the hook ran a second time."""
    hooks = Hooks()
    ran: list[str] = []

    @hooks.around("llm.call", priority=200)
    def broken(op: Operation) -> Iterator[None]:
        ran.append("in")
        yield
        raise ValueError("after the call")

    @hooks.around("llm.call", priority=201, timeout=60.0)
    async def broken_too(op: Operation, call_next: Next) -> None:
        ran.append("ain")
        await call_next()
        raise ValueError("after the call")

    hooks.before("llm.call", priority=300)(lambda op: ran.append("behind"))
    with stubbed(hooks) as (library, seen):
        assert use(library, mode, "x") == "x"
    assert ran == ["in", "ain", "behind"]
    assert library.calls == ["x"]
    assert [decision for _, decision in decisions(seen.operations[0])] == ["error", "error"]


def test_a_closed_hook_that_fails_after_the_call_withholds_the_result() -> None:
    hooks = Hooks()

    @hooks.around("llm.call", priority=10)
    def broken(op: Operation) -> Iterator[None]:
        yield
        raise ValueError("cannot tell whether the result is fine")

    with stubbed(hooks) as (library, seen), pytest.raises(Reject, match="hook 'broken' failed"):
        library.work("x")
    assert library.calls == ["x"]
    assert seen.operations[0].status == "rejected"


def test_a_gate_on_the_result_withholds_it(mode: str) -> None:
    hooks = Hooks()

    @hooks.after("llm.call", priority=20)
    def guard(op: Operation) -> None:
        if op.response.text == "secret":
            raise Reject("not to be told")

    with stubbed(hooks) as (library, seen):
        assert use(library, mode, "fine") == "fine"
        with pytest.raises(Reject, match="not to be told"):
            use(library, mode, "secret")
    assert [op.status for op in seen.operations] == ["success", "rejected"]
    assert seen.operations[1].usage.input_tokens == 10  # it was spent all the same


# ---------------------------------------------------------------------------------------- rewrite, answer, replace


def test_rewriting_the_request_runs_earlier_gates_once_more(mode: str) -> None:
    hooks = Hooks()
    saw: list[tuple[str, Any]] = []

    @hooks.before("llm.call", priority=10)
    def gate(op: Operation) -> None:
        saw.append(("gate", op.request.inputs))

    @hooks.before("llm.call", priority=15, timeout=60.0)
    async def agate(op: Operation) -> None:
        saw.append(("agate", op.request.inputs))

    @hooks.before("llm.call", priority=20)
    def rewriter(op: Operation) -> None:
        saw.append(("rewriter", op.request.inputs))
        op.replace(inputs="rewritten")

    @hooks.before("llm.call", priority=30)
    def later(op: Operation) -> None:
        saw.append(("later", op.request.inputs))

    with stubbed(hooks) as (library, seen):
        assert use(library, mode, "x") == "rewritten"
    assert library.calls == ["rewritten"]
    assert saw == [
        ("gate", "x"),
        ("agate", "x"),
        ("rewriter", "x"),
        ("gate", "rewritten"),
        ("agate", "rewritten"),
        ("later", "rewritten"),
    ]
    assert decisions(seen.operations[0]) == [("rewriter", "modify")]
    assert (seen.spans[0].attributes or {})["spanhook.modified"] == ("inputs",)


def test_an_earlier_gate_may_refuse_what_a_later_hook_made_of_the_request(mode: str) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", priority=10)
    def gate(op: Operation) -> None:
        if op.request.inputs == "forbidden":
            raise Reject("forbidden")

    @hooks.around("llm.call", priority=20)
    def rewriter(op: Operation) -> Iterator[None]:
        op.replace(inputs="forbidden")
        yield

    with stubbed(hooks) as (library, _), pytest.raises(Reject, match="forbidden"):
        use(library, mode, "x")
    assert library.calls == []


def test_two_rewriters_do_not_chase_each_other(mode: str) -> None:
    hooks = Hooks()
    runs: list[str] = []

    @hooks.before("llm.call", priority=10)
    def upper(op: Operation) -> None:
        runs.append("upper")
        op.replace(inputs=op.request.inputs.upper())

    @hooks.before("llm.call", priority=20)
    def exclaim(op: Operation) -> None:
        runs.append("exclaim")
        op.replace(inputs=op.request.inputs + "!")

    with stubbed(hooks) as (library, _):
        assert use(library, mode, "x") == "X!"
    assert runs == ["upper", "exclaim", "upper"]


def test_answering_skips_the_call_and_no_gate(mode: str) -> None:
    hooks = Hooks()
    ran: list[str] = []

    @hooks.before("llm.call", priority=10)
    def answer(op: Operation) -> None:
        op.respond("cached")

    hooks.before("llm.call", priority=20)(lambda op: ran.append("later gate"))
    hooks.after("llm.call")(lambda op: ran.append(f"after {op.response.text}"))
    with stubbed(hooks) as (library, seen):
        assert use(library, mode, "x") == "cached"
    assert library.calls == []
    assert ran == ["later gate", "after cached"]
    assert decisions(seen.operations[0]) == [("answer", "replace")]
    assert seen.operations[0].usage.total_tokens == 0


def test_a_later_gate_refuses_an_answered_call(mode: str) -> None:
    hooks = Hooks()

    @hooks.around("llm.call", priority=10)
    def answer(op: Operation) -> Any:
        return "cached"
        yield

    @hooks.before("llm.call", priority=20)
    def refuse(op: Operation) -> None:
        raise Reject("no")

    with stubbed(hooks) as (library, _), pytest.raises(Reject, match="no"):
        use(library, mode, "x")
    assert library.calls == []


@pytest.mark.parametrize("form", ["generator", "wrapping"])
def test_a_value_returned_before_the_call_answers_it(form: str, mode: str) -> None:
    hooks = Hooks()

    def generator(op: Operation) -> Any:
        return "cached"
        yield

    async def wrapping(op: Operation, call_next: Next) -> Any:
        return "cached"

    hooks.around("llm.call", timeout=60.0)({"generator": generator, "wrapping": wrapping}[form])
    with stubbed(hooks) as (library, seen):
        assert use(library, mode, "x") == "cached"
    assert library.calls == []
    assert decisions(seen.operations[0]) == [(form, "replace")]


@pytest.mark.parametrize("form", ["generator", "wrapping"])
@pytest.mark.parametrize("closed", [True, False])
def test_returning_nothing_before_the_call_is_a_mistake(
    form: str, closed: bool, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = Hooks()

    def generator(op: Operation) -> Any:
        return
        yield

    async def wrapping(op: Operation, call_next: Next) -> Any:
        return

    settings: Any = {"timeout": 5.0, "fail_mode": "closed" if closed else "open"}
    hooks.around("llm.call", **settings)({"generator": generator, "wrapping": wrapping}[form])
    with stubbed(hooks) as (library, _):
        if closed:
            with pytest.raises(Reject, match="HookError"):
                use(library, mode, "x")
        else:
            assert use(library, mode, "x") == "x"
    assert "returned nothing before" in caplog.text
    assert len(library.calls) == (0 if closed else 1)


@pytest.mark.parametrize("plain_mode", ["sync", "async"])
def test_a_value_returned_after_the_call_replaces_the_result(plain_mode: str) -> None:
    hooks = Hooks()

    @hooks.around("llm.call", priority=10)
    def exclaim(op: Operation) -> Any:
        result = yield
        return result + "!"

    @hooks.around("llm.call", priority=20, timeout=60.0)
    async def upper(op: Operation, call_next: Next) -> Any:
        return (await call_next()).upper()

    @hooks.around("llm.call", priority=30)
    def keep(op: Operation) -> Any:
        yield

    @hooks.after("llm.call")
    def ask(op: Operation) -> None:
        op.respond(op.result + "?")

    with stubbed(hooks) as (library, seen):
        assert use(library, plain_mode, "x") == "X!?"
    assert library.calls == ["x"]
    assert decisions(seen.operations[0]) == [("upper", "replace"), ("exclaim", "replace"), ("ask", "replace")]


@pytest.mark.parametrize("plain_mode", ["sync", "async"])
def test_an_around_hook_may_put_a_value_in_place_of_an_error(plain_mode: str) -> None:
    hooks = Hooks()

    @hooks.around("llm.call", priority=10)
    def outer(op: Operation) -> Any:
        result = yield
        assert result == "fallback"

    @hooks.around("llm.call", priority=20)
    def fallback(op: Operation) -> Any:
        try:
            yield
        except KeyError:
            return "fallback"

    with stubbed(hooks) as (library, seen):
        assert use(library, plain_mode, KeyError("x")) == "fallback"
    assert seen.operations[0].status == "success"


def test_swallowing_an_error_without_a_value_keeps_it(mode: str) -> None:
    hooks = Hooks()

    @hooks.around("llm.call", priority=10)
    def swallow(op: Operation) -> Any:
        with suppress(KeyError):
            yield

    @hooks.around("llm.call", priority=11, timeout=60.0)
    async def aswallow(op: Operation, call_next: Next) -> Any:
        with suppress(KeyError):
            await call_next()

    with stubbed(hooks) as (library, _), pytest.raises(KeyError, match="mine"):
        use(library, mode, KeyError("mine"))


def test_an_unusable_answer_is_a_failure_of_the_hook(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", priority=200)
    def answer(op: Operation) -> None:
        op.respond("unusable")

    with stubbed(hooks) as (library, seen):
        assert use(library, mode, "x") == "x"
    assert decisions(seen.operations[0]) == [("answer", "error")]
    assert "the stub cannot answer with that" in caplog.text


def test_what_an_operation_refuses_to_do() -> None:
    hooks = Hooks()
    said: list[str] = []

    @hooks.before("llm.call", priority=200)
    def before(op: Operation) -> None:
        with pytest.raises(HookError, match="was given nothing"):
            op.replace()
        said.append("before")

    @hooks.after("llm.call")
    def after(op: Operation) -> None:
        with pytest.raises(HookError, match="only be rewritten before the call"):
            op.replace(inputs="late")
        said.append("after")

    with stubbed(hooks) as (library, _):
        library.work("x")
    assert said == ["before", "after"]


# ------------------------------------------------------------------------------------------------ the driver rules


@pytest.mark.parametrize("plain_mode", ["sync", "async"])
def test_stop_iteration_keeps_its_identity(plain_mode: str) -> None:
    """PEP 479 makes a RuntimeError of a StopIteration that passes through a generator or a coroutine."""
    hooks = Hooks()
    hooks.around("llm.call", priority=10)(passing)

    @hooks.around("llm.call", timeout=60.0)
    async def wrapping(op: Operation, call_next: Next) -> Any:
        return await call_next()

    mine = StopAsyncIteration("mine")
    with stubbed(hooks) as (library, _):
        with pytest.raises(StopAsyncIteration) as caught:
            use(library, plain_mode, mine)
        assert caught.value is mine
        if plain_mode == "sync":
            stop = StopIteration("mine")
            with pytest.raises(StopIteration) as stopped:
                library.work(stop)
            assert stopped.value is stop


@pytest.mark.parametrize("stream_mode", ["stream", "astream"])
def test_what_python_makes_of_a_stop_iteration_in_a_stream_is_what_its_consumer_sees(stream_mode: str) -> None:
    hooks = Hooks()
    hooks.around("llm.call", priority=10)(passing)

    @hooks.around("llm.call", timeout=60.0)
    async def wrapping(op: Operation, call_next: Next) -> Any:
        return await call_next()

    mine = StopIteration("mine")
    with pytest.raises(RuntimeError) as expected:
        use(Library(), stream_mode, mine)
    with stubbed(hooks) as (library, seen), pytest.raises(RuntimeError) as caught:
        use(library, stream_mode, mine)
    assert str(caught.value) == str(expected.value)
    assert caught.value.__cause__ is mine
    assert [op.status for op in seen.operations] == ["error"]
    assert seen.operations[0].decisions == ()


class Serious(BaseException):
    """Not an ``Exception``."""


def test_what_is_no_exception_is_raised_whatever_the_hook_did(mode: str) -> None:
    hooks = Hooks()

    @hooks.around("llm.call", priority=10)
    def swallow(op: Operation) -> Any:
        try:
            yield
        except BaseException:
            return "swallowed"

    @hooks.around("llm.call", priority=11)
    def exchange(op: Operation) -> Any:
        try:
            yield
        except BaseException:
            raise ValueError("exchanged") from None

    @hooks.around("llm.call", priority=12, timeout=60.0)
    async def aswallow(op: Operation, call_next: Next) -> Any:
        try:
            return await call_next()
        except BaseException:
            return "swallowed"

    mine = Serious("mine")
    with stubbed(hooks) as (library, _), pytest.raises(Serious) as caught:
        use(library, mode, mine)
    assert caught.value is mine


@pytest.mark.parametrize("failing", [False, True])
def test_a_second_yield_is_an_error_and_keeps_the_outcome(failing: bool, mode: str) -> None:
    hooks = Hooks()
    left: list[str] = []

    @hooks.around("llm.call", priority=10)
    def twice(op: Operation) -> Any:
        try:
            with suppress(KeyError):
                yield
            yield
        finally:
            left.append("left")

    with stubbed(hooks) as (library, seen):
        if failing:
            with pytest.raises(KeyError, match="mine"):
                use(library, mode, KeyError("mine"))
        else:
            assert use(library, mode, "x") == "x"
    assert left == ["left"]
    assert decisions(seen.operations[0]) == [("twice", "error")]


@pytest.mark.every_value
def test_a_second_call_next_is_an_error(mode: str) -> None:
    hooks = Hooks()

    @hooks.around("llm.call", priority=200, timeout=60.0)
    async def twice(op: Operation, call_next: Next) -> Any:
        await call_next()
        with pytest.raises(HookError, match="called twice"):
            await call_next()

    with stubbed(hooks) as (library, _):
        assert use(library, mode, "x") == "x"
    assert library.calls == ["x"]


@pytest.mark.parametrize("plain_mode", ["sync", "async"])
def test_the_application_sees_its_own_exception_untouched(plain_mode: str) -> None:
    hooks = Hooks()
    hooks.around("llm.call")(passing)
    mine = KeyError("mine")
    inner = OSError("inner")
    mine.__context__ = inner
    with stubbed(hooks) as (library, _):
        try:
            raise RuntimeError("the application was handling this")
        except RuntimeError:
            with pytest.raises(KeyError) as caught:
                library.work(mine)
        assert caught.value is mine
        contexts = []
        context: BaseException | None = mine
        while context is not None:
            contexts.append(type(context).__name__)
            context = context.__context__
        assert "OSError" in contexts or "RuntimeError" in contexts


def test_interrupts_are_no_errors(mode: str) -> None:
    hooks = Hooks()
    ran: list[str] = []
    hooks.after("llm.call")(lambda op: ran.append(op.status))
    hooks.on_error("llm.call")(lambda op: ran.append("error"))
    with stubbed(hooks) as (library, seen), pytest.raises(Paused):
        use(library, mode, Paused())
    assert ran == ["interrupted"]
    assert seen.spans[0].status.status_code.name == "UNSET"
    assert (seen.spans[0].attributes or {})["spanhook.status"] == "interrupted"


def test_a_hook_may_pause(mode: str) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def approval(op: Operation) -> None:
        raise Paused

    with stubbed(hooks) as (library, seen), pytest.raises(Paused):
        use(library, mode, "x")
    assert library.calls == []
    assert seen.operations[0].status == "interrupted"
    assert decisions(seen.operations[0]) == [("approval", "pause")]


# ------------------------------------------------------------------------------------------- hooks off inside hooks


def test_hook_code_runs_with_hooks_off(mode: str) -> None:
    hooks = Hooks()
    runs: list[str] = []
    judge = Library()

    @hooks.before("llm.call", priority=1)
    def before(op: Operation) -> None:
        runs.append("before")
        judge.work("judge")

    @hooks.around("llm.call", priority=2)
    def around(op: Operation) -> Iterator[None]:
        runs.append("around")
        judge.work("judge")
        yield
        judge.work("judge")

    @hooks.around("llm.call", priority=3, timeout=60.0)
    async def wrapping(op: Operation, call_next: Next) -> Any:
        runs.append("wrapping")
        await judge.awork("judge")
        result = await call_next()
        await judge.awork("judge")
        return result

    @hooks.after("llm.call", blocking=True, timeout=60.0)
    def after(op: Operation) -> None:
        runs.append("after")
        judge.work("judge")

    with stubbed(hooks) as (library, seen):
        assert use(library, mode, "x") == "x"
    assert runs == ["before", "around", "wrapping", "after"]
    assert len(judge.calls) == 6
    assert library.calls == ["x"]
    assert [op.in_hook for op in seen.operations] == [True] * 6 + [False]


def test_state_is_shared_by_the_hooks_of_one_operation(mode: str) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def write(op: Operation) -> None:
        assert op.state == {}
        op.state["seen"] = op.request.inputs

    read: list[Any] = []
    hooks.after("llm.call")(lambda op: read.append(op.state["seen"]))
    with stubbed(hooks) as (library, _):
        use(library, mode, "x")
        use(library, mode, "y")
    assert read == ["x", "y"]


# ------------------------------------------------------------------------------------------------ filters, tenants


def test_filters() -> None:
    hooks = Hooks()
    ran: list[str] = []

    def note(name: str, **settings: Any) -> None:
        hooks.before("llm.call", name=name, **settings)(lambda op: ran.append(name))

    note("names", names={"stub"})
    note("other names", names={"other"})
    note("models", models={"stub"})
    note("other models", models={"gpt"})
    note("agents", agents={"helper"})
    note("when", when=lambda op: op.provider == "stub")
    note("not when", when=lambda op: False)
    note("tenant", tenant_id="acme")
    note("other tenant", tenant_id="umbrella")
    with stubbed(hooks) as (library, _):
        library.work("x")
        assert ran == ["names", "models", "when"]
        ran.clear()
        with spanhook.context(tenant_id="acme"):
            library.work("x")
    assert ran == ["names", "models", "when", "tenant"]


def test_a_hook_for_another_kind_costs_nothing() -> None:
    hooks = Hooks()
    hooks.before("tool.execute")(lambda op: pytest.fail("not for this"))
    with stubbed(hooks) as (library, seen):
        library.work("x")
    assert seen.operations[0]._record.plan is None
    assert "spanhook.coverage" not in (seen.spans[0].attributes or {})


def test_hooks_may_come_and_go_while_instrumented() -> None:
    hooks = Hooks()
    ran: list[str] = []
    with stubbed(hooks) as (library, _):
        library.work("x")
        hooks.before("llm.call")(lambda op: ran.append("added"))
        library.work("x")
        for hook in list(hooks):
            hooks.remove(hook)
        library.work("x")
    assert ran == ["added"]


def test_mode_off_runs_no_hook_and_traces_all_the_same() -> None:
    hooks = Hooks()
    hooks.before("*")(lambda op: pytest.fail("hooks are off"))
    with stubbed(hooks, spanhook.Settings(mode="off")) as (library, seen):
        assert library.work("x") == "x"
    assert len(seen.spans) == 1


# ------------------------------------------------------------------------------------------------ where hooks run


var: ContextVar[str] = ContextVar("var", default="unset")


def test_a_sync_hook_runs_in_the_callers_thread_and_context(mode: str) -> None:
    hooks = Hooks()
    threads: list[int] = []

    @hooks.before("llm.call")
    def before(op: Operation) -> None:
        threads.append(threading.get_ident())
        assert var.get() == "mine"

    with stubbed(hooks) as (library, _):
        var.set("mine")
        use(library, mode, "x")
        var.set("unset")
    assert threads == [threading.get_ident()]


def test_an_async_hook_sees_the_callers_context(mode: str) -> None:
    hooks = Hooks()
    saw: list[str] = []

    @hooks.before("llm.call", timeout=60.0)
    async def before(op: Operation) -> None:
        saw.append(var.get())

    with stubbed(hooks) as (library, _):
        var.set("mine")
        use(library, mode, "x")
        var.set("unset")
    assert saw == ["mine"]


def test_async_hooks_on_async_calls_run_on_the_calls_loop() -> None:
    hooks = Hooks()
    loops: list[Any] = []

    @hooks.around("llm.call", timeout=60.0)
    async def wrapping(op: Operation, call_next: Next) -> Any:
        loops.append((asyncio.get_running_loop(), asyncio.current_task()))
        return await call_next()

    async def main() -> None:
        with stubbed(hooks) as (library, _):
            await library.awork("x")
        assert loops == [(asyncio.get_running_loop(), asyncio.current_task())]

    asyncio.run(main())


def test_a_sync_call_keeps_its_thread_and_context_under_an_async_around_hook() -> None:
    hooks = Hooks()

    @hooks.around("llm.call", timeout=60.0)
    async def wrapping(op: Operation, call_next: Next) -> Any:
        assert threading.current_thread().name == "spanhook-loop"
        return await call_next()

    def body() -> Any:
        assert threading.get_ident() == here
        assert var.get() == "mine"
        var.set("changed by the call")
        return "done"

    here = threading.get_ident()
    with stubbed(hooks) as (library, _):
        var.set("mine")
        assert library.work(body) == "done"
        assert var.get() == "changed by the call"
        var.set("unset")


def test_call_next_in_a_task_of_the_hooks_own() -> None:
    """`wait_for` makes a task on Python 3.11; the call must be made there all the same."""
    hooks = Hooks()

    @hooks.around("llm.call", timeout=60.0)
    async def wrapping(op: Operation, call_next: Next) -> Any:
        return await asyncio.create_task(call_next())  # pyright: ignore[reportArgumentType]

    ran: list[str] = []
    hooks.before("llm.call", priority=80)(lambda op: ran.append("inner"))
    with stubbed(hooks) as (library, seen):
        assert use(library, "async", "x") == "x"
        with pytest.raises(KeyError):
            use(library, "async", KeyError("x"))
    assert ran == ["inner", "inner"]
    assert [op.status for op in seen.operations] == ["success", "error"]


@pytest.mark.parametrize("fail_mode", ["open", "closed"])
@pytest.mark.parametrize("call", ["stream", "block"])
def test_call_next_in_a_task_of_its_own_fails_the_hook_where_only_the_caller_can_make_the_call(
    call: str, fail_mode: Any
) -> None:
    hooks = Hooks()

    @hooks.around("llm.call", fail_mode=fail_mode)
    async def wrapping(_op: Operation, call_next: Next) -> Any:
        return await asyncio.create_task(call_next())  # pyright: ignore[reportArgumentType]

    async def block(library: Library) -> Any:
        async with spanhook.operation("llm.call", "stub", provider="stub") as op:
            return await op.acall(library.awork, "x")

    with stubbed(hooks) as (library, seen), suppress(Reject):
        assert (use(library, "astream", "x") if call == "stream" else asyncio.run(block(library))) == "x"
    assert library.calls == ["x"] * (fail_mode == "open")
    decided = [decision for op in seen.operations for decision in op.decisions]
    assert [one.decision for one in decided] == ["error"] * len(decided)
    assert len(seen.spans) == (1 if call == "stream" or fail_mode == "closed" else 2)  # the block's call is one too


def test_an_exception_that_cannot_be_printed_still_ends_the_span_and_tells_of_the_run() -> None:
    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    with stubbed(None, Settings(error_messages=True)) as (library, seen), pytest.raises(Unspeakable):
        library.work(Unspeakable())
    assert [(span.name, span.status.description) for span in seen.spans] == [
        ("chat stub", "Unspeakable: (it cannot be printed)")
    ]
    assert [event["name"] for event in seen.events] == ["spanhook.run"]


# ------------------------------------------------------------------------------------------------ half-done hooks


def test_what_a_failing_open_hook_rewrote_never_reaches_the_call(mode: str) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", priority=200)
    def broken(op: Operation) -> None:
        op.replace(inputs="forbidden")
        raise KeyError("then it broke")

    with stubbed(hooks) as (library, seen):
        use(library, mode, "asked")
    assert library.calls == ["asked"]
    assert seen.operations[0]._record.decided.modified == ()
    assert decisions(seen.operations[0]) == [("broken", "error")]


@pytest.mark.parametrize("form", ["before", "after"])
def test_what_a_failing_open_hook_answered_is_not_the_next_ones_answer(mode: str, form: str) -> None:
    hooks = Hooks()

    def broken(op: Operation) -> None:
        op.respond("half an answer")
        raise KeyError("then it broke")

    getattr(hooks, form)("llm.call", priority=200)(broken)
    getattr(hooks, form)("llm.call", priority=300, name="innocent")(lambda op: None)
    with stubbed(hooks) as (library, seen):
        use(library, mode, "asked")
    assert library.calls == ["asked"]
    assert decisions(seen.operations[0]) == [("broken", "error")]


def test_a_hook_that_rewrites_and_answers_is_the_one_that_answered(mode: str) -> None:
    hooks = Hooks()
    hooks.before("llm.call", priority=10, name="gate")(lambda op: None)

    @hooks.before("llm.call")
    def both(op: Operation) -> None:
        op.replace(inputs="other")
        op.respond("answer")

    with stubbed(hooks) as (library, seen):
        use(library, mode, "asked")
    assert library.calls == []
    assert decisions(seen.operations[0]) == [("both", "modify"), ("both", "replace")]


def test_a_rewrite_is_seen_by_gates_whose_filters_let_only_that_through(mode: str) -> None:
    hooks = Hooks()

    @hooks.before("llm.call", priority=10, when=lambda op: op.request.inputs == "big")
    def no_big(op: Operation) -> None:
        raise Reject("too big")

    @hooks.before("llm.call")
    def rewriter(op: Operation) -> None:
        op.replace(inputs="big")

    with stubbed(hooks) as (library, _), pytest.raises(Reject, match="too big"):
        use(library, mode, "small")
    assert library.calls == []
