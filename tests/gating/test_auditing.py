"""Auditors are told of each operation once, in whatever mode they and others are."""

from spanhook import Hooks, Operation, operation
from spanhook.gating import Auditor
from spanhook.settings import Settings
from spanhook.testing import recorder


class Seen(Auditor):
    def __init__(self) -> None:
        self.ended_names: list[str] = []

    def before(self, op: Operation) -> None:
        """Nothing: an auditor has at least one method of a hook."""

    def ended(self, op: Operation) -> None:
        self.ended_names.append(op.name)


def test_calls_of_hooks_are_told_too() -> None:
    seen = Seen()
    hooks = Hooks(seen)

    @hooks.before("tool.execute")
    def judge(op: Operation) -> None:
        with operation("llm.call", "judge"):
            pass

    with recorder(hooks), operation("tool.execute", "x"):
        pass
    assert seen.ended_names == ["judge", "x"]


def test_a_filter_that_fails_leaves_nothing_out() -> None:
    seen = Seen()
    seen.when = lambda op: 1 / 0 > 1
    seen.fail_mode = "open"
    with recorder(seen), operation("tool.execute", "x"):
        pass
    assert seen.ended_names == ["x"]


def test_an_auditor_of_whole_runs_is_told_of_nothing_else() -> None:
    seen = Seen()
    seen.outermost = True
    with recorder(seen):
        with operation("request", "r"), operation("agent.invoke", "run in it"), operation("tool.execute", "inside"):
            pass
        with operation("llm.call", "run"):
            pass
    assert seen.ended_names == ["run in it", "run"]


def test_none_if_hooks_are_off() -> None:
    seen = Seen()
    with recorder(seen, settings=Settings(mode="off")), operation("tool.execute", "x"):
        pass
    assert seen.ended_names == []
