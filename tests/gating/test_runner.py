"""Hooks that are plain functions and generators decide the same, inline and in a coroutine."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from contextvars import Context, copy_context
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spanhook import Hook, Hooks, Operation, Reject
from spanhook.concurrency import reaper
from spanhook.errors import RunStopped
from spanhook.gating import Runner
from tests.stub import MODES, Library, Paused, stubbed, use

MODES_OF_CALLS = ("sync", "async", "stream", "astream")


class Plan(NamedTuple):
    """One hook."""

    form: str
    does: str
    priority: int
    filtered: str
    fail_mode: Any


class Told(Hook):
    """A gate with a listener: with it, no hook is run inline."""

    kinds = frozenset(("llm.call",))
    priority = 0
    _listeners = (lambda *_told: None,)

    def before(self, op: Operation) -> None:
        """Let everything pass."""


class Silent(Hook):
    """The same gate without a listener."""

    kinds = frozenset(("llm.call",))
    priority = 0

    def before(self, op: Operation) -> None:
        """Let everything pass."""


def _act(does: str, op: Operation) -> Any:
    """What a hook does, in any form."""
    match does:
        case "reject":
            raise Reject("no", status_code=402)
        case "reject run":
            raise Reject("not at all", scope="run")
        case "fail":
            raise ZeroDivisionError("a mistake")
        case "stop":
            raise StopIteration
        case "rewrite":
            op.replace(inputs="rewritten")
        case "respond":
            op.respond("answered")
        case "unusable":
            op.respond("unusable")
        case "slow":
            time.sleep(0.003)
        case "state":
            op.state["seen"] = [*op.state.get("seen", ()), op.phase]
        case "read":
            return len(str((op.request.inputs, op.result, op.error))) and None
        case "return":
            return 7
        case "wait":
            return _later()
        case _:
            pass
    return None


async def _later() -> None:
    """Something to wait for."""


def _function(plan: Plan, ran: list[str], name: str) -> Callable[..., Any]:
    does = plan.does

    def function(op: Operation) -> Any:
        ran.append(f"{name} {op.phase} {op.status} {op.state.get('seen')}")
        return _act(does, op)

    def around(op: Operation) -> Iterator[Any]:
        ran.append(f"{name} in {op.request.inputs}")
        if does.startswith("in "):
            if does == "in return":
                return 7
            if does != "in wait":
                _act(does[3:], op)
        try:
            result = yield _later() if does == "in wait" else None
        except BaseException as error:
            ran.append(f"{name} caught {type(error).__name__}")
            if does == "replace error":
                return "instead"
            raise
        ran.append(f"{name} out {result} {op.status}")
        if does == "twice":
            yield
        return "replaced" if does == "replace" else None if does == "wait" else _act(does, op)

    return around if plan.form == "around" else function


def _added(hooks: Hooks, plan: Plan, ran: list[str], name: str) -> None:
    given: dict[str, Any] = {"name": name, "priority": plan.priority, "fail_mode": plan.fail_mode}
    if plan.does == "slow":
        given["timeout"] = 0.001
    if plan.filtered == "others":
        given["models"] = {"other"}
    elif plan.filtered == "mine":
        given["models"] = {"stub"}
    elif plan.filtered == "never":
        given["when"] = lambda op: False
    elif plan.filtered == "broken":
        given["when"] = lambda op: 1 / 0
    getattr(hooks, plan.form)("llm.call", **given)(_function(plan, ran, name))


Outcome = tuple[list[str], list[tuple[Any, ...]], Any, list[Any]]


def _outcome(plans: list[Plan], mode: str, given: Any, *first: type[Hook]) -> Outcome:
    """What ran, what was decided, what came of it, and what the library was called with."""
    hooks, ran = Hooks(*(one() for one in first)), list[str]()
    for index, plan in enumerate(plans):
        _added(hooks, plan, ran, f"{index} {plan.form} {plan.does}")
    with stubbed(hooks) as (library, seen):
        try:
            result: Any = use(library, mode, given)
        except BaseException as error:
            result = type(error), str(error)
    decided = [
        (one.hook, one.event, one.decision, "" if one.decision == "timeout" else one.reason, one.status_code)
        for op in seen.operations
        for one in op.decisions
    ]
    return ran, decided, (result, [op.status for op in seen.operations]), [str(call) for call in library.calls]


DOES = ("", "", "reject", "reject run", "fail", "stop", "rewrite", "respond", "unusable", "slow", "state", "read")
GENERATORS = ("in reject", "in fail", "in rewrite", "in respond", "in return", "in wait", "twice", "replace")
PLANS = st.builds(
    Plan,
    form=st.sampled_from(("before", "around", "after", "after", "on_error")),
    does=st.sampled_from((*DOES, *GENERATORS, "return", "wait", "replace error")),
    priority=st.sampled_from((10, 75, 500)),
    filtered=st.sampled_from(("", "", "", "mine", "others", "never", "broken")),
    fail_mode=st.sampled_from((None, None, "open", "closed")),
)


@given(
    plans=st.lists(PLANS, min_size=1, max_size=5),
    mode=st.sampled_from(MODES_OF_CALLS),
    call=st.sampled_from(("given", ValueError("it failed"))),
)
@settings(max_examples=settings().max_examples * 3 // 2, deadline=None)
@example([Plan("around", "", 75, "", None), Plan("after", "reject", 500, "", None)], "sync", "given")
@example([Plan("before", "", 10, "broken", "open"), Plan("around", "in rewrite", 10, "", None)], "sync", "given")
@example([Plan("around", "in rewrite", 75, "", None), Plan("before", "read", 75, "", None)], "sync", "given")
@example([Plan("before", "", 10, "", None), Plan("around", "in wait", 75, "", None)], "async", "given")
@example([Plan("around", "", 10, "", None), Plan("around", "replace error", 75, "", None)], "async", ValueError("no"))
def test_hooks_decide_the_same_inline_and_in_a_coroutine(plans: list[Plan], mode: str, call: Any) -> None:
    in_coroutines = _outcome(plans, mode, call, Told)
    assert _outcome(plans, mode, call) == in_coroutines
    assert _outcome(plans, mode, call, Silent) == in_coroutines


@pytest.mark.parametrize("only", ["", "after", "on_error"])
@pytest.mark.parametrize("mode", MODES)
def test_hooks_that_let_a_call_pass_need_no_coroutine(mode: str, only: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    for method in ("_enter", "_leave", "_observe"):
        monkeypatch.setattr(Runner, method, lambda *given: made.append(given))
    forms = [only] if only else ["before", "around", "after", "on_error"]
    ran, decided, outcome, _ = _outcome([Plan(form, "", 75, "mine", None) for form in forms], mode, "given")
    expected = ["before", "around", "around", "after"] if not only else ["after"] * (only == "after")
    assert [one.split(" ")[1] for one in ran] == expected
    assert not decided
    assert outcome == ("given", ["success"])
    assert not made


@pytest.mark.parametrize("first", [Silent, Told])
@pytest.mark.parametrize("mode", MODES_OF_CALLS)
def test_a_generator_that_has_read_the_outcome_before_the_call_reads_it_anew_after_it(
    mode: str, first: type[Hook]
) -> None:
    hooks, read = Hooks(first()), list[Any]()

    @hooks.around("llm.call")
    def around(op: Operation) -> Iterator[None]:
        for _ in range(2):
            said = [part["content"] for message in op.response.messages for part in message["parts"]]
            read.append((op.result, op.error, said, sorted(op.extras)))
            if len(read) == 1:
                yield

    with stubbed(hooks) as (library, _):
        use(library, mode, "given")
    assert read == [(None, None, [], []), ("given", None, ["given"], ["usage_metadata"])]


@pytest.mark.parametrize("first", [Silent, Told])
@pytest.mark.parametrize("mode", ["sync", "async", "stream"])
def test_hooks_run_once_where_one_of_them_raises_a_generator_exit(mode: str, first: type[Hook]) -> None:
    hooks, ran = Hooks(first()), list[str]()

    @hooks.after("llm.call", priority=200)
    def leaves(op: Operation) -> None:
        ran.append(op.status)
        raise GeneratorExit

    with stubbed(hooks) as (library, seen), suppress(GeneratorExit):
        use(library, mode, "given")
    assert ran == ["success"]
    assert [op.status for op in seen.operations] == ["abandoned"]


LATE = ("", "reject", "fail", "respond", "slow")


@pytest.mark.parametrize("fail_mode", ["open", "closed"])
@pytest.mark.parametrize("form", ["after", "around"])
@pytest.mark.parametrize("does", LATE)
def test_a_run_that_is_stopped_while_hooks_look_at_its_outcome(does: str, form: str, fail_mode: Any) -> None:
    """Another operation of the run, in parallel, is refused with all of it."""

    def outcome(first: type[Hook]) -> Any:
        hooks, ran, inside = Hooks(first()), list[str](), list[Context]()

        @hooks.before("llm.call")
        def stop(op: Operation) -> None:
            if op.request.inputs == "stop":
                raise Reject("all of it", scope="run")

        def stopping(op: Operation) -> Any:
            refused = threading.Thread(target=inside[0].run, args=(_refused, library))
            refused.start()
            refused.join()
            return _act(does, op)

        def around(op: Operation) -> Iterator[None]:
            yield
            stopping(op)

        limit: Any = {"timeout": 0.001} if does == "slow" else {}
        late = getattr(hooks, form)("llm.call", name="late", priority=300, fail_mode=fail_mode, **limit)
        late(stopping if form == "after" else around)
        for other in ("around", "after", "on_error", "on_error"):
            _added(hooks, Plan(other, "", 50 if other == "around" else 500, "", None), ran, other)
        with stubbed(hooks) as (library, seen), pytest.raises(Reject, match="all of it"):
            library.work(_Work(inside))
        decided = [(op.status, [(one.hook, one.event, one.decision) for one in op.decisions]) for op in seen.operations]
        return ran, decided

    assert outcome(Silent) == outcome(Told)


class _Work(NamedTuple):
    """Work that notes in which context it is done."""

    inside: list[Context]

    def __call__(self) -> str:
        self.inside.append(copy_context())
        return "given"

    def __repr__(self) -> str:
        return "work"


def _refused(library: Library) -> None:
    with pytest.raises(RunStopped):
        library.work("stop")


@pytest.mark.every_value
@pytest.mark.parametrize("mode", MODES_OF_CALLS)
@pytest.mark.parametrize("given", ["given", Paused()], ids=["returned", "interrupted"])
def test_a_concurrent_hook_that_is_interrupted_runs_once_and_the_operation_ends(mode: str, given: Any) -> None:
    ran: list[str] = []

    class Together(Hook):
        kinds = frozenset(("llm.call",))
        _together = True

        async def after(self, op: Operation) -> None:
            ran.append(op.status)
            raise KeyboardInterrupt

    with stubbed(Hooks(Together())) as (library, seen):
        with pytest.raises(KeyboardInterrupt):
            use(library, mode, given)
        assert reaper.drain()
        assert len(seen.spans) == 1
    assert ran == ["success" if given == "given" else "interrupted"]
