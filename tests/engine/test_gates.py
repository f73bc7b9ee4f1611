"""Where spanhook cannot run hooks: no call is made, and no result goes out, without its gates; every operation ends."""

from typing import Any

import pytest

from spanhook import Hooks, Reject
from spanhook.diagnostics import internal
from spanhook.gating import Runner
from tests.stub import MODES, stubbed, use


def _breaks(monkeypatch: pytest.MonkeyPatch, part: str, error: BaseException) -> None:
    def broken(_runner: Runner, *_given: Any) -> Any:
        raise error

    monkeypatch.setattr(internal, "fatal", False)
    monkeypatch.setattr(Runner, part, broken)


@pytest.fixture
def hooks() -> Hooks:
    """Hooks before and after a call, that let it pass."""
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: None)
    hooks.after("llm.call")(lambda op: None)
    return hooks


@pytest.mark.parametrize("mode", MODES)
def test_a_call_whose_gates_cannot_be_run_is_refused(mode: str, hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    with stubbed(hooks) as (library, seen):
        _breaks(monkeypatch, "enter", RuntimeError("a mistake of spanhook's"))
        with pytest.raises(Reject, match="could not run its hooks") as refused:
            use(library, mode, "x")
    assert refused.value.status_code == 500
    assert library.calls == []
    assert [op.status for op in seen.operations] == ["rejected"]
    assert internal.counts["chain"] == 1


@pytest.mark.parametrize("mode", MODES)
def test_a_call_whose_gates_are_interrupted_is_not_made(
    mode: str, hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stubbed(hooks) as (library, seen):
        _breaks(monkeypatch, "enter", KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            use(library, mode, "x")
    assert library.calls == []
    assert [op.status for op in seen.operations] == ["cancelled"]


@pytest.mark.parametrize("given", ["x", ZeroDivisionError()], ids=["returned", "raised"])
@pytest.mark.parametrize("part", ["leave", "observe"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.every_combination
def test_an_operation_whose_other_hooks_cannot_be_run_ends_as_its_call_did(
    mode: str, part: str, given: Any, hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stubbed(hooks) as (library, seen):
        _breaks(monkeypatch, part, RuntimeError("a mistake of spanhook's"))
        if given == "x":
            assert use(library, mode, given) == given
        else:
            with pytest.raises(ZeroDivisionError):
                use(library, mode, given)
    assert [op.status for op in seen.operations] == ["success" if given == "x" else "error"]
    assert internal.counts["chain"] == 1


@pytest.mark.parametrize("part", ["leave", "observe"])
@pytest.mark.parametrize("mode", MODES)
def test_a_result_is_withheld_if_a_hook_that_fails_closed_cannot_look_at_it(
    mode: str, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = Hooks()
    hooks.after("llm.call", fail_mode="closed")(lambda op: None)
    with stubbed(hooks) as (library, seen):
        _breaks(monkeypatch, part, RuntimeError("a mistake of spanhook's"))
        with pytest.raises(Reject, match="could not run its hooks"):
            use(library, mode, "x")
    assert [op.status for op in seen.operations] == ["rejected"]
