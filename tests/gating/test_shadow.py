"""Hooks in shadow decide as they would if enforced, and change nothing: no result, no status, no time, no store."""

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, cast

import pytest
from opentelemetry.trace import get_current_span

from spanhook import Hook, Hooks, Operation, Reject, Settings, operation
from spanhook.diagnostics import internal
from spanhook.gating import listener
from spanhook.testing import Recorder
from tests.stub import MODES, stubbed, use

KIND = "llm.call"
AGENT = "agent.invoke"


def refuse(op: Operation) -> None:
    raise Reject(f"no {op.request.inputs}", status_code=402)


async def refuse_later(op: Operation) -> None:
    await asyncio.sleep(0)
    raise Reject("later", status_code=429)


def stop_the_run(op: Operation) -> None:
    raise Reject("the run ends", scope="run")


def rewrite(op: Operation) -> None:
    op.replace(inputs="rewritten")


def answer(op: Operation) -> None:
    op.respond("answered")


def broken(op: Operation) -> None:
    raise KeyError("broken")


def withhold(op: Operation) -> None:
    if op.result != "given":
        raise AssertionError(op.result)
    raise Reject("withheld")


def redact(op: Operation) -> None:
    op.respond("redacted")


def around_before(op: Operation) -> Iterator[None]:
    yield from ()
    raise Reject("before")


def around_after(op: Operation) -> Any:
    result = yield
    return f"{result} and more"


async def wrap(op: Operation, call_next: Callable[[], Any]) -> Any:
    result = await call_next()
    return f"{result} and more"


async def wrap_instead(op: Operation, call_next: Callable[[], Any]) -> Any:
    return "instead"


FORMS: dict[str, tuple[str, Any]] = {
    "refuse": ("before", refuse),
    "refuse_later": ("before", refuse_later),
    "stop_the_run": ("before", stop_the_run),
    "rewrite": ("before", rewrite),
    "answer": ("before", answer),
    "broken": ("before", broken),
    "withhold": ("after", withhold),
    "redact": ("after", redact),
    "around_before": ("around", around_before),
    "around_after": ("around", around_after),
    "wrap": ("around", wrap),
    "wrap_instead": ("around", wrap_instead),
}


def decisions(form: str, function: Any, calling: str, **settings: Any) -> tuple[Any, Recorder, Any]:
    """What the call gave or raised, what was recorded, and what was decided."""
    hooks = Hooks()
    getattr(hooks, form)(KIND, name="tried", fail_mode="closed", stream="buffer", **settings)(function)
    with stubbed(hooks) as (library, seen):
        try:
            outcome: Any = use(library, calling, "given")
        except Reject as reject:
            outcome = reject.reason
        hooks.flush()
    [op] = seen.operations
    made = op.shadow_decisions if settings.get("mode") == "shadow" else op.decisions
    return outcome, seen, [(one.hook, one.event, one.decision, one.reason, one.status_code) for one in made]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("named", FORMS)
def test_it_decides_as_if_enforced_and_changes_nothing(named: str, mode: str) -> None:
    form, function = FORMS[named]
    _, _, enforced = decisions(form, function, mode)
    outcome, seen, shadowed = decisions(form, function, mode, mode="shadow")
    assert enforced == shadowed != []
    assert outcome == "given"
    [op] = seen.operations
    assert (op.status, op.decisions) == ("success", ())
    assert all(one.mode == "shadow" for one in op.shadow_decisions)
    [span] = seen.spans
    assert not [name for name in span.attributes or {} if name.startswith("spanhook.decision")]


def test_decisions_are_counted_and_told_apart() -> None:
    hooks = Hooks()
    hooks.before(KIND, name="strict", mode="shadow")(refuse)
    hooks.before(KIND, name="lenient")(lambda op: None)
    with stubbed(hooks) as (library, seen):
        library.work("given")
        hooks.flush()
        counted = {
            (one["spanhook.hook"], one["spanhook.decision"], one["spanhook.mode"]): value
            for one, value in seen.metrics()["spanhook.hook.decisions"]
        }
        assert counted == {("strict", "reject", "shadow"): 1, ("lenient", "allow", "enforce"): 1}
        [run, decided] = sorted(seen.events, key=lambda event: event["name"], reverse=True)
    assert decided["name"] == "spanhook.decision"
    assert decided["attributes"]["spanhook.mode"] == "shadow"
    assert decided["attributes"]["spanhook.decision.reason"] == "no given"
    assert decided["trace_id"] == run["trace_id"] != 0
    assert run["attributes"]["spanhook.status"] == "success"
    assert run["attributes"]["spanhook.decisions"] == 0


