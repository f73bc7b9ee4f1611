"""Registering hooks: what is refused, in one line that names the thing and the fix."""

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import spanhook
from spanhook import ConfigurationError, Hook, Hooks, Operation
from spanhook.gating import Registry, hooks_of
from tests.stub import stubbed


def noop(op: Operation) -> None:
    return None


async def anoop(op: Operation) -> None:
    return None


def gen(op: Operation) -> Iterator[None]:
    yield


async def agen(op: Operation) -> AsyncIterator[None]:
    yield


async def wrap(op: Operation, call_next: Any) -> Any:
    return await call_next()


def refused(register: Callable[[Hooks], Any]) -> str:
    with pytest.raises(ConfigurationError) as caught:
        register(Hooks())
    assert "\n" not in str(caught.value)
    assert f"{__file__}, line " in str(caught.value)
    return str(caught.value)


BAD: dict[str, tuple[Callable[[Any], Any], str]] = {
    "kind": (lambda h: h.before("tool.exec")(noop), "hook 'noop': unknown kind 'tool.exec'"),
    "priority": (lambda h: h.before("run", priority=1001)(noop), "priority=1001, expected a whole number"),
    "priority type": (lambda h: h.before("run", priority=True)(noop), "priority=True, expected a whole number"),
    "timeout": (lambda h: h.before("run", timeout=0)(noop), "timeout=0, expected seconds above 0"),
    "timeout type": (lambda h: h.before("run", timeout="1s")(noop), "timeout='1s', expected seconds"),
    "fail mode": (lambda h: h.before("run", fail_mode="ajar")(noop), "fail_mode='ajar', expected 'open' or 'closed'"),
    "filter": (lambda h: h.before("run", names="search")(noop), "names='search', expected a set of strings"),
    "filter items": (lambda h: h.before("run", models={1})(noop), "models={1}, expected a set of strings"),
    "when": (lambda h: h.before("run", when=True)(noop), "when=True, expected a function"),
    "tenant": (lambda h: h.before("run", tenant_id=7)(noop), "tenant_id=7, expected a string"),
    "setting": (lambda h: h.before("run", prio=1)(noop), "unknown hook setting prio=1"),
    "no argument": (lambda h: h.before("run")(lambda: None), "takes (); it is called with (op)"),
    "two arguments": (lambda h: h.before("run")(lambda op, more: None), "it is called with (op)"),
    "call_next missing": (lambda h: h.around("run")(anoop), "it is called with (op, call_next)"),
    "around never yields": (lambda h: h.around("run")(noop), "never yields"),
    "yielding before": (lambda h: h.before("run")(gen), "is not an around hook"),
    "async generator": (lambda h: h.around("run")(agen), "is an async generator"),
    "async blocking": (lambda h: h.before("run", blocking=True)(anoop), "blocking=True is for plain functions"),
    "no parentheses": (lambda h: h.before(noop), "write the kind in parentheses"),
    "no hook": (lambda h: h.add(noop), "is not a spanhook.Hook"),
    "class for hook": (lambda h: h.add(Hook), "it is a class; add an object of it, such as Hook()"),
    "empty hook": (lambda h: h.add(Hook()), "overrides none of"),
    "event": (lambda h: h.on("tool.execute.during", noop), "unknown event 'tool.execute.during'"),
    "uncallable": (lambda h: h.on("run.pre", 7), "7 is not callable"),
}


@pytest.mark.parametrize("name", BAD)
def test_mistakes_are_named(name: str) -> None:
    register, expected = BAD[name]
    assert expected in refused(register)


def test_instrument_refuses_what_is_no_hook() -> None:
    for wrong in (noop, [noop], "hooks.py:hooks"):
        with pytest.raises(ConfigurationError, match=r"neither a spanhook\.Hooks nor a spanhook\.Hook"):
            spanhook.instrument(wrong)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigurationError, match="unknown library 'langchian'"):
        spanhook.instrument(only=("langchian",))
    with pytest.raises(ConfigurationError, match="unknown library 'langchian'"):
        spanhook.instrument(require=("langchian",))


def test_at_most_20_hooks_per_event_and_tenant() -> None:
    hooks, registry = Hooks(), Registry()
    registry.include(hooks)
    for _ in range(20):
        hooks.before("llm.call")(noop)
        hooks.before("llm.call", tenant_id="acme")(noop)
    hooks.before("tool.execute")(noop)
    hooks.after("llm.call")(noop)
    with pytest.raises(ConfigurationError, match=r"is number 21 on llm.call.pre for system hooks; at most 20"):
        hooks.around("llm.call")(gen)
    with pytest.raises(ConfigurationError, match="for tenant 'acme'"):
        hooks.before("*", tenant_id="acme")(noop)
    assert len(hooks.bound) == 42


def test_callable_objects_are_hooks_too() -> None:
    class Gate:
        async def __call__(self, op: Operation) -> None:
            return None

    hooks = Hooks()
    hooks.before("llm.call")(Gate())
    (bound,) = hooks.bound
    assert bound.name == "Gate"
    assert bound.slow


