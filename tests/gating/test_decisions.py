"""What hooks return and say, and which decision it is."""

from typing import Any

import pytest

from spanhook import Hooks, Operation, Reject, operation
from spanhook.testing import recorder
from tests.stub import MODES, stubbed, use


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


def test_a_failed_call_stays_failed_for_error_hooks(mode: str) -> None:
    hooks = Hooks()
    hooks.on_error("llm.call")(lambda op: op.respond("fallback"))
    with stubbed(hooks) as (library, seen), pytest.raises(KeyError):
        use(library, mode, KeyError("x"))
    [op] = seen.operations
    assert op.status == "error"
    assert "around hook" in op.decisions[0].reason


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(("returned", "status_code"), [(Reject("no", status_code=402), 402), (False, 500), ("x", 500)])
def test_what_a_gate_returns_does_not_let_pass(returned: Any, status_code: int, asynchronous: bool, mode: str) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def gate(op: Operation) -> Any:
        async def later() -> Any:
            return returned

        return later() if asynchronous else returned

    with stubbed(hooks) as (library, _), pytest.raises(Reject) as caught:
        use(library, mode, "x")
    assert caught.value.status_code == status_code
    assert library.calls == []


def test_a_hook_may_say_why_it_changed_something() -> None:
    hooks = Hooks()
    hooks.before("tool.execute")(lambda op: op.replace(arguments={"a": 2}, reason="twice as much"))
    hooks.after("tool.execute")(lambda op: op.respond("less", reason="too much"))
    with recorder(hooks) as seen, operation("tool.execute", "t", request={"arguments": {"a": 1}}) as op:
        assert op.result_of("more") == "less"
    assert [one.reason for one in seen.operations[0].decisions] == ["twice as much", "too much"]