@pytest.mark.parametrize("mode", MODES)
def test_all_hooks_are_in_shadow_by_one_setting(mode: str) -> None:
    hooks = Hooks()
    hooks.before(KIND)(refuse)
    hooks.on(KIND, lambda event: None)
    with stubbed(hooks, Settings(mode="shadow")) as (library, seen):
        assert use(library, mode, "given") == "given"
        hooks.flush()
    assert [one.decision for one in seen.operations[0].shadow_decisions] == ["reject"]


def test_a_call_never_waits_for_it() -> None:
    hooks, go = Hooks(), threading.Event()

    def slow(op: Operation) -> None:
        go.wait(60.0)
        raise Reject("too late to matter")

    hooks.before(KIND, mode="shadow")(slow)
    with stubbed(hooks) as (library, seen):
        assert [library.work(number) for number in range(3)] == [0, 1, 2]
        assert all(not op.shadow_decisions for op in seen.operations)
        go.set()
        assert hooks.flush()
        assert [len(op.shadow_decisions) for op in seen.operations] == [1, 1, 1]


def test_one_that_is_too_slow_misses_operations_and_that_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "MAX_WAITING", 2)
    hooks, go, begun, seen_by = Hooks(), threading.Event(), threading.Event(), list[Any]()

    class Slow(Hook):
        kinds = (KIND,)
        mode = "shadow"

        def before(self, op: Operation) -> None:
            begun.set()
            go.wait(60.0)
            seen_by.append(("before", op.request.inputs))

        def after(self, op: Operation) -> None:
            seen_by.append(("after", op.request.inputs))

    hooks.add(Slow())
    with stubbed(hooks) as (library, seen):
        library.work(0)
        begun.wait(60.0)
        for number in range(1, 5):
            library.work(number)
        go.set()
        assert hooks.flush()
        lost = seen.metrics()["spanhook.telemetry.dropped"]
    [(_, dropped)] = [one for one in lost if one[0]["spanhook.component"] == "subscription"]
    heard = [number for what, number in seen_by if what == "before"]
    assert [number for what, number in seen_by if what == "after"] == heard
    assert len(heard) + dropped == 5
    internal.lost.pop("subscription")


def test_it_sees_the_request_as_enforced_hooks_have_left_it() -> None:
    hooks, read = Hooks(), list[Any]()
    hooks.before(KIND, priority=10, mode="shadow")(lambda op: read.append(op.request.inputs))
    hooks.before(KIND, priority=90)(rewrite)
    with stubbed(hooks) as (library, _):
        assert library.work("given") == "rewritten"
        hooks.flush()
    assert read == ["rewritten"]


def test_it_sees_what_enforced_hooks_have_refused() -> None:
    hooks, ended = Hooks(), list[Any]()

    class Trying(Hook):
        kinds = (KIND,)
        mode = "shadow"

        def before(self, op: Operation) -> None:
            op.state["begun"] = op.request.inputs
            assert op.mode == "shadow"
            raise Reject("I would, too") if op.request.inputs == "both" else Passing

        def on_error(self, op: Operation) -> None:
            ended.append((op.state["begun"], op.status))

    Passing = KeyError("not a decision")
    hooks.before(KIND)(refuse)
    hooks.add(Trying())
    with stubbed(hooks) as (library, seen):
        with pytest.raises(Reject, match="no both"):
            library.work("both")
        hooks.flush()
    assert [one.reason for one in seen.operations[0].shadow_decisions] == ["I would, too"]
    assert ended == [("both", "rejected")]