def test_decorators_give_the_function_back() -> None:
    hooks = Hooks()
    assert hooks.before("llm.call")(noop) is noop
    assert hooks.around("llm.call")(wrap) is wrap
    assert [hook.name for hook in hooks] == ["noop", "wrap"]


def test_a_subscription_may_be_a_decorator() -> None:
    hooks, heard = Hooks(), list[str]()

    @hooks.on("llm.call.post", name="ear")
    def listen(op: Operation) -> None:
        heard.append(op.event)

    assert [one.name for one in hooks] == ["ear"]
    with stubbed(hooks) as (library, _):
        library.work("hi")
        assert hooks.flush()
    assert heard == ["llm.call.post"]
    assert hooks.remove(listen)
    assert not list(hooks)
    assert hooks.on("*", noop) is not noop


class Limit(Hook):
    kinds = ("llm.call",)

    def before(self, op: Operation) -> None:
        return None

    def after(self, op: Operation) -> None:
        return None

    def method(self, op: Operation) -> None:
        return None


@pytest.mark.parametrize("form", ["before", "after", "on_error", "around", "wrap", "on", "on as decorator", "twice"])
def test_what_was_decorated_can_be_removed(form: str) -> None:
    hooks = Hooks(Limit())
    function: Any = gen if form == "around" else wrap if form == "wrap" else noop
    match form:
        case "on":
            hooks.on("llm.call", function)
        case "on as decorator":
            hooks.on("llm.call")(function)
        case "twice":
            hooks.before("llm.call")(function)
            hooks.before("llm.call")(function)
            hooks.after("tool.execute")(function)
            hooks.on("*", function)
        case _:
            getattr(hooks, {"wrap": "around"}.get(form, form))("llm.call")(function)
    registry = Registry()
    registry.include(hooks)
    assert hooks.remove(function)
    assert [type(one) for one in hooks] == [Limit]
    assert len(registry.plans["llm.call"].pre) == 1
    assert not registry.plans["llm.call"].heard
    assert not hooks.remove(function)


def test_whatever_was_registered_can_be_removed() -> None:
    hooks, limit, other, gate = Hooks(), Limit(), Limit(), functools.partial(noop)
    hooks.before("run")(limit.method)  # each look at a method makes another object
    hooks.before("run")(other.method)
    hooks.before("run")(gate)
    outer = functools.wraps(noop)(lambda op: None)
    hooks.before("run")(noop)
    assert hooks.remove(limit.method)
    assert hooks.remove(gate)
    assert hooks.remove(outer)  # decorated again after it was registered
    assert [getattr(one.function, "__self__", None) for one in hooks.bound] == [other]
    assert not hooks.remove(limit.method)
    hooks.add(limit)
    hooks.add(Limit())
    assert hooks.remove(Limit)
    assert hooks.remove(other.method)
    assert not hooks.bound
    for wrong in ("noop", None, ["noop"]):
        with pytest.raises(ConfigurationError, match="cannot be removed; give the Hook"):
            hooks.remove(wrong)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_hooks_are_told_apart_by_identity_whatever_they_are_equal_to() -> None:
    @dataclass
    class Same(Hook):
        limit: int = 1

        def before(self, op: Operation) -> None:
            seen.append(self)

    seen: list[Hook] = []
    first, second = Same(), Same()
    assert first == second
    hooks = Hooks(first, second)
    assert len(hooks) == 2
    with stubbed(hooks) as (library, recorded):
        recorded.tracer_provider.add_span_processor(second)
        library.work("hi")
        with recorded.tracer_provider.get_tracer("of others").start_as_current_span("chat"):
            pass
    assert [one is first for one in seen] == [True, False]
    hooks.remove(first)
    assert [one is second for one in hooks] == [True]


def test_settings_changed_since_are_read_again() -> None:
    hooks = Hooks()
    hooks.before("llm.call", timeout=1.0, name="first")(noop)
    hooks.before("llm.call", timeout=1.0, name="second")(noop)
    first, second = hooks
    place = hooks.bound[0].place
    first.timeout = 2.0
    assert [one.timeout_ns for one in hooks.bound] == [1_000_000_000] * 2
    hooks.reread()
    assert [(one.name, one.timeout_ns) for one in hooks.bound] == [("first", 2_000_000_000), ("second", 1_000_000_000)]
    assert hooks.bound[0].place == place
    first.timeout, second.timeout = 3.0, -1
    with pytest.raises(ConfigurationError, match="timeout=-1"):
        hooks.reread()
    assert [one.timeout_ns for one in hooks.bound] == [2_000_000_000, 1_000_000_000]


def test_what_offers_hooks_is_taken_for_them() -> None:
    class Offering:
        def __init__(self, offered: Any) -> None:
            self.offered = offered

        def __spanhook_hooks__(self) -> Any:
            return self.offered

    hooks = Hooks()
    assert hooks_of(hooks) is hooks_of(Offering(hooks)) is hooks
    for none in (Offering(3), Offering, 3, None, "hooks"):
        assert hooks_of(none) is None
