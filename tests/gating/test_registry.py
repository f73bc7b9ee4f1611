"""Which hooks are in force: each once, never too many, and plans that an interrupt does not spoil."""

from typing import Any

import pytest

from spanhook import ConfigurationError, Hook, Hooks, Operation
from spanhook.gating import Registry


def noop(op: Operation) -> None:
    return None


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

    registry.enforcing = False
    with monkeypatch.context() as patch, pytest.raises(Interrupted):
        patch.setattr("spanhook.gating.registry.hashlib.sha256", interrupted)
        registry.rebuild()
    assert registry.plans == {}
    registry.enforcing = True
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