def test_both_halves_of_a_hook_share_state_and_context() -> None:
    hooks, told = Hooks(), list[Any]()
    mine: ContextVar[str] = ContextVar("mine", default="")

    @hooks.around(KIND, mode="shadow")
    def timed(op: Operation) -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
        op.state["seen"] = mine.get()
        mine.set("inside")
        yield
        told.append((op.state["seen"], mine.get(), op.status, op.usage.total_tokens))

    with stubbed(hooks) as (library, seen):
        mine.set("outside")
        library.work("given")
        hooks.flush()
    assert told == [("outside", "inside", "success", 15)]
    assert mine.get() == "outside"
    assert seen.operations[0].state == {}


def test_a_run_that_would_be_stopped_goes_on() -> None:
    hooks = Hooks()
    hooks.before("tool.execute", mode="shadow")(stop_the_run)
    with stubbed(hooks) as (_, seen):
        with operation(AGENT, "a"):
            for _ in range(2):
                with operation("tool.execute", "t"):
                    pass
        hooks.flush()
    assert [(op.status, len(op.shadow_decisions)) for op in seen.operations] == [("success", n) for n in (1, 1, 0)]


def test_answers_of_own_code_are_tried_too() -> None:
    hooks, after = Hooks(), list[Any]()

    class Cached(Hook):
        kinds = (KIND,)
        mode = "shadow"

        def before(self, op: Operation) -> None:
            op.respond("cached")

        def after(self, op: Operation) -> None:
            after.append(op.result)

    hooks.add(Cached())
    with stubbed(hooks) as (_, seen):
        with operation(KIND, "m", request={"messages": []}) as op:
            assert op.call(lambda: "real") == "real"
        hooks.flush()
    assert [one.decision for one in seen.operations[0].shadow_decisions] == ["replace"]
    assert after == ["cached"]


def test_filters_and_outermost_hold() -> None:
    hooks, heard = Hooks(), list[str]()
    hooks.before("*", mode="shadow", outermost=True)(lambda op: heard.append(f"outermost {op.name}"))
    hooks.before("*", mode="shadow", names={"t"})(lambda op: heard.append(f"named {op.name}"))
    hooks.before("*", mode="shadow", when=lambda op: op.agent == "b")(lambda op: heard.append(f"when {op.name}"))
    with stubbed(hooks):
        for agent in ("a", "b"):
            with operation(AGENT, agent), operation("tool.execute", "t"):
                pass
        hooks.flush()
    assert sorted(heard) == sorted(["outermost a", "outermost b", "named t", "named t", "when b", "when t"])


def test_a_hook_added_twice_with_other_modes_is_two() -> None:
    hooks = Hooks()
    hooks.before(KIND, name="new", mode="shadow")(refuse)
    hooks.before(KIND, name="old")(lambda op: None)
    with stubbed(hooks) as (library, seen):
        library.work("given")
        hooks.remove(refuse)
        library.work("given")
        hooks.flush()
    assert [len(op.shadow_decisions) for op in seen.operations] == [1, 0]


