"""Registering hooks: what is refused, in one line that names the thing and the fix."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import spanhook
from spanhook import ConfigurationError, Hook, Hooks, Operation, Reject
from spanhook.registry import Registry


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
    "no hook": (lambda h: h.add(noop), "is no spanhook.Hook"),
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
    hooks = Hooks()
    for _ in range(20):
        hooks.before("llm.call")(noop)
        hooks.before("llm.call", tenant_id="acme")(noop)
    hooks.before("tool.execute")(noop)
    hooks.after("llm.call")(noop)
    with pytest.raises(ConfigurationError, match=r"is the 21th on llm.call.pre for system hooks; at most 20"):
        hooks.around("llm.call")(gen)
    with pytest.raises(ConfigurationError, match="for tenant 'acme'"):
        hooks.before("*", tenant_id="acme")(noop)
    assert len(hooks.bound) == 42


def test_a_hook_is_added_once_by_identity() -> None:
    class Mine(Hook):
        def before(self, op: Operation) -> None:
            return None

    mine, registry, hooks = Mine(), Registry(), Hooks()
    hooks.add(mine)
    hooks.add(mine)
    registry.include(hooks)
    registry.include(hooks)
    registry.join(mine)
    assert len(registry.plans["llm.call"].pre) == 1
    registry.join(Mine())
    assert len(registry.plans["llm.call"].pre) == 2


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


def test_reject() -> None:
    import copy
    import pickle

    reject = Reject("no", status_code=402, scope="run")
    for twin in (copy.copy(reject), pickle.loads(pickle.dumps(reject))):
        assert (twin.reason, twin.status_code, twin.scope, str(twin)) == ("no", 402, "run", "no")
    with pytest.raises(ValueError, match="scope='all'"):
        Reject("no", scope="all")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert isinstance(reject, spanhook.SpanhookError)
    assert (Reject().status_code, Reject().scope) == (403, "operation")


def test_the_limit_holds_for_all_registries_in_force_together() -> None:
    first, second = Hooks(), Hooks()
    for hooks in (first, second):
        for _ in range(10):
            hooks.before("llm.call")(lambda op: None)
    registry = Registry()
    registry.include(first)
    registry.include(second)
    for hooks in (first, second):
        with pytest.raises(ConfigurationError, match="at most 20"):
            hooks.before("llm.call")(lambda op: None)
    assert len(registry.plans["llm.call"].pre) == 20
    third = Hooks()
    third.before("llm.call")(lambda op: None)
    with pytest.raises(ConfigurationError, match="at most 20"):
        registry.include(third)
    assert len(registry.plans["llm.call"].pre) == 20
