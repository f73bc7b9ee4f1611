"""Which hooks are in force: each once, never too many, and plans that an interrupt does not spoil."""

from contextvars import copy_context
from typing import Any

import pytest

from spanhook import ConfigurationError, Hook, Hooks, Operation, operation
from spanhook.gating import Registry
from spanhook.testing import recorder


def noop(op: Operation) -> None:
    return None


class Mine(Hook):
    def before(self, op: Operation) -> None:
        return None


def test_a_hook_is_added_once_by_identity() -> None:
    mine, registry, hooks = Mine(), Registry(), Hooks()
    hooks.add(mine)
    hooks.add(mine)
    registry.include(hooks)
    registry.include(hooks)
    registry.join(mine)
    assert len(registry.plans["llm.call"].pre) == 1
    registry.join(Mine())
    assert len(registry.plans["llm.call"].pre) == 2


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


class Interrupted(BaseException):
    """Stands for Ctrl-C at one place."""


def test_an_interrupt_while_plans_are_made_leaves_none_that_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    registry, hooks = Registry(), Hooks()
    hooks.before("tool.execute")(lambda op: None)
    registry.include(hooks)

    def interrupted(_told: bytes) -> Any:
        raise Interrupted

    registry.mode = "off"
    with monkeypatch.context() as patch, pytest.raises(Interrupted):
        patch.setattr("spanhook.gating.registry.hashlib.sha256", interrupted)
        registry.rebuild()
    assert registry.plans == {}
    registry.mode = "enforce"
    registry.rebuild()
    assert set(registry.plans) == {"tool.execute"}


def test_whoever_is_told_of_hooks_is_told_of_them_before_they_are_examined() -> None:
    registry, hooks, told = Registry(), Hooks(), list[set[str]]()
    registry.include(hooks)
    registry.changed.append(lambda: told.append(set(registry.plans)))

    def interrupted(_bound: Any) -> None:
        raise Interrupted

    registry.examine = interrupted
    with pytest.raises(Interrupted):
        hooks.before("tool.execute")(lambda op: None)
    assert told == [{"tool.execute"}]


def test_what_was_active_is_restored_as_it_was() -> None:
    registry, first, second = Registry(), Hooks(), Hooks()
    for hooks in (first, second):
        hooks.before("llm.call")(noop)
    registry.include(first)
    back = registry.mark()
    registry.include(second)
    registry.join(Mine())
    assert len(registry.plans["llm.call"].pre) == 3
    back()
    assert (registry.has(first), registry.has(second)) == (True, False)
    assert len(registry.plans["llm.call"].pre) == 1

    restore = registry.exchange([first], [second])
    registry.rebuild()
    assert (registry.has(first), registry.has(second)) == (False, True)
    restore()
    assert (registry.has(first), registry.has(second)) == (True, False)
    assert len(registry.plans["llm.call"].pre) == 1


def test_outermost_hooks_are_for_operations_that_no_other_is_around() -> None:
    hooks, ran = Hooks(), list[str]()
    hooks.before("*", outermost=True)(lambda op: ran.append(f"run {op.name}"))
    hooks.before("llm.call")(lambda op: ran.append(f"call {op.name}"))
    with recorder(hooks):
        for name in ("first", "second"):
            with operation("agent.invoke", name), operation("tool.execute", "t"), operation("llm.call", f"in {name}"):
                pass
        with operation("llm.call", "alone"):
            pass
    assert ran == ["run first", "call in first", "run second", "call in second", "run alone", "call alone"]


def test_outermost_hooks_cost_nothing_inside() -> None:
    hooks = Hooks()
    hooks.before("*", outermost=True)(noop)
    registry = Registry()
    registry.include(hooks)
    assert not registry.plans
    assert set(registry.outer) >= {"agent.invoke", "llm.call", "tool.execute", "run"}


def test_outermost_hooks_run_for_what_outlives_its_run() -> None:
    hooks, ran = Hooks(), list[str]()
    hooks.before("*", outermost=True)(lambda op: ran.append(op.name))
    with recorder(hooks):
        with operation("agent.invoke", "run"):
            context = copy_context()

        def late() -> None:
            with operation("tool.execute", "left behind"):
                pass

        context.run(late)
    assert ran == ["run", "left behind"]


def test_outermost_is_yes_or_no() -> None:
    with pytest.raises(ConfigurationError, match="outermost='yes', expected True or False"):
        Hooks().before("*", outermost="yes")(noop)  # pyright: ignore[reportArgumentType]


def test_hooks_are_swapped_at_once_or_not_at_all() -> None:
    registry, first, second, many = Registry(), Hooks(), Hooks(), Hooks()
    first.before("llm.call", name="first")(noop)
    second.before("llm.call", name="second")(noop)
    for _ in range(21):
        many._bound.extend(Hooks(*first).bound)
    registry.swap(None, first)
    registry.swap(first, second)
    assert [one.name for one in registry.plans["llm.call"].pre] == ["second"]
    assert (registry.has(first), registry.has(second)) == (False, True)
    with pytest.raises(ConfigurationError, match="at most 20"):
        registry.swap(second, many)
    registry.swap(None, second)
    assert [one.name for one in registry.plans["llm.call"].pre] == ["second"]
    registry.swap(second, None)
    assert not registry.plans