def test_forked_children_have_shadows_of_their_own() -> None:
    hooks = Hooks()
    hooks.before(KIND, mode="shadow")(refuse)
    with stubbed(hooks) as (library, seen):
        library.work("parent")
        pid = os.fork()
        if pid == 0:
            library.work("child")
            told = hooks.flush(30.0) and [len(op.shadow_decisions) for op in seen.operations[-1:]] == [1]
            os._exit(0 if told else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        hooks.flush()
    assert [len(op.shadow_decisions) for op in seen.operations] == [1]


def test_the_mode_is_checked() -> None:
    with pytest.raises(ValueError, match="mode='off', expected 'enforce' or 'shadow'"):
        Hooks().before(KIND, mode=cast("Any", "off"))(refuse)


def test_what_a_hook_in_shadow_uses_is_not_used_by_the_run() -> None:
    hooks, used = Hooks(), list[Any]()

    @hooks.before(KIND, mode="shadow")
    def judge(op: Operation) -> None:
        with operation(KIND, "judge") as inner:
            inner.record_usage(input_tokens=1000, output_tokens=1)
        used.append(op.usage.input_tokens)

    with stubbed(hooks) as (_, seen), operation(AGENT, "desk") as run:
        with operation(KIND, "small") as op:
            op.record_usage(input_tokens=10, output_tokens=1)
        assert hooks.flush()
        assert used == [1000]
        assert (run.usage.input_tokens, run.usage.llm_calls) == (10, 1)
        assert [one.in_hook for one in seen.operations if one.name == "judge"] == [True]


def test_a_hook_knows_which_mode_it_is_in() -> None:
    hooks, modes = Hooks(), list[str]()
    hooks.before(KIND)(lambda op: modes.append(op.mode))
    for settings in (Settings(), Settings(mode="shadow")):
        with stubbed(hooks, settings) as (library, _):
            library.work("given")
    assert modes == ["enforce", "shadow"]


def test_a_filter_that_raises_anything_does_not_silence_it(monkeypatch: pytest.MonkeyPatch) -> None:
    hooks, asked = Hooks(), list[Any]()

    def picky(op: Operation) -> bool:
        asked.append(op.request.inputs)
        if len(asked) == 1:
            raise SystemExit("no more")
        return True

    hooks.before(KIND, mode="shadow", when=picky)(refuse)
    with stubbed(hooks) as (library, seen):
        monkeypatch.setattr(internal, "fatal", False)
        for number in range(3):
            library.work(number)
        assert hooks.flush(30.0)
        monkeypatch.setattr(internal, "fatal", True)
    assert [len(op.shadow_decisions) for op in seen.operations] == [0, 1, 1]
    internal.counts.pop("subscription", None)
    internal.lost.pop("subscription", None)


def test_its_code_does_not_reach_the_real_span() -> None:
    hooks = Hooks()

    @hooks.around(KIND, mode="shadow")
    def scribble(op: Operation) -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
        get_current_span().set_attribute("scribbled", "before")
        yield
        get_current_span().set_attribute("scribbled", "after")

    with stubbed(hooks) as (_, seen):
        with operation(KIND, "m", request={"messages": []}):
            hooks.flush()
        hooks.flush()
    [span] = seen.spans
    assert "scribbled" not in (span.attributes or {})


class Watching(Hook):
    """Notes how each operation ended, in every form."""

    kinds = (KIND,)
    mode = "shadow"

    def __init__(self) -> None:
        self.told: list[Any] = []

    def around(self, op: Operation) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            self.told.append(type(error).__name__)
            raise
        self.told.append("went on")

    def after(self, op: Operation) -> None:
        self.told.append(("after", op.status, op.result))

    def on_error(self, op: Operation) -> None:
        self.told.append(("on_error", op.status))


def test_a_stream_that_is_left_early_is_seen_as_enforced_hooks_see_it() -> None:
    told: list[Any] = []
    for mode in ("enforce", "shadow"):
        hooks, watching = Hooks(), Watching()
        watching.mode = cast("Any", mode)
        hooks.add(watching)
        with stubbed(hooks) as (library, seen):
            stream: Any = library.words("given")
            assert next(stream) == "g"
            stream.close()
            hooks.flush()
        assert [op.status for op in seen.operations] == ["abandoned"]
        told.append(watching.told)
    assert told[0] == told[1] != []


def test_a_cancelled_call_is_seen_as_enforced_hooks_see_it() -> None:
    async def cancelled(library: Any) -> None:
        task = asyncio.create_task(library.awork(asyncio.Event().wait))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    told: list[Any] = []
    for mode in ("enforce", "shadow"):
        hooks, watching = Hooks(), Watching()
        watching.mode = cast("Any", mode)
        hooks.add(watching)
        with stubbed(hooks) as (library, seen):
            asyncio.run(cancelled(library))
            hooks.flush()
        assert [op.status for op in seen.operations] == ["cancelled"]
        told.append(watching.told)
    assert told[0] == told[1] != []


def test_an_answer_from_an_iterator_is_used_up_by_nobody_else() -> None:
    hooks, parts = Hooks(), iter("abc")
    hooks.before(KIND, mode="shadow")(lambda op: op.respond(parts))
    with stubbed(hooks) as (library, seen):
        assert "".join(library.words("given")) == "given"
        hooks.flush()
    assert [one.decision for one in seen.operations[0].shadow_decisions] == ["replace"]
